-- A fleet with one controller in each cluster, for bench/fleet/run. Arguments: the folder of
-- kubeconfigs, the beginning of the names of clusters that answer, how many of these there are, and
-- the kind that is watched. Prints what it takes once they have synced; and, when the phase "end"
-- comes, for each phase how long it took from a change to its run. More arguments: with "start" it
-- prints what it takes once more after five seconds, and ends; with "write" each controller writes
-- a Secret first.
local core = require "kubelua.core"
local kubelua = require "kubelua"

local folder, prefix, wanted, kind = arg[1], arg[2], tonumber(arg[3]), arg[4]
local options = { [arg[5] or ""] = true, [arg[6] or ""] = true }
local only_starts = options.start
local began, synced, phases = core.now(), 0, {}

local function read_status(name)
    for line in io.lines("/proc/self/status") do
        local value = line:match("^" .. name .. ":%s*(%d+)")
        if value then
            return tonumber(value)
        end
    end
end

local function tell(what)
    collectgarbage()
    print(("%s clusters=%d seconds=%.2f cpu=%.2f rss_mb=%.0f threads=%d descriptors=%d"):format(
        what, synced, core.now() - began, os.clock(), read_status("VmRSS") / 1024,
        read_status("Threads"), #core.list_folder("/proc/self/fd")))
    io.stdout:flush()
end

local function tell_synced()
    tell "synced"
    if only_starts then
        kubelua.sleep(5)
        tell "later"
        kubelua.stop()
    end
end

local function tell_phases()
    local names = {}
    for name in pairs(phases) do
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local all = phases[name]
        table.sort(all)
        print(("phase %s changes=%d p50_us=%.0f p90_us=%.0f p99_us=%.0f"):format(name, #all,
            all[math.ceil(#all * 0.5)] * 1e6, all[math.ceil(#all * 0.9)] * 1e6,
            all[math.ceil(#all * 0.99)] * 1e6))
    end
    kubelua.stop()
end

local function note(object)
    local data = object:table().data
    if only_starts then
        return
    elseif data.phase == "end" then
        return tell_phases()
    end
    phases[data.phase] = phases[data.phase] or {}
    table.insert(phases[data.phase], core.now() - tonumber(data.at))
end

kubelua.fleet {
    source = { folder = folder },
    function(cluster)
        if options.write then
            assert(cluster.client:apply { apiVersion = "v1", kind = "Secret",
                metadata = { name = "seen", namespace = "default" } })
        end
        kubelua.controller { kind, namespace = "default", reconcile = note }
        assert(cluster.client:informer { kind, namespace = "default" }:wait_synced())
        if cluster.name:sub(1, #prefix) == prefix then
            synced = synced + 1
            if synced == wanted then
                tell_synced()
            end
        end
    end,
}

kubelua.run()
