-- The lint of words, on trees of a few texts: what it counts, and where.
package.path = "spec/lint/?.lua;" .. package.path
local tree = require "tree"
local words = require "words"

local function find(texts)
    return words.find(tree.of(texts))
end

describe("the lint of words", function()
    it("counts comments that begin with Whether", function()
        local found = find {
            ["core/a.h"] = "/* Whether it is. */\nbool a;\n/*\n * Whether it was. */\n"
                .. "/* True if it is, whether or not. */\n",
            ["lua/a.lua"] = "---@field a boolean whether it is\n---@field b integer\n"
                .. "-- Or Whether\n",
        }
        assert.same({ "core/a.h:1", "core/a.h:3", "lua/a.lua:1" }, found.whether)
    end)

    it("counts words for persons in comments, and nowhere else", function()
        local found = find {
            ["sim/core/a.c"] = "/* Who reads this,\n * and nobody else. */\n"
                .. "const char *a = \"who\";\n",
            ["scripts/a"] = "echo who # whom\n",
            ["docs/A.md"] = "who\n",
        }
        assert.same({ "scripts/a:1: whom", "sim/core/a.c:1: Who", "sim/core/a.c:2: nobody" },
            found.persons)
    end)

    it("counts names of static functions that more than three files have", function()
        local body = "static void take(int a)\n{\n}\n\n"
            .. "static int\nput_it(int a,\n       int b)\n{\n}\n"
        local texts = { ["core/a.c"] = body, ["core/b.c"] = body, ["sim/core/c.c"] = body }
        assert.same({}, find(texts).names)
        texts["lua/src/d.c"] = body
        assert.same({}, find(texts).names)
        texts["sim/core/d.c"] = "static int put_it(int a);\n\nstatic void take(int a)\n{\n}\n"
        assert.same({ "take in 4 files: core/a.c core/b.c sim/core/c.c sim/core/d.c" },
            find(texts).names)
    end)
end)
