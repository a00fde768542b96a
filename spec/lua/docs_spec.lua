-- docs/LUA.md is complete: a call, an option or a code that it does not name is not documented.
local kubelua = require "kubelua"
local Client = require "kubelua.client"
local Informer = require "kubelua.informer"
local Registration = require "kubelua.registration"

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

local page = read("docs/LUA.md")

local function expect(what)
    assert.is_truthy(page:find(what, 1, true), "docs/LUA.md does not have " .. what)
end

-- What is for the other files of the module alone.
local INTERNAL = { new = true, connect = true, connected = true, defaults = true, forget = true,
    retire = true }

local function expect_methods(class, name)
    for method, value in pairs(class) do
        if type(value) == "function" and not method:match("^__") and not INTERNAL[method] then
            expect(name .. ":" .. method .. "(")
        end
    end
end

-- The quoted names between two marks of a source.
local function names_between(path, first, last, pattern)
    local text = read(path)
    local from = assert(text:find(first, 1, true), path .. ": " .. first)
    local till = assert(text:find(last, from, true))
    local names = {}
    for name in text:sub(from, till):gmatch(pattern) do
        names[#names + 1] = name
    end
    assert.is_true(#names > 0)
    return names
end

describe("docs/LUA.md", function()
    it("has every function and field of the module", function()
        for name, value in pairs(kubelua) do
            expect("kubelua." .. name .. (type(value) == "function" and "(" or "`"))
        end
    end)

    it("has every method", function()
        expect_methods(Client, "client")
        expect_methods(Informer, "informer")
        expect_methods(Registration, "handler")
    end)

    it("has every option", function()
        for _, name in ipairs(names_between("lua/src/client.c", "OPTIONS[]", "NULL}",
            '"([%w_]+)"')) do
            expect("`" .. name .. "`")
        end
        for _, name in ipairs(names_between("lua/kubelua/informer_options.lua", "NAMES = {", "}",
            "([%w_]+) = true")) do
            expect("`" .. name .. "`")
        end
        for _, name in ipairs(names_between("lua/kubelua/registration.lua", "EVENTS = {", "RETRY",
            "([%w_]+) = true")) do
            expect(name)
        end
    end)

    it("has every code of an error, and every state", function()
        for _, name in ipairs(names_between("core/include/kubelua/error.h", "KL_ENOMEM,",
            "typedef enum", 'X%([%w_]+, "([%w_]+)"')) do
            expect("`" .. name .. "`")
        end
        for _, name in ipairs(names_between("core/informer/status.c", "KL_STATE_RESOLVING", ";",
            '"([%w_]+)"')) do
            expect("`" .. name .. "`")
        end
    end)
end)
