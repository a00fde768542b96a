-- The verbs that end objects: delete, delete_all, evict.
local answers = require "kubelua.verbs.answers"
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local ports = require "kubelua.verbs.ports"
local targets = require "kubelua.verbs.targets"

local deleting = {}

---@class kubelua.DeleteOptions
---@field propagation? "Foreground"|"Background"|"Orphan" what becomes of what it owns
---@field grace? integer seconds; 0: at once
---@field uid? string this object, and no other of its name
---@field resource_version? string at this version, and no later one
---@field dry_run? boolean the server checks it, and deletes nothing
---@field timeout? number seconds of the whole call; default: 30
local DELETE = { propagation = "string", grace = "number", uid = "string",
    resource_version = "string", dry_run = "boolean", timeout = "number" }

local PROPAGATIONS = { Foreground = true, Background = true, Orphan = true }

---The body of a delete; raises where its options are none.
---@param call string
---@param given kubelua.DeleteOptions
---@return table
local function body_of(call, given)
    options.choice(call, "propagation", given.propagation, PROPAGATIONS)
    if given.grace and (given.grace < 0 or given.grace % 1 ~= 0) then
        misuse("%s: 'grace' is a whole number of seconds, from 0", call)
    end
    return {
        apiVersion = "v1", kind = "DeleteOptions", gracePeriodSeconds = given.grace,
        propagationPolicy = given.propagation,
        preconditions = { uid = given.uid, resourceVersion = given.resource_version },
        dryRun = given.dry_run and { "All" } or nil,
    }
end

---@param port kubelua.Port
---@param resource string|table|kubelua.Object
---@param ... any key, or namespace and name; options
---@return kubelua.Object|true|nil, string?, string?, number?
function deleting.delete(port, resource, ...)
    local named, taken = targets.arguments("delete", resource, ...)
    local given = options.optional("delete", (select(taken + 1, ...)), DELETE)
    local body = body_of("delete", given)
    local target, message, code = targets.find(port, "delete", named)
    if not target then
        return nil, message, code
    end
    local what = "delete " .. targets.tell(target)
    body.preconditions.uid = given.uid or target.uid
    return ports.write(port, { verb = "delete", dry_run = given.dry_run, uid = given.uid }, {
        method = "DELETE", what = "delete", timeout = given.timeout, body = core.encode(body),
    }, target, function(reply)
        return answers.object(reply, what)
    end)
end

return deleting
