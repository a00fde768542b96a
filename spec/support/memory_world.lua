-- The calls that specs of failing allocations try: every function of kubelua.core and of
-- kubelua.simcore, and every method, each on a small running world. For any lua_State.
local add_metrics = require "metric_calls"
local add_requests = require "request_calls"
local core = require "kubelua.core"
local simcore = require "kubelua.simcore"

local world = { calls = {} }

local POD = '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"b"}},'
    .. '"spec":{"list":[1,2,{"x":12345678901234567890}],"text":"t\\n"}}'

local REPLAYED = '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"r","namespace":"default",'
    .. '"uid":"u","resourceVersion":"1"}}'

local LIST = '{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"t"},"items":['
    .. '{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"spec":{"x":[1,2.5]}}]}'
local STATUS = '{"kind":"Status","reason":"NotFound","message":"none","code":404}'

local sim, client, informer, poller, registration, object, queue
local running -- the key of the queue that is in progress
local touches, seen = 0, 0 -- seen: number of the last touch whose event was taken
local last = { false, false, false } -- an event that a call took and `check` has not seen yet

local function touch()
    touches = touches + 1
    assert(simcore.load(sim, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a",'
        .. '"namespace":"default"},"data":{"touch":"' .. touches .. '"}}'))
end

-- Takes one event, which must be the next in order; false if none waits.
local function take(event, before, after)
    if event == "update" then
        assert(tonumber(before.data.touch) == seen)
        assert(tonumber(after.data.touch) == seen + 1, "an event was lost")
        seen = seen + 1
    elseif event == "add" and before.name == "a" then
        seen = tonumber(before.data.touch)
    end
    return event ~= nil
end

---Changes an object and waits for the registration's event: nothing may be lost.
function world.check()
    collectgarbage()
    if last[1] then
        take(last[1], last[2], last[3])
        last[1], last[2], last[3] = false, false, false
        core.registration_done(registration)
    end
    touch()
    local deadline = core.now() + 20
    while seen < touches do
        assert(core.now() < deadline, "the change did not come")
        poller:wait(0.01)
        while poller:next() do -- luacheck: ignore
        end
        while take(core.registration_next(registration)) do
            core.registration_done(registration)
        end
    end
end

function world.open()
    sim = assert(simcore.new { bookmark = 60 })
    touch()
    client = assert(core.connect({}, simcore.transport(sim)))
    informer = assert(core.informer(client, { resource = "cm", namespace = "default" }))
    poller = assert(core.poller())
    registration = assert(core.subscribe(informer, poller, 1, {}))
    assert(core.informer_index(informer, "touch", "data.touch"))
    object = assert(core.object(POD))
    queue = assert(core.queue { stands = true })
    world.check()
end

function world.close()
    core.registration_remove(registration)
    core.informer_stop(informer)
    core.client_close(client)
    simcore.close(sim)
    sim, client, informer, poller, registration, object = nil, nil, nil, nil, nil, nil
    queue, running = nil, nil
    core.drop_report()
    collectgarbage()
    collectgarbage()
end

-- Raises an error that a call returned, so that specs handle returned and raised errors alike.
local function must(value, message, code)
    if value == nil and code then
        error(code .. ": " .. message, 0)
    end
    return value
end

local function fresh() return must(core.object(POD)) end -- the first reads look in the text

-- A failed call may leave objects behind: the collector frees them.
world.calls = {
    ["simcore.new"] = function() simcore.close(must(simcore.new { token = "t" })) end,
    ["core.connect"] = function()
        core.client_close(must(core.connect({}, must(simcore.transport(sim, "t")))))
    end,
    ["core.informer"] = function()
        core.informer_stop(must(core.informer(client, { resource = "secrets", labels = "a=b",
            drop = { "data" }, keep = { "data", "type" } })))
    end,
    ["core.poller"] = function() must(core.poller()) end,
    ["core.activity"] = function() core.activity("a text") end,
    ["core.where"] = function() core.where(print) core.where(must) end,
    ["core.subscribe"] = function()
        core.registration_remove(must(core.subscribe(informer, poller, 2,
            { name = "other", backlog = 5 })))
    end,
    ["core.object"] = function() must(core.object(POD)) end,
    ["core.encode"] = function()
        core.encode { list = core.array { 1, 2.5 }, text = "x", view = object }
    end,
    ["core.decode"] = function() must(core.decode(POD)) end,
    ["core.manifest"] = function() must(core.manifest("a: 1\n---\n" .. POD)) end,
    ["core.get"] = function() core.get(fresh(), "spec.list[*].x", "spec.text") end,
    ["core.pairs"] = function() for _ in core.pairs(fresh().spec) do end end, -- luacheck: ignore
    ["core.ipairs"] = function() for i in core.ipairs(fresh().spec.list) do must(i) end end,
    ["core.view_table"] = function() core.view_table(fresh().spec) end,
    ["core.view_json"] = function() core.view_json(object.spec) end,
    ["core.is_object"] = function() core.is_object(object) end,
    ["core.is_metadata_only"] = function() core.is_metadata_only(object) end,
    ["core.is_pruned"] = function() core.is_pruned(object) end,
    ["core.is_view"] = function() core.is_view(object) end,
    ["core.live"] = function() core.live() end,
    ["core.memory_trim"] = function() core.memory_trim() end,
    ["core.log"] = function() core.log("debug", "nobody reads it") end,
    ["core.log_record"] = function() core.log_record("debug", '"msg":"a call without memory"') end,
    ["core.set_log_level"] = function() core.set_log_level("off") end,
    ["core.flush_output"] = function() core.flush_output() end,
    ["core.open_streams"] = function() core.open_streams() end,
    ["object.get"] = function() object:get("metadata.labels.a") end,
    ["object.table"] = function() object:table() end,
    ["object.json"] = function() object:json() end,
    ["object.__index"] = function() return fresh().spec.list[3].x, fresh().spec.text end,
    ["object.__len"] = function() return #fresh().spec.list end,
    ["object.__eq"] = function() local a = fresh() return a.spec == a.spec end,
    ["object.__tostring"] = function() return tostring(object), tostring(object.spec) end,
    ["number.__tostring"] = function() return tostring(object.spec.list[3].x) end,
    ["simcore.load"] = function() must(simcore.load(sim, POD)) end,
    ["simcore.call"] = function() must(simcore.call(sim, { target = "/api/v1/configmaps" })) end,
    ["simcore.listen"] = function()
        simcore.unlisten(sim)
        must(simcore.listen(sim, { tls = true }))
    end,
    ["simcore.kubeconfig"] = function() simcore.kubeconfig(sim) end,
    ["simcore.url"] = function() simcore.url(sim) end,
    ["simcore.unlisten"] = function() simcore.unlisten(sim) end,
    ["simcore.requests"] = function() must(simcore.requests(sim)) end,
    ["simcore.requests_clear"] = function() simcore.requests_clear(sim) end,
    ["simcore.fault"] = function()
        must(simcore.fault(sim, '{"action":"cut","name":"none","after_bytes":1}'))
    end,
    ["simcore.faults"] = function() must(simcore.faults(sim)) end,
    ["simcore.heal"] = function() simcore.heal(sim) end,
    ["simcore.snapshot"] = function()
        local other = must(simcore.new {})
        must(simcore.restore(other, must(simcore.snapshot(other))))
        simcore.close(other)
    end,
    ["simcore.is_sim"] = function() simcore.is_sim(sim) end,
    ["simcore.state"] = function() simcore.state(sim) end,
    ["simcore.methods"] = function() simcore.methods() end,
    ["simcore.transport"] = function() must(simcore.transport(sim)) end,
    ["simcore.replay"] = function() must(simcore.replay(sim, REPLAYED, "put")) end,
    ["simcore.advance"] = function() must(simcore.advance(sim, 0)) end,
    ["simcore.now"] = function() return simcore.now(sim), simcore.version(sim) end,
    ["simcore.cut"] = function() simcore.cut(sim) end,
    ["simcore.refuse"] = function() simcore.refuse(sim, false) end,
    ["simcore.freeze"] = function() simcore.freeze(sim, false) end,
    ["simcore.bookmark"] = function() simcore.bookmark(sim) end,
    ["simcore.compact"] = function() simcore.compact(sim) end,
    ["simcore.control_token"] = function() simcore.control_token(sim) end,
    ["core.check_informer"] = function() must(core.check_informer { resource = "pods" }) end,
    ["core.escape"] = function() must(core.escape("a\27b")) end,
    ["core.script_line"] = function() must(core.script_line()) end,
    ["core.private_file"] = function() core.close_file(must(core.private_file("/dev/null"))) end,
    ["core.has_colours"] = function() core.has_colours() end,
    ["core.make_folder"] = function() core.make_folder("/dev/null") end, -- it exists
    ["core.file_watch"] = function() must(core.file_watch(poller)):close() end,
    ["core.list_folder"] = function() must(core.list_folder("/")) end,
    ["core.close_file"] = function() core.close_file(must(core.private_file("/dev/null"))) end,
    ["core.leave_first_process"] = function() core.leave_first_process() end,
    ["core.misuse"] = function() pcall(core.misuse, "nobody reads it") end,
    ["core.check_namespace"] = function() core.check_namespace("list", "web") end,
    ["core.own_source"] = function() core.own_source("@nowhere/") end,
    ["core.state"] = function() core.state(informer, "kubelua.informer") end,
    ["core.methods"] = function() core.methods("kubelua.client") end,
    ["client.namespace"] = function() client:namespace() end,
    ["core.client_server"] = function() core.client_server(client) end,
    ["core.client_reauthenticate"] = function()
        local remote = must(core.connect({ server = "https://127.0.0.1:1" }, nil, "eu"))
        must(core.client_reauthenticate(remote, { server = "https://127.0.0.1:1", token = "t" }))
        core.client_close(remote)
    end,
    ["core.client_pointer"] = function() must(core.client_pointer(client)) end,
    ["informer.has_synced"] = function() informer:has_synced() end,
    ["informer.__tostring"] = function() tostring(informer) end,
    ["core.informer_check"] = function() must(core.informer_check(informer)) end,
    ["core.informer_outcome"] = function() must(core.informer_outcome(informer)) end,
    ["core.informer_settled"] = function() core.informer_settled(informer) end,
    ["core.informer_wake"] = function() must(core.informer_wake(informer, poller)) end,
    ["core.informer_wake_changed"] = function() core.informer_wake_changed(informer, poller) end,
    ["informer.get"] = function()
        must(informer:get("default/a") and informer:get("default", "a"))
    end,
    ["informer.list"] = function() must(informer:list { labels = "!none" }) end,
    ["core.informer_by"] = function() must(core.informer_by(informer, "touch", "1")) end,
    ["core.informer_values"] = function() must(core.informer_values(informer, "touch")) end,
    ["core.informer_index"] = function() must(core.informer_index(informer, "kind", "kind")) end,
    ["informer.count"] = function() informer:count() end,
    ["informer.resource_version"] = function() informer:resource_version() end,
    ["core.informer_told_version"] = function() core.informer_told_version(informer) end,
    ["informer.status"] = function() informer:status() end,
    ["informer.holds_shard"] = function() assert(informer:holds_shard()) end,
    ["informer.set_shard"] = function()
        local _, _, code = informer:set_shard("0/4") -- it has no ring
        assert(code == "invalid_argument" or code == "no_memory", code)
    end,
    ["core.informer_lists_held"] = function() assert(core.informer_lists_held(informer) > 0) end,
    ["poller.open"] = function() must(must(core.poller()):open()) end,
    ["poller.fd"] = function() poller:fd() end,
    ["poller.watch"] = function()
        local other = must(core.poller())
        must(other:open())
        must(other:watch(poller:fd()))
    end,
    ["poller.arm"] = function() poller:arm(core.now()) end,
    ["poller.wait"] = function() poller:wait(0) end,
    ["poller.catch_again"] = function() poller:catch_again() end,
    ["poller.catch_hangup"] = function() poller:catch_hangup() end,
    ["poller.has_hung_up"] = function() poller:has_hung_up() end,
    ["poller.caught_second"] = function() poller:caught_second() end,
    ["poller.enter"] = function() poller:enter(core.activity("a text")) end,
    ["poller.leave"] = function() poller:leave() end,
    ["poller.next"] = function() poller:next() end,
    ["poller.wake"] = function() poller:wake() end,
    ["poller.catch"] = function() poller:catch() end,
    ["poller.caught"] = function() poller:caught() end,
    ["poller.shut_unused"] = function() must(core.poller()):shut_unused() end,
    ["poller.release"] = function() poller:release() end,
    ["poller.release_unless_caught"] = function() poller:release_unless_caught() end,
    ["core.registration_next"] = function()
        last[1], last[2], last[3] = core.registration_next(registration)
    end,
    ["core.registration_done"] = function() core.registration_done(registration) end,
    ["core.registration_again"] = function() core.registration_again(registration, poller) end,
    ["registration.__tostring"] = function() tostring(registration) end,
    ["registration.has_synced"] = function() registration:has_synced() end,
    ["core.registration_name"] = function()
        core.registration_name(registration, "add", "a handler")
    end,
    ["core.registration_marked"] = function() core.registration_marked(registration) end,
    ["core.registration_unmark"] = function() core.registration_unmark(registration) end,
    ["core.registration_doing"] = function() core.registration_doing(registration) end,
    ["registration.backlog"] = function() registration:backlog() end,
}

-- Values and clocks.
local function add_values(calls)
    calls["core.array"] = function() core.array() end
    calls["core.base64"] = function() must(core.base64("text")) end
    calls["core.unbase64"] = function() must(core.unbase64("dGV4dA==")) end
    calls["core.hash"] = function() must(core.hash(object)) end
    calls["core.digest"] = function()
        must(core.digest({ a = { 1, "x", core.null }, b = object.spec }, "y"))
    end
    calls["core.time"] = function() must(core.time("2026-01-01T00:00:00Z")) end
    calls["core.timestamp"] = function() must(core.timestamp(1)) end
    calls["core.now"] = function() core.now() end
    calls["core.unix"] = function() core.unix() end
    calls["core.is_yieldable"] = function() core.is_yieldable() end
end

-- A workqueue, and what only controllers use.
local function add_queue(calls)
    calls["core.queue"] = function() must(core.queue { delay = 1 }) end
    calls["core.list"] = function() must(core.list(LIST, "v1", "Pod")) end
    calls["core.builtin_kind"] = function() core.builtin_kind("deployments.apps") end
    calls["core.status_error"] = function() core.status_error(404, STATUS) end
    calls["core.hostname"] = function() must(core.hostname()) end
    calls["core.random"] = function() must(core.random(5)) end
    calls["core.boottime"] = function() core.boottime() end
    calls["queue.add"] = function() must(queue:add("a")) end
    calls["queue.add_related"] = function() must(queue:add_related("b", true)) end
    calls["queue.add_after"] = function() must(queue:add_after("c", 1)) end
    calls["queue.next"] = function() running = queue:next() or running end
    calls["queue.done"] = function()
        if running then
            queue:done(running, "failed")
            running = nil
        end
    end
    calls["queue.forget"] = function() queue:forget("a") end
    calls["queue.due_in"] = function() queue:due_in() end
    calls["queue.drain"] = function() must(core.queue {}):drain() end
    calls["queue.shut_down"] = function() must(core.queue {}):shut_down() end
    calls["queue.is_finished"] = function() queue:is_finished() end
    calls["queue.advance"] = function() queue:advance(1) end
    calls["queue.status"] = function() queue:status() end
    calls["core.budget_begin"] = function()
        core.budget_begin(1, 1e6)
        core.budget_own()
        core.budget_over()
        core.budget_end()
    end
    calls["core.find_pattern"] = function() must(core.find_pattern("text", "(t)(e)", 1)) end
    calls["core.find_text"] = function() must(core.find_text("text", "x", 1)) end
    calls["core.shard_part"] = function() must(core.shard_part("web/a")) end
    calls["core.shard_part_of_uid"] = function() must(core.shard_part_of_uid("c0ffee")) end
    calls["core.shard_keys"] = function()
        must(core.shard_keys(informer, "key", { [core.shard_part("default/a")] = true })[1])
    end
    calls["core.shard_owners"] = function() must(core.shard_owners { "one", "two" }[256]) end
    calls["core.matches"] = function() must(core.matches(object, "!b")) end
    calls["core.compare_versions"] = function() core.compare_versions("9", "10") end
end

add_values(world.calls)
add_queue(world.calls)
add_metrics(world.calls, must)
add_requests(world.calls, must, function() return client, poller end)

-- These calls have no function of their own: the function of another call makes them too.
world.calls["simcore.close"] = world.calls["simcore.new"]
world.calls["simcore.version"] = world.calls["simcore.now"]
world.calls["simcore.restore"] = world.calls["simcore.snapshot"]
world.calls["core.budget_end"] = world.calls["core.budget_begin"]
world.calls["core.budget_own"] = world.calls["core.budget_begin"]
world.calls["core.budget_over"] = world.calls["core.budget_begin"]
world.calls["core.client_close"] = world.calls["core.connect"]
world.calls["core.informer_stop"] = world.calls["core.informer"]
world.calls["core.registration_remove"] = world.calls["core.subscribe"]

---Runs before each call, and prepares what it needs, such as an event that waits.
function world.prepare(name)
    if name == "core.registration_next" then
        touch()
        local deadline = core.now() + 20
        while registration:backlog() == 0 do
            assert(core.now() < deadline, "the change did not come")
            poller:wait(0.001)
        end
    elseif name == "simcore.kubeconfig" and not simcore.url(sim) then
        assert(simcore.listen(sim, {}))
    end
end

return world
