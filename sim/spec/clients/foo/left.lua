-- What a controller has left in a namespace: Foos, Deployments and events, without the parts that
-- differ between any two runs. A UID is replaced by the name of its object; the count and the times
-- of an event are left out.
local core = require "kubelua.core"
local sorted_keys = require "sorted_keys"

local left = {}

-- Metadata that is left out: times, counters, and the managers of fields, which show how fields
-- were written.
local UNCOMMON = { "creationTimestamp", "managedFields", "resourceVersion", "uid" }

local function clean(object, names, namespace)
    for _, field in ipairs(UNCOMMON) do
        object.metadata[field] = nil
    end
    assert(object.metadata.namespace == namespace)
    object.metadata.namespace = nil
    for _, owner in ipairs(object.metadata.ownerReferences or {}) do
        owner.uid = names[owner.uid] or "not there"
    end
    return object
end

-- The parts of an event that are compared: its text, the object, and the controller that wrote it.
local function said(event, names, controller)
    local object = event.involvedObject
    local by = event.reportingComponent ~= "" and event.reportingComponent or event.source.component
    return {
        type = event.type,
        reason = event.reason,
        message = event.message,
        by = by == controller and "the controller" or by,
        about = ("%s %s %s"):format(object.apiVersion, object.kind, object.name),
        uid = names[object.uid] or "not there",
    }
end

local function add_events(all, world, names, controller)
    for _, event in ipairs(world:list("events")) do
        local one = said(event, names, controller)
        all[("event %s %s %s: %s"):format(one.about, one.uid, one.reason, one.message)] = one
    end
end

---@param controller string what the controller is called in events
---@return table<string, table> of each object and event by its name
function left.collect(world, controller)
    local all, names = {}, {}
    for _, foo in ipairs(world:list("foos")) do
        names[foo.metadata.uid] = "that of Foo " .. foo.metadata.name
        all["Foo " .. foo.metadata.name] = clean(foo, names, world.namespace)
    end
    for _, deployment in ipairs(world:list("deployments")) do
        all["Deployment " .. deployment.metadata.name] = clean(deployment, names, world.namespace)
    end
    add_events(all, world, names, controller)
    return all
end

-- Writes JSON with sorted keys, its first two levels on lines of their own, so that a diff shows
-- each change.
local function write(value, depth)
    if type(value) ~= "table" or #value > 0 or next(value) == nil then
        return core.encode(value)
    end
    local parts = {}
    for i, key in ipairs(sorted_keys(value)) do
        parts[i] = core.encode(key) .. ": " .. write(value[key], depth + 1)
    end
    if depth > 2 then
        return "{ " .. table.concat(parts, ", ") .. " }"
    end
    local outer = "\n" .. ("  "):rep(depth - 1)
    local inner = outer .. "  "
    return "{" .. inner .. table.concat(parts, "," .. inner) .. outer .. "}"
end

---The text of left.json.
function left.text(all)
    return write(all, 1) .. "\n"
end

local function show(value)
    if value == nil then
        return "nothing"
    end
    local ok, text = pcall(core.encode, value)
    return ok and text or tostring(value)
end

-- Appends a line for each part in which two values differ.
local function compare(lines, where, one, other)
    if type(one) ~= "table" or type(other) ~= "table" then
        if one ~= other then
            lines[#lines + 1] = ("%s: %s, expected %s"):format(where, show(one), show(other))
        end
        return
    end
    for _, key in ipairs(sorted_keys(one, other)) do
        compare(lines, where .. "." .. tostring(key), one[key], other[key])
    end
end

---@return string[] a line for each difference
function left.differences(found, expected)
    local lines = {}
    for _, key in ipairs(sorted_keys(found, expected)) do
        compare(lines, key, found[key], expected[key])
    end
    return lines
end

return left
