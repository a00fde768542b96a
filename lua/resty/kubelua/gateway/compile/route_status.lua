-- The status of an HTTPRoute or GRPCRoute for each Gateway of this controller that it names. Pure.
local conditions = require "resty.kubelua.gateway.compile.conditions"

local route_status = {}

local OWNED = { PartiallyInvalid = true }
local MOST = 5 -- problems that a message names

local function join(list, format)
    local texts, seen = {}, {}
    for _, item in ipairs(list) do
        local text = format(item)
        if not seen[text] then
            seen[text] = true
            texts[#texts + 1] = text
        end
    end
    local rest = #texts - MOST
    for i = #texts, MOST + 1, -1 do
        texts[i] = nil
    end
    return table.concat(texts, "; ") .. (rest > 0 and ("; and %d more"):format(rest) or "")
end

local function message_of(item)
    return item.message
end

local function rule_message(item)
    return ("%d (%s)"):format(item.rule, item.message)
end

local function refs_condition(compiled)
    local first = compiled.unresolved[1]
    return conditions.new("ResolvedRefs", not first, first and first.reason or "ResolvedRefs",
        first and join(compiled.unresolved, message_of))
end

---@class resty.kubelua.gateway.Parent what was found for one parentRef
---@field ref table
---@field gateway string key of the Gateway
---@field attachments resty.kubelua.gateway.Attachment[] listeners that serve the route
---@field reason string? why there are none
---@field message string?

---Why no request of a parent reaches the route, or nil: the Accepted condition is True.
---@param parent resty.kubelua.gateway.Parent
---@param compiled resty.kubelua.gateway.CompiledRoute
---@param places integer hosts where the route has a place
---@param refused { reason: string, message: string }[] hosts where it has none, and why
---@return string? reason
---@return string? message
function route_status.refusal(parent, compiled, places, refused)
    if #parent.attachments == 0 then
        return parent.reason, parent.message
    elseif #compiled.dropped > 0 and #compiled.dropped == compiled.count then
        return compiled.dropped[1].reason, "no rule can be served: "
            .. join(compiled.dropped, rule_message)
    elseif places == 0 and #refused > 0 then
        return refused[1].reason, refused[1].message
    end
    return nil
end

local function partial_condition(compiled, refused)
    if #compiled.dropped > 0 then
        return conditions.new("PartiallyInvalid", true, "UnsupportedValue", "Dropped Rule "
            .. join(compiled.dropped, rule_message))
    elseif #refused > 0 then
        return conditions.new("PartiallyInvalid", true, refused[1].reason, "Dropped Rule: all rules"
            .. " on " .. join(refused, message_of))
    end
end

---@param parent resty.kubelua.gateway.Parent
---@param compiled resty.kubelua.gateway.CompiledRoute
---@param places integer
---@param refused { reason: string, message: string }[]
---@return resty.kubelua.gateway.Condition[]
---@return boolean accepted
function route_status.conditions(parent, compiled, places, refused)
    local reason, message = route_status.refusal(parent, compiled, places, refused)
    local list = { conditions.new("Accepted", reason == nil, reason or "Accepted", message),
        refs_condition(compiled) }
    if not reason then
        list[#list + 1] = partial_condition(compiled, refused)
    end
    return list, reason == nil
end

---@param object table
---@param parents { parentRef: table, conditions: resty.kubelua.gateway.Condition[] }[]
---@param options table
---@return table status to write
function route_status.make(object, parents, options)
    local present, status = object.status or {}, {}
    for key, value in pairs(present) do
        status[key] = value
    end
    status.parents = options.array(conditions.merge_parents(present.parents, parents,
        options.controller, object.metadata.generation, options.now(), OWNED))
    return status
end

---What is to be said to people about a route.
---@param compiled resty.kubelua.gateway.CompiledRoute
---@param refusals { reason: string, message: string }[] of its parents
---@param refused { reason: string, message: string }[]
---@return { reason: string, message: string }[]
function route_status.problems(compiled, refusals, refused)
    local list = {}
    for _, item in ipairs(refusals) do
        list[#list + 1] = item
    end
    for _, item in ipairs(compiled.unresolved) do
        list[#list + 1] = item
    end
    for _, item in ipairs(compiled.dropped) do
        list[#list + 1] = { reason = item.reason, message = "rule " .. rule_message(item) }
    end
    for _, item in ipairs(refused) do
        list[#list + 1] = item
    end
    return list
end

return route_status
