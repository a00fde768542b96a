# What `cmake --install` puts where: the library, its headers, a pkg-config file
# and a CMake package; the Lua modules and the command.
include(CMakePackageConfigHelpers)

option(KUBELUA_INSTALL_CORE "Install libkubelua and its headers" ON)
option(KUBELUA_INSTALL_COMMAND "Install the kubelua command" ON)
set(KUBELUA_INTERPRETER lua5.4 CACHE STRING "What the command runs in")

if(KUBELUA_INSTALL_CORE)
    install(TARGETS kubelua kubelua_static EXPORT kubelua-targets
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES ${KUBELUA_PUBLIC_HEADERS}
            ${PROJECT_BINARY_DIR}/include/kubelua/version.h
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kubelua)
    configure_file(cmake/kubelua.pc.in ${PROJECT_BINARY_DIR}/kubelua.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/kubelua.pc
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kubelua)
    install(EXPORT kubelua-targets NAMESPACE kubelua::
            DESTINATION ${package_dir})
    configure_package_config_file(cmake/kubelua-config.cmake.in
        ${PROJECT_BINARY_DIR}/kubelua-config.cmake
        INSTALL_DESTINATION ${package_dir})
    write_basic_package_version_file(
        ${PROJECT_BINARY_DIR}/kubelua-config-version.cmake
        COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/kubelua-config.cmake
            ${PROJECT_BINARY_DIR}/kubelua-config-version.cmake
            DESTINATION ${package_dir})
endif()

if(KUBELUA_LUA)
    get_property(abis GLOBAL PROPERTY KUBELUA_LUA_ABIS)
    foreach(abi ${abis})
        string(REPLACE "." "" id ${abi})
        set(lua_libdir ${CMAKE_INSTALL_LIBDIR}/lua/${abi})
        set(lua_datadir ${CMAKE_INSTALL_DATADIR}/lua/${abi})
        if(KUBELUA_LUA_LIBDIR)
            set(lua_libdir ${KUBELUA_LUA_LIBDIR})
            set(lua_datadir ${KUBELUA_LUA_DATADIR})
        endif()
        install(TARGETS kubelua_lua${id} DESTINATION ${lua_libdir}/kubelua)
        install(DIRECTORY lua/kubelua lua/cli/kubelua DESTINATION ${lua_datadir}
                FILES_MATCHING PATTERN "*.lua")
    endforeach()
    if(KUBELUA_INSTALL_COMMAND)
        configure_file(bin/kubelua.in ${PROJECT_BINARY_DIR}/bin/kubelua @ONLY)
        install(PROGRAMS ${PROJECT_BINARY_DIR}/bin/kubelua
                DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endif()
