-- The JSON of an Event, as events.k8s.io/v1. Servers have this version since 1.19, and client-go's
-- newer recorder (tools/events) and controller-runtime write it. kubectl shows it as it shows
-- core/v1 Events (describe, get events, events), with the count and the age of a series. In
-- core/v1, clients do not agree on the fields for these. The server stores one kind for both.
local core = require "kubelua.core"
local timestamp = core.timestamp

local LONGEST_NOTE, LONGEST_WORD, LONGEST_NAME = 1024, 128, 253 -- bytes

local document = {}

-- The first bytes of a text, never ending within a UTF-8 character.
local function cut_text(text, most, ending)
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

-- Replaces bytes that are not UTF-8, such as in other programs' output: JSON cannot have them.
local function clean_text(text)
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

-- The name of a reporter as the API requires it: a qualified name.
local function make_reporter(name)
    if #name <= 63 and name:find("^[%w.-]-/?[%w][%w._-]*$") and name:find("%w$") then
        return name
    end
    name = name:gsub("[^%w._-]", "-"):sub(1, 63):gsub("^[^%w]+", ""):gsub("[^%w]+$", "")
    return name ~= "" and name or "kubelua"
end

-- A name for an Event: that of its object and random digits, if the name's form allows it.
local function make_name(object_name)
    local digits = core.random(8)
    if #object_name + 1 + #digits <= LONGEST_NAME and object_name:find("^[a-z0-9]")
        and object_name:find("[a-z0-9]$") and not object_name:find("[^a-z0-9.-]")
        and not object_name:find("[.-]%.") and not object_name:find("%.%-") then
        return object_name .. "." .. digits
    end
    return "event." .. digits
end

---The object reference of an Event; nil if the object has no kind or no name.
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

---The event that a script has recorded, in the form that the API accepts.
---@param reference table
---@param type "Normal"|"Warning"
---@param reason string
---@param message string
---@param controller string?
---@return kubelua.events.Given
function document.given(reference, type, reason, message, controller)
    return { reference = reference, type = type,
        reason = cut_text(clean_text(reason), LONGEST_WORD, ""),
        note = cut_text(clean_text(message), LONGEST_NOTE, "..."),
        controller = make_reporter(controller or "") }
end

---Two keys: of what is equal in all events of one series, and in all events of one object.
---@param given kubelua.events.Given
---@return string event
---@return string object
function document.keys(given)
    local reference = given.reference
    local object = table.concat({ given.controller, reference.apiVersion, reference.kind,
        tostring(reference.namespace), reference.name, tostring(reference.uid) }, "\n")
    return table.concat({ object, given.type, given.reason, given.note }, "\n"), object
end

---The series of an Event, for a patch.
---@param count integer
---@param unix number time of the last occurrence
---@return table
function document.series(count, unix)
    return { count = count, lastObservedTime = timestamp(unix, 6) }
end

---@param given kubelua.events.Given
---@param unix number time of the first occurrence
---@return table
function document.new(given, unix)
    local instance = cut_text(given.controller .. "-" .. core.hostname(), LONGEST_WORD, "")
    return {
        apiVersion = "events.k8s.io/v1", kind = "Event",
        metadata = { name = make_name(given.reference.name),
            namespace = given.reference.namespace or "default" },
        regarding = given.reference, type = given.type, reason = given.reason, note = given.note,
        -- The API requires an action; this library knows only the reason.
        action = given.reason, eventTime = timestamp(unix, 6),
        reportingController = given.controller, reportingInstance = instance,
    }
end

return document
