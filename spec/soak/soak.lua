-- The soak as a script: handlers, informers and clients of a lua_State come and go while the
-- cluster changes. Prints what the process uses at regular points; judge.lua looks at that.
-- Usage: kubelua run spec/soak/soak.lua EVENTS|MINUTESm; KUBELUA_SOAK_LEAK=N, KUBELUA_SOAK_SEED=N
package.path = arg[0]:match("^(.*)/") .. "/?.lua;" .. package.path

local core = require "kubelua.core"
local guests = require "guests"
local kubelua = require "kubelua"
local world = require "world"

local SAMPLES, LAP, ACTION = 36, 1250, 125

local amount, unit = (arg[1] or "100000"):match("^([%d.]+)(m?)$")
local rest_threads

local function read_file(path, pattern)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return pattern and tonumber(text:match(pattern)) or select(2, text:gsub("\n", "\n"))
end

-- Counts descriptors other than pipes: this call's own pipe may have both its ends here for a
-- moment.
local function descriptors()
    local pipe = io.popen("ls -l /proc/$PPID/fd 2>&1 | grep -v pipe: | grep -c -e '->'")
    local count = pipe:read("*n")
    pipe:close()
    return count
end

local function threads()
    return read_file("/proc/self/status", "Threads:%s*(%d+)")
end

-- Collects all garbage: finalizers run, and then what they referred to is collected. A trace of
-- LuaJIT keeps its constants alive, so traces are flushed first.
local function collect()
    if rawget(_G, "jit") then
        require("jit").flush()
    end
    for _ = 1, 3 do
        collectgarbage()
    end
end

local function print_sample(began)
    collect()
    local deadline = core.now() + 0.5
    while threads() > rest_threads and core.now() < deadline do
        kubelua.sleep(0.005)
    end
    print(table.concat({ "sample", world.changes, string.format("%.1f", core.now() - began),
        read_file("/proc/self/status", "VmRSS:%s*(%d+)"), math.floor(collectgarbage("count")),
        read_file("/proc/self/maps"), descriptors(), threads(),
        core.live().objects - world.informer:count() }, "\t"))
end

local function run()
    local began, sampled = core.now(), 0
    while sampled < SAMPLES do
        for i = 1, LAP do
            world.change()
            if i % 8 == 0 then
                kubelua.sleep(0)
            end
            if i % ACTION == 0 then
                guests.act()
            end
        end
        world.settle()
        local share = unit == "m" and (core.now() - began) / (amount * 60) or world.changes / amount
        if share * SAMPLES >= sampled + 1 then
            guests.leave()
            world.fill()
            world.settle()
            world.compare()
            sampled = sampled + 1
            print_sample(began)
        end
    end
end

local alive = core.live()
print("begin", descriptors() .. "\t" .. threads())
kubelua.spawn(function()
    local ok, message = pcall(function()
        world.begin()
        rest_threads = threads()
        run()
    end)
    if not ok then
        print("fault", (tostring(message):gsub("\n", " ")))
    end
    kubelua.stop()
end)
kubelua.run()
guests.leave()
world.finish()
collect()
for kind, count in pairs(core.live()) do
    if count ~= alive[kind] then
        print("alive", kind .. "\t" .. (count - alive[kind]))
    end
end
print("end", descriptors() .. "\t" .. threads())
local counts = guests.counts
print("done", string.format("%d events, %d laps (%d of them exact), %d cuts, %d compactions, "
    .. "%d failures, %d guests, %d queries", world.changes, world.lap, world.calm, counts.cuts,
    counts.compactions, counts.failures, counts.guests, counts.queries))
