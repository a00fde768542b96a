-- The scripts of a lua_State, one after the other: kubelua run --reload replaces a script over the
-- caches and connections of the one before. Tasks, informers, clients and controllers know the
-- script that made them. This file says which tasks of a script may have a turn; the command's
-- cli/reload/handover.lua moves a script from stage to stage. Without --reload there is no script
-- here.

---A script that can be replaced.
---@class kubelua.Script
---@field name string its file, for messages
---@field stage "runs"|"drains"|"stands"|"tells"|"ends"
---@field replaces kubelua.Script? while its main part starts: the script before it
---@field held kubelua.Task[] tasks that wait until it may go on
---@field missed table<fun(), true> what could not be called meanwhile
local Script = {}
Script.__index = Script

local scripts = {
    current = nil, ---@type kubelua.Script? # what is made outside of tasks belongs to it
}

---The script whose code runs, or that KubeLua works for. tasks.lua, which knows the task, sets it.
---@return kubelua.Script?
function scripts.here()
    return scripts.current
end

---@param name string
---@return kubelua.Script
function scripts.new(name)
    return setmetatable({ name = name, stage = "runs", held = {}, missed = {} }, Script)
end

---The script that is being replaced by the one whose code runs; nil: none is.
---@return kubelua.Script?
function scripts.before()
    local here = scripts.here()
    return here and here.replaces
end

-- What a script does not get in each stage:
--   drains: runs, handlers and tickers go on until they return, and no new one begins
--   stands: nothing of it has a turn; it may go on later
--   tells: its handlers get the events that came before its successor took over
--   ends: only what was cancelled has a turn, to clean up; and what ends a controller
local HOLDS = {
    runs = function() return false end,
    drains = function(task)
        return task.serves and (task.is_resting or not task.has_begun) and not task.is_cancelled
    end,
    stands = function() return true end,
    tells = function(task) return not task.tells end,
    ends = function(task) return not task.is_cancelled and not task.outlasts end,
}

---True if a task has to wait for its turn, and keeps it until then.
---@param task kubelua.Task
---@return boolean
function scripts.hold(task)
    local script = task.script
    if not script or not HOLDS[script.stage](task) then
        return false
    end
    script.held[#script.held + 1] = task
    return true
end

---True if a controller may begin runs.
---@return boolean
function Script:may_begin()
    return self.stage == "runs"
end

---True if a function of the script that the loop itself calls must wait: it is called later.
---@param f fun()
---@return boolean
function Script:miss(f)
    if self.stage == "runs" or self.stage == "drains" then
        return false
    end
    self.missed[f] = true
    return true
end

---Moves it to another stage. `wake(task)` is called for each task that was held.
---@param stage "runs"|"drains"|"stands"|"tells"|"ends"
---@param wake fun(task: kubelua.Task)
function Script:enter(stage, wake)
    local held = self.held
    self.stage, self.held = stage, {}
    for _, task in ipairs(held) do
        wake(task)
    end
    if stage == "runs" then
        local missed = self.missed
        self.missed = {}
        for f in pairs(missed) do
            f()
        end
    end
end

return scripts
