-- Simulated clusters on ports, for bench/fleet/run. Arguments: a folder for their kubeconfigs, the
-- beginning of their names, how many, the kind that changes ("configmaps", or the custom resource
-- "widgets.example.com"); "changes" to change an object of it in each of them, in turn.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local folder, prefix, count, kind, role = arg[1], arg[2], tonumber(arg[3]), arg[4], arg[5]

-- A custom resource is not in the table of built-in kinds: each client asks for it by discovery.
local DEFINITION = { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
    metadata = { name = "widgets.example.com" },
    spec = { group = "example.com", scope = "Namespaced",
        names = { plural = "widgets", singular = "widget", kind = "Widget" },
        versions = { { name = "v1", served = true, storage = true,
            schema = { openAPIV3Schema = { type = "object",
                ["x-kubernetes-preserve-unknown-fields"] = true } } } } } }
local IS_CUSTOM = kind == "widgets.example.com"

-- Seconds between two changes, and how many a phase has.
local PAUSE, CHANGES = 0.004, 2000

local sims = {}
for i = 1, count do
    sims[i] = assert(Sim.new { no_controllers = true })
    if IS_CUSTOM then
        assert(sims[i]:apply(DEFINITION))
    end
    assert(sims[i]:listen {})
    local file = assert(io.open(folder .. "/" .. prefix .. i, "w"))
    assert(file:write(assert(sims[i]:kubeconfig())))
    file:close()
end

local function change(sim, phase)
    assert(sim:apply { apiVersion = IS_CUSTOM and "example.com/v1" or "v1",
        kind = IS_CUSTOM and "Widget" or "ConfigMap", metadata = { name = "a",
        namespace = "default" }, data = { at = ("%.6f"):format(core.now()), phase = phase } })
end

-- Each line of the standard input names a phase: its changes begin then, and its name is printed
-- once they have been made.
local function make_changes()
    for phase in io.lines() do
        for i = 1, CHANGES do
            local next_at = core.now() + PAUSE
            change(sims[i % count + 1], phase)
            kubelua.sleep(math.max(0, next_at - core.now()))
        end
        print(phase)
        io.stdout:flush()
    end
end

print("ready")
io.stdout:flush()
if role == "changes" then
    make_changes()
else
    kubelua.run()
end
