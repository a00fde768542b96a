-- What the members of a ring compare of their options.
local shards = require "kubelua.shards"

local function by_of(text)
    local by = assert(load("return " .. text))()
    return shards.options({ name = "ring", by = by }).by
end

-- A function in a file, after so many empty lines.
local function by_in_file(lines, text)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(("\n"):rep(lines), "return ", text, "\n")
    file:close()
    local by = assert(loadfile(path))()
    local result = shards.options({ name = "ring", by = by }).by
    os.remove(path)
    return result
end

local TEXT = "function(object)\n    return ({ a = '1', b = '2' })[object.name]\nend"
local OTHER = "function(object)\n    return ({ a = '1', b = '3' })[object.name]\nend"

describe("by of shards", function()
    it("is compared by its name, or by the lines of the function, wherever they are", function()
        assert.equal("key", shards.options("ring").by)
        assert.equal("uid", shards.options({ name = "ring", by = "uid" }).by)
        assert.equal(by_of(TEXT), by_of(TEXT))
        assert.are_not.equal(by_of(TEXT), by_of(OTHER))
        assert.equal(by_in_file(0, TEXT), by_in_file(7, TEXT))
        assert.are_not.equal(by_in_file(0, TEXT), by_in_file(0, OTHER))
    end)

    it("is no function of C", function()
        local ok, problem = pcall(shards.options, { name = "ring", by = print })
        assert.is_false(ok)
        assert.is_truthy(problem:find("not one of C", 1, true), problem)
    end)
end)
