-- What a rule and a backend ask of a request, sorted by what is to be done: made once for each
-- version of a rule in each worker, so that a request goes through no list of filters. The plan is
-- a field of its rule: a table by rules would cost a request one more place of memory to wait for.
local cold = require "resty.kubelua.cold"
local guards = require "resty.kubelua.gateway.guards"

local plans = {}

---@class resty.kubelua.gateway.Plan
---@field plain boolean nothing is to be done with a request but to pick a backend
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
---@field source string of the rule
---@field has_limits boolean of time
---@field balance resty.kubelua.gateway.BalanceSettings? of a direct one
---@field service resty.kubelua.Service? the same, once a request was here
---@field only table? the backend that takes all requests
---@field direct boolean plain: all requests go to one Service, from the location "/"; of answers
---only `response_headers` are changed
---@field silent boolean direct, and answers are not changed

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

-- The backend of all requests; nil: there are several, or none has a weight.
local function only_backend(owner)
    local backends = owner.backends or EMPTY
    local first = backends[1]
    return not backends[2] and first and (first.weight or 1) > 0 and first or nil
end

local function is_direct(owner, plan)
    local only = plan.only
    local balance = only and only.balance
    return plan.plain and only ~= nil and only.service ~= nil
        and not (only.status or only.filters or only.protocol)
        and not (owner.grpc or owner.retry or owner.timeouts)
        and not (balance and (balance.retry or balance.by == "sticky"))
end

local make = cold(function(owner)
    local plan = { settings = owner.settings or EMPTY, source = owner.source,
        has_limits = (owner.timeouts or owner.settings) ~= nil }
    for _, filter in ipairs(owner.filters or EMPTY) do
        add_filter(plan, filter)
    end
    add_settings(plan, plan.settings, owner.source or "")
    plan.plain = not (plan.cors or plan.redirect or plan.request_headers or plan.rewrite
        or plan.mirrors or plan.scripts or plan.denied or next(plan.settings))
    plan.only = only_backend(owner)
    plan.direct = is_direct(owner, plan)
    plan.silent = plan.direct and not plan.response_headers
    plan.balance = plan.direct and plan.only.balance or false
    owner.plan = plan
    return plan
end)

---The plan of a rule, or of a backend with filters.
---@param owner table a RULE or a BACKEND
---@return resty.kubelua.gateway.Plan
function plans.of(owner)
    return owner.plan or make(owner)
end

---The plan of the rule that a request has found.
---@param found resty.kubelua.gateway.Candidate
---@return resty.kubelua.gateway.Plan
function plans.of_found(found)
    local plan = found.plan
    if not plan then
        plan = plans.of(found.rule)
        found.plan = plan
    end
    return plan
end

return plans
