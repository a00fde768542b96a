-- Reads the reply of a server: JSON, an object, a list; or a refusal with a message and a code.
local core = require "kubelua.core"
local log = require "kubelua.log"

local replies = {}

local function excerpt(text)
    local line = text:match("^%s*([^\r\n]*)"):gsub("%c", " ")
    return #line > 80 and line:sub(1, 80) .. "..." or line
end

-- The decoded Status of a reply; nil if the body is not a Status.
local function status_of(reply)
    if not reply.body:find("^%s*{") then
        return nil
    end
    local status = core.decode(reply.body)
    return type(status) == "table" and status.kind == "Status" and status or nil
end

---The refusal in a reply: nil, message, code; and the seconds after which to try again, if the
---server names them.
---@param reply kubelua.Reply its status is 400 or more
---@return nil, string, string, number?
function replies.refusal(reply)
    local message, code, retry_after = core.status_error(reply.status, reply.body)
    if status_of(reply) then
        message = message:gsub("^HTTP %d+: ", "")
    end
    return nil, message, code, tonumber(reply.headers["retry-after"]) or retry_after
end

---True if the server does not serve the path at all: its 404 does not name a missing object.
---@param reply kubelua.Reply its status is 404
---@return boolean
function replies.is_unserved(reply)
    local status = status_of(reply)
    local details = status and status.details
    return not (type(details) == "table" and (details.name or details.kind))
end

-- A success has a status of 2xx and JSON. A proxy's login page, or a redirect, is not one.
local function refuse_strange(reply, what)
    local location = reply.headers.location
    if location and reply.status >= 300 and reply.status < 400 then
        return nil, what .. ": the server answered with HTTP status " .. reply.status
            .. ", a redirect to " .. location:sub(1, 255):gsub("%c", " ") .. ", which is not "
            .. "followed: is its address right, or is there a proxy or login page in between?",
            "parse"
    end
    local shown = excerpt(reply.body)
    return nil, what .. ": the server answered with HTTP status " .. reply.status .. " and "
        .. (shown == "" and "no body" or "\"" .. shown .. "\"")
        .. ": is its address right, or is there a proxy or login page in between?", "parse"
end

local function has_json(reply)
    if type(reply) == "table" then
        return reply.body:find("^%s*[{%[]") ~= nil
    end
    return core.reply_has_json(reply) -- its body stays in C
end

local function check_success(reply, what)
    local status = reply.status
    if status >= 400 then
        return replies.refusal(reply)
    elseif status < 200 or status >= 300 or not has_json(reply) then
        return refuse_strange(reply, what)
    end
    return true
end

---The decoded JSON of a success.
---@param reply kubelua.Reply
---@param what string for the message
---@return table?, string?, string?, number?
function replies.json(reply, what)
    local ok, message, code, retry_after = check_success(reply, what)
    if not ok then
        return nil, message, code, retry_after
    end
    local value, problem = core.decode(reply.body)
    if type(value) ~= "table" then
        return nil, what .. ": " .. (problem or "no JSON object"), "parse"
    end
    return value
end

---The object of a success. Without `kind`, any kind is accepted, and a Status gives true.
---@param reply kubelua.Reply
---@param what string for the message
---@param kind string? the kind that it must have
---@param keeps_managed_fields boolean? else metadata.managedFields is left out
---@return kubelua.Object|true|nil, string?, string?, number?
function replies.object(reply, what, kind, keeps_managed_fields)
    local ok, message, code, retry_after = check_success(reply, what)
    if not ok then
        return nil, message, code, retry_after
    end
    local object, problem = core.object(type(reply) == "table" and reply.body or reply,
        keeps_managed_fields)
    if object and (not kind or object.kind == kind) then
        return object
    elseif not kind and status_of(reply) then
        return true
    end
    local value = core.decode(reply.body)
    local found = type(value) == "table" and value.kind
    if type(found) == "string" and found ~= kind then
        problem = "the server answered with kind " .. found .. ", not " .. tostring(kind)
    end
    return nil, what .. ": " .. tostring(problem), "parse"
end

---The objects of a list, the token of the next page ("": this is the last one), and what of it
---cannot be read (nil: nothing), which is logged.
---@param reply kubelua.Reply
---@param what string for the message
---@param kind kubelua.Kind
---@return kubelua.Object[]?, string?, kubelua.UnreadableObject[]|string|nil, number?
function replies.list(reply, what, kind)
    local ok, message, code, retry_after = check_success(reply, what)
    if not ok then
        return nil, message, code, retry_after
    end
    local objects, problem, rest = core.list(reply.body, kind.api_version, kind.kind)
    if not objects then
        return nil, what .. ": " .. problem, rest
    end
    for _, each in ipairs(rest or {}) do
        log("warn", "%s: %s", what, each.why)
    end
    return objects, problem, rest
end

return replies
