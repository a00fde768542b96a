-- The controller of KubeLua in the benchmark: applies a ConfigMap for each Widget of a namespace,
-- and reports when it is done.
-- Usage: reconcile.lua KUBECONFIG NAMESPACE WIDGETS CHANGES WORKERS
if _VERSION == "Lua 5.4" then
    collectgarbage("incremental", 200, 25, 10) -- as `kubelua run` does
end
local core = require "kubelua.core"
local kubelua = require "kubelua"

local kubeconfig, namespace = arg[1], arg[2]
local widgets, changes, workers = tonumber(arg[3]), tonumber(arg[4]), tonumber(arg[5])
local QUIET = 1 -- for so many seconds nothing is reconciled: the controller is at rest

local reconciles, last = 0, core.now()
local names, left = {}, widgets  -- of what was applied
local stamps, delays = {}, {}    -- of changes, and nanoseconds from each to its reconcile
local phase = "applied"

local function report(name, more)
    io.write(("%s 0 %d 0 %s\n"):format(name, reconciles, more or ""))
    io.flush()
end

-- Comes first in each reconcile.
local function begin(stamp)
    local now = core.now()
    reconciles, last = reconciles + 1, now
    if stamp ~= 0 and not stamps[stamp] then
        stamps[stamp] = true
        delays[#delays + 1] = ("%.0f"):format(now * 1e9 - stamp)
    end
end

-- The server has taken what belongs to a Widget.
local function applied(name)
    if not names[name] then
        names[name] = true
        left = left - 1
        if left == 0 then
            report "applied"
            phase = "quiet"
        end
    end
end

kubelua.every(QUIET / 10, function()
    if core.now() - last < QUIET then
        return
    elseif phase == "quiet" then
        report "quiet"
        phase = "done"
    elseif phase == "done" and #delays >= changes then
        report("done", table.concat(delays, " "))
        kubelua.stop()
    end
end)

kubelua.controller {
    "widgets.bench.kubelua.example",
    namespace = namespace,
    name = "bench",
    client = assert(kubelua.connect { kubeconfig = kubeconfig }),
    owns = { "configmaps" },
    workers = workers,
    reconcile = function(widget, run)
        local spec = widget.spec
        begin(spec.stamp)
        assert(run:apply {
            apiVersion = "v1",
            kind = "ConfigMap",
            metadata = { name = widget.name },
            data = { image = spec.image, size = tostring(spec.size),
                stamp = ("%.0f"):format(spec.stamp) },
        })
        applied(widget.name)
    end,
}
kubelua.run()
