-- The calls on metrics, and on the report of a lua_State, for memory_world.lua.
local core = require "kubelua.core"

---Adds the calls, by name. `must` raises an error that a call returned.
---@param calls table<string, fun()>
---@param must fun(value: any, message: string?, code: string?): any
return function(calls, must)
    local function make(kind)
        return must(core.metric(kind, "spec_" .. kind, "For a spec.", { "shop" }))
    end
    local function count()
        local counter = make("counter")
        must(counter:inc(1, "a"))
        must(counter:with("a")):inc(2)
        counter:remove("none")
        must(counter:value("a"))
    end
    local function set()
        local gauge = make("gauge")
        must(gauge:set(1, "a"))
        must(gauge:dec(1, "a"))
        local one = must(gauge:with("a"))
        one:set(3)
        one:dec()
        one:value()
    end
    local function observe()
        local histogram = make("histogram")
        must(histogram:observe(1, "a"))
        must(histogram:with("a")):observe(2)
    end
    local function show()
        local queue = must(core.queue {})
        must(queue:show("foo", 4, "lease"))
        queue:set_listed()
        queue:lead(10)
        queue:hide()
    end
    for f, names in pairs {
        [count] = { "core.metric", "metric.inc", "metric.with", "metric.value", "metric.remove",
            "series.inc" },
        [set] = { "metric.set", "metric.dec", "series.set", "series.dec", "series.value" },
        [observe] = { "metric.observe", "series.observe" },
        [show] = { "queue.show", "queue.set_listed", "queue.lead", "queue.hide" },
    } do
        for _, name in ipairs(names) do
            calls[name] = f
        end
    end
    for _, name in ipairs { "metrics_text", "status_text", "health", "readiness",
        "report_pointer", "set_started" } do
        calls["core." .. name] = function() must(core[name](true)) end
    end
    calls["core.drop_report"] = core.drop_report
    calls["poller.show"] = function() must(core.poller(60)):show() end
end
