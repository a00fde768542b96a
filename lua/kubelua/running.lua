-- What runs, for the log: what blocks the loop (lua/src/watchdog.c), and what has not ended when a
-- signal ends the run.
local core = require "kubelua.core"
local log = require "kubelua.log"

local LIMIT = 5 -- seconds that a handler may keep the loop before the log names it
local NAMED = 10 -- at most so many are named at the end of a run
local SIGNALS = { [2] = "SIGINT", [15] = "SIGTERM" }

local function limit_of(text)
    local seconds = tonumber(text)
    if text == nil or text == "" or (seconds and seconds >= 0 and seconds < 1e9) then
        return seconds or LIMIT
    end
    log("warn", "KUBELUA_WATCHDOG=%s: use a number of seconds, or 0 to switch it off", text)
    return LIMIT
end

local running = {
    limit = limit_of(os.getenv("KUBELUA_WATCHDOG")),
    -- What the names of KubeLua's own chunks begin with.
    own = debug.getinfo(1, "S").source:match("^(.*)running%.lua$") or "@kubelua/",
}

-- Those that nothing can wake any more are collected.
local tasks = setmetatable({}, { __mode = "k" })

---@param task kubelua.Task
function running.add(task)
    tasks[task] = true
end

---@param task kubelua.Task
function running.remove(task)
    tasks[task] = nil
end

---The tasks that have not ended and for which `wanted(task)` is true.
---@param wanted fun(task: kubelua.Task): boolean?
---@return kubelua.Task[]
function running.select(wanted)
    local list = {}
    for task in pairs(tasks) do
        if wanted(task) then
            list[#list + 1] = task
        end
    end
    return list
end

---What a function is called: "kubelua.spawn (shop.lua:12)".
---@param what string
---@param f function
---@return string
function running.name(what, f)
    return what .. " (" .. core.where(f) .. ")"
end

-- What has begun and not ended, sorted.
local function names()
    local all = {}
    for task in pairs(tasks) do
        local what = task.what
        if task.doing then
            what = task.doing()
        end
        all[#all + 1] = what
    end
    table.sort(all)
    return all
end

---Says in the log what a signal ended in the middle.
---@param signal integer
function running.tell(signal)
    local all = names()
    if #all == 0 then
        return
    end
    local more = #all > NAMED and "; and " .. #all - NAMED .. " more" or ""
    log("info", "%s ends the run; still running: %s%s", SIGNALS[signal] or "a signal",
        table.concat(all, "; ", 1, math.min(#all, NAMED)), more)
end

return running
