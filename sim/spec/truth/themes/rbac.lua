-- RBAC as users see it: what they may do.
local objects = require "objects"

local of = objects.of
local GROUP = "rbac.authorization.k8s.io/v1"
local RBAC, CORE = "/apis/" .. GROUP .. "/", "/api/v1/namespaces/{ns}/"
local HERE = RBAC .. "namespaces/{ns}/"
local requests = {}

local function add(request)
    requests[#requests + 1] = request
end

-- A request of an authenticated user, with or without rules for it.
local function as(user, request)
    request.headers = { ["Impersonate-User"] = user }
    add(request)
end

local function rule(groups, resources, verbs, names)
    return { apiGroups = groups, resources = resources, verbs = verbs, resourceNames = names }
end

local function role(kind, name, rules, more)
    more = more or {}
    more.rules = rules
    return of(GROUP, kind, name, more)
end

local function binding(kind, name, of_kind, of_name, user)
    return of(GROUP, kind, name, {
        roleRef = { apiGroup = "rbac.authorization.k8s.io", kind = of_kind, name = of_name },
        subjects = { { kind = "User", name = user, apiGroup = "rbac.authorization.k8s.io" } },
    })
end

as("jane", { "without any rule", "GET " .. CORE .. "pods" })
as("jane", { "of the cluster", "GET /api/v1/nodes" })
as("jane", { "of one object", "GET " .. CORE .. "configmaps/a" })
as("jane", { "of a subresource", "GET " .. CORE .. "pods/a/log" })
as("jane", { "of a path", "GET /metrics" })
as("jane", { "a write", "POST " .. CORE .. "configmaps", of("v1", "ConfigMap", "a") })
as("jane", { "of another group", "DELETE /apis/apps/v1/namespaces/{ns}/deployments" })

add {
    "a role", "POST " .. HERE .. "roles",
    role("Role", "writer", {
        rule({ "" }, { "pods" }, { "get", "list" }),
        rule({ "" }, { "configmaps" }, { "get" }, { "a" }),
    }),
}
add { "jane has it", "POST " .. HERE .. "rolebindings",
    binding("RoleBinding", "jane", "Role", "writer", "jane") }
as("jane", { "now she may", "GET " .. CORE .. "pods", wait = 200, only = "status" })
as("jane", { "not everything", "DELETE " .. CORE .. "pods/a" })
as("jane", { "one by name", "GET " .. CORE .. "configmaps/a" })
as("jane", { "no other one", "GET " .. CORE .. "configmaps/b" })

add { "a binding to nothing", "POST " .. HERE .. "rolebindings",
    binding("RoleBinding", "nothing", "Role", "gone", "ann") }
as("ann", { "who has a role that is not there", "GET " .. CORE .. "pods", wait = 403 })

return requests
