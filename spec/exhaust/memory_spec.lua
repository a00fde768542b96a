-- Makes every call of the binding while each of its allocations fails, those of the core and those
-- of Lua: the call returns an error, leaks nothing, and an informer that runs meanwhile loses no
-- event.
local core = require "kubelua.core"
local failing = require "failing"
local world = require "memory_world"

-- True for an error of memory, with Lua's own message, kubelua's message or kubelua's code.
local function is_of_memory(message)
    return tostring(message):find("memory", 1, true) ~= nil
end

local function sorted_names()
    local names = {}
    for name in pairs(world.calls) do
        names[#names + 1] = name
    end
    table.sort(names)
    return names
end

-- The functions of the two C modules, and the methods of its types, that the world does not call.
local function left_out()
    local names = {}
    local function look_at(what, functions)
        for name, value in pairs(functions) do
            local is_c = type(value) == "function" and debug.getinfo(value, "S").what == "C"
            if is_c and not world.calls[what .. "." .. name] then
                names[#names + 1] = what .. "." .. name
            end
        end
    end
    look_at("core", core)
    look_at("simcore", require "kubelua.simcore")
    for name, type_of in pairs(debug.getregistry()) do
        local what = type(name) == "string" and name:match("^kubelua%.(%w+)$")
        if what and type(type_of.__index) == "table" then
            look_at(what, type_of.__index)
        end
    end
    return names
end

-- The path from which spec/run.lua loads the module.
local function path_of_core()
    local abi = rawget(_G, "jit") and "5.1" or _VERSION:match("%d%.%d")
    return (os.getenv("KUBELUA_BUILD") or "build") .. "/lua/" .. abi .. "/kubelua/core.so"
end

-- What is alive. LuaJIT's compiled traces keep the objects that are constants in them, and which
-- loops are compiled depends on how often they had to wait.
local function objects()
    if rawget(_G, "jit") then
        require("jit").flush()
    end
    collectgarbage()
    collectgarbage()
    return core.live()
end

-- Makes a call with its nth allocation of the core failing; true if an allocation failed.
local function try_core(name, nth, forever)
    world.prepare(name)
    failing.follow(nth, forever)
    local ok, message = pcall(world.calls[name])
    local failed = failing.pause() > 0
    assert.is_true(ok or is_of_memory(message), name .. ", " .. nth .. ": " .. tostring(message))
    if failed then
        world.check()
    end
    return failed
end

local function try_state(state, name, nth)
    assert(not state:call("prepare_" .. name, 0))
    local message, is_memory, failures = state:call(name, nth, true)
    assert.is_true(message == nil or is_memory or is_of_memory(message), name .. ", " .. nth
        .. ": " .. tostring(message))
    local problem = state:call("check", 0)
    assert.is_nil(problem, name .. ", " .. nth)
    return failures > 0
end

-- Sets globals of the state: the world's functions by their names. LuaJIT does not compile: a trace
-- that has no memory when it exits ends the process.
local IN_STATE = [[
    if jit then jit.off() end
    package.path, package.cpath = %q, %q
    local world = require "memory_world"
    world.open()
    for name, call in pairs(world.calls) do
        _G[name] = call
        _G["prepare_" .. name] = function()
            world.prepare(name)
        end
    end
    check, close = world.check, world.close
]]

local LOOP_IN_STATE = [[
    if jit then jit.off() end
    package.path, package.cpath = %q, %q
    local world = require "loop_world"
    world.open()
    prepare, round, check = world.prepare, world.round, world.check
]]

describe("a round of the loop without memory", function()
    it("loses no event, no handler and no task", function()
        local state = failing.state(LOOP_IN_STATE:format(package.path, package.cpath))
        if not state then
            pending("this Lua takes no allocator")
            return
        end
        local nth, failures = 0, 1
        while failures > 0 do
            nth = nth + 1
            assert.is_nil((state:call("prepare", 0)))
            local message, is_memory
            message, is_memory, failures = state:call("round", nth, true)
            assert.is_true(message == nil or is_memory or is_of_memory(message), message)
            assert.is_nil((state:call("check", 0)), nth)
        end
        assert.is_true(nth > 3)
        state:close()
    end)
end)

describe("a call of the binding without memory", function()
    it("is tried, whichever it is", function()
        assert.same({}, left_out())
    end)

    it("of the core's fails cleanly and loses nothing", function()
        assert.equal(0, objects().objects)
        failing.install(path_of_core())
        world.open()
        for _, name in ipairs(sorted_names()) do
            local nth = 1
            while try_core(name, nth, false) do
                try_core(name, nth, true)
                nth = nth + (nth < 100 and 1 or 17)
            end
        end
        world.close()
        assert.equal(0, objects().objects)
        assert.equal(0, failing.live())
    end)

    it("of Lua's fails cleanly and loses nothing", function()
        local state = failing.state(IN_STATE:format(package.path, package.cpath))
        if not state then
            pending("this Lua takes no allocator")
            return
        end
        for _, name in ipairs(sorted_names()) do
            local nth = 1
            while try_state(state, name, nth) do
                nth = nth + 1
            end
        end
        assert.is_nil((state:call("close", 0)))
        assert.equal(0, state:close())
        assert.equal(0, objects().objects)
        assert.equal(0, objects().threads)
    end)
end)
