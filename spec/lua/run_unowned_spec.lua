-- run:apply without an owner: it takes nothing that the controller's field manager has not applied.
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
    w:apply("a")
end)

after_each(function()
    w:close()
end)

local UNOWNED = { owner = false }

local function secret(value)
    local document = w.secret("s", { namespace = "web" })
    document.stringData = { a = value }
    return document
end

-- Reads of the Secret by the controller's runs.
local function count_reads()
    local count = 0
    for _, request in ipairs(w.cluster:requests { resource = "secrets", verb = "get" }) do
        count = count + (request.controller and 1 or 0)
    end
    return count
end

-- What an apply in a run gives, with these options of the controller.
local function apply(options, given, document)
    return w:in_run("a", function(_, run)
        return run:apply(document or secret("mine"), given or UNOWNED)
    end, options)
end

local function value()
    return require("kubelua").unbase64(w.cluster:get("secrets", "web/s").data.a)
end

describe("an apply without an owner", function()
    it("creates what is not there, and changes it again later", function()
        local made, again = w:in_run("a", function(_, run)
            local first = assert(run:apply(secret("one"), UNOWNED))
            return first, assert(run:apply(secret("two"), UNOWNED))
        end)
        assert.is_nil(made.metadata.ownerReferences)
        assert.equal(made.uid, again.uid)
        assert.equal("two", value())
    end)

    it("refuses what its field manager has never applied", function()
        assert(w.cluster:apply(secret("theirs")))
        local made, message, code = apply()
        assert.is_nil(made)
        assert.equal("not_owned", code)
        assert.matches("Secret web/s exists already, and \"spec\" has never applied it; to take it "
            .. "over, pass { adopt = true }", message, 1, true)
        assert.equal("theirs", value())
    end)

    it("refuses what its field manager has only patched", function()
        assert(w.cluster:apply(secret("theirs"), { manager = "them" }))
        local _, _, code = w:in_run("a", function(_, run)
            assert(run:patch("secrets", "web/s", { metadata = { labels = { a = "b" } } }))
            return run:apply(secret("mine"), UNOWNED)
        end)
        assert.equal("not_owned", code)
    end)

    it("takes it with adopt = true, and then goes on without", function()
        assert(w.cluster:apply(secret("theirs")))
        assert(apply(nil, { owner = false, adopt = true }))
        assert.equal("mine", value())
        w.cluster:patch("secrets", "web/s", { stringData = { a = "forged" } })
        assert(apply({ name = "spec" }))
        assert.equal("mine", value())
    end)

    it("knows after a restart what it has applied, by the object's managed fields", function()
        assert(apply())
        local made = apply({ name = "spec", reads = { "secrets" } })
        assert.is_truthy(made)
        local _, _, code = apply({ name = "other" })
        assert.equal("not_owned", code)
    end)

    it("reads the object once, and then not again", function()
        assert(apply(nil))
        local before = count_reads()
        w:in_run("a", function(_, run)
            for i = 1, 5 do
                assert(run:apply(secret("v" .. i), UNOWNED))
            end
        end, { name = "spec", reads = { "secrets" } })
        assert.equal(1, count_reads() - before)
    end)

    it("refuses an object that comes between its look and its write", function()
        local made, _, code = w:in_run("a", function(_, run)
            w.cluster:freeze { verb = "watch", resource = "secrets" }
            assert(w.cluster:apply(secret("theirs")))
            return run:apply(secret("mine"), UNOWNED)
        end, { reads = { "secrets" } })
        assert.is_nil(made)
        assert.equal("not_owned", code)
        assert.equal("theirs", value())
    end)

    it("refuses another object that has the name by now", function()
        local _, _, code = w:in_run("a", function(_, run)
            assert(run:apply(secret("mine"), UNOWNED))
            assert(run:get("secrets", "web/s"))
            w.cluster:freeze { verb = "watch", resource = "secrets" }
            assert(w.cluster:delete("secrets", "web/s"))
            assert(w.cluster:apply(secret("theirs")))
            return run:apply(secret("mine"), UNOWNED)
        end, { reads = { "secrets" } })
        assert.equal("not_owned", code)
        assert.equal("theirs", value())
    end)

    it("is also one in gone, and in a controller without a resource", function()
        assert(w.cluster:apply(secret("theirs")))
        local codes = {}
        local function note_code(_, run)
            codes[#codes + 1] = select(3, run:apply(secret("mine")))
            w:note("done")
        end
        w:controller { keyless = true, name = "keys", reconcile = note_code }:enqueue("all")
        w:noted()
        w:controller { gone = note_code, reconcile = function() return true end }
            :enqueue("web/none")
        w:noted()
        assert.same({ "not_owned", "not_owned" }, codes)
        assert.equal("theirs", value())
    end)

    it("fails as the read does, if the object cannot be read", function()
        w.cluster:fail { verb = "get", resource = "secrets", status = 403, count = 0 }
        local _, _, code = apply()
        assert.equal("forbidden", code)
    end)

    it("with force = false is a conflict over a field of another manager", function()
        local mine = secret("mine")
        mine.metadata.labels = { of = "spec" } -- nothing else takes this field
        assert(apply(nil, nil, mine))
        assert(w.cluster:apply(secret("theirs"), { manager = "them", force = true }))
        local _, _, code = apply({ name = "spec" }, { owner = false, force = false })
        assert.equal("conflict", code)
    end)
end)
