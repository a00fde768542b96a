# One cmocka program for each spec/c/<layer>/*_spec.c; they see the core's
# internals, so they link its objects.
if(NOT KUBELUA_TESTS)
    return()
endif()
enable_testing()
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

file(GLOB KUBELUA_SUPPORT_SOURCES CONFIGURE_DEPENDS spec/support/*.c)
if(KUBELUA_SUPPORT_SOURCES)
    add_library(kubelua_support OBJECT ${KUBELUA_SUPPORT_SOURCES})
    target_include_directories(kubelua_support PUBLIC
        ${PROJECT_SOURCE_DIR}/spec/support)
    target_link_libraries(kubelua_support PUBLIC kubelua_objects
        PkgConfig::CMOCKA)
endif()

file(GLOB KUBELUA_C_SPECS CONFIGURE_DEPENDS spec/c/*/*_spec.c)
foreach(spec ${KUBELUA_C_SPECS})
    get_filename_component(name ${spec} NAME_WE)
    add_executable(${name} ${spec} $<TARGET_OBJECTS:kubelua_objects>)
    target_link_libraries(${name} PRIVATE kubelua_objects PkgConfig::CMOCKA)
    if(KUBELUA_SUPPORT_SOURCES)
        target_sources(${name} PRIVATE $<TARGET_OBJECTS:kubelua_support>)
        target_link_libraries(${name} PRIVATE kubelua_support)
    endif()
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec)
    add_test(NAME ${name} COMMAND ${name}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES TIMEOUT 120
        ENVIRONMENT "CMOCKA_MESSAGE_OUTPUT=STDOUT")
endforeach()

# Reads the truth suite's answers in protobuf.
add_executable(protobuf_json spec/truth/protobuf_json.c
    spec/support/protobuf_reader.c $<TARGET_OBJECTS:kubelua_objects>)
target_include_directories(protobuf_json PRIVATE spec/support)
target_link_libraries(protobuf_json PRIVATE kubelua_objects)
set_target_properties(protobuf_json PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec)

# The soak (spec/soak): a program like any user's, against the shared library.
file(GLOB KUBELUA_SOAK_SOURCES CONFIGURE_DEPENDS spec/soak/*.c)
add_executable(soak ${KUBELUA_SOAK_SOURCES})
target_link_libraries(soak PRIVATE kubelua)
file(GLOB KUBELUA_CROWD_SOURCES CONFIGURE_DEPENDS spec/soak/crowd/*.c)
add_executable(crowd ${KUBELUA_CROWD_SOURCES} spec/soak/usage.c)
target_include_directories(crowd PRIVATE spec/soak)
target_link_libraries(crowd PRIVATE kubelua)
set_target_properties(soak crowd PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec)
