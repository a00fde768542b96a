-- client:event records Kubernetes Events: what kubectl describe shows below an object. Recording
-- never waits and never fails; events/recorder.lua writes them in the background.
local core = require "kubelua.core"
local document = require "kubelua.events.document"
local ending = require "kubelua.ending"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"
local Recorder = require "kubelua.events.recorder"
local waiting = require "kubelua.waiting"

local TYPES = { "Normal", "Warning" }

local events = {}

-- Recorders that may still have events to write when a run ends; a weak set.
local recorders = setmetatable({}, { __mode = "k" })

ending.on_end(function()
    local function is_done()
        local all = true
        for recorder in pairs(recorders) do
            all = recorder:flush() and all
        end
        return all
    end
    while not is_done() do
        waiting.sleep(0.01)
    end
end)

local function check_event(call, reference, type_of_event, reason)
    if not reference then
        misuse("%s: the object that it is about expected, with apiVersion, kind and metadata.name",
            call)
    elseif type_of_event ~= "Normal" and type_of_event ~= "Warning" then
        local nearest = type(type_of_event) == "string" and options_of.nearest(type_of_event, TYPES)
        misuse("%s: the type is \"Normal\" or \"Warning\", not %s%s", call,
            type(type_of_event) == "string" and "\"" .. type_of_event .. "\""
            or "a " .. type(type_of_event),
            nearest and "; do you mean \"" .. nearest .. "\"?" or "")
    elseif type(reason) ~= "string" or reason == "" then
        misuse("%s: a reason expected, one word for programs such as \"FailedMount\"", call)
    end
end

---Records an event about an object. Raises for mistakes of the script only.
---@param client kubelua.Client
---@param object table with apiVersion, kind and metadata
---@param type_of_event "Normal"|"Warning"
---@param reason string one word, such as "FailedMount"
---@param message any what people read; up to 1,024 bytes of it
---@param options { controller: string?, call: string? }? controller: its reporter; call: for
---messages
function events.record(client, object, type_of_event, reason, message, options)
    options = options or {}
    local state = core.state(client, "kubelua.client")
    local reference = document.reference(object)
    check_event(options.call or "event", reference, type_of_event, reason)
    if state.is_closed then
        return
    end
    if not state.recorder then
        state.recorder = Recorder.new(client)
        recorders[state.recorder] = true
    end
    state.recorder:record(document.given(reference, type_of_event, reason,
        message == nil and "" or tostring(message), options.controller))
end

---@class kubelua.Client
local Client = {}

---Records an Event about an object, for people: kubectl describe shows it. Never waits and never
---fails: an event that cannot be written is logged. Equal events within 10 minutes become one
---series.
---@param object table
---@param type_of_event "Normal"|"Warning"
---@param reason string one word, such as "FailedMount"
---@param message any what people read; up to 1,024 bytes of it
function Client:event(object, type_of_event, reason, message)
    events.record(self, object, type_of_event, reason, message, { call = "client:event" })
end

events.methods = Client

return events
