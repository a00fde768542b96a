# The C examples, against the shared library as a stranger would.
if(NOT KUBELUA_EXAMPLES)
    return()
endif()
add_executable(watch examples/c/watch.c)
target_link_libraries(watch PRIVATE kubelua)
set_target_properties(watch PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
