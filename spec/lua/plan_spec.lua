-- kubelua plan: the rights that a script needs, by what it asks for in a simulated cluster.
local plan = require "kubelua.cli.plan"
local Sim = require "kubelua.sim"
local planned = require "planned"

local WATCHES, cluster_of, make, tell =
    planned.WATCHES, planned.cluster_of, planned.make, planned.tell

describe("a plan #processes", function()
    after_each(planned.clean)

    it("has list and watch of an informer in all namespaces", function()
        assert.same({ "list,watch pods" }, cluster_of(WATCHES))
    end)

    it("has a Role for an informer of one namespace", function()
        local result = assert(make(WATCHES, { namespace = "web" }))
        assert.same({}, result.rules.cluster)
        assert.same({ "list,watch pods" }, tell(result.rules.namespaces.web))
    end)

    it("names the line that declares an informer, and that of a request", function()
        local result = assert(make(WATCHES .. 'client:get("configmaps", "web/settings")'))
        local lines = {}
        for _, request in ipairs(result.requests) do
            lines[request.verb] = request.lines[1]:match("%d+$")
        end
        assert.same({ list = "2", watch = "2", get = "3" }, lines)
    end)

    it("restricts list and watch of one object by its name, and never create", function()
        local result = assert(make [[
            local client = assert(kubelua.connect())
            client:wait("configmaps", "web/settings")
            client:apply { apiVersion = "v1", kind = "Secret",
                metadata = { name = "made", namespace = "web" } } ]])
        assert.same({ "create secrets", "list,watch configmaps [settings]",
            "patch secrets [made]" }, tell(result.rules.namespaces.web))
        assert.same({ "configmaps web/settings" }, result.waits)
    end)

    it("has get for each write of a controller, for a conflict, and create for an apply", function()
        local rules = cluster_of [[kubelua.controller { "configmaps", name = "c",
            reconcile = function(map, run)
                assert(run:apply { apiVersion = "v1", kind = "Secret",
                    metadata = { name = map.name } })
                run:event("Normal", "Made", "it is made")
            end }]]
        assert.same({ "create,patch events.events.k8s.io", "get,create,patch secrets",
            "list,watch configmaps", "update configmaps/finalizers" }, rules)
    end)

    it("has the Lease of a leader in the client's namespace", function()
        local result = assert(make([[kubelua.controller { "configmaps", name = "c", leader = "me",
            reconcile = function() end }]]))
        assert.same({ "create leases.coordination.k8s.io",
            "get,update leases.coordination.k8s.io [me]" }, tell(result.rules.namespaces.default))
        assert.same({ { namespace = "default", name = "me" } }, result.leases)
    end)

    it("has all Leases of its namespace for the members of a ring", function()
        local result = assert(make([[kubelua.controller { "configmaps", name = "c", shards = "us",
            reconcile = function() end }]]))
        assert.same({ "get,list,watch,create,update,delete leases.coordination.k8s.io" },
            tell(result.rules.namespaces.default))
        assert.same({ { namespace = "default", name = "us", is_ring = true } }, result.leases)
    end)

    it("has what a finalizer needs, without any object", function()
        local text = [[kubelua.controller { "configmaps", labels = "none=here",
            finalizer = "example.com/x", finalize = function() end, reconcile = function() end }]]
        assert.same({ "get,list,watch,patch configmaps" }, cluster_of(text))
    end)

    it("has subresources: logs, evictions, scales, status", function()
        local result = assert(make [[
            local client = assert(kubelua.connect())
            client:logs("web/shop-1")
            client:evict("web/shop-1")
            client:patch("pods", "web/shop-1", { status = {} }, { subresource = "status" })
            client:scale("deployments", "web/none", 1) ]])
        assert.same({ "create pods/eviction", "get pods/log [shop-1]",
            "patch deployments/scale.apps [none]", "patch pods/status [shop-1]" },
            tell(result.rules.namespaces.web))
    end)

    it("has deletecollection without names, and list for all namespaces", function()
        assert.same({ "list,deletecollection configmaps" }, cluster_of
            'assert(kubelua.connect():delete_all("configmaps", { namespace = "*" }))')
    end)

    it("has deletecollection in all namespaces, even if there is nothing to delete", function()
        assert.same({ "list,deletecollection secrets" }, cluster_of
            'assert(kubelua.connect():delete_all("secrets", { namespace = "*" }))')
    end)

    it("has patch for a create that may adopt", function()
        assert.same({ "get,create,patch secrets", "list,watch configmaps",
            "update configmaps/finalizers" }, cluster_of [[kubelua.controller { "configmaps",
            reconcile = function(map, run)
                assert(run:create({ apiVersion = "v1", kind = "Secret",
                    metadata = { name = map.name } }, { adopt = true }))
            end }]])
    end)

    it("has get of the one object that a run creates", function()
        local result = assert(make [[kubelua.controller { "configmaps", owns = {},
            reconcile = function(_, run)
                local _, message, code = run:create({ apiVersion = "v1", kind = "Secret",
                    metadata = { name = "made", namespace = "web" } }, { owner = false })
                if message and code ~= "already_exists" then return nil, message end
            end }]])
        assert.same({ "create secrets", "get secrets [made]" }, tell(result.rules.namespaces.web))
    end)

    it("has what a script itself does with the Lease of its leader", function()
        local result = assert(make [[kubelua.controller { "configmaps", name = "c", leader = "me",
            reconcile = function() end }
            kubelua.spawn(function()
                kubelua.connect():delete("leases", "default/me")
            end)]])
        assert.same({ "create leases.coordination.k8s.io",
            "get,update,delete leases.coordination.k8s.io [me]" },
            tell(result.rules.namespaces.default))
    end)

    it("sees owners in a JSON patch", function()
        local result = assert(make [[
            kubelua.connect():request { method = "PATCH",
                path = "/api/v1/namespaces/web/configmaps/settings",
                headers = { ["Content-Type"] = "application/json-patch+json" },
                body = { { op = "add", path = "/metadata/ownerReferences", value = { {
                    apiVersion = "v1", kind = "Pod", name = "shop-1", uid = "u",
                    blockOwnerDeletion = true } } } } } ]])
        assert.matches("delete", table.concat(tell(result.rules.cluster), " "))
        assert.matches("update pods/finalizers", table.concat(tell(result.rules.cluster), " "))
    end)

    it("has a path that is no resource, but not discovery and reviews of oneself", function()
        assert.same({ "get /metrics" }, cluster_of [[
            local client = kubelua.connect()
            client:request { path = "/metrics" }
            client:request { path = "/version" }
            client:request { path = "/apis/apps/v1" }
            client:request { method = "POST", body = {},
                path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" } ]])
    end)

    it("gives each example rights with which it works, by a server that checks them", function()
        for script, manifest in pairs { ["foo-controller"] = "foos", zones = "zones",
            ["mirror-configmaps"] = "mirror", ["ordered-set"] = "ordered-sets",
            ["label-pods"] = "cluster", ["pod-summary"] = "cluster" } do
            local path, load = "examples/" .. script .. ".lua", "examples/" .. manifest .. ".yaml"
            local result = assert(plan.of { script = path, sim_load = { load } })
            local cluster = assert(Sim.new { load = load, rbac = true, token = "admin",
                users = { { name = "u", token = "user" } } })
            local group = "rbac.authorization.k8s.io"
            local subjects = { { kind = "User", name = "u", apiGroup = group } }
            for _, role in ipairs(plan.manifests(result, "it")) do
                local namespace = role.metadata.namespace
                if namespace then
                    cluster:apply { apiVersion = "v1", kind = "Namespace",
                        metadata = { name = namespace } }
                end
                assert(cluster:apply(role))
                assert(cluster:apply { apiVersion = role.apiVersion, kind = role.kind .. "Binding",
                    metadata = { name = "it", namespace = namespace }, subjects = subjects,
                    roleRef = { apiGroup = group, kind = role.kind, name = "it" } })
            end
            local clients = require "kubelua.client"
            local before = clients.defaults
            clients.defaults = { sim = cluster, token = "user" }
            dofile(path)
            clients.defaults = before
            assert(cluster:eventually(function()
                return #cluster:requests { verb = "patch" } > 0
            end))
            assert(cluster:settle())
            assert.same({}, cluster:requests { status = 403 }, script)
            for client in pairs(require("kubelua.simcore").state(cluster).connected) do
                client:close()
            end
            cluster:close()
        end
    end)
end)
