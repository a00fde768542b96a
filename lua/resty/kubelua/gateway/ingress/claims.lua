-- Which Ingress has which path of which host. The oldest Ingress wins a path that two claim; a
-- canary has none of its own, and joins the path that it names.
local paths = require "resty.kubelua.gateway.ingress.paths"

---A path of a host that an Ingress has.
---@class kubelua.gateway.Claim
---@field item kubelua.gateway.IngressItem
---@field host string
---@field path string
---@field type "Exact"|"Prefix"|"ImplementationSpecific"
---@field backend table of the API
---@field number integer of the path in its Ingress, from 1
---@field canary kubelua.gateway.Claim?

---@class kubelua.gateway.ClaimedHost
---@field name string
---@field first kubelua.gateway.IngressItem the oldest with this host: has the requests without path
---@field list kubelua.gateway.Claim[] the oldest first
---@field by_key table<string, kubelua.gateway.Claim>
---@field is_regex boolean
---@field app_root string? where the requests for "/" are sent

local claims = {}

-- Exact and other paths are apart, so that both /a (Exact) and /a (Prefix) can be there.
local function key_of(claim)
    if claim.type == "Exact" then
        return "=" .. claim.path
    end
    return "^" .. paths.without_slash(claim.path)
end

local function add_problem(item, kind, message)
    item.problems[#item.problems + 1] = { object = item.object, kind = kind, message = message }
end

-- The host of a rule: "*" without one. nil: it is no host.
local function host_of(item, rule)
    local host = rule.host
    if host == nil or host == "" then
        return "*"
    elseif type(host) ~= "string" or not host:find("^[%w%-%.%*]+$") or host:find("..", 1, true)
        or host:gsub("^%*%.", ""):find("*", 1, true) or #host > 253 then
        add_problem(item, "wrong", ("the host %s is no host name"):format(tostring(host)))
        return nil
    elseif host:find("%u") then
        add_problem(item, "wrong", ("the host %s has capital letters; the API server refuses it")
            :format(host))
    end
    return host:lower()
end

local function host_entry(hosts, name, item)
    local host = hosts.by_name[name]
    if not host then
        host = { name = name, first = item, list = {}, by_key = {}, is_regex = false }
        hosts.by_name[name] = host
        hosts.names[#hosts.names + 1] = name
    end
    return host
end

-- True if the path makes all paths of its host regular expressions.
local function is_regex(claim)
    local parsed = claim.item.parsed
    local target = parsed.rewrite_target
    return parsed.use_regex or target ~= nil and target ~= claim.path
end

local function claim_path(hosts, claim)
    local host = host_entry(hosts, claim.host, claim.item)
    local key = key_of(claim)
    local other = host.by_key[key]
    if other then
        local same = other.item == claim.item
        add_problem(claim.item, "conflict", ("%s %s of %s is also in %s, which %s"):format(
            claim.path, claim.type, claim.host, same and "this Ingress" or other.item.object,
            same and "has it earlier in its list" or "is older, and gets the requests"))
        return
    end
    host.by_key[key] = claim
    host.list[#host.list + 1] = claim
    host.is_regex = host.is_regex or is_regex(claim)
end

local function join_canary(hosts, claim)
    local host = hosts.by_name[claim.host]
    local main = host and host.by_key[key_of(claim)]
    if not main or main.type ~= claim.type then
        add_problem(claim.item, "missing", ("is a canary of %s %s of %s, which no other Ingress "
            .. "has: it gets no requests"):format(claim.path, claim.type, claim.host))
    elseif main.canary then
        add_problem(claim.item, "conflict", ("is the second canary of %s of %s, after %s; one is "
            .. "possible, as in ingress-nginx"):format(claim.path, claim.host,
            main.canary.item.object))
    else
        main.canary = claim
    end
end

-- The paths of an Ingress.
local function each_claim(item, visit)
    local spec, number = item.spec, 0
    for _, rule in ipairs(type(spec.rules) == "table" and spec.rules or {}) do
        local host = type(rule) == "table" and host_of(item, rule)
        local http = host and type(rule.http) == "table" and rule.http.paths
        if host then
            item.hosts[#item.hosts + 1] = host
        end
        for _, each in ipairs(type(http) == "table" and http or {}) do
            number = number + 1
            local path, message
            if type(each) == "table" then
                path, message = paths.read(each.path, each.pathType)
            end
            if path then
                visit { item = item, host = host, path = path, type = each.pathType,
                    backend = each.backend, number = number }
            else
                add_problem(item, "wrong", message or "a path is no object")
            end
        end
    end
    if type(spec.defaultBackend) == "table" and #item.hosts == 0 then
        visit { item = item, host = "*", path = "/", type = "Prefix",
            backend = spec.defaultBackend, number = 0 }
    end
end

-- A path that is no regular expression although one is asked for.
local function check_claim(claim)
    if not is_regex(claim) then
        return true
    end
    local groups, message = paths.check_regex(claim.path)
    local target = claim.item.parsed.rewrite_target
    if not groups then
        add_problem(claim.item, "wrong", ("the path %s is no regular expression: it %s")
            :format(claim.path, message))
        return false
    elseif target and paths.highest_group(target) > groups then
        claim.item.problems[#claim.item.problems + 1] = { object = claim.item.object,
            kind = "wrong", annotation = "nginx.ingress.kubernetes.io/rewrite-target",
            message = ("names the group $%d, but the path %s has %d: it is empty, as in "
                .. "ingress-nginx"):format(paths.highest_group(target), claim.path, groups) }
    end
    return true
end

-- Takes the hosts away that belong to another namespace: that of the oldest Ingress which names
-- them. Paths there would change what the owner's are, also those that get no requests. A canary
-- owns no host: it joins a path.
local function without_others(item, list, owners)
    local kept, hosts, told = {}, {}, {}
    for _, host in ipairs(item.hosts) do
        local owner = owners[host] or item
        owners[host] = host ~= "*" and not owner.parsed.canary and owner or nil
        if owner.namespace == item.namespace then
            hosts[#hosts + 1] = host
        elseif not told[host] then
            told[host] = true
            add_problem(item, "conflict", ("the host %s belongs to the namespace %s, whose %s is "
                .. "older"):format(host, owner.namespace, owner.object))
        end
    end
    for _, claim in ipairs(list) do
        kept[#kept + 1] = not told[claim.host] and claim or nil
    end
    item.hosts = hosts
    return kept
end

-- The paths of an Ingress that can be served. One that makes no sense at all has none.
local function claims_of(item)
    local list = {}
    local ok, problem = pcall(each_claim, item, function(claim)
        if check_claim(claim) then
            list[#list + 1] = claim
        end
    end)
    if not ok then
        item.hosts = {}
        add_problem(item, "wrong", "the Ingress is malformed: " .. tostring(problem))
    end
    return ok and list or {}
end

---Collects the paths of Ingresses, which are sorted: the oldest first.
---@param items kubelua.gateway.IngressItem[]
---@param pace fun() called between two pieces of work
---@param owned boolean? a host belongs to the namespace of the oldest Ingress that names it
---@return { by_name: table<string, kubelua.gateway.ClaimedHost>, names: string[] }
function claims.collect(items, pace, owned)
    local hosts, canaries, owners = { by_name = {}, names = {} }, {}, {}
    for _, item in ipairs(items) do
        local list = claims_of(item)
        if owned then
            list = without_others(item, list, owners)
        end
        for _, claim in ipairs(list) do
            if item.parsed.canary then
                canaries[#canaries + 1] = claim
            else
                claim_path(hosts, claim)
            end
        end
        pace()
        for _, host in ipairs(item.parsed.canary and {} or item.hosts) do
            host_entry(hosts, host, item)
        end
    end
    for _, claim in ipairs(canaries) do
        pace()
        local owner = owners[claim.host]
        if owner and owner.namespace ~= claim.item.namespace then -- that came later
            without_others(claim.item, {}, owners)
        else
            join_canary(hosts, claim)
        end
    end
    return hosts
end

return claims
