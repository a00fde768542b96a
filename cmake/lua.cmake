# One Lua C module an ABI: lua/ABI/kubelua/core.so in the build folder for each
# Lua that is there. 5.1 is LuaJIT's ABI. The core is linked in, so that a
# module is one file; liblua is not: the host brings it.
if(NOT KUBELUA_LUA)
    return()
endif()

file(GLOB KUBELUA_LUA_SOURCES CONFIGURE_DEPENDS lua/src/*.c)

function(kubelua_lua_module abi package)
    string(REPLACE "." "" id ${abi})
    pkg_check_modules(LUA_${id} QUIET ${package})
    if(NOT LUA_${id}_FOUND)
        message(STATUS "No ${package}: no module for Lua ${abi}")
        return()
    endif()
    kubelua_add_lua_module(${abi} "${LUA_${id}_INCLUDE_DIRS}")
endfunction()

function(kubelua_add_lua_module abi include_dirs)
    string(REPLACE "." "" id ${abi})
    set(target kubelua_lua${id})
    add_library(${target} MODULE ${KUBELUA_LUA_SOURCES}
                $<TARGET_OBJECTS:kubelua_objects>)
    target_include_directories(${target} PRIVATE
        ${PROJECT_SOURCE_DIR}/core/include ${PROJECT_BINARY_DIR}/include)
    target_include_directories(${target} SYSTEM PRIVATE ${include_dirs})
    target_link_libraries(${target} PRIVATE ${KUBELUA_CORE_LIBRARIES} m)
    # Threads outlive lua_close, which unloads C modules: stay mapped.
    target_link_options(${target} PRIVATE -Wl,-z,nodelete)
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME core
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lua/${abi}/kubelua)
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
    # LuaRocks names the one Lua that it builds for; its header tells the ABI:
    # "#define LUA_VERSION_NUM 504".
    file(STRINGS ${KUBELUA_LUA_INCLUDE_DIR}/lua.h line
         REGEX "^#define[ \t]+LUA_VERSION_NUM[ \t]+[0-9]+")
    string(REGEX REPLACE ".*[ \t]([0-9])0([0-9]).*" "\\1.\\2" abi "${line}")
    kubelua_add_lua_module(${abi} ${KUBELUA_LUA_INCLUDE_DIR})
else()
    kubelua_lua_module(5.4 lua5.4)
    kubelua_lua_module(5.1 luajit)
endif()
