# The C examples, against the shared library as a stranger would.
if(NOT KUBELUA_EXAMPLES)
    return()
endif()
find_package(Threads REQUIRED)
foreach(example watch controller)
    add_executable(example_${example} examples/c/${example}.c)
    target_link_libraries(example_${example} PRIVATE kubelua Threads::Threads)
    set_target_properties(example_${example} PROPERTIES OUTPUT_NAME ${example}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
endforeach()
