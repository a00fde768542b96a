# What `cmake --install` puts where: the libraries, their headers, pkg-config
# files and CMake packages; the Lua modules and the command.
include(CMakePackageConfigHelpers)

option(KUBELUA_INSTALL_COMMAND "Install the kubelua command" ON)
set(KUBELUA_INTERPRETER lua5.4 CACHE STRING "What the command runs in")

# Installs the library `target` as the package `name`: library, headers,
# NAME.pc, find_package(NAME).
function(kubelua_install_library target name)
    install(TARGETS ${target} ${target}_static EXPORT ${name}-targets
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES ${ARGN} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kubelua)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in
                   ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
    install(EXPORT ${name}-targets NAMESPACE kubelua::
            DESTINATION ${package_dir})
    configure_package_config_file(cmake/${name}-config.cmake.in
        ${PROJECT_BINARY_DIR}/${name}-config.cmake
        INSTALL_DESTINATION ${package_dir})
    write_basic_package_version_file(
        ${PROJECT_BINARY_DIR}/${name}-config-version.cmake
        COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/${name}-config.cmake
            ${PROJECT_BINARY_DIR}/${name}-config-version.cmake
            DESTINATION ${package_dir})
endfunction()

kubelua_install_library(kubelua kubelua ${KUBELUA_PUBLIC_HEADERS})
if(KUBELUA_SIM)
    kubelua_install_library(kubelua_sim kubelua-sim
        sim/core/include/kubelua/sim.h)
endif()

if(KUBELUA_LUA)
    get_property(abis GLOBAL PROPERTY KUBELUA_LUA_ABIS)
    foreach(abi ${abis})
        set(lua_libdir ${CMAKE_INSTALL_LIBDIR}/lua/${abi})
        set(lua_datadir ${CMAKE_INSTALL_DATADIR}/lua/${abi})
        get_property(modules GLOBAL PROPERTY KUBELUA_LUA_MODULES_${abi})
        install(TARGETS ${modules} DESTINATION ${lua_libdir}/kubelua)
        install(DIRECTORY lua/kubelua sim/lua/kubelua lua/cli/kubelua
                DESTINATION ${lua_datadir} FILES_MATCHING PATTERN "*.lua")
        if(abi STREQUAL "5.1") # FFI, in nginx: LuaJIT only
            install(DIRECTORY lua/resty DESTINATION ${lua_datadir}
                    FILES_MATCHING PATTERN "*.lua" PATTERN "*.conf")
        else() # kubelua gateway check reads objects as the gateway does
            install(DIRECTORY lua/resty/kubelua/gateway
                    DESTINATION ${lua_datadir}/resty/kubelua
                    FILES_MATCHING PATTERN "*.lua")
        endif()
    endforeach()
    if(KUBELUA_INSTALL_COMMAND)
        configure_file(bin/kubelua.in ${PROJECT_BINARY_DIR}/bin/kubelua @ONLY)
        install(PROGRAMS ${PROJECT_BINARY_DIR}/bin/kubelua
                DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endif()

# Man pages and completion for shells, made from the parser of the command line.
# A rock has no place for them.
function(kubelua_install_manuals lua)
    set(made ${PROJECT_BINARY_DIR}/share)
    set(cli ${PROJECT_SOURCE_DIR}/lua/cli)
    add_custom_command(OUTPUT ${made}/man1/kubelua.1
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${made}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/man1 ${made}/bash
            ${made}/zsh ${made}/fish
        COMMAND ${lua} -e "package.path = '${cli}/?.lua;' .. package.path"
            -e "require('kubelua.cli.manual').write_all(\
require('kubelua.cli.usage').parser, '${made}', '${PROJECT_VERSION}')"
        DEPENDS ${cli}/kubelua/cli/manual.lua ${cli}/kubelua/cli/usage.lua
            ${cli}/kubelua/cli/option_values.lua
            ${cli}/kubelua/cli/deploy/options.lua VERBATIM)
    add_custom_target(manuals ALL DEPENDS ${made}/man1/kubelua.1)
    set(zsh site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
        set(zsh vendor-completions)
    endif()
    set(share ${CMAKE_INSTALL_DATADIR})
    install(DIRECTORY ${made}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
    install(FILES ${made}/bash/kubelua
            DESTINATION ${share}/bash-completion/completions)
    install(FILES ${made}/zsh/_kubelua DESTINATION ${share}/zsh/${zsh})
    install(FILES ${made}/fish/kubelua.fish
            DESTINATION ${share}/fish/vendor_completions.d)
endfunction()

if(KUBELUA_LUA AND KUBELUA_INSTALL_COMMAND)
    find_program(KUBELUA_MANUAL_LUA NAMES lua5.4 luajit lua)
    mark_as_advanced(KUBELUA_MANUAL_LUA)
    execute_process(COMMAND ${KUBELUA_MANUAL_LUA} -e "require 'argparse'"
                    RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
    if(missing)
        message(STATUS "No lua-argparse: no man pages and no completion")
    else()
        kubelua_install_manuals(${KUBELUA_MANUAL_LUA})
    endif()
endif()

# `ninja -C build uninstall`
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND}
    -D MANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
    -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM)
