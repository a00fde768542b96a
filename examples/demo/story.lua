-- What scripts/demo shows: examples/watch.lua against a simulated cluster whose life is told here.
-- Usage: kubelua run examples/demo/story.lua
local kubelua = require "kubelua"
local Client = require "kubelua.client"
local Sim = require "kubelua.sim"

local bold, dim, plain = "", "", ""
if os.getenv("TERM") and os.execute("test -t 1") then
    bold, dim, plain = "\27[1m", "\27[2m", "\27[0m"
end

local function tell(text)
    print(dim .. "-- " .. text .. plain)
end

local function pod(name, phase)
    return {
        apiVersion = "v1",
        kind = "Pod",
        metadata = { name = name, namespace = "default" },
        spec = { containers = { { name = "main", image = "shop:1.4" } } },
        status = { phase = phase },
    }
end

local sim = assert(Sim.new())

local function apply(name, phase)
    assert(sim:apply(pod(name, phase)))
end

local function delete(name)
    assert(sim:call { method = "DELETE", target = "/api/v1/namespaces/default/pods/" .. name })
end

apply("shop-1", "Running")
apply("shop-2", "Pending")
Client.defaults.sim = sim

print(bold .. "The script, examples/watch.lua:" .. plain .. "\n")
for line in io.lines("examples/watch.lua") do
    print("    " .. line)
end
print("\n" .. bold .. "What it prints, while this happens to the cluster:" .. plain .. "\n")
dofile("examples/watch.lua")

local STORY = {
    { "two pods are there when it starts", function() end },
    { "shop-2 starts to run", function() apply("shop-2", "Running") end },
    { "shop-3 is created, and deleted", function()
        apply("shop-3", "Pending")
        delete("shop-3")
    end },
    { "the connection is cut, and the server is gone for a moment;\n--   meanwhile shop-1 is "
        .. "deleted and created again under its name: another pod", function()
        sim:refuse()
        delete("shop-1")
        apply("shop-1", "Pending")
        sim:compact() -- too long ago to be told: the informer has to find out by itself
    end },
    { "the server is back: a delete and an add, never an update", function()
        sim:refuse(false)
    end, 2.5 },
    { "and life goes on: shop-1 runs", function() apply("shop-1", "Running") end },
}

kubelua.spawn(function()
    for _, chapter in ipairs(STORY) do
        tell(chapter[1])
        chapter[2]()
        kubelua.sleep(chapter[3] or 0.6)
    end
    print("\n" .. bold .. "Try next:" .. plain .. [[

    bin/kubelua run --sim=examples/cluster.yaml examples/index-query.lua
    bin/kubelua run --kubeconfig ~/.kube/config examples/watch.lua    (your own cluster)
    scripts/test                                                      (every check)]])
    kubelua.stop()
end)
