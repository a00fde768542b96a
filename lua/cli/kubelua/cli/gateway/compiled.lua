-- Gateways and routes for kubelua gateway check: compiles them as the gateway does, as if their
-- classes were its own, and reads what their status would say.
local compile = require "resty.kubelua.gateway.compile"
local scripts = require "kubelua.cli.gateway.scripts"

local compiled = {}

local CONTROLLER = "kubelua.dev/gateway"
-- What an object lacks that no Gateway of the manifests uses.
local UNUSED = { HTTPRoute = "names no Gateway of these manifests",
    GRPCRoute = "names no Gateway of these manifests",
    BackendTLSPolicy = "is for no Service that a route of these manifests uses" }
-- Conditions that are bad if they are true.
local NEGATIVE = { Conflicted = true, OverlappingTLSConfig = true, PartiallyInvalid = true }

local function add_namespaces(compiler, inventory)
    local seen = {}
    for _, object in ipairs(inventory.namespaces) do
        seen[object.metadata.name] = true
        compiler:set("Namespace", object)
    end
    for _, object in ipairs(inventory.routes) do
        local name = object.metadata.namespace
        if name and not seen[name] then
            seen[name] = true
            compiler:set("Namespace", { metadata = { name = name,
                labels = { ["kubernetes.io/metadata.name"] = name } } })
        end
    end
end

-- The classes of the Gateways, each as if it were this gateway's.
local function add_classes(compiler, inventory)
    local seen = {}
    for _, object in ipairs(inventory.routes) do
        local spec = type(object.spec) == "table" and object.spec or {}
        local name = object.kind == "GatewayClass" and object.metadata.name
            or object.kind == "Gateway" and spec.gatewayClassName
        if type(name) == "string" and not seen[name] then
            seen[name] = true
            compiler:set("GatewayClass", { metadata = { name = name },
                spec = { controllerName = CONTROLLER } })
        end
    end
end

local function make_compiler(inventory, contributions, h2c)
    local has_secrets = inventory.secret_count > 0
    local compiler = compile.new { controller = CONTROLLER, addresses = { "192.0.2.1" }, h2c = h2c,
        certificate = function(namespace, name)
            if has_secrets and not inventory.secrets[namespace .. "/" .. name] then
                return nil, "does not exist"
            end
            return true
        end,
        script = scripts(inventory.scripts) }
    add_namespaces(compiler, inventory)
    add_classes(compiler, inventory)
    for _, object in ipairs(inventory.services) do
        compiler:set("Service", object)
    end
    for _, object in ipairs(inventory.routes) do
        if object.kind ~= "GatewayClass" then
            compiler:set(object.kind, object)
        end
    end
    for key, list in pairs(contributions) do
        local namespace, name = key:match("^([^/]*)/(.*)$")
        compiler:contribute("Ingress", namespace, name, list)
    end
    return compiler
end

-- Adds the conditions of a list that say no.
local function add_conditions(inventory, conditions, where, add)
    for _, condition in ipairs(conditions or {}) do
        local is_unknown = condition.reason == "BackendNotFound" and #inventory.services == 0
        if condition.status == (NEGATIVE[condition.type] and "True" or "False")
            and not is_unknown then
            add(("%s%s: %s: %s"):format(where, condition.type, condition.reason,
                condition.message or ""))
        end
    end
end

local function read_status(inventory, written, add)
    local status = written.status or {}
    add_conditions(inventory, status.conditions, "", add)
    for _, listener in ipairs(status.listeners or {}) do
        add_conditions(inventory, listener.conditions, ("listener %s: "):format(listener.name), add)
    end
    for _, parent in ipairs(status.parents or {}) do
        add_conditions(inventory, parent.conditions, ("parent %s: "):format(parent.parentRef.name),
            add)
    end
    for _, ancestor in ipairs(status.ancestors or {}) do
        add_conditions(inventory, ancestor.conditions, ("Gateway %s: ")
            :format(ancestor.ancestorRef.name), add)
    end
end

---What the Gateways and routes will show.
---@param inventory kubelua.cli.gateway.Inventory
---@param contributions table<string, table[]> of the Ingresses
---@return kubelua.gateway.Problem[]
function compiled.check(inventory, contributions)
    local problems, is_used = {}, {}
    local function adder(title)
        return function(message)
            problems[#problems + 1] = { object = title, kind = "refused", message = message }
        end
    end
    local result = make_compiler(inventory, contributions):run()
    for _, written in ipairs(result.statuses) do
        local title = ("%s %s/%s"):format(written.kind, written.namespace or "", written.name)
        is_used[title] = #(written.status.parents or written.status.ancestors or {}) > 0
        read_status(inventory, written, adder(title))
    end
    for _, problem in ipairs(result.problems) do
        if problem.kind == "Ingress" then -- the others are in a status, too
            adder(("Ingress %s/%s"):format(problem.namespace, problem.name))(problem.message)
        end
    end
    for _, object in ipairs(inventory.routes) do
        local title = ("%s %s/%s"):format(object.kind, object.metadata.namespace,
            object.metadata.name)
        if UNUSED[object.kind] and not is_used[title] then
            problems[#problems + 1] = { object = title, kind = "missing",
                message = UNUSED[object.kind] }
        end
    end
    return problems
end

-- The GRPCRoutes that a Gateway takes, if HTTP speaks HTTP/2 or not.
local function count_taken(inventory, h2c)
    local count = 0
    for _, written in ipairs(make_compiler(inventory, {}, h2c):run().statuses) do
        for _, parent in ipairs(written.kind == "GRPCRoute" and written.status.parents or {}) do
            for _, condition in ipairs(parent.conditions) do
                count = count + (condition.type == "Accepted" and condition.status == "True"
                    and 1 or 0)
            end
        end
    end
    return count
end

---How many times a GRPCRoute is taken only if HTTP speaks HTTP/2, which nginx does since 1.25.1.
---@param inventory kubelua.cli.gateway.Inventory
---@return integer
function compiled.count_h2c(inventory)
    for _, object in ipairs(inventory.routes) do
        if object.kind == "GRPCRoute" then
            return count_taken(inventory, true) - count_taken(inventory, false)
        end
    end
    return 0
end

return compiled
