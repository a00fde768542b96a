-- Long work for a request, such as a page that shows all that is there: it lets other requests of
-- the worker go on every millisecond, in the phases of nginx that can wait. (pace.lua is the same
-- for scripts of kube.owner.)
local collector = require "resty.kubelua.collector"
local core = require "kubelua.core"

local breaks = {}

local SLICE = 0.001 -- seconds of work between two breaks
-- Seconds of a break. After ngx.sleep(0) nginx goes on here at once, and no timer runs: 1,000 such
-- breaks with 1 ms of work kept a timer of 1 ms waiting for 1.9 s (nginx 1.22, lua 0.10.23).
local BREAK = 0.001
local CAN_WAIT = { rewrite = true, access = true, content = true, timer = true }

---A function to be called between two pieces of work: it waits where the slice is used up.
---@return fun()
function breaks.new()
    local nginx = rawget(_G, "ngx")
    if not nginx or not CAN_WAIT[nginx.get_phase()] then
        return function() end
    end
    local began = core.now()
    local function is_used_up()
        return core.now() - began >= SLICE
    end
    local function rest()
        nginx.sleep(BREAK)
        began = core.now()
    end
    return function()
        if is_used_up() then
            rest()
            while collector.is_due() do
                collector.run(is_used_up)
                rest()
            end
        end
    end
end

return breaks
