# Tests of ctest. A test has the step of `scripts/test all` that runs it as its
# label, and further labels for a choice by hand:
#     ctest --test-dir build -L core -R delta
# ctest is started with four places for each core, as specs mostly wait. A test
# that computes takes more of them.
enable_testing()

if(KUBELUA_SANITIZE STREQUAL "thread")
    set(KUBELUA_CHECKED_BY tsan)
elseif(KUBELUA_SANITIZE)
    set(KUBELUA_CHECKED_BY asan)
else()
    set(KUBELUA_CHECKED_BY "")
endif()

# kubelua_test(NAME LABELS label... [PLACES n] [COST n] [ENV NAME=VALUE...]
#              COMMAND ...): exit status 77 means that the machine cannot run it.
# COST: a test that takes longer starts earlier. It ends after 600 seconds.
function(kubelua_test name)
    cmake_parse_arguments(arg "" "PLACES;COST" "LABELS;ENV;COMMAND" ${ARGN})
    add_test(NAME ${name} COMMAND ${arg_COMMAND}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(NOT arg_PLACES)
        set(arg_PLACES 1)
    endif()
    if(NOT arg_COST)
        set(arg_COST 0)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}"
        PROCESSORS ${arg_PLACES} COST ${arg_COST} TIMEOUT 600
        SKIP_RETURN_CODE 77 ENVIRONMENT
        "KUBELUA_BUILD=${PROJECT_BINARY_DIR};CMOCKA_MESSAGE_OUTPUT=STDOUT;${arg_ENV}")
endfunction()
