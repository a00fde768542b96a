-- The backends of a rule with their weights. A reference that leads nowhere keeps its share of the
-- requests and answers 500 (Gateway API: "the proportion of requests that would otherwise have been
-- routed to an invalid backend MUST receive a 500"); a weight of 0 gets nothing. Pure.
local filters = require "resty.kubelua.gateway.compile.filters"
local references = require "resty.kubelua.gateway.compile.references"

local backends = {}

---@return { status: integer, weight: integer }
function backends.error(weight)
    return { status = 500, weight = weight or 1 }
end

local function compile_one(context, ref, weight)
    local backend, reason, message = references.backend(context.reader, ref)
    if not backend then
        context.unresolved(reason, message)
        return backends.error(weight)
    end
    backend.weight = weight
    local rejection
    if ref.filters and #ref.filters > 0 then
        local broken
        backend.filters, rejection = filters.compile({ reader = context.reader, backend = true,
            prefixes = context.prefixes, unresolved = context.unresolved,
            broken = function(...)
                broken = true
                context.unresolved(...)
            end }, ref.filters)
        if broken then
            return backends.error(weight)
        end
    end
    return backend, rejection
end

---@param context resty.kubelua.gateway.FilterContext
---@param refs table[]? backendRefs
---@return table[]? backends never empty; nil: the rule is invalid
---@return resty.kubelua.gateway.Rejection? why
function backends.compile(context, refs)
    local compiled = {}
    for _, ref in ipairs(refs or {}) do
        local weight = ref.weight or 1
        local backend, rejection = compile_one(context, ref, weight)
        if rejection then
            return nil, rejection
        elseif weight > 0 then
            compiled[#compiled + 1] = backend
        end
    end
    if #compiled == 0 then
        compiled[1] = backends.error()
    end
    return compiled
end

return backends
