-- Finalizers: added before the first reconcile, and removed once finalize is done; also of an
-- object that has left the controller's selector.
local world = require "controller_world"
local eventually = require "eventually"
local core = require "kubelua.core"

local OURS = "example.com/cleanup"

describe("a finalizer", function()
    local w, result

    before_each(function()
        w, result = world.new(), nil
    end)

    after_each(function()
        w:close()
    end)

    local function finalizers(name)
        local object = w.cluster:get("configmaps", "web/" .. (name or "a"))
        return object and table.concat(object:get("metadata.finalizers")
            and object:table().metadata.finalizers or {}, " ")
    end

    local function controller(options)
        options = options or {}
        options.finalizer = OURS
        options.reconcile = options.reconcile or function(object)
            w:note("reconcile " .. object.key .. " " .. finalizers(object.name))
        end
        options.finalize = options.finalize or function(object)
            w:note("finalize " .. object.key)
            return result
        end
        return w:controller(options)
    end

    it("is added before the first reconcile, beside other finalizers", function()
        w:apply("a", "1", { finalizers = { "example.com/other" } })
        controller()
        assert.equal("reconcile web/a example.com/other " .. OURS, w:noted()[1])
    end)

    it("runs finalize instead of reconcile, and is removed when that is done", function()
        w:apply("a")
        controller { gone = function(key) w:note("gone " .. key) end }
        w:until_noted("reconcile web/a " .. OURS)
        assert(w.client:delete("configmaps", "web/a"))
        w:until_noted("finalize web/a")
        assert.equal(0, w:until_noted("gone web/a"))
        assert.is_nil(finalizers())
    end)

    it("leaves other finalizers when it is removed", function()
        w:apply("a", "1", { finalizers = { "example.com/other" } })
        controller()
        w:noted()
        assert(w.client:delete("configmaps", "web/a"))
        w:until_noted("finalize web/a")
        eventually(function() return finalizers() == "example.com/other" end, "ours is gone", 10)
    end)

    for what, kept in pairs { ["a number"] = 30, ["false"] = false, ["an error"] = error } do
        it("stays while finalize returns " .. what, function()
            w:apply("a")
            local made = controller { finalize = function()
                w:note("finalize")
                if kept == error then
                    error("not yet")
                end
                return kept
            end }
            w:noted()
            assert(w.client:delete("configmaps", "web/a"))
            w:until_noted("finalize")
            w:rest(made)
            assert.equal(OURS, finalizers())
        end)
    end

    it("is kept by a failure, and finalize runs again until it is done", function()
        w:apply("a")
        local tries = 0
        local made = controller { finalize = function(_, run)
            tries = tries + 1
            w:note("finalize " .. run.attempt)
            if tries < 3 then
                return nil, "the zone is still there"
            end
        end }
        w:noted()
        assert(w.client:delete("configmaps", "web/a"))
        for attempt = 1, 3 do
            w:until_noted("finalize " .. attempt)
            w:rest(made)
            w.cluster:advance(1)
        end
        eventually(function() return finalizers() == nil end, "the object is gone", 10)
    end)

    it("is not added to an object that is being deleted", function()
        w:apply("a", "1", { finalizers = { "example.com/other" } })
        assert(w.cluster:delete("configmaps", "web/a"))
        w:rest(controller())
        assert.equal("example.com/other", finalizers())
        assert.same({}, w.runs)
    end)

    it("is added and removed by patches of this object at this version", function()
        w:apply("a")
        controller()
        w:noted()
        assert(w.client:delete("configmaps", "web/a"))
        eventually(function() return finalizers() == nil end, "the object is gone", 10)
        local bodies = {}
        for _, request in ipairs(w.cluster:requests { verb = "patch", resource = "configmaps" }) do
            bodies[#bodies + 1] = core.encode(request.body)
        end
        assert.equal(2, #bodies)
        for _, body in ipairs(bodies) do
            assert.match('"uid":"[^"]+"', body)
            assert.match('"resourceVersion":"%d+"', body)
            assert.match('"finalizers":', body)
        end
    end)

    it("reads the object again on a conflict, however old the cache is", function()
        w:apply("a")
        w.cluster:fail { verb = "patch", resource = "configmaps", status = 409, count = 2 }
        controller()
        w:until_noted("reconcile web/a " .. OURS)
        assert.equal(2, #w.cluster:requests { verb = "get", resource = "configmaps" })
    end)

    it("that may not be written is logged with the reason, and added once it may be", function()
        w:apply("a")
        local id = w.cluster:fail { verb = "patch", resource = "configmaps", name = "a",
            status = 403, count = 0, message = "may not patch" }
        local made = controller()
        w:logged("the finalizer example.com/cleanup cannot be added to ConfigMap web/a: .*patch")
        assert.equal("forbidden", made:status().failures[1].code)
        w:apply("b")
        assert.equal(0, w:until_noted("reconcile web/b " .. OURS))
        w.cluster:heal(id)
        w:rest(made)
        w.cluster:advance(300)
        w:until_noted("reconcile web/a " .. OURS)
    end)

    it("that another client removes meanwhile is no failure", function()
        w:apply("a")
        local made = controller { finalize = function()
            w:note("finalize")
            assert(w.cluster:patch("configmaps", "web/a",
                { metadata = { finalizers = core.array() } }))
        end }
        w:noted()
        assert(w.client:delete("configmaps", "web/a"))
        w:until_noted("finalize")
        w:rest(made)
        assert.equal(0, w:count_logged("warn"))
        assert.equal(0, #made:status().failures)
    end)

    it("that another client removes meanwhile is finalized once, even with a late cache", function()
        w:apply("a")
        local made = controller { finalize = function()
            w:note("finalize")
            w.cluster:freeze { verb = "watch", resource = "configmaps" }
            w.cluster:patch("configmaps", "web/a", { metadata = { finalizers = core.array() } })
        end }
        w:noted()
        assert(w.client:delete("configmaps", "web/a"))
        w:until_noted("finalize")
        assert(made:enqueue("web/a"))
        eventually(function() -- the next run looks for the object, which the cache still has
            return #w.cluster:requests { verb = "get", name = "a", status = 404 } > 0
        end, "the object is read")
        w.cluster:heal()
        w:rest(made)
        assert.same({}, w.runs)
    end)
end)

describe("with a selector, a finalizer", function()
    local w

    before_each(function()
        w = world.new()
    end)

    after_each(function()
        w:close()
    end)

    local function controller()
        return w:controller { labels = "app=shop", finalizer = OURS,
            reconcile = function(object) w:note("reconcile " .. object.key) end,
            finalize = function(object, run)
                w:note("finalize " .. object.key .. " " .. tostring(run.key == object.key))
            end,
            gone = function(key) w:note("gone " .. key) end }
    end

    it("stays when the object leaves the selector, and runs finalize when it is deleted", function()
        w:apply("a", "1", { labels = { app = "shop" } })
        controller()
        w:until_noted("reconcile web/a")
        w:apply("a", "1", { labels = { app = "other" } })
        w:until_noted("gone web/a")
        assert(w.client:delete("configmaps", "web/a"))
        w:until_noted("finalize web/a true")
        eventually(function() return not w.cluster:get("configmaps", "web/a") end, "it is gone")
    end)

    it("finalizes what left and was deleted before the controller started", function()
        w:apply("a", "1", { labels = { app = "other" }, finalizers = { OURS } })
        w:apply("b", "1", { labels = { app = "other" }, finalizers = { OURS } })
        assert(w.cluster:delete("configmaps", "web/a"))
        controller()
        assert.equal("finalize web/a true", w:noted()[1])
        eventually(function() return not w.cluster:get("configmaps", "web/a") end, "it is gone")
        assert.is_table(w.cluster:get("configmaps", "web/b"):table())
    end)

    it("runs finalize at once if leaving and deletion come together", function()
        w:apply("a", "1", { labels = { app = "shop" } })
        controller()
        w:until_noted("reconcile web/a")
        w:apply("a", "1", { labels = { app = "other" } })
        assert(w.cluster:delete("configmaps", "web/a"))
        w:until_noted("finalize web/a true")
        eventually(function() return not w.cluster:get("configmaps", "web/a") end, "it is gone")
    end)
end)
