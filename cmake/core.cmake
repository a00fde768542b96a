# libkubelua: every layer of core/, compiled once as objects; the shared and the
# static library are made of them.
configure_file(core/libkubelua.map.in
               ${PROJECT_BINARY_DIR}/libkubelua.map @ONLY)

file(GLOB KUBELUA_CORE_SOURCES CONFIGURE_DEPENDS core/*/*.c)
file(GLOB KUBELUA_PUBLIC_HEADERS CONFIGURE_DEPENDS core/include/kubelua/*.h)

set(KUBELUA_CORE_LIBRARIES PkgConfig::YYJSON PkgConfig::YAML PkgConfig::ZLIB
    PkgConfig::ZSTD PkgConfig::CURL Threads::Threads m)
if(KUBELUA_OPENSSL)
    list(APPEND KUBELUA_CORE_LIBRARIES PkgConfig::OPENSSL)
endif()

add_library(kubelua_objects OBJECT ${KUBELUA_CORE_SOURCES})
target_include_directories(kubelua_objects PUBLIC
    ${PROJECT_SOURCE_DIR}/core ${PROJECT_SOURCE_DIR}/core/include)
target_link_libraries(kubelua_objects PUBLIC ${KUBELUA_CORE_LIBRARIES})
if(KUBELUA_OPENSSL)
    target_compile_definitions(kubelua_objects PUBLIC KUBELUA_OPENSSL)
endif()

# Makes the shared library `target` and the static one `target`_static of the
# objects of `target`_objects. The folder of `target` is the one place where
# the dynamic linker looks for what the library stands on ($ORIGIN): so both
# libraries move together, in a build folder, a prefix or a rock.
# Until 1.0 each minor version may add fields to the structs of the headers, so
# that its libraries have a SONAME of their own (libkubelua.so.0.2): a program
# that was built with another minor version does not start, instead of reading
# or writing beyond a struct.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(KUBELUA_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
else()
    set(KUBELUA_SOVERSION ${PROJECT_VERSION_MAJOR})
endif()

function(kubelua_library target name)
    add_library(${target} SHARED $<TARGET_OBJECTS:${target}_objects>)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
        VERSION ${PROJECT_VERSION} SOVERSION ${KUBELUA_SOVERSION}
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    # Its threads outlive a dlclose: it must never be unmapped.
    target_link_options(${target} PRIVATE -Wl,-z,nodelete
        -Wl,-Bsymbolic-functions)
    add_library(${target}_static STATIC $<TARGET_OBJECTS:${target}_objects>)
    set_target_properties(${target}_static PROPERTIES OUTPUT_NAME ${name}
        ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    foreach(library ${target} ${target}_static)
        target_include_directories(${library} PUBLIC
            $<BUILD_INTERFACE:${ARGN}>
            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    endforeach()
endfunction()

kubelua_library(kubelua kubelua ${PROJECT_SOURCE_DIR}/core/include)
target_link_libraries(kubelua PRIVATE ${KUBELUA_CORE_LIBRARIES})
target_link_libraries(kubelua_static PUBLIC ${KUBELUA_CORE_LIBRARIES})
target_link_options(kubelua PRIVATE
    -Wl,--version-script=${PROJECT_BINARY_DIR}/libkubelua.map)
set_property(TARGET kubelua APPEND PROPERTY
    LINK_DEPENDS ${PROJECT_BINARY_DIR}/libkubelua.map)
