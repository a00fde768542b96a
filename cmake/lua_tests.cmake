# Each Lua spec is a test, in each interpreter that has a module: lua5.4.view_spec,
# luajit.inprocess.away_spec. Under a sanitizer its library is loaded into the
# interpreter first.
if(NOT KUBELUA_TESTS OR NOT KUBELUA_SIM)
    return()
endif()

set(KUBELUA_LUA_ENV "")
set(KUBELUA_LUA_PLACES 1)
if(KUBELUA_CHECKED_BY)
    # Leaks are counted in the C specs only: the interpreters do not free all of
    # their memory. ThreadSanitizer guesses the size of a library's thread-local
    # memory from the words before that memory; a wrong guess crashes one run in
    # a hundred.
    execute_process(COMMAND ${CMAKE_C_COMPILER}
        -print-file-name=lib${KUBELUA_CHECKED_BY}.so
        OUTPUT_VARIABLE preload OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(KUBELUA_LUA_ENV LD_PRELOAD=${preload} ASAN_OPTIONS=detect_leaks=0
        TSAN_OPTIONS=intercept_tls_get_addr=0)
    set(KUBELUA_LUA_PLACES 2)
endif()

# ThreadSanitizer delays a signal until the program's next call that it
# intercepts, so a signal does not end a wait; and under it a process dies that a
# process with threads has started.
set(KUBELUA_LUA_OPTIONS "")
if(KUBELUA_CHECKED_BY STREQUAL "tsan")
    set(KUBELUA_LUA_OPTIONS --exclude-tags=signals,processes)
endif()

# kubelua_lua_test(NAME INTERPRETER FILE LABELS label... [ENV ...] [COST n]
#                  [PLACES n] [OPTIONS ...])
function(kubelua_lua_test name interpreter file)
    cmake_parse_arguments(arg "" "COST;PLACES" "LABELS;ENV;OPTIONS" ${ARGN})
    if(NOT arg_PLACES)
        set(arg_PLACES ${KUBELUA_LUA_PLACES})
    endif()
    if(arg_COST)
        set(arg_COST COST ${arg_COST})
    endif()
    kubelua_test(${interpreter}.${name} LABELS ${arg_LABELS}
        PLACES ${arg_PLACES} ${arg_COST} ENV ${KUBELUA_LUA_ENV} ${arg_ENV}
        COMMAND ${KUBELUA_RUN_${interpreter}} spec/run.lua -o TAP
        ${KUBELUA_LUA_OPTIONS} ${arg_OPTIONS} ${file})
endfunction()

# Specs that compute in Lua, and call next to nothing in C: neither a sanitizer
# nor a collector that always runs finds anything in them, but they take minutes
# there.
set(KUBELUA_ONLY_LUA "shards_ring|plan_rehearsal|^compile_"
    "|^(annotations|balance|cidr|ingress|ingresses|plan|weights)_spec")
list(JOIN KUBELUA_ONLY_LUA "" KUBELUA_ONLY_LUA)
# Specs that compare times or amounts of memory, of code that other specs run:
# they prove nothing under a sanitizer, which changes both.
set(KUBELUA_MEASURING "large_bodies|garbage")
# With KUBELUA_COLLECT=always, specs with thousands of elections, events or runs
# take minutes, too.
set(KUBELUA_SLOW_COLLECTED "leader_election|events_series|shards_ready|^pace_spec")
# Lua specs that read objects: the step `retrain` runs them with objects that
# rest packed, with a new dictionary every few objects.
set(KUBELUA_RETRAINED compress_spec handlers_spec index_spec prune_spec
    run_apply_again_spec run_read_spec values_spec view_spec view_life_spec
    writes_seen_spec)
# fork_spec is not for AddressSanitizer: the child of a fork hangs if another
# thread was in its allocator (gcc 12 does not lock that for a fork).
set(KUBELUA_UNCHECKED_asan fork_spec)

# kubelua_is_unchecked(FILE NAME RESULT): true for a spec that a sanitizer does not run.
# Of the gateway's, only those of scripts call C.
function(kubelua_is_unchecked file name result)
    set(${result} FALSE PARENT_SCOPE)
    if(name MATCHES "${KUBELUA_ONLY_LUA}|${KUBELUA_MEASURING}" OR
       name IN_LIST KUBELUA_UNCHECKED_${KUBELUA_CHECKED_BY} OR
       file MATCHES "^spec/gateway/" AND NOT name STREQUAL script_spec)
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

# Adds each file of a glob that this build can run; its label is the step.
function(kubelua_lua_specs step interpreter)
    file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${ARGN})
    foreach(file ${files})
        get_filename_component(name ${file} NAME_WE)
        kubelua_is_unchecked(${file} ${name} is_unchecked)
        if(KUBELUA_CHECKED_BY AND is_unchecked)
            continue()
        endif()
        set(labels ${step})
        if(NOT file MATCHES "^examples" AND
           NOT name MATCHES "${KUBELUA_ONLY_LUA}|${KUBELUA_MEASURING}" AND
           NOT name MATCHES "${KUBELUA_SLOW_COLLECTED}")
            list(APPEND labels collector)
        endif()
        if(interpreter STREQUAL "luajit" AND name IN_LIST KUBELUA_RETRAINED)
            list(APPEND labels retrain)
        endif()
        if(file MATCHES "^spec/(resty|gateway)/")
            set(name ${CMAKE_MATCH_1}.${name})
        endif()
        kubelua_lua_test(${name} ${interpreter} ${file} LABELS ${labels})
    endforeach()
endfunction()

# Each file of spec/conformance against one kind of simulated API server.
function(kubelua_conformance step interpreter backend)
    cmake_parse_arguments(arg "" "" "LABELS" ${ARGN})
    file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
        spec/conformance/*_spec.lua)
    foreach(file ${files})
        get_filename_component(name ${file} NAME_WE)
        if(name MATCHES "^real_") # for a real API server only
            continue()
        endif()
        kubelua_lua_test(${backend}.${name} ${interpreter} ${file}
            LABELS ${step} ${arg_LABELS} ENV KUBELUA_BACKEND=${backend}
            PLACES 1 COST 50) # it waits for most of its time
    endforeach()
endfunction()

# The same against a real API server. A process starts one cluster, which ends
# with it; so few processes run many files. Each file runs in one interpreter: in
# both it does so in-process and over TLS. Leaders with wrong clocks run alone:
# on a busy machine the server carries out a write seconds after it was sent.
function(kubelua_real_conformance one other)
    set(topics spec/conformance)
    set(common LABELS real ENV KUBELUA_BACKEND=real)
    kubelua_lua_test(real.away_spec ${one} ${topics}/away_spec.lua
        ${common} PLACES 2 COST 200 OPTIONS ${topics}/waiting_spec.lua)
    kubelua_lua_test(real.real_spec ${one} ${topics}/real_spec.lua
        ${common} PLACES 2 COST 200 OPTIONS ${topics}/real_admission_spec.lua)
    kubelua_lua_test(real.leader_clock_spec ${one}
        ${topics}/leader_clock_spec.lua ${common} PLACES 64)
    kubelua_lua_test(real.conformance_spec ${other} ${topics} ${common}
        PLACES 2 COST 300 OPTIONS --exclude-pattern=^real_
        --exclude-pattern=away_spec --exclude-pattern=waiting_spec
        --exclude-pattern=leader_clock_spec)
endfunction()

# Under ThreadSanitizer each group has a process of its own: in one process,
# allocations of the core would fail while those of Lua are tried, and the
# sanitizer would keep 20 GB for simulators that were freed.
function(kubelua_exhaust_specs interpreter)
    set(file spec/exhaust/memory_spec.lua)
    if(NOT KUBELUA_CHECKED_BY STREQUAL "tsan")
        kubelua_lua_test(memory_spec ${interpreter} ${file} LABELS memory
            COST 20)
        return()
    endif()
    kubelua_lua_test(memory_core_spec ${interpreter} ${file} LABELS memory
        OPTIONS "--filter=memory of the core")
    kubelua_lua_test(memory_lua_spec ${interpreter} ${file} LABELS memory
        OPTIONS "--filter=without memory of Lua")
    kubelua_lua_test(memory_rest_spec ${interpreter} ${file} LABELS memory
        OPTIONS "--filter=whichever it is" "--filter=loop without memory")
endfunction()

function(kubelua_specs_of interpreter)
    find_program(KUBELUA_RUN_${interpreter} ${interpreter})
    mark_as_advanced(KUBELUA_RUN_${interpreter})
    if(NOT KUBELUA_RUN_${interpreter})
        message(STATUS "No ${interpreter}: its specs are left out")
        return()
    endif()
    kubelua_lua_specs(lua ${interpreter} spec/lua/*_spec.lua)
    kubelua_lua_specs(lua ${interpreter} spec/gateway/*_spec.lua)
    kubelua_lua_specs(sim ${interpreter} sim/spec/lua/*_spec.lua)
    if(NOT KUBELUA_CHECKED_BY)
        kubelua_lua_specs(lua ${interpreter} examples/*_spec.lua)
    endif()
    kubelua_exhaust_specs(${interpreter})
    if(interpreter STREQUAL "lua5.4")
        kubelua_conformance(conformance lua5.4 inprocess LABELS retrain)
    else()
        kubelua_conformance(conformance ${interpreter} inprocess)
    endif()
    # Under a sanitizer one interpreter is enough: the code for TLS is in C.
    if(interpreter STREQUAL "lua5.4" OR NOT KUBELUA_CHECKED_BY)
        kubelua_conformance(tls ${interpreter} tls)
    endif()
    if(NOT KUBELUA_CHECKED_BY)
        kubelua_lua_test(reload_soak ${interpreter}
            spec/lua/reload_load_spec.lua LABELS soak COST 60
            ENV KUBELUA_RELOADS=1000 KUBELUA_LOG=error)
    endif()
endfunction()

get_property(abis GLOBAL PROPERTY KUBELUA_LUA_ABIS)
if("5.4" IN_LIST abis)
    kubelua_specs_of(lua5.4)
endif()
# ThreadSanitizer checks threads, which are all in C: one interpreter is enough.
if("5.1" IN_LIST abis AND NOT KUBELUA_CHECKED_BY STREQUAL "tsan")
    kubelua_specs_of(luajit)
    if(NOT KUBELUA_CHECKED_BY) # FFI exists only in LuaJIT
        kubelua_lua_specs(lua luajit spec/resty/*_spec.lua)
    endif()
endif()
set(interpreters "")
foreach(interpreter lua5.4 luajit)
    if(KUBELUA_RUN_${interpreter})
        list(APPEND interpreters ${interpreter})
    endif()
endforeach()
if(interpreters AND NOT KUBELUA_CHECKED_BY)
    list(GET interpreters 0 one)
    list(GET interpreters -1 other)
    kubelua_real_conformance(${one} ${other})
endif()
