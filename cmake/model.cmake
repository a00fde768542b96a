# The model checker: the core on fibers and virtual time. It has objects of its
# own, for four files of core/base are replaced by spec/model, and all of it is
# optimised and asserts, whatever the build. Only built when asked for:
# `cmake --build build --target model`.
if(NOT KUBELUA_TESTS)
    return()
endif()

set(model_core_sources ${KUBELUA_CORE_SOURCES})
list(FILTER model_core_sources EXCLUDE REGEX
     "/core/base/(thread|clock|wakeup|random)\\.c$")
add_library(kubelua_model_core OBJECT EXCLUDE_FROM_ALL ${model_core_sources})
target_include_directories(kubelua_model_core PUBLIC
    ${PROJECT_SOURCE_DIR}/core ${PROJECT_SOURCE_DIR}/core/include
    ${PROJECT_SOURCE_DIR}/spec/model)
target_link_libraries(kubelua_model_core PUBLIC ${KUBELUA_CORE_LIBRARIES})
target_compile_definitions(kubelua_model_core PRIVATE KL__ONE_STRIPE)
target_compile_options(kubelua_model_core PUBLIC -O2 -g -UNDEBUG PRIVATE
    -include ${PROJECT_SOURCE_DIR}/spec/model/atomic_points.h)

file(GLOB model_sources CONFIGURE_DEPENDS spec/model/*.c)
set(model_specs ${model_sources})
list(FILTER model_specs INCLUDE REGEX "_spec\\.c$")
set(model_parts ${model_sources})
list(FILTER model_parts EXCLUDE REGEX "(_spec|/main)\\.c$")
add_library(kubelua_model_parts OBJECT EXCLUDE_FROM_ALL ${model_parts})
target_link_libraries(kubelua_model_parts PUBLIC kubelua_model_core)

# A program of the model: its own source, the parts, and the core.
function(kubelua_model_program name source)
    add_executable(${name} EXCLUDE_FROM_ALL ${source}
                   $<TARGET_OBJECTS:kubelua_model_parts>
                   $<TARGET_OBJECTS:kubelua_model_core>)
    target_link_libraries(${name} PRIVATE kubelua_model_parts ${ARGN})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec)
endfunction()

if(EXISTS ${PROJECT_SOURCE_DIR}/spec/model/main.c)
    kubelua_model_program(model spec/model/main.c)
endif()
foreach(spec ${model_specs})
    get_filename_component(name ${spec} NAME_WE)
    kubelua_model_program(${name} ${spec} PkgConfig::CMOCKA)
endforeach()

# Workqueues: a program of its own on the same scheduler, so that the seeds of
# the histories above stay as they are.
file(GLOB model_queue_sources CONFIGURE_DEPENDS spec/model/queue/*.c)
if(model_queue_sources)
    kubelua_model_program(model_queue "${model_queue_sources}")
    target_include_directories(model_queue PRIVATE
        ${PROJECT_SOURCE_DIR}/spec/model/queue)
endif()

# Requests: the core over a wire, files and plugins of the spec, which the
# linker puts in the place of the core's.
file(GLOB model_requests_sources CONFIGURE_DEPENDS spec/model/requests/*.c)
if(model_requests_sources)
    kubelua_model_program(request_turns_spec "${model_requests_sources}"
                          PkgConfig::CMOCKA)
    target_include_directories(request_turns_spec PRIVATE
        ${PROJECT_SOURCE_DIR}/spec/model/requests)
    target_link_options(request_turns_spec PRIVATE
        -Wl,--wrap=kl__timestamp_now,--wrap=kl__file_may_wait
        -Wl,--wrap=kl__file_refresh,--wrap=kl__exec_run
        -Wl,--wrap=kl__thread_start)
endif()
