-- Records the events of informers, one line of JSON each. kubelua.sim can replay them.
local core = require "kubelua.core"
local log = require "kubelua.log"
local registrations = require "kubelua.registration"

---@class kubelua.Recorder
local Recorder = {}
Recorder.__index = Recorder

---@param write fun(line: string) called with each line, which ends with "\n"
---@return kubelua.Recorder
function Recorder.new(write)
    local self = setmetatable({ write = write, started = core.now(), seen = {} }, Recorder)
    self:line({ kubelua = "recording", version = 1, started = os.date("!%Y-%m-%dT%H:%M:%SZ") })
    return self
end

function Recorder:line(fields)
    self.write(core.encode(fields) .. "\n")
end

-- The JSON of the object is written as it is: nothing is lost.
function Recorder:event(type, object, more)
    self.write(string.format('{"at":%.3f,"type":"%s"%s,"object":%s}\n', core.now() - self.started,
        type, more or "", object:json()))
end

local function make_key(options)
    local namespace = options.namespace or ""
    if type(namespace) == "table" then
        namespace = table.concat(namespace, ",")
    end
    return table.concat({ options[1], namespace, options.labels or "",
        options.fields or "" }, "\0")
end

---Records an informer from now on, unless one of the same resource, namespace and selectors is
---recorded.
---@param informer kubelua.Informer
---@param options table the options that it was opened with
---@return kubelua.Registration?, string?, string?
function Recorder:attach(informer, options)
    options = type(options) == "string" and { options } or options
    local key, what = make_key(options), options[1]
    if self.seen[key] then
        return self.seen[key]
    end
    local registration, message, code = informer:on {
        coalesce = false, -- every change; the informer waits for the disk
        add = function(object, initial)
            self:event("ADDED", object, initial and ',"initial":true')
        end,
        update = function(_, object)
            self:event("MODIFIED", object)
        end,
        delete = function(object, unknown)
            self:event("DELETED", object, unknown and ',"unknown":true')
        end,
        synced = function()
            self:line { at = core.now() - self.started, type = "SYNCED", resource = what,
                resourceVersion = informer:resource_version() }
        end,
        error = function(problem, problem_code)
            log("warn", "%s: %s", what, problem)
            self:line { at = core.now() - self.started, type = "ERROR", resource = what,
                message = problem, code = problem_code }
        end,
    }
    if registration then
        registrations.drain_at_end(registration)
    end
    self.seen[key] = registration
    return registration, message, code
end

---Ends the recording. Every event that a handler of the script can have seen is in it: the recorder
---is registered first, so it has each event before the script's handlers.
function Recorder:finish()
    for key, registration in pairs(self.seen) do
        self.seen[key] = nil
        registration:remove()
    end
end

return Recorder
