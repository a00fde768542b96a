# Tests that run programs as a person would: the command, examples, an installed
# prefix, nginx and other hosts, other clients of the simulator, the model
# checker, the soak, Memcheck. Only in builds without a sanitizer.
if(NOT KUBELUA_TESTS OR NOT KUBELUA_SIM OR KUBELUA_CHECKED_BY)
    return()
endif()

# A spec that was renamed, and has its former name in a list.
foreach(name ${KUBELUA_PATIENT} ${KUBELUA_RETRAINED_CHECKED})
    if(NOT TARGET ${name})
        message(FATAL_ERROR "cmake/c_tests.cmake: there is no spec ${name}")
    endif()
endforeach()
foreach(name ${KUBELUA_RETRAINED})
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/spec/lua/${name}.lua)
        message(FATAL_ERROR "cmake/lua_tests.cmake: there is no spec ${name}")
    endif()
endforeach()

# --- examples ---

function(kubelua_example name interpreter)
    kubelua_test(${interpreter}.example.${name} LABELS examples
        ENV KUBELUA_INTERPRETER=${interpreter}
        COMMAND sh spec/examples/example.sh ${ARGN})
endfunction()

foreach(interpreter lua5.4 luajit)
    kubelua_example(watch ${interpreter}
        shows "add.*Pod web/shop-1.*Running" examples/watch.lua)
    kubelua_example(index-query ${interpreter}
        shows "2 of 3 pods are ready" examples/index-query.lua)
    kubelua_example(many-handlers ${interpreter}
        shows "all handlers have synced" examples/many-handlers.lua)
    kubelua_example(render-config ${interpreter}
        renders "server 10.0.2.7:8080\;" examples/render-config.lua
        ${PROJECT_BINARY_DIR}/${interpreter}-upstreams.conf)
    kubelua_example(render-config-print ${interpreter}
        shows "upstream web-shop {" examples/render-config.lua)
    # lua-luv has modules for PUC Lua and for LuaJIT's ABI.
    kubelua_example(embed-in-luv ${interpreter}
        shows "luv is done" examples/embed-in-luv.lua)
    kubelua_example(label-pods ${interpreter}
        sends "PATCH .*/pods/shop-1.*HTTP 200" label-pods cluster.yaml)
    kubelua_example(pod-summary ${interpreter}
        sends "PATCH .*/default/configmaps/pods.*HTTP 201" pod-summary
        cluster.yaml)
    kubelua_example(foo-controller ${interpreter}
        sends "PATCH .*/deployments/example-foo.*HTTP 201" foo-controller
        foos.yaml)
    kubelua_example(mirror-configmaps ${interpreter}
        sends "PATCH .*/shop/configmaps/ca.*HTTP 201" mirror-configmaps
        mirror.yaml)
    kubelua_example(ordered-set ${interpreter}
        sends "POST .*/default/pods.*HTTP 201" ordered-set ordered-sets.yaml)
    kubelua_example(rollout ${interpreter} 
        alone "3 pods of shop:2" examples/rollout.lua)
    kubelua_example(fleet ${interpreter}
        alone "the story of the fleet is over" examples/fleet/story.lua)
    kubelua_example(demo ${interpreter} 
        alone "delete.*Pod default/shop-1" examples/demo/story.lua)
endforeach()
kubelua_example(nginx luajit nginx)
kubelua_example(gateway luajit gateway)
kubelua_example(gateway-cluster luajit gateway_cluster)
kubelua_test(luajit.example.gateway-real LABELS gateway
    ENV KUBELUA_INTERPRETER=luajit
    COMMAND sh spec/examples/example.sh gateway --real)
kubelua_test(example.c-controller LABELS examples
    COMMAND sh spec/examples/example.sh c-controller)

# --- the command, an installation, hosts ---

kubelua_test(command LABELS command COMMAND sh spec/command/command.sh)
kubelua_test(deploy LABELS command COMMAND sh spec/command/deploy.sh)
kubelua_test(gateway.check LABELS command COMMAND sh spec/command/gateway.sh)
if(KUBELUA_PROGRAM)
    kubelua_test(program LABELS command COMMAND sh spec/program/program.sh
        ${PROJECT_BINARY_DIR}/program/kubelua
        ${PROJECT_BINARY_DIR}/program/kubelua-lua5.4)
    kubelua_test(page.deploy LABELS command COMMAND bash spec/command/page.sh
        docs/DEPLOY.md ${PROJECT_BINARY_DIR}/program/kubelua)
    foreach(program kubelua kubelua-lua5.4)
        kubelua_test(program.${program}_spec LABELS command COST 100
            COMMAND sh spec/program/program.sh --specs
            ${PROJECT_BINARY_DIR}/program/${program})
    endforeach()
endif()
kubelua_test(install LABELS install COMMAND sh spec/install/install.sh)
kubelua_test(hosts_spec LABELS hosts
    COMMAND sh spec/hosts/run.sh -o TAP)
file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
    spec/nginx/*_spec.lua)
foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    kubelua_test(nginx.${name} LABELS nginx
        COMMAND sh spec/nginx/run.sh luajit -o TAP ${file})
endforeach()

# --- other clients against the simulator, and the simulator beside a real one ---

foreach(client go python foo examples)
    kubelua_test(clients.${client}_spec LABELS clients COST 100
        COMMAND sh sim/spec/clients/clients.sh ${client})
endforeach()
kubelua_test(clients.values_spec LABELS clients COST 100
    COMMAND sh spec/values/values.sh)
kubelua_test(clients.metrics_spec LABELS clients COST 50
    COMMAND sh spec/metrics/metrics.sh)
kubelua_test(real.truth_spec LABELS real COST 250
    COMMAND lua5.4 sim/spec/truth/run.lua)
kubelua_test(real.kubectl_spec LABELS real COST 250
    COMMAND sh sim/spec/kubectl/kubectl.sh)
kubelua_test(real.deploy LABELS real COST 50
    COMMAND sh spec/command/deploy.sh real)
foreach(client foo examples)
    kubelua_test(real.clients.${client}_spec LABELS real COST 250
        ENV KUBELUA_BACKEND=real
        COMMAND sh sim/spec/clients/clients.sh ${client})
endforeach()

# --- Gateway API's conformance suite ---

kubelua_test(gateway.suite_spec LABELS gateway PLACES 4 COST 250
    COMMAND sh spec/gateway-api/gateway.sh)

# --- nginx with a real API server: the gateway in chaos, and webhooks ---

kubelua_test(gateway.chaos_spec LABELS gateway PLACES 4 COST 200
    ENV KUBELUA_CHAOS_CLUSTER=real
    COMMAND sh spec/nginx/run.sh luajit -o TAP spec/nginx/chaos_spec.lua)

kubelua_test(gateway.admission_spec LABELS gateway COST 100
    COMMAND sh spec/nginx/run.sh luajit -o TAP spec/nginx/real/admission_spec.lua)

# --- annotations, as an editor checks them ---

function(kubelua_types_test name folder)
    kubelua_test(types.${name} LABELS types
        COMMAND ${PROJECT_BINARY_DIR}/emmylua/bin/emmylua_check --severity warn
        --warnings-as-errors -c spec/types/${name}.lua ${folder})
endfunction()

kubelua_types_test(examples examples)
kubelua_types_test(library lua)
kubelua_types_test(simulator sim/lua)

# --- the model checker and its mutations: each run is the same ---

set(model ${PROJECT_BINARY_DIR}/spec/model)
kubelua_test(model.queue LABELS model PLACES 4
    COMMAND ${model}_queue --histories 20000)
kubelua_test(model.load_rows LABELS model
    COMMAND ${PROJECT_BINARY_DIR}/spec/load_rows_spec)
kubelua_test(model.count_rows LABELS model
    COMMAND ${PROJECT_BINARY_DIR}/spec/count_rows_spec)
kubelua_test(model.carrier_turns LABELS model
    COMMAND ${PROJECT_BINARY_DIR}/spec/carrier_turns_spec)
kubelua_test(model.carrier_turns.bites LABELS model PLACES 4
    ENV PROGRAM=carrier_turns_spec
    COMMAND spec/model/mutate ${PROJECT_BINARY_DIR} all)
kubelua_test(model.request_turns LABELS model PLACES 4
    COMMAND ${PROJECT_BINARY_DIR}/spec/request_turns_spec)
kubelua_test(model.request_turns.bites LABELS model PLACES 4
    ENV PROGRAM=request_turns_spec
    COMMAND spec/model/mutate ${PROJECT_BINARY_DIR} all)
kubelua_test(model.queue.bites LABELS model PLACES 4 COST 20
    ENV PROGRAM=model_queue
    COMMAND spec/model/mutate ${PROJECT_BINARY_DIR} all)
kubelua_test(model.cases LABELS model PLACES 4 COST 10
    COMMAND ${model} --case spec/model/cases.txt)
kubelua_test(model.histories LABELS model PLACES 4 COST 30
    COMMAND ${model} --seed 1 --histories 16000)
foreach(half 0 1)
    kubelua_test(model.bites.${half} LABELS model PLACES 4 COST 40
        COMMAND spec/model/mutate ${PROJECT_BINARY_DIR} ${half}/2)
endforeach()

# --- the soak: it mostly waits. The last two check that a leak would be found ---

foreach(what c in-process lua5.4 luajit)
    kubelua_test(soak.${what} LABELS soak COST 120
        COMMAND spec/soak/run 50000 ${what})
endforeach()
kubelua_test(soak.torn-reads LABELS soak COST 120
    ENV KUBELUA_TORN_READS=5000000 COMMAND torn_spec)
kubelua_test(soak.crowd LABELS soak COST 120 COMMAND spec/soak/run 3600 crowd 100)
kubelua_test(soak.finds-a-leak LABELS soak COST 120 COMMAND spec/soak/check c)
kubelua_test(soak.finds-who-stays LABELS soak COST 120 COMMAND spec/soak/check crowd)

# --- Memcheck, on some of the C specs and a short run of Lua ---

# The whole suite was run once by hand: spec/valgrind/README.md has the results.
# Specs that start a program which must fail are left out: under Memcheck
# posix_spawn does not report an error of exec.
set(memcheck ${PROJECT_SOURCE_DIR}/spec/valgrind/memcheck)
foreach(name event_queue delta_fifo indexer handler processor informer_sim
        informer_close factory list_watch client discovery_hang discovery_rest
        curl_transport reflector_watch doc object kubeconfig)
    kubelua_test(valgrind.${name}_spec LABELS valgrind PLACES 4
        COMMAND ${memcheck} $<TARGET_FILE:${name}_spec>)
endforeach()
kubelua_test(valgrind.lua_spec LABELS valgrind PLACES 4 COST 20
    COMMAND ${memcheck} lua5.4 spec/run.lua -o TAP spec/lua/close_spec.lua
    spec/lua/leak_spec.lua spec/lua/view_spec.lua)
