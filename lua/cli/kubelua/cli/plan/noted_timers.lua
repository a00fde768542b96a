-- The timers that are set while a script is rehearsed for kubelua plan: notes which ones the script
-- sets, and tells when only the timers of Leases are left, which never end.
local scopes = require "kubelua.scope"
local tasks = require "kubelua.tasks"

---@class kubelua.NotedTimers
---@field by_name table<string, { count: integer, longest: number }> by the line of the script, or
--- the task, that has set them
---@field private clock kubelua.Clock of the cluster; with `heap`, its timers
---@field private of_leases table<kubelua.Timer, true> weak keys
local NotedTimers = {}
NotedTimers.__index = NotedTimers

-- The files whose timers are the script's: of sleeps, of kubelua.every, of a key that is reconciled
-- again later, of `resync`. Other timers are the library's own: limits of time, Events, Leases.
local OF_SCRIPT = { "/waiting%.lua$", "kubelua/init%.lua$", "controller/queue%.lua$",
    "controller/state%.lua$" }

local OF_LEASE = { "leader/candidate%.lua$", "shards/membership%.lua$" }

---@param clock kubelua.Clock
---@return kubelua.NotedTimers
function NotedTimers.new(clock)
    return setmetatable({ clock = clock, by_name = {},
        of_leases = setmetatable({}, { __mode = "k" }) }, NotedTimers)
end

-- The file of the function at that level: 1 is the caller of this one.
local function file_at(level)
    return debug.getinfo(level + 1, "S").source
end

local function is_one_of(file, patterns)
    for _, pattern in ipairs(patterns) do
        if file:find(pattern) then
            return true
        end
    end
    return false
end

---Notes that a timer is set for that time, if it is the script's.
---@param at number
---@param level integer of the function that sets it: 1 is the caller of this one
function NotedTimers:note(at, level)
    if at <= self.clock:now() or not is_one_of(file_at(level + 1), OF_SCRIPT) then
        return
    end
    local task = tasks.task_here()
    local name = scopes.script_line():match("^(.*): $") or task and task.what or "the script"
    local entry = self.by_name[name] or { count = 0, longest = 0 }
    self.by_name[name] = entry
    entry.count = entry.count + 1
    entry.longest = math.max(entry.longest, at - self.clock:now())
end

---Remembers which timer is a Lease's.
---@param timer kubelua.Timer
---@param level integer of the function that has set it: 1 is the caller of this one
function NotedTimers:mark_lease(timer, level)
    self.of_leases[timer] = is_one_of(file_at(level + 1), OF_LEASE) or nil
end

---True if only timers of Leases are left.
---@return boolean
function NotedTimers:has_only_leases()
    for _, timer in ipairs(self.clock.heap) do
        if not timer.cancelled and not self.of_leases[timer] then
            return false
        end
    end
    return true
end

return NotedTimers
