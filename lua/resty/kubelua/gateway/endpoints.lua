-- Which endpoint of a backend's Service takes a request, by the balancer of that Service; and what
-- became of it, which the balancers of all workers learn.
local balance = require "resty.kubelua.gateway.balance"
local counts = require "resty.kubelua.gateway.counts"
local retries = require "resty.kubelua.gateway.balance.retries"
local retry_policy = require "resty.kubelua.gateway.retry_policy"
local services = require "resty.kubelua.gateway.services"

local endpoints = {}

local var = ngx.var
local FACTS = { vars = var }
local REFUSALS = 400 -- statuses from here on may be nginx's own
local NO_ANSWER = { [502] = true, [504] = true }

local function settings_of(rule, backend)
    local settings = rule.settings
    return backend.balance or settings and settings.balance
end

local function pick(state, service)
    local host, port, token, cookie = balance.pick(service, state.balance, FACTS, state.tried)
    if not host then
        return nil, port
    end
    state.service, state.host, state.port, state.token = service, host, port, token
    if cookie then
        state.cookie = cookie
    end
    if state.is_copy then -- of a mirror: no log phase would end it
        endpoints.finish(state, "cancelled")
    end
    return host
end

---The backend of a rule with a canary whose pod has the session of a request: the choice by header,
---cookie or weight is for new sessions.
---@param rule table
---@return table? backend nil: there is none
function endpoints.backend_of_session(rule)
    for _, backend in ipairs(rule.backends) do
        if backend.service and balance.has_session(services.of(backend),
            settings_of(rule, backend), FACTS) then
            return backend
        end
    end
end

---Picks the first endpoint for a request.
---@param state resty.kubelua.gateway.State
---@return string? host nil: there is none
---@return string? why
function endpoints.pick(state)
    state.balance = settings_of(state.rule, state.backend)
    local host, why = pick(state, services.of(state.backend))
    local other = not host and services.default_backend(state.rule.settings)
    if other then
        state.backend = other
        state.balance = settings_of(state.rule, other)
        return pick(state, services.of(other))
    end
    return host, why
end

---Picks the first endpoint for a request of a direct plan.
---@param state resty.kubelua.gateway.State
---@param plan resty.kubelua.gateway.Plan
---@return string? host nil: there is none
---@return string? why
function endpoints.pick_direct(state, plan)
    local service = plan.service
    if not service then
        service = services.of(plan.only)
        plan.service = service
    end
    state.backend, state.balance = plan.only, plan.balance
    return pick(state, service)
end

---Ends the last pick: the endpoint gave no answer.
---@param state resty.kubelua.gateway.State
---@param is_kept boolean it closed a kept connection, as it may at any moment: that is no failure
function endpoints.fail(state, is_kept)
    state.tried = state.tried or {}
    table.insert(state.tried, state.host .. ":" .. state.port)
    endpoints.finish(state, is_kept and "cancelled" or "failed")
end

---Picks another endpoint, after one that failed; any of them, if there is no other.
---@param state resty.kubelua.gateway.State
function endpoints.pick_other(state)
    local service = services.of(state.backend)
    if not pick(state, service) then
        state.tried = nil
        pick(state, service)
    end
end

---Ends what a pick began; a second call does nothing.
---@param state resty.kubelua.gateway.State
---@param outcome "ok"|"failed"|"cancelled"
---@param seconds number? until the answer began
function endpoints.finish(state, outcome, seconds)
    if state.token then
        balance.done(state.token, outcome, seconds)
        state.token = nil
        if not state.is_copy then
            counts.try(state.service, outcome, outcome == "ok" and state.answered
                and state.answered - state.sent or nil)
        end
    end
end

-- Seconds until the last endpoint's answer began; nil: it did not answer.
local function answer_time()
    local times = var.upstream_header_time
    return times and tonumber(times:match("[^, :]+$"))
end

-- What a request that was not answered by its endpoint says of it: nothing, if nginx refused it
-- (400, 408, 413 ...), the client went away (499), or nginx never asked for the endpoint.
local function outcome_without_answer(state)
    return state.tries > 0 and NO_ANSWER[ngx.status] and "failed" or "cancelled"
end

---Ends the request's last pick by its status.
---@param state resty.kubelua.gateway.State
function endpoints.finish_by_status(state)
    local status, settings = ngx.status, state.balance
    if status < REFUSALS and state.tries > 0 and not (settings and settings.by == "ewma") then
        return endpoints.finish(state, "ok") -- the usual end, at the cost of no variable
    end
    local seconds = answer_time()
    if not seconds then
        return endpoints.finish(state, outcome_without_answer(state))
    end
    local policy = retry_policy.of(state)
    local is_failure = policy and policy.on and policy.on[tostring(status)]
    endpoints.finish(state, is_failure and "failed" or "ok", seconds)
end

---How many more tries nginx may make: one, unless the route or its balancer says otherwise.
---@param state resty.kubelua.gateway.State
---@return integer
function endpoints.more_tries(state)
    if state.plan.direct then
        return 1
    end
    local timeouts, policy = state.rule.timeouts, retry_policy.of(state)
    if timeouts and timeouts.request and not policy then
        return 0 -- after a timeout there is no time for another try
    end
    return retries.more(policy, ngx.req.get_method(), policy and policy.place ~= nil)
end

return endpoints
