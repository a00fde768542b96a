-- Reads what the server has, before a write of a dry run.
local core = require "kubelua.core"

local live_state = {}

---The object that a body holds; nil: it holds none.
---@param body string?
---@return table?
function live_state.decode(body)
    local object = body and core.decode(body)
    return type(object) == "table" and object or nil
end

---A part of what a script or a server has sent, if it is a table; an empty one otherwise.
---@param value table
---@param name string
---@return table
function live_state.part(value, name)
    return type(value[name]) == "table" and value[name] or {}
end

---The objects of a list. In a list they have no apiVersion and kind: they get those of the list.
---@param list table
---@return table[]
function live_state.items(list)
    local items = {}
    for _, object in ipairs(live_state.part(list, "items")) do
        if type(object) == "table" then
            object.apiVersion = object.apiVersion or list.apiVersion
            object.kind = object.kind or list.kind and tostring(list.kind):gsub("List$", "")
            items[#items + 1] = object
        end
    end
    return items
end

---Sends a GET.
---@param trial kubelua.DryRun.Trial
---@param target string
---@return kubelua.Reply?, string?, string?
function live_state.read(trial, target)
    return trial.exchange(trial.client, { method = "GET", target = target, headers = {},
        accept = "application/json", timeout = trial.call.timeout }, trial.name)
end

---The object before a write: true and the object, or true alone if there is none. A role with the
---verbs watch and list need not have get: then the object is read by a list of one. false: it
---cannot be read. nil, message, code: the request failed.
---@param trial kubelua.DryRun.Trial
---@return boolean?, table|string|nil, string?
function live_state.before(trial)
    local path = trial.path
    local reply, message, code = live_state.read(trial, path.object
        .. (path.subresource == "scale" and "/scale" or ""))
    if not reply then
        return nil, message, code
    elseif reply.status == 403 and path.subresource ~= "scale" then
        local collection, name = path.object:match("^(.*)/([^/]*)$")
        reply = live_state.read(trial, collection .. "?fieldSelector=metadata.name%3D" .. name)
        local list = reply and reply.status == 200 and live_state.decode(reply.body)
        return list and true or false, list and live_state.items(list)[1]
    elseif reply.status < 300 then
        return true, live_state.decode(reply.body)
    end
    return reply.status == 404
end

return live_state
