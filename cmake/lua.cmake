# Two Lua C modules an ABI, for each Lua that is there: kubelua/core.so and, with
# the simulator, kubelua/simcore.so, in lua/ABI of the build folder. 5.1 is
# LuaJIT's ABI. Both use one libkubelua.so, which the dynamic linker finds beside
# the module (a rock) or three folders above it (a build folder, a prefix).
# liblua is not linked: the host brings it.
if(NOT KUBELUA_LUA)
    return()
endif()

file(GLOB KUBELUA_LUA_SOURCES CONFIGURE_DEPENDS lua/src/*.c)
file(GLOB KUBELUA_LUA_SERVE_SOURCES CONFIGURE_DEPENDS lua/serve/*.c)
file(GLOB KUBELUA_LUA_SIM_SOURCES CONFIGURE_DEPENDS sim/lua/src/*.c)

function(kubelua_lua_module abi package)
    string(REPLACE "." "" id ${abi})
    pkg_check_modules(LUA_${id} QUIET ${package})
    if(NOT LUA_${id}_FOUND)
        message(STATUS "No ${package}: no module for Lua ${abi}")
        return()
    endif()
    kubelua_add_lua_module(${abi} "${LUA_${id}_INCLUDE_DIRS}")
endfunction()

# What both modules check and push with.
set(KUBELUA_LUA_SHARED lua/src/check.c lua/src/misuse.c lua/src/push.c
    lua/src/reply.c lua/src/transport.c)

# Adds the module kubelua/NAME of a Lua: its sources, then what it links.
function(kubelua_add_module target abi include_dirs name)
    cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
    add_library(${target} MODULE ${arg_SOURCES})
    target_include_directories(${target} PRIVATE
        ${PROJECT_SOURCE_DIR}/lua/src)
    target_include_directories(${target} SYSTEM PRIVATE ${include_dirs})
    target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} m)
    # Threads outlive lua_close, which unloads C modules: stay mapped.
    target_link_options(${target} PRIVATE -Wl,-z,nodelete)
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN:$ORIGIN/../../.."
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lua/${abi}/kubelua)
    set_property(GLOBAL APPEND PROPERTY KUBELUA_LUA_MODULES_${abi} ${target})
endfunction()

function(kubelua_add_lua_module abi include_dirs)
    string(REPLACE "." "" id ${abi})
    kubelua_add_module(kubelua_lua${id} ${abi} "${include_dirs}" core
        SOURCES ${KUBELUA_LUA_SOURCES} LIBRARIES kubelua)
    if(MICROHTTPD_FOUND AND GNUTLS_FOUND) # kubelua run --serve, --admit
        kubelua_add_module(kubelua_lua${id}_serve ${abi} "${include_dirs}" serve
            SOURCES ${KUBELUA_LUA_SERVE_SOURCES} lua/src/check.c
            lua/src/misuse.c lua/src/push.c
            LIBRARIES kubelua PkgConfig::MICROHTTPD PkgConfig::GNUTLS)
    endif()
    if(KUBELUA_SIM)
        kubelua_add_module(kubelua_lua${id}_sim ${abi} "${include_dirs}" simcore
            SOURCES ${KUBELUA_LUA_SIM_SOURCES} ${KUBELUA_LUA_SHARED}
            LIBRARIES kubelua_sim kubelua)
    endif()
    set_property(GLOBAL APPEND PROPERTY KUBELUA_LUA_ABIS ${abi})
    if(KUBELUA_TESTS)
        kubelua_add_failing_module(${abi} "${include_dirs}")
    endif()
endfunction()

# For the specs of the binding: allocations that fail.
function(kubelua_add_failing_module abi include_dirs)
    string(REPLACE "." "" id ${abi})
    set(target failing_lua${id})
    add_library(${target} MODULE spec/exhaust/failing.c spec/support/failing_plan.c)
    target_include_directories(${target} PRIVATE
        ${PROJECT_SOURCE_DIR}/core/include ${PROJECT_SOURCE_DIR}/spec/support)
    target_include_directories(${target} SYSTEM PRIVATE ${include_dirs})
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME failing
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lua/${abi})
endfunction()

if(KUBELUA_LUA_INCLUDE_DIR)
    # Its header tells the ABI: "#define LUA_VERSION_NUM 504".
    file(STRINGS ${KUBELUA_LUA_INCLUDE_DIR}/lua.h line
         REGEX "^#define[ \t]+LUA_VERSION_NUM[ \t]+[0-9]+")
    string(REGEX REPLACE ".*[ \t]([0-9])0([0-9]).*" "\\1.\\2" abi "${line}")
    if(NOT abi STREQUAL "5.4" AND
       NOT EXISTS ${KUBELUA_LUA_INCLUDE_DIR}/luajit.h)
        message(FATAL_ERROR "KubeLua runs in Lua 5.4 and LuaJIT 2.1, and "
            "${KUBELUA_LUA_INCLUDE_DIR} has the headers of Lua ${abi}")
    endif()
    kubelua_add_lua_module(${abi} ${KUBELUA_LUA_INCLUDE_DIR})
else()
    kubelua_lua_module(5.4 lua5.4)
    kubelua_lua_module(5.1 luajit)
endif()
