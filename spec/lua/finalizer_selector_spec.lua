-- A finalizer of a controller with a selector: an object that leaves the selector is still
-- finalized.
local eventually = require "eventually"
local world = require "controller_world"

local OURS = "example.com/cleanup"

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
