-- An Event as it is written. It is one of events.k8s.io/v1, which servers have since 1.19 and which
-- client-go's newer recorder (tools/events) and controller-runtime write: kubectl shows these as it
-- shows core/v1 ones (describe, get events, events), with the count and the age of a series, which
-- in core/v1 every client keeps in fields of its own. The server stores one kind for both.
local core = require "kubelua.core"
local timestamp = core.timestamp

local LONGEST_NOTE, LONGEST_WORD, LONGEST_NAME = 1024, 128, 253 -- bytes

local document = {}

-- The first bytes of a text, without a part of a character at the end.
local function cut(text, most, ending)
    if #text <= most then
        return text
    end
    local last = most - #ending
    while last > 0 and text:byte(last + 1) >= 0x80 and text:byte(last + 1) < 0xC0 do
        last = last - 1
    end
    return text:sub(1, last) .. ending
end

local HEAD = { [0xC] = 1, [0xD] = 1, [0xE] = 2, [0xF] = 3 }

-- What is no UTF-8, as other programs' output may be, cannot be JSON.
local function clean(text)
    if pcall(core.encode, text) then
        return text
    end
    local parts, i = {}, 1
    while i <= #text do
        local byte = text:byte(i)
        local more = byte < 0x80 and 0 or HEAD[math.floor(byte / 16)]
        local part = more and text:sub(i, i + more)
        if part and (more == 0 or pcall(core.encode, part)) then
            parts[#parts + 1] = part
            i = i + more + 1
        else
            parts[#parts + 1] = "?"
            i = i + 1
        end
    end
    return table.concat(parts)
end

-- A qualified name, as the API wants that of a reporter.
local function reporter(name)
    if #name <= 63 and name:find("^[%w.-]-/?[%w][%w._-]*$") and name:find("%w$") then
        return name
    end
    name = name:gsub("[^%w._-]", "-"):sub(1, 63):gsub("^[^%w]+", ""):gsub("[^%w]+$", "")
    return name ~= "" and name or "kubelua"
end

-- That of an Event: its object's and random digits; names of other forms cannot be a part of it.
local function name_of(object_name)
    local digits = core.random(8)
    if #object_name + 1 + #digits <= LONGEST_NAME and object_name:find("^[a-z0-9]")
        and object_name:find("[a-z0-9]$") and not object_name:find("[^a-z0-9.-]")
        and not object_name:find("[.-]%.") and not object_name:find("%.%-") then
        return object_name .. "." .. digits
    end
    return "event." .. digits
end

---What an Event is about, of an object that has a kind and a name; nil of anything else.
---@param object any
---@return table? reference
function document.reference(object)
    local is_readable = type(object) == "table" or core.is_object(object)
    local metadata = is_readable and object.metadata
    if not metadata or type(metadata) == "string" or type(object.kind) ~= "string"
        or type(object.apiVersion) ~= "string" or type(metadata.name) ~= "string" then
        return nil
    end
    return { apiVersion = object.apiVersion, kind = object.kind, name = metadata.name,
        namespace = metadata.namespace, uid = metadata.uid }
end

---@class kubelua.events.Given
---@field reference table
---@field type "Normal"|"Warning"
---@field reason string
---@field note string
---@field controller string

---What a script has said, as the API takes it.
---@param reference table
---@param type "Normal"|"Warning"
---@param reason string
---@param message string
---@param controller string?
---@return kubelua.events.Given
function document.given(reference, type, reason, message, controller)
    return { reference = reference, type = type, reason = cut(clean(reason), LONGEST_WORD, ""),
        note = cut(clean(message), LONGEST_NOTE, "..."), controller = reporter(controller or "") }
end

---What is the same in all events of one series, and in all events of one object.
---@param given kubelua.events.Given
---@return string event
---@return string object
function document.keys(given)
    local reference = given.reference
    local object = table.concat({ given.controller, reference.apiVersion, reference.kind,
        tostring(reference.namespace), reference.name, tostring(reference.uid) }, "\n")
    return table.concat({ object, given.type, given.reason, given.note }, "\n"), object
end

---The series of an Event, as it is patched.
---@param count integer
---@param unix number when it happened last
---@return table
function document.series(count, unix)
    return { count = count, lastObservedTime = timestamp(unix, 6) }
end

---@param given kubelua.events.Given
---@param unix number when it happened first
---@return table
function document.new(given, unix)
    local instance = cut(given.controller .. "-" .. core.hostname(), LONGEST_WORD, "")
    return {
        apiVersion = "events.k8s.io/v1", kind = "Event",
        metadata = { name = name_of(given.reference.name),
            namespace = given.reference.namespace or "default" },
        regarding = given.reference, type = given.type, reason = given.reason, note = given.note,
        -- The API wants an action; what this library knows of it is the reason.
        action = given.reason, eventTime = timestamp(unix, 6),
        reportingController = given.controller, reportingInstance = instance,
    }
end

return document
