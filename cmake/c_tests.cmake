# One cmocka program for each *_spec.c. Specs see internals, so they link objects:
# those of spec/core the core's, and nothing of the simulator; those of spec/live
# (the core at work on the simulator) and of sim/spec (the simulator itself) both.
if(NOT KUBELUA_TESTS)
    return()
endif()

file(GLOB KUBELUA_SUPPORT_SOURCES CONFIGURE_DEPENDS spec/support/*.c)
add_library(kubelua_support OBJECT ${KUBELUA_SUPPORT_SOURCES})
target_include_directories(kubelua_support PUBLIC
    ${PROJECT_SOURCE_DIR}/spec/support)
target_link_libraries(kubelua_support PUBLIC kubelua_objects
    PkgConfig::GNUTLS PkgConfig::CMOCKA)

# C specs that wait for seconds: they start first, and take one place each.
set(KUBELUA_PATIENT cancel_network_spec carrier_spec descriptors_spec
    hostile_patience_spec hostile_watch_spec informer_sim_spec owner_spec
    request_network_spec request_sim_spec restored_server_spec sim_watch_spec)
# With KUBELUA_RETRAIN=1, these also run under the sanitizers.
set(KUBELUA_RETRAINED_CHECKED object_spec indexer_spec reflector_list_spec
    reflector_watch_spec reflector_thread_spec shared_informer_spec
    informer_sim_spec)

# Programs of one thread that compute for long: ThreadSanitizer, which looks for
# races, can find nothing in them and makes them twenty times as slow.
set(KUBELUA_ONE_THREAD broken_spec cursor_spec index_model_spec outline_spec
    pack_spec scan_spec)

# The labels of a spec: its step, its layer, and `retrain` if that runs it, too.
function(kubelua_c_labels name spec step result)
    get_filename_component(layer ${spec} DIRECTORY)
    get_filename_component(layer ${layer} NAME)
    set(labels ${step} ${layer})
    if(KUBELUA_CHECKED_BY)
        if(name IN_LIST KUBELUA_RETRAINED_CHECKED)
            list(APPEND labels retrain)
        endif()
    elseif(spec MATCHES "/spec/core/(object|cache|informer)/|/live/informer/")
        list(APPEND labels retrain)
    endif()
    set(${result} ${labels} PARENT_SCOPE)
endfunction()

# Adds a C spec's program to ctest.
function(kubelua_c_test name spec step)
    kubelua_c_labels(${name} ${spec} ${step} labels)
    set(places 1)
    set(cost 0)
    if(name IN_LIST KUBELUA_PATIENT)
        set(cost 100)
    elseif(KUBELUA_CHECKED_BY)
        set(places 3)
    endif()
    kubelua_test(${name} LABELS ${labels} PLACES ${places} COST ${cost}
        COMMAND ${name})
endfunction()

# A spec program of these parts, which are object libraries, in this folder.
set(KUBELUA_SPEC_FOLDER ${PROJECT_BINARY_DIR}/spec)
set(KUBELUA_SPEC_STEP core)
function(kubelua_c_spec spec)
    get_filename_component(name ${spec} NAME_WE)
    add_executable(${name} ${spec})
    foreach(part ${ARGN})
        target_sources(${name} PRIVATE $<TARGET_OBJECTS:${part}>)
        target_link_libraries(${name} PRIVATE ${part})
    endforeach()
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${KUBELUA_SPEC_FOLDER})
    if(NOT (KUBELUA_CHECKED_BY STREQUAL "tsan" AND
            name IN_LIST KUBELUA_ONE_THREAD))
        kubelua_c_test(${name} ${spec} ${KUBELUA_SPEC_STEP})
    endif()
endfunction()

# Loaded before a program, it steps the wall clock that the program sees.
add_library(clock_step MODULE spec/support/preload/clock_step.c)
set_target_properties(clock_step PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec)

file(GLOB KUBELUA_CORE_SPECS CONFIGURE_DEPENDS spec/core/*/*_spec.c)
foreach(spec ${KUBELUA_CORE_SPECS})
    kubelua_c_spec(${spec} kubelua_objects kubelua_support)
endforeach()

# Specs of connections and requests once more, with all clients on one thread
# (http/carrier.h, api/request_loop.h).
foreach(name curl_gather_spec curl_head_spec curl_stream_spec curl_tls_spec
        curl_transport_spec curl_turn_spec hostile_http_spec hostile_stream_spec
        hostile_patience_spec hostile_turn_spec http2_spec request_network_spec
        request_plugin_spec request_spec request_stream_spec)
    set(cost 0)
    if(name IN_LIST KUBELUA_PATIENT)
        set(cost 100)
    endif()
    kubelua_test(carried.${name} LABELS core COST ${cost}
        ENV KUBELUA_CARRIED=1 COMMAND ${name})
endforeach()

# The proof that torn_spec can fail: the same spec over a reader that believes
# whatever it has copied, and then it must see torn reads.
set(shared_check "return now - view->generation < 2;")
file(READ ${PROJECT_SOURCE_DIR}/core/shared/read.c shared_read)
string(REPLACE "${shared_check}" "return now >= view->generation;" shared_unchecked
    "${shared_read}")
if(shared_read STREQUAL shared_unchecked)
    message(FATAL_ERROR "core/shared/read.c has no line \"${shared_check}\"")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/core/shared/read.c)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/unchecked/read.c
    CONTENT "${shared_unchecked}")
add_executable(torn_unchecked_spec spec/core/shared/torn_spec.c
    ${PROJECT_BINARY_DIR}/unchecked/read.c
    $<FILTER:$<TARGET_OBJECTS:kubelua_objects>,EXCLUDE,core/shared/read.c>)
target_compile_definitions(torn_unchecked_spec PRIVATE SPEC_EXPECTS_TORN)
target_link_libraries(torn_unchecked_spec PRIVATE kubelua_support)
set_target_properties(torn_unchecked_spec PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec)
kubelua_c_test(torn_unchecked_spec spec/core/shared/torn_spec.c core)

# What a shared map costs, and a rebuild of all of it: bench/shared/run.
add_executable(bench_shared EXCLUDE_FROM_ALL bench/shared/shared.c)
target_link_libraries(bench_shared PRIVATE kubelua_static)
add_executable(bench_rebuild EXCLUDE_FROM_ALL bench/shared/rebuild.c)
target_link_libraries(bench_rebuild PRIVATE kubelua_static)
add_executable(bench_cache EXCLUDE_FROM_ALL bench/cache/cache.c)
target_link_libraries(bench_cache PRIVATE kubelua_static)
target_include_directories(bench_cache PRIVATE ${PROJECT_SOURCE_DIR}/core)

if(NOT KUBELUA_SIM)
    return()
endif()

# What a spec on the simulator links: the core, the simulator, and their supports.
set(KUBELUA_SIM_PARTS kubelua_objects kubelua_support kubelua_sim_objects
    kubelua_sim_support)
add_subdirectory(sim/spec)

file(GLOB KUBELUA_LIVE_SOURCES CONFIGURE_DEPENDS spec/live/support/*.c)
add_library(kubelua_live_support OBJECT ${KUBELUA_LIVE_SOURCES})
target_include_directories(kubelua_live_support PUBLIC
    ${PROJECT_SOURCE_DIR}/spec/live/support)
target_link_libraries(kubelua_live_support PUBLIC kubelua_sim_support)

file(GLOB KUBELUA_LIVE_SPECS CONFIGURE_DEPENDS spec/live/*/*_spec.c)
foreach(spec ${KUBELUA_LIVE_SPECS})
    kubelua_c_spec(${spec} ${KUBELUA_SIM_PARTS} kubelua_live_support)
endforeach()

# The soak (spec/soak): a program like any user's, against the shared libraries.
file(GLOB KUBELUA_SOAK_SOURCES CONFIGURE_DEPENDS spec/soak/*.c)
add_executable(soak ${KUBELUA_SOAK_SOURCES})
target_link_libraries(soak PRIVATE kubelua_sim)
file(GLOB KUBELUA_CROWD_SOURCES CONFIGURE_DEPENDS spec/soak/crowd/*.c)
add_executable(crowd ${KUBELUA_CROWD_SOURCES} spec/soak/usage.c)
target_include_directories(crowd PRIVATE spec/soak)
target_link_libraries(crowd PRIVATE kubelua_sim)
set_target_properties(soak crowd PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec)

# The traffic of the specs of nginx (spec/nginx).
file(GLOB KUBELUA_NGINX_SOURCES CONFIGURE_DEPENDS spec/nginx/*.c)
add_executable(nginx_load ${KUBELUA_NGINX_SOURCES})
target_link_libraries(nginx_load PRIVATE Threads::Threads)
file(GLOB KUBELUA_CHAOS_SOURCES CONFIGURE_DEPENDS spec/nginx/chaos/*.c)
list(FILTER KUBELUA_CHAOS_SOURCES EXCLUDE REGEX "_spec\\.c$")
add_executable(nginx_chaos ${KUBELUA_CHAOS_SOURCES})
target_link_libraries(nginx_chaos PRIVATE PkgConfig::GNUTLS Threads::Threads)
set_target_properties(nginx_load nginx_chaos PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec)

kubelua_c_spec(spec/nginx/chaos/verdict_spec.c kubelua_objects kubelua_support)
target_sources(verdict_spec PRIVATE spec/nginx/chaos/verdict.c)

# The owner of a map in a file, for the specs of lua/resty.
add_executable(shared_writer spec/resty/shared_writer.c
    $<TARGET_OBJECTS:kubelua_objects>)
target_link_libraries(shared_writer PRIVATE kubelua_objects)
set_target_properties(shared_writer PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec)
