-- Compares two answers part by part: status, headers, body or events. A part that differs is
-- { where = "body.metadata.name", what = "the real one says ..., the simulator ..." }.
local core = require "kubelua.core"
local sorted_keys = require "sorted_keys"

local compare = {}

-- What may differ between two clusters that behave the same is given a name: times, UIDs, versions,
-- addresses, ports, generated names. The rest is compared as it is.

local UID = ("%x"):rep(8) .. "%-" .. (("%x"):rep(4) .. "%-"):rep(3) .. ("%x"):rep(12)
local TIME = "%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d"

-- Of fields by name: a pattern of what the value may be, and its name then.
local FIELDS = {
    resourceVersion = { "^[1-9]%d*$", "<version>" },
    continue = { "^.+$", "<continue>" },
    clusterIP = { "^%d+%.%d+%.%d+%.%d+$", "<ip>" },
    clusterIPs = { "^%d+%.%d+%.%d+%.%d+$", "<ip>" },
    nodePort = { "^3%d%d%d%d$", "<port>" },
    healthCheckNodePort = { "^3%d%d%d%d$", "<port>" },
    cells = { "^%d+[smhd]%d*[smh]?$", "<age>" },
    serverAddress = { "^[%d.]+:%d+$", "<address>" },
    ["k8s.io/initial-events-end-version"] = { "^%d+$", "<version>" },
}

-- A pattern that matches this text alone.
local function literally(text)
    return (text:gsub("%p", "%%%0"))
end

local function replace_names(text, names)
    for _, entry in ipairs(names) do
        if not entry.value:match("^%d+$") then -- a version could be any number
            text = text:gsub("%f[%w]" .. literally(entry.value) .. "%f[%W]",
                "{" .. entry.name .. "}")
        end
    end
    return text
end

-- A string or a number of an answer; `names` are what was saved of earlier answers.
local function name_scalar(value, field, names)
    local rule = FIELDS[field]
    if type(value) == "number" then
        return rule and tostring(value):match(rule[1]) and rule[2] or value
    elseif type(value) ~= "string" then
        return value
    end
    if rule and value:match(rule[1]) then
        return rule[2]
    end
    value = value:gsub(UID, "<uid>"):gsub(TIME .. "%.%d%d%d%d%d%dZ", "<microtime>")
        :gsub(TIME .. "Z", "<time>"):gsub(", current: %d+", ", current: <version>")
        :gsub('(\\?"resourceVersion\\?": ?\\?")%d+', "%1<version>")
    return (replace_names(value, names))
end

-- A text that is no JSON.
local function name_text(text, names)
    return name_scalar(text, nil, names)
end

local HEADERS = {
    "content-type", "warning", "retry-after", "allow", "cache-control", "content-encoding", "vary",
    "www-authenticate", "location",
}
local LONGEST = 300

local array_type = getmetatable(core.array {})

local function show(value)
    if value == nil then
        return "nothing"
    elseif type(value) == "table" or type(value) == "string" then
        local ok, text = pcall(core.encode, value)
        text = ok and text or ("%q"):format(value)
        return #text > LONGEST and text:sub(1, LONGEST) .. "..." or text
    elseif value == core.null then
        return "null"
    end
    return tostring(value)
end

-- Of two long texts what is around the first byte that differs.
local function cut(one, other)
    local at = 1
    while at <= #one and one:byte(at) == other:byte(at) do
        at = at + 1
    end
    local from = #one + #other > 2 * LONGEST and at > 100 and at - 60 or 1
    local before = from > 1 and "..." or ""
    return before .. one:sub(from), before .. other:sub(from)
end

local function differ(parts, where, real, sim)
    if type(real) == "string" and type(sim) == "string" then
        real, sim = cut(real, sim)
    end
    parts[#parts + 1] = {
        where = where,
        what = "real " .. show(real) .. ", simulator " .. show(sim),
    }
end

local function is_array(value)
    return getmetatable(value) == array_type
end

local values

-- Items by their names, if each has one of its own; and the names in their order.
local function by_name(array)
    local items, order = {}, {}
    for i, item in ipairs(array) do
        local name = type(item) == "table" and item.name
        if type(name) ~= "string" or items[name] then
            return nil
        end
        items[name], order[i] = item, name
    end
    return items, order
end

-- Entries of managedFields by their manager. (A second may end between two requests of one server,
-- and not of the other: that is no difference.) nil: two entries have the same manager.
local function by_manager(array)
    local entries = {}
    for _, entry in ipairs(array) do
        local key = ("%s %s %s %s"):format(entry.manager, entry.operation, entry.apiVersion,
            entry.subresource or "itself")
        if entries[key] then
            return nil
        end
        entries[key] = entry
    end
    return entries
end

-- Operation Apply comes first; then the order is by time and name.
local function is_in_order(array)
    local before = ""
    for _, entry in ipairs(array) do
        local rank = ("%s %s %s"):format(entry.operation, entry.time or "", entry.manager)
        if rank < before then
            return false
        end
        before = rank
    end
    return true
end

local function managers(context, where, real, sim)
    local one, other = by_manager(real), by_manager(sim)
    if not one or not other then
        return false
    end
    values(context, where, one, other)
    if not is_in_order(sim) then
        differ(context.parts, where .. ".order", "by time", sim)
    end
    return true
end

-- What has names is compared by name, and the order apart. Else a length that differs is one
-- difference, and none of items.
local function arrays(context, where, real, sim)
    if context.field == "managedFields" and managers(context, where, real, sim) then
        return
    end
    local one, real_order = by_name(real)
    local other, sim_order = by_name(sim)
    if one and other then
        local before = #context.parts
        values(context, where, one, other)
        if #context.parts == before and core.encode(real_order) ~= core.encode(sim_order) then
            differ(context.parts, where .. ".order", real_order, sim_order)
        end
        return
    end
    if #real ~= #sim then
        differ(context.parts, where, real, sim)
        return
    end
    for i = 1, #real do
        values(context, ("%s[%d]"):format(where, i), real[i], sim[i])
    end
end

local function objects(context, where, real, sim)
    local field = context.field
    for _, key in ipairs(sorted_keys(real, sim)) do
        context.field = key
        values(context, where .. "." .. key, real[key], sim[key])
    end
    context.field = field
end

-- context: { parts, names = { of the real one, of the simulator }, field }
function values(context, where, real, sim)
    if type(real) == "table" and type(sim) == "table" and is_array(real) == is_array(sim) then
        local kind = is_array(real) and arrays or objects
        return kind(context, where, real, sim)
    end
    local one = name_scalar(real, context.field, context.names[1])
    local other = name_scalar(sim, context.field, context.names[2])
    if one ~= other then
        differ(context.parts, where, one, other)
    end
end

local function decode(text)
    local ok, value = pcall(core.decode, text)
    return ok and value or nil
end

local function texts(context, real, sim)
    local one, other = name_text(real, context.names[1]), name_text(sim, context.names[2])
    if one ~= other then
        differ(context.parts, "body", one, other)
    end
end

local function bodies(context, real, sim)
    local one, other = decode(real), decode(sim)
    if type(one) == "table" and type(other) == "table" then
        return values(context, "body", one, other)
    end
    return texts(context, real, sim)
end

local function events(context, real, sim)
    local lines = { {}, {} }
    for i, text in ipairs { real, sim } do
        for line in text:gmatch("[^\n]+") do
            lines[i][#lines[i] + 1] = decode(line) or line
        end
    end
    if #lines[1] ~= #lines[2] then
        return differ(context.parts, "events", #lines[1], #lines[2])
    end
    for i = 1, #lines[1] do
        values(context, ("events[%d]"):format(i), lines[1][i], lines[2][i])
    end
end

-- The status, and the message of a refusal.
local function outcome(reply)
    local body = decode(reply.body)
    local message = type(body) == "table" and body.kind == "Status" and body.message
    return reply.status .. (message and " " .. message or "")
end

---@param replies { status: integer, headers: table, body: string }[] of the real one and the other
---@param names table[] what was saved of earlier answers, for each
---@param how { events: boolean?, text: boolean?, only: string? } a request (README.md)
---@return { where: string, what: string }[]
function compare.replies(replies, names, how)
    local real, sim = replies[1], replies[2]
    local context = { parts = {}, names = names }
    if real.status ~= sim.status then
        differ(context.parts, "status", outcome(real), outcome(sim))
    end
    if real.status ~= sim.status or how.only == "status" then
        return context.parts
    end
    for _, header in ipairs(HEADERS) do
        values(context, "header." .. header, real.headers[header], sim.headers[header])
    end
    if how.only ~= "headers" then
        (how.events and events or how.text and texts or bodies)(context, real.body, sim.body)
    end
    return context.parts
end

return compare
