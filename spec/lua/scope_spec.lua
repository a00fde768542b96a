-- Scopes: the tasks of one piece of work, such as a run of a controller.
local kubelua = require "kubelua"
local scheduler = require "kubelua.scheduler"
local scopes = require "kubelua.scope"
local tasks = require "kubelua.tasks"

local function settle()
    while scheduler.has_ready() do
        kubelua.step(0)
    end
end

describe("a scope", function()
    it("is inherited by the tasks that its tasks make", function()
        local scope, seen = scopes.new(), {}
        local task = tasks.task("spec", function()
            seen.outer = tasks.scope_here()
            kubelua.spawn(function()
                seen.inner = tasks.scope_here()
            end)
        end)
        tasks.join_scope(task, scope)
        assert.is_nil(tasks.scope_here())
        settle()
        assert.equal(scope, seen.outer)
        assert.equal(scope, seen.inner)
        assert.is_nil(next(scope.tasks)) -- the tasks have ended
    end)

    it("cancels its tasks, and the tasks that join later", function()
        local scope, ended, began = scopes.new(), 0, 0
        local outer
        local function wait()
            local ok = pcall(kubelua.sleep, 3600)
            ended = ended + (ok and 0 or 1)
            kubelua.spawn(function() began = began + 1 end)
            kubelua.sleep(3600)
            began = began + 1
        end
        outer = tasks.task("spec", function()
            kubelua.spawn(wait)
            wait()
        end)
        tasks.join_scope(outer, scope)
        settle()
        scope:cancel()
        settle()
        assert.equal(2, ended)
        assert.equal(0, began)
        assert.is_nil(next(scope.tasks))
        assert.is_true(scheduler.is_idle())
    end)
end)
