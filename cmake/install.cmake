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
                    FILES_MATCHING PATTERN "*.lua")
        endif()
    endforeach()
    if(KUBELUA_INSTALL_COMMAND)
        configure_file(bin/kubelua.in ${PROJECT_BINARY_DIR}/bin/kubelua @ONLY)
        install(PROGRAMS ${PROJECT_BINARY_DIR}/bin/kubelua
                DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endif()

# `ninja -C build uninstall`
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND}
    -D MANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
    -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM)
