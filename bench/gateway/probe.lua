-- Runs in each worker that bench/gateway/stalls.lua measures. A timer is due each millisecond. The
-- probe notes the longest time between two runs of the timer: so long the worker looked at no
-- connection. It counts the CPU time of the worker's thread, since other processes of the machine
-- delay the timer, too.
local ffi = require "ffi"
local kubelua = require "kubelua"

local probe = {}

ffi.cdef [[
    typedef struct probe_time { long seconds, nanoseconds; } probe_time;
    int clock_gettime(int clock, probe_time *to);
]]

local THREAD_CPU = 3 -- CLOCK_THREAD_CPUTIME_ID
local now = ffi.new("probe_time")

local function cpu()
    ffi.C.clock_gettime(THREAD_CPU, now)
    return tonumber(now.seconds) + tonumber(now.nanoseconds) / 1e9
end

local function keep_longest(name, taken)
    local stalls = ngx.shared.stalls
    local key = name .. " " .. ngx.worker.pid()
    if taken > (stalls:get(key) or 0) then
        stalls:set(key, taken)
    end
end

-- The rounds of the owner's handlers, apart: a part of a turn.
local function time_rounds()
    local step = kubelua.step
    kubelua.step = function(...)
        local before = cpu()
        local ran = step(...)
        keep_longest("round", cpu() - before)
        return ran
    end
end

---Watches the worker, from init_worker_by_lua on.
function probe.watch()
    time_rounds()
    assert(ngx.timer.at(0, function()
        local before = cpu()
        while not ngx.worker.exiting() do
            ngx.sleep(0.001)
            local after = cpu()
            keep_longest("turn", after - before)
            before = after
        end
    end))
end

---Prints "NAME PID MILLISECONDS" for all workers, and begins anew.
function probe.tell()
    local stalls = ngx.shared.stalls
    for _, key in ipairs(stalls:get_keys(0)) do
        ngx.say(key, " ", ("%.3f"):format(stalls:get(key) * 1000))
        stalls:delete(key)
    end
end

return probe
