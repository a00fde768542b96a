-- RBAC as users see it: what they may do, and that no user can grant rights that it lacks.
local core = require "kubelua.core"
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
    "a role to write roles", "POST " .. HERE .. "roles",
    role("Role", "writer", {
        rule({ "rbac.authorization.k8s.io" }, { "roles", "rolebindings" }, { "*" }),
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

-- --- Roles. ---------------------------------------------------------------

local function writes(sentence, rules, more)
    as("jane", {
        sentence, "POST " .. HERE .. "roles?dryRun=All", role("Role", "new", rules, more),
    })
end
writes("what she has", { rule({ "" }, { "pods" }, { "get" }) })
writes("what she has by name", { rule({ "" }, { "configmaps" }, { "get" }, { "a" }) })
writes("what she has not", { rule({ "" }, { "secrets" }, { "get" }) })
writes("more verbs than she has", { rule({ "" }, { "pods" }, { "get", "delete", "create" }) })
writes("more resources", { rule({ "", "apps" }, { "pods", "deployments" }, { "get", "list" }) })
writes("another name", { rule({ "" }, { "configmaps" }, { "get", "list" }, { "a", "b" }) })
writes("all names", { rule({ "" }, { "configmaps" }, { "get" }) })
writes("everything", { rule({ "*" }, { "*" }, { "*" }) })
writes("a subresource", { rule({ "" }, { "pods/log", "*/scale" }, { "get" }) })
writes("what is no rule either", { rule({ "" }, { "secrets" }, core.array {}) })
add {
    "a role of hers", "POST " .. HERE .. "roles",
    role("Role", "hers", { rule({ "" }, { "pods" }, { "get" }) }),
}
as("jane", {
    "more in an update", "PUT " .. HERE .. "roles/hers",
    role("Role", "hers", { rule({ "" }, { "secrets" }, { "get" }) }),
})
as("jane", {
    "more in a patch", "PATCH " .. HERE .. "roles/hers",
    { rules = { rule({ "" }, { "secrets" }, { "get" }) } },
})
as("jane", {
    "labels alone", "PATCH " .. HERE .. "roles/writer", { metadata = { labels = { a = "b" } } },
})
as("jane", {
    "a finalizer of a role", "PATCH " .. HERE .. "roles/hers",
    { metadata = { finalizers = { "example.com/x" } } },
})

-- --- Bindings. ------------------------------------------------------------

add {
    "a role of secrets", "POST " .. HERE .. "roles",
    role("Role", "secrets", { rule({ "" }, { "secrets" }, { "get", "list" }) }),
}
local function binds(sentence, kind, name)
    as("jane", {
        sentence, "POST " .. HERE .. "rolebindings?dryRun=All",
        binding("RoleBinding", "new", kind, name, "joe"),
    })
end
binds("binds what she has", "Role", "writer")
binds("binds what she has not", "Role", "secrets")
binds("binds what there is not", "Role", "none")
binds("binds a role of the cluster", "ClusterRole", "system:basic-user")
binds("binds one that there is not", "ClusterRole", "none")
binds("binds to nothing", "Thing", "x")
add {
    "she may bind that", "POST " .. HERE .. "roles",
    role("Role", "binder", {
        rule({ "rbac.authorization.k8s.io" }, { "roles" }, { "bind" }, { "secrets" }),
    }),
}
add { "and has that", "POST " .. HERE .. "rolebindings",
    binding("RoleBinding", "binder", "Role", "binder", "jane") }
as("jane", {
    "binds what she may", "POST " .. HERE .. "rolebindings?dryRun=All",
    binding("RoleBinding", "new", "Role", "secrets", "joe"), wait = 201,
})
add {
    "she may escalate", "POST " .. HERE .. "roles",
    role("Role", "escalator", {
        rule({ "rbac.authorization.k8s.io" }, { "roles" }, { "escalate" }),
    }),
}
add { "and has that, too", "POST " .. HERE .. "rolebindings",
    binding("RoleBinding", "escalator", "Role", "escalator", "jane") }
as("jane", {
    "writes what she may", "POST " .. HERE .. "roles?dryRun=All",
    role("Role", "new", { rule({ "*" }, { "*" }, { "*" }) }), wait = 201,
})
add { "a binding to nothing", "POST " .. HERE .. "rolebindings",
    binding("RoleBinding", "nothing", "Role", "gone", "ann") }
as("ann", { "who has a role that is not there", "GET " .. CORE .. "pods", wait = 403 })

-- --- Of the cluster. ------------------------------------------------------

add {
    "a role to write roles of the cluster", "POST " .. RBAC .. "clusterroles",
    role("ClusterRole", "{run}-writer", {
        rule({ "rbac.authorization.k8s.io" }, { "clusterroles", "clusterrolebindings" }, { "*" }),
        { nonResourceURLs = { "/metrics", "/logs/*" }, verbs = { "get" } },
    }),
}
add { "max has it", "POST " .. RBAC .. "clusterrolebindings",
    binding("ClusterRoleBinding", "{run}-max", "ClusterRole", "{run}-writer", "max-{run}") }
local function of_cluster(sentence, rules, more, wait)
    as("max-{run}", {
        sentence, "POST " .. RBAC .. "clusterroles?dryRun=All",
        role("ClusterRole", "{run}-new", rules, more), wait = wait,
    })
end
-- By * he may escalate, whatever he writes.
of_cluster("by every verb", { rule({ "" }, { "nodes" }, { "get" }) }, nil, 201)
add {
    "he may write alone", "PUT " .. RBAC .. "clusterroles/{run}-writer",
    role("ClusterRole", "{run}-writer", {
        rule({ "rbac.authorization.k8s.io" }, { "clusterroles", "clusterrolebindings" },
            { "create", "update" }),
        { nonResourceURLs = { "/metrics", "/logs/*" }, verbs = { "get" } },
    }), only = "status",
}
of_cluster("what he has not", { rule({ "" }, { "nodes" }, { "get" }) }, nil, 403)
of_cluster("paths that he has", {
    { nonResourceURLs = { "/metrics", "/logs/a" }, verbs = { "get" } },
})
of_cluster("paths that he has not", {
    { nonResourceURLs = { "/metrics", "/healthz" }, verbs = { "get", "post" } },
})
of_cluster("what others add", nil, {
    aggregationRule = { clusterRoleSelectors = { { matchLabels = { a = "b" } } } },
})
as("max-{run}", {
    "binds the administrator", "POST " .. RBAC .. "clusterrolebindings?dryRun=All",
    binding("ClusterRoleBinding", "{run}-new", "ClusterRole", "cluster-admin", "joe"),
})
as("max-{run}", {
    "binds a role that is gone", "POST " .. RBAC .. "clusterrolebindings?dryRun=All",
    binding("ClusterRoleBinding", "{run}-new", "ClusterRole", "none", "joe"),
})
add { "the role is gone", "DELETE " .. RBAC .. "clusterroles/{run}-writer", only = "status" }
add { "and its binding", "DELETE " .. RBAC .. "clusterrolebindings/{run}-max", only = "status" }

return requests
