-- kubelua run --reload: a script is replaced over the same caches, again and again, while the
-- cluster changes. Each handler is told each event once, and nothing grows.
-- KUBELUA_RELOADS: how often (60).
local core = require "kubelua.core"
local kubelua = require "kubelua"
local world = require "reload_world"

local RELOADS = tonumber(os.getenv("KUBELUA_RELOADS")) or 60
local await, put = world.await, world.put

local witness

before_each(function()
    witness = world.begin()
end)

after_each(function()
    world.finish()
end)

-- Each generation has a handler. `known` is what it was told: versions by key.
local COUNTS = [[
local kubelua = require "kubelua"
local witness = require "witness"
local client = assert(kubelua.connect())
local informer = assert(client:informer { "configmaps", namespace = "default" })
witness.begin(informer)
kubelua.every(0.002, witness.ticker())
kubelua.spawn(function(note)
    while true do
        note()
        kubelua.sleep(0.001)
    end
end, witness.ticker())
if witness.generation % 3 == 0 then
    kubelua.sleep(0.001) -- others go on meanwhile, and the old handlers do not
end
informer:on(witness.handler())
kubelua.controller { "configmaps", name = "counts", namespace = "default", workers = 3,
    reconcile = witness.reconcile(), gone = witness.gone() }
]]

local function make_witness()
    witness.known, witness.running, witness.reconciled, witness.went = {}, {}, {}, {}
    witness.events, witness.runs, witness.lists = 0, 0, 0

    local function check(holds, what, ...)
        if not holds then
            witness.fault = witness.fault or string.format(what, ...)
        end
    end

    function witness.begin(informer)
        witness.generation = witness.generation + 1
        witness.informer = informer
        witness.is_synced = false
        witness.lists = math.max(witness.lists, informer:status().lists)
    end

    function witness.ticker()
        local own = witness.generation
        return function()
            check(own == witness.generation, "a task of %d runs in %d", own, witness.generation)
        end
    end

    -- What the handler before was told at its end is what this one is told at its start.
    local function compare(own, known, before)
        for key, version in pairs(before or {}) do
            check(known[key] == version, "%d: %s is %s, and was %s before", own, key,
                tostring(known[key]), version)
        end
        for key in pairs(known) do
            check(not before or before[key], "%d: %s was never told before", own, key)
        end
    end

    function witness.handler()
        local own, known, initial = witness.generation, {}, {}
        local before = witness.known[own - 1]
        witness.known[own], witness.known[own - 2] = known, nil
        return {
            add = function(object, is_initial)
                witness.events = witness.events + 1
                check(not known[object.key], "%d: %s added twice", own, object.key)
                known[object.key] = object.resource_version
                if is_initial then
                    initial[object.key] = object.resource_version
                end
            end,
            update = function(old, new)
                witness.events = witness.events + 1
                check(known[new.key] == old.resource_version, "%d: update of %s from %s to %s, "
                    .. "known %s", own, new.key, old.resource_version, new.resource_version,
                    tostring(known[new.key]))
                known[new.key] = new.resource_version
            end,
            delete = function(object)
                witness.events = witness.events + 1
                check(known[object.key] ~= nil, "%d: %s deleted twice", own, object.key)
                known[object.key] = nil
            end,
            synced = function()
                compare(own, initial, before)
                witness.is_synced = true
            end,
        }
    end

    function witness.reconcile()
        local own = witness.generation
        return function(object)
            check(not witness.running[object.key], "%s runs twice", object.key)
            check(own == witness.generation, "a run of %d in %d", own, witness.generation)
            witness.running[object.key] = true
            witness.runs = witness.runs + 1
            kubelua.sleep(0.002)
            check(own == witness.generation, "a run of %d ends in %d", own, witness.generation)
            witness.running[object.key] = nil
            witness.reconciled[object.key] = object.resource_version
        end
    end

    function witness.gone()
        return function(key)
            witness.reconciled[key] = nil
            witness.went[key] = true
        end
    end
end

-- Changes the cluster until it is told to end.
local function change_all_the_time(state)
    local exists, step = {}, 0
    while not state.ends do
        step = step + 1
        local name = "c" .. (step * 7) % 40
        if not exists[name] then
            put(name, step, true)
            exists[name] = true
        elseif step % 5 == 0 then
            world.delete(name)
            exists[name] = nil
        else
            put(name, step)
        end
        if step % 4 == 0 then
            kubelua.sleep(0)
        end
    end
    state.step, state.exists = step, exists
end

local function measure()
    if rawget(_G, "jit") then
        require("jit").flush()
    end
    for _ = 1, 3 do
        collectgarbage()
    end
    local live = core.live()
    return { heap = collectgarbage("count"), registrations = live.registrations,
        informers = live.informers, clients = live.clients }
end

-- How many requests have read: lists, and watches that were opened.
local function count_reads()
    local count = 0
    for value in kubelua.metric.text():gmatch('rest_client_requests_total{[^}]*method="GET"[^}]*} '
        .. "(%d+)") do
        count = count + value
    end
    return count
end

local function versions_now()
    local now = {}
    for _, object in ipairs(witness.informer:list()) do
        now[object.key] = object.resource_version
    end
    return now
end

describe("a script that is reloaded under load", function()
    it("is told each event once, lists nothing again, does not grow #signals", function()
        make_witness()
        local early, late, state = nil, nil, {}
        local ok = world.run(COUNTS, function()
            local changes = kubelua.spawn(change_all_the_time, state)
            await(function() return witness.is_synced and witness.runs > 0 end, "the first lists")
            local reads = count_reads()
            for i = 1, RELOADS do
                local generation = witness.generation
                world.hang_up()
                await(function() return witness.generation > generation and witness.is_synced end,
                    "reload " .. i)
                assert.is_nil(witness.fault)
                if i == math.floor(RELOADS / 10) then
                    early = measure()
                end
            end
            late = measure()
            assert.is_true(reads > 0)
            assert.equal(reads, count_reads())
            state.ends = true
            changes:wait()
            await(function()
                for key, version in pairs(versions_now()) do
                    if witness.reconciled[key] ~= version then
                        return false
                    end
                end
                return true
            end, "every object is reconciled in its last version")
            await(function()
                for key in pairs(witness.reconciled) do
                    if not versions_now()[key] then
                        return false
                    end
                end
                return true
            end, "gone is called for every object that was deleted")
            await(function()
                return core.hash(versions_now()) == core.hash(witness.known[witness.generation])
            end, "the handler knows what the cache has")
        end)
        assert.is_true(ok)
        assert.is_nil(witness.fault)
        assert.equal(1, witness.lists)
        assert.equal(RELOADS + 1, witness.generation)
        assert.is_true(witness.events > RELOADS * 10 and witness.runs > RELOADS)
        for _, kind in ipairs { "registrations", "informers", "clients" } do
            assert.equal(early[kind], late[kind])
        end
        assert.is_true(late.heap < early.heap * 1.1 + 100, string.format(
            "%.0f KB after a tenth, %.0f KB at the end", early.heap, late.heap))
        if os.getenv("KUBELUA_RELOADS") then
            io.stderr:write(string.format("# %d reloads, %d changes, %d events, %d runs; "
                .. "%.0f KB after a tenth, %.0f KB at the end\n", RELOADS, state.step,
                witness.events, witness.runs, early.heap, late.heap))
        end
    end)
end)
