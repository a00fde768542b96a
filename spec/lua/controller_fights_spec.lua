-- A controller says once that it runs; and it warns if a key runs again and again.
local core = require "kubelua.core"
local definition = require "definition"
local fights = require "kubelua.controller.fights"
local kubelua = require "kubelua"
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
end)

describe("a controller that begins", function()
    local function begin(options)
        local controller = w:controller(options)
        w:rest(controller)
        return w:logged("info controller spec [^ ]+ ?b?y?: ")
    end

    it("says so once, with its kind, its namespaces, its keys and the time of its lists", function()
        w:apply("a")
        w:apply("b")
        assert.matches("controller spec runs: ConfigMap of v1 in all namespaces, 2 keys, "
            .. "synced in %d+%.%d%d s$", begin {})
        w:apply("c")
        w:noted(3)
        assert.equal(1, w:count_logged("controller spec runs"))
    end)

    it("names one namespace, several, or none", function()
        w:apply("a")
        assert.matches("ConfigMap of v1 in web, 1 key, synced", begin { namespace = "web" })
        w.lines = {}
        assert.matches("ConfigMap of v1 in db, web, 1 key, synced",
            begin { namespace = { "web", "db" } })
        w.lines = {}
        assert.matches("Node of v1, 0 keys, synced", begin { "nodes" })
        w.lines = {}
        assert(w.cluster:apply(definition("foos.example.com")))
        assert.matches("Foo of example.com/v1 in all namespaces, 0 keys", begin { "foos" })
    end)

    it("counts the keys of a controller without a resource", function()
        w:apply("a")
        assert.matches("controller spec runs: 1 key, synced", begin { keyless = true,
            watches = { { "configmaps", map = function() return "all" end } } })
    end)

    it("stands by without its Lease", function()
        assert(w.cluster:create { apiVersion = "coordination.k8s.io/v1", kind = "Lease",
            metadata = { name = "l", namespace = "default" }, spec = { holderIdentity = "other",
            leaseDurationSeconds = 3600, renewTime = kubelua.timestamp(w.cluster:now(), 6) } })
        w:controller { leader = "l" }
        w:logged("info controller spec stands by: ConfigMap of v1 in all namespaces, 0 keys")
    end)
end)

describe("a key that runs more than 5 times a second for 30 s #many", function()
    -- Changes web/a so many times a second, for so many seconds; each change is reconciled.
    local function disturb(rate, seconds, change)
        for i = 1, rate * seconds do
            change(i)
            w:noted()
            w.cluster:advance(1 / rate)
        end
    end

    local function set_value(i)
        assert(w.cluster:patch("configmaps", "web/a", { data = { value = "v" .. i } }))
    end

    local WARNING = "warn controller spec: ConfigMap web/a has run %d+ times a second for 3%d s"

    it("is warned of once, with the field that changes", function()
        w:apply("a")
        w:rest(w:controller {})
        w:noted()
        disturb(8, 29, set_value)
        assert.equal(0, w:count_logged("times a second"))
        disturb(8, 8, set_value)
        assert.equal(1, w:count_logged("times a second"))
        local line = w:logged(WARNING)
        assert.matches("has run 8 times a second", line)
        assert.matches("changes again and again: data.value %(seen %d+ times%)%. Do two", line)
    end)

    it("is not warned of if it runs less often, or not for so long", function()
        w:apply("a")
        w:rest(w:controller {})
        w:noted()
        disturb(4, 35, set_value)
        disturb(7, 20, set_value)
        disturb(1, 5, set_value)
        disturb(7, 20, set_value)
        assert.equal(0, w:count_logged("times a second"))
    end)

    it("is not warned of if reconcile itself asks for it", function()
        w:apply("a")
        w:controller { reconcile = function()
            w:note("run")
            return 0.1
        end }
        w:noted()
        for _ = 1, 400 do
            w.cluster:advance(0.1)
        end
        assert.is_true(#w.runs > 300)
        assert.equal(0, w:count_logged("times a second"))
    end)

    it("is warned of with the object that another controller sets back", function()
        w:apply("a")
        w:controller { owns = { "secrets" }, reconcile = function(_, run)
            assert(run:apply(w.secret("s", { labels = { of = "spec" } })))
            w:note("run")
        end }
        w:noted()
        disturb(6, 36, function()
            assert(w.cluster:patch("secrets", "web/s", { metadata = {
                labels = { of = "another" } } }))
        end)
        assert.matches("Secret web/s: metadata.labels.of", w:logged(WARNING))
    end)

    it("is warned of if each run changes what wakes it", function()
        local runs = 0
        w:apply("a")
        w:controller { reconcile = function(_, run)
            runs = runs + 1
            w:note("run")
            return run:patch { metadata = { annotations = { ["example.com/runs"] = "" .. runs } } }
        end }
        for _ = 1, 33 * 2 do
            w:noted(4)
            w.cluster:advance(1 / 2)
        end
        assert.matches('metadata.annotations%["example.com/runs"%]', w:logged(WARNING))
    end)
end)

describe("a change of an object of 10,000 levels", function()
    local function nested(value)
        local levels = 9990
        return assert(core.object('{"kind":"X","apiVersion":"v1","metadata":{"name":"x","uid":"u"},'
            .. '"spec":' .. ('{"a":'):rep(levels) .. value .. ("}"):rep(levels) .. "}"))
    end

    it("is named by its outer fields", function()
        local state = { fights = fights.new(), clock = { now = function() return 100 end } }
        for _ = 1, 10 do
            fights.note_run(state, "x")
        end
        local hot = state.fights.hot.x
        fights.note_event(state, { role = "reconciles" }, "x", nested "1", nested "1")
        assert.is_nil(next(hot.changes))
        hot.look_at = 0
        fights.note_event(state, { role = "reconciles" }, "x", nested "1", nested "2")
        assert.same({ ["spec" .. (".a"):rep(19)] = 1 }, hot.changes)
    end)
end)
