-- run:patch, run:delete, run:evict: they change exactly the object that the run has read, or
-- nothing.
local eventually = require "eventually"
local world = require "controller_world"

local secret = world.secret

describe("a run changes:", function()
    local w

    before_each(function()
        w = world.new()
        w.owner = w:apply("a")
    end)

    after_each(function()
        w:close()
    end)

    local function run(f, options)
        return w:in_run("a", f, options)
    end

    it("patch merges into the object itself, or into another, with the UID", function()
        local mine, other, by_key = run(function(_, of_run)
            local made = assert(of_run:apply(secret("s")))
            return assert(of_run:patch { data = { value = "2" } }),
                assert(of_run:patch(made, { metadata = { labels = { a = "1" } } })),
                assert(of_run:patch("secrets", "web/s", { metadata = { labels = { b = "1" } } }))
        end, { owns = { "secrets" } })
        assert.equal("2", mine.data.value)
        assert.equal("1", other.metadata.labels.a)
        assert.equal("1", by_key.metadata.labels.b)
        for _, request in ipairs(w.cluster:requests { verb = "patch" }) do
            if request.content_type:find("merge", 1, true) then
                assert.is_string(request.body.metadata.uid)
                assert.equal("spec", request.query.fieldManager)
            end
        end
    end)

    it("patch of another object of that name is a conflict, and makes none", function()
        local _, _, code, gone = run(function(_, of_run)
            local made = assert(of_run:apply(secret("s")))
            assert(w.cluster:delete("secrets", "web/s"))
            local _, _, missing = of_run:patch(made, { stringData = { a = "3" } })
            assert(w.cluster:apply(secret("s", { namespace = "web" })))
            local one, why, its_code = of_run:patch(made, { stringData = { a = "3" } })
            return one, why, its_code, missing
        end)
        assert.equal("not_found", gone)
        assert.equal("conflict", code)
        assert.equal("MQ==", w.cluster:get("secrets", "web/s").data.a)
    end)

    it("patch with lock is a conflict once the object has changed", function()
        local _, _, code = run(function(object, of_run)
            w:apply("a", "2")
            return of_run:patch(object, { data = { value = "3" } }, { lock = true })
        end)
        assert.equal("conflict", code)
        assert.equal("2", w.cluster:get("configmaps", "web/a").data.value)
    end)

    it("delete of an object that is gone, or replaced, returns true", function()
        local first, second, third = run(function(_, of_run)
            local made = assert(of_run:apply(secret("s")))
            local one = assert(of_run:delete(made))
            local two = of_run:delete(made)
            assert(w.cluster:apply(secret("s", { namespace = "web" })))
            return one, two, of_run:delete(made)
        end)
        assert.is_not_nil(first)
        assert.is_true(second)
        assert.is_true(third)
        assert.is_not_nil(w.cluster:get("secrets", "web/s"))
    end)

    it("delete with lock is a conflict once the object has changed", function()
        local _, _, code = run(function(_, of_run)
            local made = assert(of_run:apply(secret("s")))
            assert(of_run:patch(made, { stringData = { a = "2" } }))
            return of_run:delete(made, { lock = true })
        end)
        assert.equal("conflict", code)
    end)

    it("evict of a pod that is gone returns true", function()
        local evicted = run(function(_, of_run) return of_run:evict("web/none") end)
        assert.is_true(evicted)
    end)

    it("an event about its object", function()
        run(function(_, of_run) of_run:event("Normal", "Seen", "it is there") end)
        eventually(function()
            local events = w.cluster:list("events", { namespace = "web" })
            return events[1] and events[1].reason == "Seen"
        end, "the event is there", 10)
    end)
end)
