-- Cases of the Gateway API's conformance suite in our own words, for machines without Go: objects,
-- requests with their answers, and conditions of statuses. spec/nginx/conformance_*_spec.lua.
local kubelua = require "kubelua"

local gateway_cases = {}

-- An answer: a status, or how the body begins; then texts that the body or the head has, or, after
-- "-", has not.
local function check_answer(world, want, host, path, words)
    local body, head = world:expect(want[1], host, path, words)
    for i = 2, #want do
        local is_absent = want[i]:sub(1, 1) == "-"
        local text = is_absent and want[i]:sub(2) or want[i]
        local found = (body .. "\n" .. head):find(text, 1, true) ~= nil
        assert(found ~= is_absent, ("%s%s: %s%s\n%s\n%s"):format(host, path,
            is_absent and "has " or "has no ", text, head, body))
    end
end

---Asks for each path: `{ "HOST/PATH", { ANSWER }, curl's words }`.
---@param world spec.GatewayWorld
---@param list table[]
function gateway_cases.ask(world, list)
    for _, case in ipairs(list) do
        local host, path = case[1]:match("^([^/]*)(/.*)$")
        check_answer(world, type(case[2]) == "table" and case[2] or { case[2] }, host, path,
            case[3])
    end
end

-- Conditions as a table: "Accepted" to "True Accepted".
local function read_conditions(list)
    local conditions = {}
    for _, condition in kubelua.ipairs(list or {}) do
        conditions[condition.type] = condition.status .. " " .. condition.reason
    end
    return conditions
end

local function find_named(list, name)
    for _, item in kubelua.ipairs(list or {}) do
        if item.name == name then
            return item
        end
    end
end

-- The conditions of an object; of a listener of a Gateway; or of a route's first parent.
local function conditions_of(found, listener)
    local status = found and found.status
    if not status then
        return {}
    elseif listener then
        return read_conditions((find_named(status.listeners, listener) or {}).conditions)
    elseif status.parents then
        return read_conditions((status.parents[1] or {}).conditions)
    end
    return read_conditions(status.conditions)
end

---Waits until an object has these conditions: `"httproutes web/a"`, or `"gateways web/a http"` with
---a listener; `Accepted = "False NoMatchingParent"`; false: there is no such condition.
---@param world spec.GatewayWorld
---@param object string
---@param wanted table<string, string|false>
function gateway_cases.expect_conditions(world, object, wanted)
    local kind, key, listener = object:match("^(%S+) (%S+) ?(%S*)$")
    listener = listener ~= "" and listener or nil
    local last = {}
    local ok = world.sim:wait(kind, key, function(found)
        last = conditions_of(found, listener)
        for name, value in pairs(wanted) do
            if (last[name] or false) ~= value then
                return false
            end
        end
        return true
    end, 10)
    local said = {}
    for name, value in pairs(last) do
        said[#said + 1] = name .. ": " .. value
    end
    table.sort(said)
    assert(ok, object .. " has " .. table.concat(said, ", ") .. "\n" .. world.one:said())
end

return gateway_cases
