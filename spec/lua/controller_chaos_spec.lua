-- No key is lost: whatever reconcile returns, and whatever happens to the connection, in the end
-- the last state of each object was reconciled, and each deletion was seen.
local eventually = require "eventually"
local kubelua = require "kubelua"
local world = require "controller_world"

local KEYS, STEPS = 12, 150

-- A controller of ConfigMaps that remembers what it has handled; `is_calm`: it always succeeds.
local function start(w, random)
    local self = { handled = {}, is_calm = false, runs = 0, inside = {} }
    local function result(key, state)
        self.runs = self.runs + 1
        assert(not self.inside[key], "a key runs twice at once")
        self.inside[key] = true
        local choice = self.is_calm and 1 or random(8)
        if choice == 2 then
            pcall(kubelua.sleep, random(3))
        end
        self.inside[key] = nil
        if choice == 3 then
            error("oops")
        elseif choice == 4 then
            return nil, "not now", "unavailable", random(2) == 1 and random(5) or nil
        elseif choice == 5 then
            return {}
        elseif choice == 6 then
            return 0
        end
        self.handled[key] = state
        if choice == 7 then
            return random(10)
        end
    end
    self.controller = w:controller { workers = 3, timeout = 2,
        reconcile = function(object) return result(object.key, object.resource_version) end,
        gone = function(key) return result(key, "gone") end,
        watches = { { "secrets", map = function(object)
            assert(self.is_calm or random(4) > 1, "no idea")
            return "web/" .. object.name
        end } },
    }
    return self
end

local function act(w, random, step)
    local name = "a" .. random(KEYS)
    local choice = random(12)
    if choice <= 5 then
        w:apply(name, tostring(step))
    elseif choice <= 7 then
        w.cluster:delete("configmaps", "web/" .. name)
    elseif choice == 8 then
        assert(w.cluster:apply { apiVersion = "v1", kind = "Secret",
            metadata = { name = name, namespace = "web" }, stringData = { v = tostring(step) } })
    elseif choice == 9 then
        w.cluster:cut()
    else
        w.cluster:advance(random(20) / 10)
    end
    kubelua.step(0)
end

-- The state that each key must reach.
local function wanted(w, seen)
    local states = {}
    for key in pairs(seen) do
        states[key] = "gone"
    end
    for _, object in ipairs(assert(w.cluster:list("configmaps"))) do
        states[object.key] = object.resource_version
    end
    return states
end

local function is_done(w, subject)
    for key, state in pairs(wanted(w, subject.handled)) do
        if subject.handled[key] ~= state then
            return false, key .. " is " .. state .. ", and not " .. tostring(subject.handled[key])
        end
    end
    return true
end

local function await(w, subject)
    local why
    eventually(function()
        w.cluster:advance(1)
        local done
        done, why = is_done(w, subject)
        return done and next(subject.controller:status().failures) == nil
    end, function() return tostring(why) end, 30)
end

describe("under faults of all kinds, no key is lost", function()
    for seed = 1, 5 do
        it("with seed " .. seed, function()
            local number = seed
            local function random(most) -- the same in either Lua
                number = (number * 16807) % 2147483647
                return number % most + 1
            end
            local w = world.new()
            local subject = start(w, random)
            for step = 1, STEPS do
                act(w, random, step)
            end
            subject.is_calm = true
            await(w, subject)
            w.cluster:advance(20) -- no timer is left that would run a key after a lost event
            for step = 1, STEPS do
                act(w, random, step)
            end
            await(w, subject)
            -- Nothing runs without a reason: at most the timers that were asked for, once each.
            w.cluster:advance(1000)
            local before = subject.runs
            w.cluster:advance(1000)
            assert.equal(before, subject.runs)
            assert.same({}, subject.controller:status().running)
            w:close()
        end)
    end
end)
