# The command as one file, for each Lua: `ninja programs` makes program/kubelua
# (LuaJIT) and program/kubelua-lua5.4. In a usual build they need the shared
# libraries of this machine, and no other file: that is for specs. What can be
# given away is static: scripts/static-libraries makes what it is linked of, and
# the toolchain file that leads to it.
#   scripts/static-libraries DIR
#   cmake -S . -B build-static -G Ninja -DCMAKE_BUILD_TYPE=Release \
#       -DCMAKE_TOOLCHAIN_FILE=DIR/toolchain.cmake -DKUBELUA_PROGRAM=ON
#   ninja -C build-static programs
option(KUBELUA_PROGRAM "Offer the target `programs`: the command as one file"
       OFF)
option(KUBELUA_PROGRAM_STATIC "Link them statically: the toolchain file sets it"
       OFF)
if(NOT KUBELUA_PROGRAM)
    return()
endif()
if(NOT KUBELUA_SIM)
    message(FATAL_ERROR "KUBELUA_PROGRAM has the simulator: KUBELUA_SIM=ON")
endif()
find_program(KUBELUA_LUA54 NAMES lua5.4 lua REQUIRED)

# The Lua files: MODULE=FILE.
set(embedded kubelua.start=${PROJECT_SOURCE_DIR}/program/start.lua)

# Adds the files of FOLDER whose paths in it match the expressions.
function(kubelua_embed folder)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${folder} ${ARGN})
    foreach(file ${files})
        string(REGEX REPLACE "(/init)?\\.lua$" "" module ${file})
        string(REPLACE "/" "." module ${module})
        list(APPEND embedded ${module}=${folder}/${file})
    endforeach()
    set(embedded ${embedded} PARENT_SCOPE)
endfunction()

foreach(folder lua lua/cli sim/lua)
    kubelua_embed(${PROJECT_SOURCE_DIR}/${folder} ${folder}/kubelua/*.lua)
endforeach()
# Of kubelua gateway check.
kubelua_embed(${PROJECT_SOURCE_DIR}/lua lua/resty/kubelua/gateway/*.lua)
# Of kubelua test: luassert with the texts of one language, and say.
find_file(KUBELUA_LUASSERT luassert/init.lua PATHS /usr/share/lua/5.1 REQUIRED)
string(REGEX REPLACE "/luassert/init.lua$" "" folder ${KUBELUA_LUASSERT})
kubelua_embed(${folder} ${folder}/luassert/*.lua ${folder}/say/*.lua)
list(FILTER embedded EXCLUDE REGEX "^luassert\\.languages\\.[^e]")
find_file(KUBELUA_ARGPARSE argparse.lua PATHS /usr/share/lua/5.1 REQUIRED)
find_file(KUBELUA_CJSON_UTIL cjson/util.lua PATHS /usr/share/lua/5.1
          REQUIRED)
list(APPEND embedded argparse=${KUBELUA_ARGPARSE}
     cjson.util=${KUBELUA_CJSON_UTIL})
string(REGEX REPLACE "[^;=]+=" "" embedded_files "${embedded}")
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/program/embedded.c
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/program
    COMMAND ${KUBELUA_LUA54} ${PROJECT_SOURCE_DIR}/program/embed.lua
        ${PROJECT_BINARY_DIR}/program/embedded.c ${embedded}
    DEPENDS ${embedded_files} program/embed.lua VERBATIM)
add_library(kubelua_embedded OBJECT EXCLUDE_FROM_ALL
    ${PROJECT_BINARY_DIR}/program/embedded.c)
target_include_directories(kubelua_embedded PUBLIC program)

add_custom_target(programs)

# One file: name, and the pkg-config names of its Lua and of lua-cjson.
function(kubelua_program name lua cjson)
    set(target program_${name})
    string(MAKE_C_IDENTIFIER ${lua} id)
    pkg_check_modules(PROGRAM_${id} REQUIRED ${lua})
    separate_arguments(packages UNIX_COMMAND "${KUBELUA_PRIVATE_PACKAGES}")
    pkg_check_modules(PROGRAM_LIBRARIES_${id} REQUIRED ${packages}
                      libmicrohttpd gnutls libpcre2-8 ${lua})
    set(sources ${KUBELUA_LUA_SOURCES} ${KUBELUA_LUA_SIM_SOURCES}
        ${KUBELUA_LUA_SERVE_SOURCES})
    list(REMOVE_DUPLICATES sources)
    add_executable(${target} EXCLUDE_FROM_ALL program/main.c ${sources}
        $<TARGET_OBJECTS:kubelua_embedded> $<TARGET_OBJECTS:kubelua_objects>
        $<TARGET_OBJECTS:kubelua_sim_objects>)
    target_include_directories(${target} PRIVATE program lua/src core/include
        sim/core/include)
    target_include_directories(${target} SYSTEM PRIVATE
        ${PROGRAM_${id}_INCLUDE_DIRS})
    if(KUBELUA_PROGRAM_STATIC)
        set(libraries ${PROGRAM_LIBRARIES_${id}_STATIC_LDFLAGS})
        # The map is read by scripts/contents.lua.
        target_link_options(${target} PRIVATE -static-pie -s -Wl,--gc-sections
            -Wl,-Map=${PROJECT_BINARY_DIR}/program/${name}.map)
    else()
        set(libraries ${PROGRAM_LIBRARIES_${id}_LDFLAGS})
    endif()
    target_link_libraries(${target} PRIVATE -l${cjson} ${libraries} pthread m dl)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/program)
    add_dependencies(programs ${target})
endfunction()

kubelua_program(kubelua luajit lua5.1-cjson)
kubelua_program(kubelua-lua5.4 lua5.4 lua5.4-cjson)
