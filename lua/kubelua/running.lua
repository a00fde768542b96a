-- Names what runs, for the log: a handler that blocks the loop (lua/src/watchdog.c reports it), and
-- what was still running when a signal ended the run.
local core = require "kubelua.core"
local log = require "kubelua.log"

local LIMIT = 5 -- seconds that a handler may block the loop before it is logged
local NAMED = 10 -- at most this many are named at the end of a run
local SIGNALS = { [2] = "SIGINT", [15] = "SIGTERM" }

local function read_limit(text)
    local seconds = tonumber(text)
    if text == nil or text == "" or (seconds and seconds >= 0 and seconds < 1e9) then
        return seconds or LIMIT
    end
    log("warn", "KUBELUA_WATCHDOG=%s: use a number of seconds, or 0 to switch it off", text)
    return LIMIT
end

local running = {
    limit = read_limit(os.getenv("KUBELUA_WATCHDOG")),
    -- The names of KubeLua's own chunks begin with this.
    own = debug.getinfo(1, "S").source:match("^(.*)running%.lua$") or "@kubelua/",
}

-- The tasks that have not ended. The set is weak: a task that nothing can wake any more is
-- collected.
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

---The name of a function: "kubelua.spawn (shop.lua:12)".
---@param what string
---@param f function
---@return string
function running.name(what, f)
    return what .. " (" .. core.where(f) .. ")"
end

-- The names of a set of tasks, or of what they do now, sorted.
local function list_names(set)
    local all = {}
    for task in pairs(set) do
        local what = task.what
        if task.doing then
            what = task.doing()
        end
        all[#all + 1] = what
    end
    table.sort(all)
    return all
end

local function log_names(signal, what, all)
    if #all == 0 then
        return
    end
    local more = #all > NAMED and "; and " .. #all - NAMED .. " more" or ""
    log("info", "%s %s: %s%s", SIGNALS[signal] or "a signal", what,
        table.concat(all, "; ", 1, math.min(#all, NAMED)), more)
end

---The names of some tasks, for a message.
---@param list kubelua.Task[]
---@return string
function running.list(list)
    local set = {}
    for _, task in ipairs(list) do
        set[task] = true
    end
    return table.concat(list_names(set), "; ")
end

---Logs what a signal interrupted.
---@param signal integer
function running.tell(signal)
    log_names(signal, "ends the run; still running", list_names(tasks))
end

---Logs which runs of controllers a signal gives some time. False: there are none.
---@param signal integer
---@param seconds number
---@return boolean
function running.tell_grace(signal, seconds)
    local runs = {}
    for _, task in ipairs(running.select(function(task) return task.is_run end)) do
        runs[task] = true
    end
    log_names(signal, string.format("ends the run; no new run of a controller begins, and these "
        .. "have %g s (a second signal cancels them)", seconds), list_names(runs))
    return next(runs) ~= nil
end

return running
