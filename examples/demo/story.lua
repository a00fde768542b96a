-- What scripts/demo shows: examples/watch.lua, while this file changes a simulated cluster.
local kubelua = require "kubelua"
local clients = require "kubelua.client"
local Sim = require "kubelua.sim"

local bold, dim, plain = "", "", ""
if os.getenv("TERM") and os.execute("test -t 1") then
    bold, dim, plain = "\27[1m", "\27[2m", "\27[0m"
end

local say = print

local function tell(text)
    say(dim .. "-- " .. text .. plain)
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
    assert(sim:delete("pods", "default/" .. name, { grace = 0 }))
end

apply("shop-1", "Running")
apply("shop-2", "Pending")
clients.defaults.sim = sim

print(bold .. "The script, examples/watch.lua:" .. plain .. "\n")
for line in io.lines("examples/watch.lua") do
    print("    " .. line)
end
print("\n" .. bold .. "What it prints, while this happens to the cluster:" .. plain .. "\n")

-- The lines that the script has printed; the story waits for them.
local printed = {}
function print(...) -- luacheck: ignore 121 (the script's own)
    say(...)
    printed[#printed + 1] = table.concat({ tostring((...)), tostring((select(2, ...))) }, " ")
end
dofile("examples/watch.lua")

local function await(line)
    local deadline = os.time() + 30
    while printed[#printed] ~= line do
        assert(os.time() < deadline, "the script never printed: " .. line)
        kubelua.sleep(0.01)
    end
end

-- What is told, what happens, and the last line that the script then prints.
local STORY = {
    { "two pods are there when it starts", function() end, "add Pod default/shop-2" },
    { "shop-2 starts to run", function()
        apply("shop-2", "Running")
    end, "update Pod default/shop-2" },
    { "shop-3 is created, and deleted", function()
        apply("shop-3", "Pending")
        delete("shop-3")
    end, "delete Pod default/shop-3" },
    { "the connection is cut, and the server is away for a while", function()
        sim:refuse()
    end },
    { "meanwhile shop-1 is deleted, and created again under its name: another pod;\n"
        .. "-- and the server forgets its history: the informer has to find out", function()
        delete("shop-1")
        apply("shop-1", "Pending")
        sim:compact()
    end },
    { "the server is back: a delete and an add, not an update", function()
        sim:refuse(false)
    end, "add Pod default/shop-1" },
    { "the watch goes on: shop-1 starts to run", function()
        apply("shop-1", "Running")
    end, "update Pod default/shop-1" },
}

kubelua.spawn(function()
    for _, chapter in ipairs(STORY) do
        tell(chapter[1])
        chapter[2]()
        if chapter[3] then
            await(chapter[3])
        end
        kubelua.sleep(0.5) -- so that a person can read along
    end
    say("\n" .. bold .. "Try next:" .. plain .. [[

    bin/kubelua run --sim=examples/cluster.yaml examples/index-query.lua
    bin/kubelua sim --controllers --write-kubeconfig sim.yaml         (a cluster for kubectl)
    bin/kubelua run --kubeconfig ~/.kube/config examples/watch.lua    (your own cluster)
    scripts/test                                                      (the quick checks)]])
    kubelua.stop()
end)
