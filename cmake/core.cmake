# libkubelua: every layer of core/, once as objects, linked twice.
configure_file(core/include/kubelua/version.h.in
               ${PROJECT_BINARY_DIR}/include/kubelua/version.h @ONLY)

file(GLOB KUBELUA_CORE_SOURCES CONFIGURE_DEPENDS core/*/*.c core/sim/*/*.c)
file(GLOB KUBELUA_PUBLIC_HEADERS CONFIGURE_DEPENDS core/include/kubelua/*.h)

set(KUBELUA_CORE_LIBRARIES PkgConfig::YYJSON PkgConfig::YAML
    PkgConfig::MICROHTTPD PkgConfig::ZLIB PkgConfig::GNUTLS Threads::Threads)
if(KUBELUA_CURL_LIBRARY)
    list(APPEND KUBELUA_CORE_LIBRARIES ${CMAKE_DL_LIBS})
else()
    list(APPEND KUBELUA_CORE_LIBRARIES PkgConfig::CURL)
endif()

add_library(kubelua_objects OBJECT ${KUBELUA_CORE_SOURCES})
target_include_directories(kubelua_objects PUBLIC
    ${PROJECT_SOURCE_DIR}/core ${PROJECT_SOURCE_DIR}/core/include
    ${PROJECT_BINARY_DIR}/include)
target_link_libraries(kubelua_objects PUBLIC ${KUBELUA_CORE_LIBRARIES} m)
if(KUBELUA_CURL_LIBRARY)
    target_include_directories(kubelua_objects SYSTEM PUBLIC
        ${CURL_INCLUDE_DIRS})
    target_compile_definitions(kubelua_objects PUBLIC
        KL__CURL_LIBRARY="${KUBELUA_CURL_LIBRARY}")
endif()

add_library(kubelua SHARED $<TARGET_OBJECTS:kubelua_objects>)
set_target_properties(kubelua PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
add_library(kubelua_static STATIC $<TARGET_OBJECTS:kubelua_objects>)
set_target_properties(kubelua_static PROPERTIES OUTPUT_NAME kubelua)

foreach(library kubelua kubelua_static)
    target_include_directories(${library} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/core/include>
        $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_link_libraries(kubelua PRIVATE ${KUBELUA_CORE_LIBRARIES} m)
target_link_libraries(kubelua_static PUBLIC ${KUBELUA_CORE_LIBRARIES} m)
# Its threads outlive a dlclose: it must never be unmapped.
target_link_options(kubelua PRIVATE -Wl,-z,nodelete)
