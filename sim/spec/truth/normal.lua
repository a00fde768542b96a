-- What may differ between two clusters that behave the same is given a name: times, UIDs, versions,
-- addresses, ports, generated names. The rest is compared as it is.
local normal = {}

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

---A string or a number of an answer.
---@param names { name: string, value: string }[] what was saved of earlier answers
function normal.scalar(value, field, names)
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

---A text that is no JSON.
function normal.text(text, names)
    return normal.scalar(text, nil, names)
end

return normal
