-- What a rule and a backend ask of a request, sorted by what is to be done: made once for each
-- version of a rule in each worker, so that a request goes through no list of filters.
local guards = require "resty.kubelua.gateway.guards"

local plans = {}

---@class resty.kubelua.gateway.Plan
---@field plain boolean nothing is to be done but to pick a backend
---@field cors table?
---@field redirect table?
---@field request_headers table[]? filters
---@field response_headers table[]?
---@field rewrite table? the last one
---@field mirrors table[]?
---@field scripts table[]?
---@field denied string? why no request may pass
---@field guard resty.kubelua.gateway.Guard?
---@field settings table of the rule

-- Weak: a plan goes with its rule or backend. No field may lead back to the key, but the settings
-- and filters in it, which the key holds, may be held.
local known = setmetatable({}, { __mode = "k" })

local LISTS = { request_headers = "request_headers", response_headers = "response_headers",
    mirror = "mirrors", script = "scripts" }
local SINGLE = { cors = true, redirect = true, rewrite = true }

local function add_filter(plan, filter)
    local list = LISTS[filter.type]
    if list then
        plan[list] = plan[list] or {}
        table.insert(plan[list], filter)
    elseif SINGLE[filter.type] then
        plan[filter.type] = filter
    else
        plan.denied = ("the filter \"%s\" is not supported"):format(tostring(filter.type))
    end
end

local function add_settings(plan, settings, source)
    plan.denied = settings.denied or plan.denied
    plan.guard = guards.new(settings, source)
end

local EMPTY = {}

local function make(owner)
    local plan = { settings = owner.settings or EMPTY }
    for _, filter in ipairs(owner.filters or EMPTY) do
        add_filter(plan, filter)
    end
    add_settings(plan, plan.settings, owner.source or "")
    plan.plain = not (plan.cors or plan.redirect or plan.request_headers or plan.response_headers
        or plan.rewrite or plan.mirrors or plan.scripts or plan.denied or next(plan.settings))
    return plan
end

---The plan of a rule, or of a backend with filters.
---@param owner table a RULE or a BACKEND
---@return resty.kubelua.gateway.Plan
function plans.of(owner)
    local plan = known[owner]
    if not plan then
        plan = make(owner)
        known[owner] = plan
    end
    return plan
end

return plans
