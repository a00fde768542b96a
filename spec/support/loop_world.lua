-- A running script, for specs of failing allocations: a handler that counts its events, tasks that
-- sleep, and one round of the loop, in which allocations fail.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local tasks = require "kubelua.tasks"

local world = {}

local sim, client, informer, registration
local touches, seen, slept = 0, 0, 0

local function touch()
    touches = touches + 1
    assert(sim:load('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a",'
        .. '"namespace":"default"},"data":{"touch":"' .. touches .. '"}}'))
end

local function await(condition, what)
    local deadline = core.now() + 20
    while not condition() do
        assert(core.now() < deadline, what)
        kubelua.step(0.01)
    end
end

---Makes an event to handle, and a task that is about to wake.
function world.prepare()
    local deadline = core.now() + 20
    touch()
    while registration:backlog() == 0 do
        assert(core.now() < deadline, "no event")
        tasks.poller:wait(0.002)
    end
end

---Runs one round, in which an allocation fails.
function world.round()
    kubelua.step(0)
end

---Asserts that all events were handled, once and in order, and that the task goes on.
function world.check()
    local before = slept
    touch()
    await(function() return seen == touches end, "an event was lost, or its handler")
    await(function() return slept > before end, "a task that sleeps did not wake")
end

function world.open()
    sim = assert(require("kubelua.sim").new())
    touch()
    client = assert(kubelua.connect { sim = sim })
    informer = assert(client:informer { "cm", namespace = "default" })
    registration = assert(informer:on {
        coalesce = false,
        add = function(object)
            if object.name == "a" then
                seen = tonumber(object.data.touch)
            end
        end,
        update = function(_, object)
            -- Counts before anything is allocated, so that an event counts even if this raises.
            seen = seen + 1
            assert(tonumber(object.data.touch) == seen)
        end,
    })
    kubelua.spawn(function()
        while true do
            if pcall(kubelua.sleep, 0.001) then
                slept = slept + 1
            else -- no memory for a timer: the task goes on in the next round
                coroutine.yield()
            end
        end
    end)
    world.check()
end

return world
