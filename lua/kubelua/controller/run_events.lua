-- run:event: records an event about the object of a run.
local events = require "kubelua.events"
local misuse = require "kubelua.misuse"

local run_events = {}

---@param run { state: kubelua.controller.State, object: kubelua.Object? }
---@param kind "Normal"|"Warning"
---@param reason string
---@param message string
---@param object kubelua.Object?
function run_events.record(run, kind, reason, message, object)
    object = object or run.object
    if not object then
        misuse("run:event: this run has no object; name one as the fourth argument")
    end
    events.record(run.state.client, object, kind, reason, message,
        { controller = run.state.name, call = "run:event" })
end

return run_events
