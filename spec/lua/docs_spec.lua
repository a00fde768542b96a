-- docs/LUA.md is complete: it must name every call, option and error code.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local page = require "page"

local _, expect = page.open("docs/LUA.md")

local function expect_methods(type, name)
    for method in pairs(core.methods(type)) do
        expect(name .. ":" .. method .. "(")
    end
end

-- The quoted names between two marks of a source file.
local function names_between(path, first, last, pattern)
    local text = page.read(path)
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
        expect_methods("kubelua.client", "client")
        expect_methods("kubelua.informer", "informer")
        expect_methods("kubelua.registration", "handler")
    end)

    it("has every option", function()
        for _, name in ipairs(names_between("lua/kubelua/client.lua", "TYPES = {", "}",
            "([%w_]+) = \"")) do
            expect("`" .. name .. "`")
        end
        for _, name in ipairs(names_between("lua/kubelua/informer_options.lua", "TYPES = {", "}",
            "([%w_]+) = \"")) do
            expect("`" .. name .. "`")
        end
        for _, name in ipairs(names_between("lua/kubelua/registration.lua", "TYPES = {", "}",
            "([%w_]+) = \"")) do
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
