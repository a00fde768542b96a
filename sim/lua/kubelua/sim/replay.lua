-- Replays a recording (kubelua record) in a simulated cluster: first its initial objects, then the
-- changes in the order of their versions, at the recorded speed, faster, or step by step.
local core = require "kubelua.core"
local log = require "kubelua.log"
local options = require "kubelua.options"
local simcore = require "kubelua.simcore"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

local replay = {}

---@class kubelua.sim.Event
---@field at number seconds since the recording began
---@field change "put"|"deleted"
---@field json string
---@field order number the version by which it is sorted
---@field key string of its object: kind, namespace and name
---@field missed table? the object of a delete that was missed: its version is an older one

---@class kubelua.sim.Recording
---@field initial string[] JSON texts
---@field events kubelua.sim.Event[]

local function version_of(object)
    return tonumber(object.metadata.resourceVersion) or 0
end

local function add_line(recording, seen, line)
    if line.type ~= "ADDED" and line.type ~= "MODIFIED" and line.type ~= "DELETED" then
        return -- headers, SYNCED, ERROR: only for people
    end
    local object = line.object
    local version = version_of(object)
    local name = table.concat({ line.type == "DELETED" and "-" or "+",
        tostring(object.metadata.uid), tostring(version) }, " ")
    if seen[name] then
        return -- two informers of the same resource have recorded it
    end
    seen[name] = true
    local json = core.encode(object)
    recording.versions[version] = true
    if line.initial then
        local is_definition = object.kind == "CustomResourceDefinition"
        table.insert(recording.initial, is_definition and 1 or #recording.initial + 1, json)
        recording.latest = math.max(recording.latest, version)
        return
    end
    local events = recording.events
    events[#events + 1] = {
        at = line.at,
        change = line.type == "DELETED" and "deleted" or "put",
        json = json,
        key = table.concat({ object.kind, object.metadata.namespace or "", object.metadata.name },
            "/"),
        order = line.unknown and math.max(version, recording.latest) or version,
        place = #events,
        missed = line.unknown and object or nil,
    }
    recording.latest = math.max(recording.latest, events[#events].order)
end

-- The version before which a missed delete must come: that of the next object with the same name.
local function find_ceiling(events, index)
    for i = index + 1, #events do
        if events[i].key == events[index].key then
            return events[i].order
        end
    end
    return math.huge
end

-- A delete that was missed has happened at some version after the last known one. It gets a version
-- that nothing else in the recording has, so all other versions stay.
local function place_missed(recording)
    local missed = {}
    for i, event in ipairs(recording.events) do
        if event.missed then
            event.ceiling = find_ceiling(recording.events, i)
            missed[#missed + 1] = event
        end
    end
    table.sort(missed, function(a, b)
        if a.ceiling ~= b.ceiling then
            return a.ceiling < b.ceiling
        end
        return a.place < b.place
    end)
    for _, event in ipairs(missed) do
        local version = event.order + 1
        while recording.versions[version] do
            version = version + 1
        end
        if version < event.ceiling then
            recording.versions[version] = true
            event.order = version
            event.missed.metadata.resourceVersion = string.format("%.0f", version)
            event.json = core.encode(event.missed)
        end
        event.missed, event.ceiling = nil, nil
    end
end

-- Sorts the events by version: informers of several resources record them in their own order.
local function sort_events(events)
    table.sort(events, function(a, b)
        if a.order ~= b.order then
            return a.order < b.order
        end
        return a.place < b.place
    end)
    local latest = 0
    for _, event in ipairs(events) do
        latest = math.max(latest, event.at)
        event.at = latest
    end
end

---Reads a recording.
---@param path string
---@return kubelua.sim.Recording?, string?, string?
function replay.read(path)
    local file, message = io.open(path, "rb")
    if not file then
        return nil, message, "io"
    end
    if not file:read(0) then
        file:close()
        return nil, path .. ": is empty, or a folder; name a file that kubelua record wrote",
            "parse"
    end
    local recording = { initial = {}, events = {}, versions = {}, latest = 0 }
    local seen, number = {}, 0
    for text in file:lines() do
        number = number + 1
        local ok, line = pcall(core.decode, text)
        if not ok or type(line) ~= "table" or (number == 1 and line.kubelua ~= "recording") then
            file:close()
            return nil, path .. ": line " .. number .. " is not a line of a recording; "
                .. "kubelua record writes recordings", "parse"
        end
        local problem
        ok, problem = pcall(add_line, recording, seen, line)
        if not ok then
            file:close()
            return nil, path .. ": line " .. number .. ": " .. tostring(problem), "parse"
        end
    end
    file:close()
    place_missed(recording)
    sort_events(recording.events)
    recording.versions = nil
    return recording
end

---Loads the initial objects of a recording into a cluster.
---@param sim kubelua.Sim
---@param path string
---@return true?, string?, string?
function replay.begin(sim, path)
    local recording, message, code = replay.read(path)
    if not recording then
        return nil, message, code
    end
    for _, json in ipairs(recording.initial) do
        local ok
        ok, message, code = simcore.replay(sim, json, "initial")
        if not ok then
            return nil, path .. ": " .. message, code
        end
    end
    simcore.compact(sim)
    local state = simcore.state(sim)
    state.recording, state.played = recording, 0
    return true
end

---@class kubelua.Sim
local methods = {}

-- The state of a cluster that replays a recording; raises for any other.
local function player_of(self, call)
    local state = simcore.state(self)
    if not state.recording then
        error(call .. ": this cluster has no recording to replay; give it one: "
            .. "sim.new { replay = \"recording.ndjson\" }", 3)
    end
    return state
end

---Plays the next changes of the recording; returns how many they were.
---@param count integer? default 1
---@return integer
function methods:step(count)
    local state = player_of(self, "step")
    local events, first = state.recording.events, state.played
    while state.played < #events and state.played - first < (count or 1) do
        state.played = state.played + 1
        local event = events[state.played]
        local ok, message = simcore.replay(self, event.json, event.change)
        if not ok then
            log("warn", "a change of the recording is left out: %s", message)
        end
    end
    return state.played - first
end

---How many changes of the recording are left.
---@return integer
function methods:left()
    local state = player_of(self, "left")
    return #state.recording.events - state.played
end

---Plays the changes in the script's loop, with the recorded pauses between them.
---@param given { speed: number? }? speed: this many times as fast; math.huge: without pauses
function methods:play(given)
    local state = player_of(self, "play")
    local events = state.recording.events
    local speed = options.optional("play", given, { speed = "number" }).speed or 1
    if speed <= 0 or speed ~= speed then
        error("play: the speed is a number above 0", 2)
    end
    tasks.task("replay", function()
        local clock = tasks.clock_here()
        local began, origin = clock:now(), events[1] and events[1].at
        while state.played < #events do
            local pause = began + (events[state.played + 1].at - origin) / speed - clock:now()
            if pause > 0 then
                waiting.sleep(pause)
            end
            if state.is_closed then
                return
            end
            self:step()
        end
    end)
end

replay.methods = methods

return replay
