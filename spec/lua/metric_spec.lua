-- Metrics of scripts, and those of controllers, informers and requests: what crosses between C and
-- Lua. spec/core/base/metric_spec.c and spec/core/report have the text itself.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local metric = kubelua.metric
local unpack = table.unpack or unpack -- luacheck: ignore

-- Names are new in each test, as all tests of this process share the metrics.
local number = 0
local function new_name(suffix)
    number = number + 1
    return "spec_" .. number .. (suffix or "")
end

local function refusal(f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok)
    return (message:gsub("^[^:]+:%d+: ", ""))
end

-- The value of a line of the text; nil if there is none.
local function value_of(line)
    for name, value in assert(metric.text()):gmatch("([^\n#][^\n]*) ([^ \n]+)\n") do
        if name == line then
            return tonumber(value)
        end
    end
end

describe("a metric of a script", function()
    it("is a counter that rises by label values", function()
        local name = new_name("_total")
        local counter = metric.counter(name, "Orders.", { "shop", "paid" })
        assert.is_true(counter:inc(1, "a", true))
        assert.is_true(counter:inc(2.5, "a", true))
        assert.is_true(counter:inc(nil, "b", 7))
        assert.equal(3.5, value_of(name .. '{shop="a",paid="true"}'))
        assert.equal(1, value_of(name .. '{shop="b",paid="7"}'))
        assert.equal(3.5, (counter:value("a", true)))
        assert.truthy(metric.text():find("# TYPE " .. name .. " counter", 1, true))
    end)

    it("is a gauge that goes up and down, without labels", function()
        local name = new_name()
        local gauge = metric.gauge(name, "Open shops.")
        gauge:set(3)
        gauge:dec()
        gauge:inc(0.5)
        gauge:dec(1)
        assert.equal(1.5, value_of(name))
    end)

    it("is a histogram with its own buckets", function()
        local name = new_name("_seconds")
        local histogram = metric.histogram(name, "Time.", { labels = { "a" }, buckets = { 1, 2 } })
        histogram:observe(1, "x")
        histogram:observe(3, "x")
        assert.same({ 4, 2 }, { histogram:value("x") })
        assert.equal(1, value_of(name .. '_bucket{a="x",le="1"}'))
        assert.equal(1, value_of(name .. '_bucket{a="x",le="2"}'))
        assert.equal(2, value_of(name .. '_bucket{a="x",le="+Inf"}'))
        assert.equal(4, value_of(name .. '_sum{a="x"}'))
        assert.equal(2, value_of(name .. '_count{a="x"}'))
    end)

    it("gives a series to keep, which outlives the metric", function()
        local name = new_name("_total")
        local series = assert(metric.counter(name, "Orders.", { "shop" }):with("a"))
        collectgarbage()
        series:inc()
        series:inc(2)
        assert.equal(3, (series:value()))
        assert.equal(3, value_of(name .. '{shop="a"}'))
    end)

    it("is the same metric when it is declared again", function()
        local name = new_name("_total")
        metric.counter(name, "Orders."):inc()
        metric.counter(name, "Orders."):inc()
        assert.equal(2, value_of(name))
    end)

    it("forgets the label values that are removed", function()
        local name = new_name()
        local gauge = metric.gauge(name, "Age.", { "pod" })
        gauge:set(1, "a")
        gauge:set(2, "b")
        assert.is_true(gauge:remove("a"))
        assert.is_false(gauge:remove("a"))
        assert.is_nil(value_of(name .. '{pod="a"}'))
        assert.equal(2, value_of(name .. '{pod="b"}'))
    end)

    it("has a limit of label values, and says so", function()
        local gauge = metric.gauge(new_name(), "Age.", { labels = { "pod" }, limit = 2 })
        assert.is_true(gauge:set(1, "a"))
        assert.is_true(gauge:set(1, "b"))
        local ok, message, code = gauge:set(1, "c")
        assert.is_nil(ok)
        assert.equal("too_large", code)
        assert.truthy(message:find("has 2 sets of label values already", 1, true))
        assert.is_true(gauge:set(2, "a"))
    end)

    it("refuses names, types and values that are wrong, at the script's line", function()
        local counter = metric.counter(new_name("_total"), "Orders.", { "shop" })
        local gauge = metric.gauge(new_name(), "Open.")
        local cases = {
            { metric.counter, { "1a", "Help." }, "'1a' cannot be the name of a metric" },
            { metric.counter, { "a" }, "a name and a text of help expected" },
            { metric.counter, { "a", "" }, "a text of help is missing" },
            { metric.counter, { "a", "Help.", "shop" }, "a list of label names expected" },
            { metric.counter, { "a", "Help.", { "a-b" } }, "'a-b' cannot be the name of a label" },
            { metric.counter, { "a", "Help.", { label = {} } }, "do you mean 'labels'?" },
            { metric.counter, { "a", "Help.", { buckets = { 1 } } },
                "only a histogram has buckets" },
            { metric.gauge, { "a", "Help.", { limit = 0.5 } },
                "'limit' must be an integer from 1" },
            { metric.gauge, { "workqueue_depth", "Help." }, "are KubeLua's own" },
            { metric.histogram, { "a", "Help.", { "le" } }, "has the label 'le' already" },
            { counter.inc, { counter, -1, "a" }, "a counter only rises" },
            { counter.inc, { counter, 0 / 0, "a" }, "a counter only rises" },
            { counter.inc, { counter, "a" }, "a number expected" },
            { counter.inc, { counter, 1 }, "has 1 labels, and 0 values are given" },
            { counter.inc, { counter, 1, {} }, "the value of a label must be a string" },
            { counter.set, { counter, 1, "a" }, "a counter has inc, not set" },
            { gauge.observe, { gauge, 1 }, "a gauge has inc, dec and set, not observe" },
        }
        for _, case in ipairs(cases) do
            local message = refusal(case[1], unpack(case[2]))
            assert.truthy(message:find(case[3], 1, true), message)
        end
    end)

    it("cannot become one of another type", function()
        local name = new_name()
        metric.gauge(name, "Open.")
        assert.truthy(refusal(metric.counter, name, "Open.")
            :find("exists already, and is of another type", 1, true))
    end)
end)

describe("what KubeLua counts", function()
    local cluster, client

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
    end)

    after_each(function()
        client:close()
        cluster:close()
    end)

    local function wait_for(what, condition)
        local ends = core.now() + 30
        while not condition() do
            assert(core.now() < ends, what)
            kubelua.step(0.02)
        end
    end

    it("has an informer's objects and events while it is open", function()
        cluster:apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } }
        local informer = assert(client:informer { "configmaps", namespace = "default" })
        assert(informer:wait_synced(30))
        local label = '{name="configmaps in default"}'
        assert.equal(1, value_of("kubelua_informer_objects" .. label))
        assert.equal(1, value_of("kubelua_informer_synced" .. label))
        assert.truthy(value_of("kubelua_informer_received_bytes_total" .. label) > 100)
        assert.equal(0, value_of("informer_queued_items"
            .. '{name="configmaps in default",group="",version="v1",resource="configmaps"}'))
        informer:stop()
        assert.is_nil(value_of("kubelua_informer_objects" .. label))
    end)

    it("has a controller's runs by result, and its queue", function()
        for _, name in ipairs { "done", "later", "fails", "breaks" } do
            cluster:apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name } }
        end
        local name = new_name()
        local controller = assert(kubelua.controller {
            "configmaps", namespace = "default", name = name, client = client, workers = 3,
            reconcile = function(object)
                if object.name == "later" then
                    return 3600
                elseif object.name == "fails" then
                    return nil, "no luck"
                elseif object.name == "breaks" then
                    error("oops")
                end
            end,
        })
        local function total(result)
            return value_of(string.format(
                'controller_runtime_reconcile_total{controller="%s",result="%s"}', name, result))
        end
        wait_for("runs", function() return total("error") >= 4 end)
        assert.equal(1, total("success"))
        assert.equal(1, total("requeue_after"))
        local one = string.format('{controller="%s"}', name)
        assert.equal(total("error"), value_of("controller_runtime_reconcile_errors_total" .. one))
        assert.truthy(value_of("controller_runtime_reconcile_panics_total" .. one) >= 1)
        assert.equal(3, value_of("controller_runtime_max_concurrent_reconciles" .. one))
        assert.truthy(value_of("controller_runtime_reconcile_time_seconds_count" .. one) >= 6)
        local queue = string.format('{controller="%s",name="%s"}', name, name)
        assert.truthy(value_of("workqueue_adds_total" .. queue) >= 4)
        assert.truthy(value_of("workqueue_retries_total" .. queue) >= 2)
        assert.truthy(value_of("workqueue_work_duration_seconds_count" .. queue) >= 6)
        assert.truthy(value_of("workqueue_queue_duration_seconds_count" .. queue) >= 6)
        controller:stop()
        assert.is_nil(value_of("workqueue_depth" .. queue))
        assert.equal(1, total("success")) -- what was counted stays
    end)

    it("has how long a run has been going on", function()
        cluster:apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } }
        local name = new_name()
        local controller = assert(kubelua.controller {
            "configmaps", namespace = "default", name = name, client = client,
            reconcile = function() kubelua.sleep(60) end,
        })
        local queue = string.format('{controller="%s",name="%s"}', name, name)
        wait_for("a run", function()
            return (value_of("workqueue_longest_running_processor_seconds" .. queue) or 0) > 0.01
        end)
        assert.equal(1, value_of(string.format(
            'controller_runtime_active_workers{controller="%s"}', name)))
        assert.truthy(value_of("workqueue_unfinished_work_seconds" .. queue) > 0)
        controller:stop()
        wait_for("its end", function() return value_of("workqueue_depth" .. queue) == nil end)
        assert.equal(0, value_of(string.format(
            'controller_runtime_reconcile_total{controller="%s",result="success"}', name)))
    end)

    it("shows which process leads", function()
        local name = "lease-" .. number
        local controller = assert(kubelua.controller {
            "configmaps", namespace = "default", name = new_name(), client = client, leader = name,
            reconcile = function() end,
        })
        local line = string.format('leader_election_master_status{name="%s"}', name)
        assert.equal(0, value_of(line))
        wait_for("the lease", function() return value_of(line) == 1 end)
        controller:stop()
        wait_for("its end", function() return value_of(line) == nil end)
    end)

    it("has requests by code and method, after their client too", function()
        local function count()
            return value_of('rest_client_requests_total{code="404",method="GET",host="simulator"}')
                or 0
        end
        local before = count()
        assert.is_nil((client:get("configmaps", "default/missing")))
        assert.is_nil((client:get("configmaps", "default/missing")))
        assert.equal(before + 2, count())
        client:close()
        assert.equal(before + 2, count())
    end)

    it("says what is not ready, and why", function()
        cluster:fail { verb = "list", resource = "configmaps", status = 403, count = 1000 }
        cluster:fail { verb = "watch", resource = "configmaps", status = 403, count = 1000 }
        local informer = assert(client:informer { "configmaps", namespace = "default" })
        wait_for("an error", function() return informer:status().error ~= nil end)
        local text, is_ready = core.readiness()
        assert.is_false(is_ready)
        assert.truthy(text:find("configmaps in default has no first list yet: ", 1, true), text)
        assert.same({ "ok\n", true }, { core.health() })
        informer:stop()
        assert.same({ "ok\n", true }, { core.readiness() })
    end)

    it("tells its state as JSON", function()
        local informer = assert(client:informer { "configmaps", namespace = "default" })
        assert(informer:wait_synced(30))
        local name = new_name()
        local controller = assert(kubelua.controller { name = name, client = client,
            reconcile = function() end })
        local state = assert(kubelua.decode(assert(core.status_text())))
        assert.equal(kubelua._VERSION, state.version)
        assert.is_true(state.healthy)
        assert.equal("configmaps in default", state.informers[1].name)
        assert.is_true(state.informers[1].synced)
        assert.equal(name, state.controllers[1].name)
        assert.equal(0, state.controllers[1].queue.waiting)
        controller:stop()
    end)
end)
