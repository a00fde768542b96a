-- Notices a key that runs again and again: two controllers that fight over a field, or one that
-- changes what wakes it. Says which fields change.
--
-- Most keys run rarely: of these only a count is kept, for a second. A key that runs often is hot
-- until it runs less often; only then its changes are looked at.
local core = require "kubelua.core"
local lines = require "kubelua.log_lines"
local sorted_keys = require "kubelua.sorted_keys"

-- More than RATE runs a second of one key for LONG seconds are told; then after twice that time,
-- and so on.
local RATE, LONG = 5, 30

-- Seconds: a key that runs less often than RATE for so long is not hot any more.
local STRETCH = 3

-- Seconds between two looks at what has changed, of one key: a look compares two whole objects.
local LOOK = 0.2

-- How many fields are named, and how many are counted at most.
local NAMED, MOST = 3, 100

---@class kubelua.controller.Hot
---@field since number on the clock of the controller
---@field count integer runs since then
---@field stretch number when the last stretch began
---@field before integer runs before that stretch
---@field due number after so many seconds it is told
---@field changes table<string, integer> how often each field was seen to change
---@field look_at number

---@class kubelua.controller.Fights
---@field second number when the counts began
---@field counts table<string, integer> runs of each key since then
---@field hot table<string, kubelua.controller.Hot>
local fights = {}

---@return kubelua.controller.Fights
function fights.new()
    return { second = -math.huge, counts = {}, hot = {} }
end

-- True if a key has run often in the last stretch, or may still do so. Begins the next stretch.
local function stays_hot(hot, now)
    local seconds = now - hot.stretch
    if seconds < STRETCH then
        return true
    elseif hot.count - hot.before <= RATE * seconds then
        return false
    end
    hot.stretch, hot.before = now, hot.count
    return true
end

local function begin_second(self, now)
    self.second, self.counts = now, {}
    for key, hot in pairs(self.hot) do
        if not stays_hot(hot, now) then
            self.hot[key] = nil
        end
    end
end

-- The fields that changed most often: "spec.replicas (seen 12 times), ..."; nil: none was seen to
-- change.
local function tell_changes(changes)
    local names = sorted_keys(changes, function(a, b)
        return changes[a] > changes[b] or changes[a] == changes[b] and a < b
    end)
    for i, name in ipairs(names) do
        names[i] = name .. " (seen " .. changes[name] .. " times)"
    end
    return names[1] and table.concat(names, ", ", 1, math.min(#names, NAMED))
end

local function warn_of(state, key, hot, now)
    hot.due = hot.due * 2
    local told = tell_changes(hot.changes)
    hot.changes = {}
    if told then
        lines.of_controller("warn", state, key, "%s has run %.0f times a second for %.0f s. What "
            .. "wakes it changes again and again: %s. Do two writers set the same field, or does "
            .. "each run change what wakes it? Let one of them decide, or choose the events with "
            .. "`when` or `delay`",
            state:describe(key), hot.count / (now - hot.since), now - hot.since, told)
    end
end

---Counts a run of a key that begins.
---@param state kubelua.controller.State
---@param key string
function fights.note_run(state, key)
    local self, now = state.fights, state.clock:now()
    if now - self.second >= 1 then
        begin_second(self, now)
    end
    local hot = self.hot[key]
    if hot then
        hot.count = hot.count + 1
        if now - hot.since >= hot.due then
            warn_of(state, key, hot, now)
        end
        return
    end
    local count = (self.counts[key] or 0) + 1
    self.counts[key] = count
    if count > RATE then
        self.hot[key] = { since = self.second, count = count, stretch = self.second, before = 0,
            due = LONG, changes = {}, look_at = now }
    end
end

-- Levels of a path at most: an object may have 10,000, which is too many for a name and for the
-- stack of LuaJIT.
local DEEPEST = 20

-- They change with every write, and say nothing.
local SKIPPED = { ["metadata.resourceVersion"] = true, ["metadata.generation"] = true,
    ["metadata.managedFields"] = true, ["metadata.uid"] = true,
    ["metadata.creationTimestamp"] = true }

local function join_path(path, name)
    if type(name) == "number" then
        return path .. "[" .. name .. "]"
    elseif name:find("^[%w_]+$") then
        return path == "" and name or path .. "." .. name
    end
    return path .. '["' .. name .. '"]'
end

-- Adds the paths at which two JSON values differ to a list.
local function add_differences(list, path, a, b, level)
    if SKIPPED[path] or a == b or #list >= MOST then
        return
    elseif type(a) ~= "table" or type(b) ~= "table" then
        list[#list + 1] = path
        return
    elseif level == DEEPEST then
        list[#list + 1] = core.hash(a) ~= core.hash(b) and path or nil
        return
    end
    for name, value in pairs(a) do
        add_differences(list, join_path(path, name), value, b[name], level + 1)
    end
    for name, value in pairs(b) do
        if a[name] == nil then
            add_differences(list, join_path(path, name), nil, value, level + 1)
        end
    end
end

-- What an event changed: paths; or that an object came or went.
local function list_changes(old, new)
    local list = {}
    if not old or not new or old.uid ~= new.uid then
        return { not new and "(deleted)" or not old and "(created)" or "(replaced)" }
    end
    add_differences(list, "", core.view_table(old), core.view_table(new), 0)
    return list
end

local function count_changes(hot, prefix, old, new)
    local left = MOST
    for _ in pairs(hot.changes) do
        left = left - 1
    end
    for _, path in ipairs(list_changes(old, new)) do
        local name = prefix .. path
        if hot.changes[name] or left > 0 then
            left = hot.changes[name] and left or left - 1
            hot.changes[name] = (hot.changes[name] or 0) + 1
        end
    end
end

---Looks at an event that has queued a key, if the key is hot.
---@param state kubelua.controller.State
---@param source kubelua.controller.Source
---@param key string
---@param old kubelua.Object?
---@param new kubelua.Object?
function fights.note_event(state, source, key, old, new)
    local hot = state.fights.hot[key]
    local now = hot and state.clock:now()
    if not hot or now < hot.look_at then
        return
    end
    hot.look_at = now + LOOK
    count_changes(hot, source.role == "reconciles" and "" or tostring(new or old) .. ": ", old,
        new)
end

return fights
