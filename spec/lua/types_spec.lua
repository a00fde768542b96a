-- LuaCATS classes, by which editors complete code: they have every option and every method.
local core = require "kubelua.core"
require "kubelua"

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

-- The fields of a class, and the documented methods that follow it.
local function class_of(path, class)
    local text = read(path)
    local from = assert(text:find("---@class " .. class .. "[ \n]"), class)
    local fields = {}
    for line in text:sub(from):gmatch("([^\n]*)\n") do
        local name = line:match("^%-%-%-@field ([%w_]+)")
        if name then
            fields[name] = true
        elseif not line:find("^%-%-%-") then
            break
        end
    end
    return fields, text
end

-- The names of the table of options that follows the class in its file.
local function options_after(path, class, first, last, pattern)
    local text = read(path)
    local from = assert(text:find(first, class and text:find("---@class " .. class, 1, true), true))
    local names = {}
    for name in text:sub(from, assert(text:find(last, from, true))):gmatch(pattern) do
        names[name] = true
    end
    assert.is_truthy(next(names))
    return names
end

describe("the types for editors", function()
    for class, where in pairs {
        ["kubelua.Request"] = "lua/kubelua/requests.lua",
        ["kubelua.ConnectOptions"] = "lua/kubelua/connect_options.lua",
        ["kubelua.InformerScope"] = "lua/kubelua/informer.lua",
        ["kubelua.HandlerOptions"] = "lua/kubelua/registration.lua",
        ["kubelua.GetOptions"] = "lua/kubelua/verbs/reading.lua",
        ["kubelua.ListOptions"] = "lua/kubelua/verbs/reading.lua",
        ["kubelua.CreateOptions"] = "lua/kubelua/verbs/writing.lua",
        ["kubelua.UpdateOptions"] = "lua/kubelua/verbs/writing.lua",
        ["kubelua.ApplyOptions"] = "lua/kubelua/verbs/writing.lua",
        ["kubelua.PatchOptions"] = "lua/kubelua/verbs/writing.lua",
        ["kubelua.ScaleOptions"] = "lua/kubelua/verbs/writing.lua",
        ["kubelua.DeleteOptions"] = "lua/kubelua/verbs/deleting.lua",
        ["kubelua.DeleteAllOptions"] = "lua/kubelua/verbs/deleting.lua",
        ["kubelua.LogOptions"] = "lua/kubelua/verbs/logs.lua",
        ["kubelua.EvictOptions"] = "lua/kubelua/verbs/deleting.lua",
    } do
        it("have every option: " .. class, function()
            assert.same(options_after(where, class, "= {", "}", '([%w_]+)%]? = "'),
                (class_of(where, class)))
        end)
    end

    it("have every option that C reads: kubelua.Filter", function()
        assert.same(options_after("lua/src/informer.c", nil, "static int informer_list", "NULL}",
            '"([%w_]+)"'), (class_of("lua/kubelua/informer.lua", "kubelua.Filter")))
    end)

    -- A class belongs to the local that stands directly below it: a checker would take the fields
    -- of that table for fields of the class.
    it("keep a class of options apart from the table below it #processes", function()
        local pipe = io.popen("find lua -name '*.lua'")
        local count = 0
        for path in pipe:lines() do
            for line, below in read(path):gmatch("(%-%-%-[^\n]*\n)(local [A-Z_]+ = {)") do
                assert(line:find("@type", 1, true), path .. ": a blank line before " .. below)
            end
            count = count + 1
        end
        pipe:close()
        assert.is_true(count > 50)
    end)

    it("have one type for kubelua.sim, with and without the simulator", function()
        local text = read("sim/lua/kubelua/sim.lua")
        local returned = 0
        for name in text:gmatch("\n *return (%w+)\n") do
            if name == "missing" or name == "sims" then
                assert.matches("%-%-%-@%w+ kubelua.SimModule\n *local " .. name .. " = {", text)
                returned = returned + 1
            end
        end
        assert.equal(2, returned)
    end)

    it("have every call on values", function()
        local text = read("lua/kubelua/values.lua")
        for name in pairs(require "kubelua.values") do
            assert.is_truthy(text:find("\n%-%-%-@[^\n]*\nvalues%." .. name .. " = ")
                or text:find("\n%-%-%-@return[^\n]*\nfunction values%." .. name .. "%("), name)
        end
    end)

    it("have every field of status()", function()
        local names = options_after("lua/src/informer.c", nil, "int informer_status", "\n}\n",
            '"([%w_]+)"')
        assert.same(names, (class_of("lua/kubelua/informer/several_namespaces.lua",
            "kubelua.Status")))
    end)

    for type, where in pairs {
        ["kubelua.client"] = { "lua/kubelua/client.lua", "kubelua.Client",
            "lua/kubelua/verbs.lua", "lua/kubelua/events.lua" },
        ["kubelua.informer"] = { "lua/kubelua/informer.lua", "kubelua.Informer" },
        ["kubelua.registration"] = { "lua/kubelua/registration.lua", "kubelua.Registration" },
    } do
        it("have every method: " .. type, function()
            local fields, text = class_of(where[1], where[2])
            local class = where[2]:match("%w+$")
            for i = 3, #where do
                text = text .. read(where[i])
            end
            for name in pairs(core.methods(type)) do
                local is_typed = text:find("%-%-%-[^\n]*\nfunction " .. class .. ":" .. name
                    .. "%(")
                assert.is_truthy(fields[name] or is_typed, class .. ":" .. name)
            end
        end)
    end
end)
