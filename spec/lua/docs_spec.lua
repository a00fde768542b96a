-- docs/LUA.md is complete: it must name every call, option and error code. Lua code in documents
-- parses.
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

-- The blocks of Lua in a document: their text, and the line before each.
local function blocks_of(text)
    local blocks, block, number = {}, nil, 0
    for line in (text .. "\n"):gmatch("([^\n]*)\n") do
        number = number + 1
        if not block and line:find("^```") then
            block = { line = number, is_lua = line == "```lua" }
        elseif block and line == "```" then
            blocks[#blocks + 1] = block.is_lua and block or nil
            block = nil
        elseif block then
            block[#block + 1] = line
        end
    end
    return blocks
end

describe("documents", function()
    for _, path in ipairs { "README.md", "docs/CONTROLLERS.md", "docs/FAULTS.md", "docs/LUA.md",
        "docs/NGINX.md", "docs/SIMULATOR.md", "docs/TESTING.md" } do
        it("have Lua code that parses: " .. path, function()
            local blocks = blocks_of(page.read(path))
            assert.is_true(#blocks > 0)
            for _, block in ipairs(blocks) do
                local load_text = loadstring or load -- luacheck: ignore 113
                local chunk, problem = load_text(table.concat(block, "\n"))
                assert.is_truthy(chunk, path .. ":" .. block.line .. ": " .. tostring(problem))
            end
        end)
    end
end)

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
        for _, name in ipairs(names_between("lua/kubelua/connect_options.lua", "TYPES = {", "}",
            "([%w_]+) = \"")) do
            expect("`" .. name .. "`")
        end
        for _, name in ipairs(names_between("lua/kubelua/informer.lua", "OPTIONS = {", "}",
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
