-- A failed write whose result a run has dropped is warned of, and counted by status().
local eventually = require "eventually"
local kubelua = require "kubelua"
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
    w:apply("a")
end)

after_each(function()
    w:close()
end)

-- Waits until a run of web/a has ended; returns the controller.
local function run_with(reconcile, options)
    options = options or {}
    options.reconcile = reconcile
    local controller = w:controller(options)
    w:rest(controller)
    return controller
end

local WARNED = "warn controller spec: ConfigMap web/a: "

describe("a failed write whose result is dropped", function()
    it("is warned of with its object, its line and its code, and counted", function()
        local controller = run_with(function(_, run)
            run:apply(w.wrong_secret("s"))
        end)
        local line = w:logged(WARNED .. ".*apply Secret web/s")
        assert.matches("spec/lua/run_dropped_spec.lua:%d+", line)
        assert.matches("invalid", line)
        assert.equal(1, controller:status().dropped_writes)
        assert.same({}, controller:status().failures)
    end)

    it("is warned of once per key and code, and counted each time", function()
        local call = function(run) run:apply(w.wrong_secret("s")) end
        local controller = run_with(function(_, run) call(run) end)
        for _ = 1, 3 do
            controller:enqueue("web/a")
            w:rest(controller)
        end
        assert.equal(1, w:count_logged(WARNED))
        assert.equal(4, controller:status().dropped_writes)
        call = function(run) run:patch("secrets", "web/none", { data = {} }) end
        controller:enqueue("web/a")
        w:rest(controller)
        assert.equal(2, w:count_logged(WARNED))
        assert.matches("not_found", w:logged(WARNED .. ".*patch Secret web/none"))
        w:apply("b")
        w:rest(controller)
        assert.equal(1, w:count_logged("warn controller spec: ConfigMap web/b: "))
    end)

    it("counts for every call that writes, and for a run that comes again later", function()
        local calls = {
            create = function(run) run:create(w.wrong_secret("s")) end,
            status = function(run)
                w.cluster:fail { verb = "patch", status = 422, count = 1 }
                run:status { phase = "x" }
            end,
            ["client:apply"] = function(run) run.client:apply(w.wrong_secret("s")) end,
            ["client:delete"] = function(run)
                run.client:delete("secrets", "web/s", { propagation = "Orphan",
                    resource_version = "1" })
            end,
            ["client:request"] = function(run)
                run.client:request { method = "DELETE", path = "/api/v1/no-such" }
                run.client:request { path = "/api/v1/no-such" }
            end,
            ["not_owned"] = function(run) run:apply(w.secret("other", { namespace = "web" })) end,
        }
        assert(w.cluster:apply(w.secret("s", { namespace = "web" })))
        assert(w.cluster:apply(w.secret("other", { namespace = "web" })))
        for name, call in pairs(calls) do
            local controller = run_with(function(_, run)
                call(run)
                return 3600
            end, { name = "of-" .. name:gsub("[^a-z]", "-") })
            assert.equal(1, controller:status().dropped_writes, name)
        end
    end)

    it("is warned of in finalize, gone and spawned tasks, too", function()
        local function drop(_, run) run.client:apply(w.wrong_secret("s")) end
        local controller = run_with(function(_, run)
            assert(kubelua.spawn(drop, nil, run)):wait()
        end, { gone = drop })
        assert.equal(1, controller:status().dropped_writes)
        assert(w.cluster:delete("configmaps", "web/a"))
        eventually(function() return controller:status().dropped_writes == 2 end, "gone is told")
        w:apply("b")
        local final = w:controller { name = "final", finalizer = "example.com/f", finalize = drop }
        w:rest(final)
        assert.equal(0, final:status().dropped_writes)
        assert(w.cluster:delete("configmaps", "web/b"))
        eventually(function() return final:status().dropped_writes == 1 end, "finalize is told")
    end)
end)

describe("no warning of a dropped write follows", function()
    local function expect_none(reconcile)
        local controller = run_with(reconcile)
        assert.equal(0, controller:status().dropped_writes)
        assert.equal(0, w:count_logged("its result was dropped"))
        return controller
    end

    it("a failure that is handed on", function()
        local controller = expect_none(function(_, run) return run:apply(w.wrong_secret("s")) end)
        assert.equal("invalid", controller:status().failures[1].code)
    end)

    it("false with a message: the script has judged it", function()
        expect_none(function(_, run)
            local ok, message = run:apply(w.wrong_secret("s"))
            return ok ~= nil, message
        end)
    end)

    it("a write of the same object that succeeds later in the run", function()
        expect_none(function(_, run)
            local secret = w.secret("s")
            local _, _, code = run:apply(w.wrong_secret("s"))
            assert.equal("invalid", code)
            assert(run:apply(secret))
        end)
    end)

    it("a delete or an eviction of what is gone, a dry run, or a read", function()
        expect_none(function(_, run)
            assert.equal("not_found", select(3, run.client:delete("secrets", "web/none")))
            assert.equal("not_found", select(3, run.client:evict("web/none")))
            assert.equal("not_found", select(3, run.client:get("secrets", "web/none")))
            assert.equal("invalid", select(3, run:apply(w.wrong_secret("s"), { dry_run = true })))
        end)
    end)

    it("a conflict that a call of a run settles by itself", function()
        w.cluster:fail { verb = "patch", status = 409, count = 1 }
        expect_none(function(_, run) assert(run:status { phase = "x" }) end)
    end)
end)
