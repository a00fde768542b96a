-- kubelua plan: the rights that a script needs, by what it asks for in a simulated cluster.
local plan = require "kubelua.cli.plan"
local Sim = require "kubelua.sim"

local WATCHES = [[local client = assert(kubelua.connect())
    assert(client:informer { "pods" }):on { add = function() end }
]]

local CLUSTER = [[
{apiVersion: v1, kind: Namespace, metadata: {name: web}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: web}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: web}, data: {target: linked}}
---
apiVersion: v1
kind: Pod
metadata: {name: shop-1, namespace: web}
spec: {containers: [{name: c, image: "c:1"}]}
]]

-- Rules as texts: "get,list pods", "get configmaps [a,b]", "patch deployments.apps".
local function tell(rules)
    local texts = {}
    for _, rule in ipairs(rules or {}) do
        for _, resource in ipairs(rule.resources or rule.nonResourceURLs) do
            local group = rule.apiGroups and rule.apiGroups[1] or ""
            texts[#texts + 1] = table.concat(rule.verbs, ",") .. " " .. resource
                .. (group ~= "" and "." .. group or "")
                .. (rule.resourceNames and " [" .. table.concat(rule.resourceNames, ",") .. "]"
                    or "")
        end
    end
    table.sort(texts)
    return texts
end

describe("a plan #processes", function()
    local paths

    local function write(text, name)
        local path = os.tmpname()
        os.remove(path)
        path = path .. (name or ".lua")
        local file = assert(io.open(path, "w"))
        file:write(text)
        file:close()
        paths[#paths + 1] = path
        return path
    end

    local function make(text, options)
        local given = { script = write(text), sim_load = { write(CLUSTER, ".yaml") } }
        for name, value in pairs(options or {}) do
            given[name] = value
        end
        return plan.of(given)
    end

    local function cluster_of(text, options)
        return tell(assert(make(text, options)).rules.cluster)
    end

    before_each(function()
        paths = {}
    end)

    after_each(function()
        for _, path in ipairs(paths) do
            os.remove(path)
        end
    end)

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

    it("restricts by a name that the script writes", function()
        local result = assert(make(
            'assert(kubelua.connect()):get("configmaps", "web/settings")'))
        assert.same({}, result.rules.cluster)
        assert.same({ "get configmaps [settings]" }, tell(result.rules.namespaces.web))
    end)

    it("does not restrict by a name that came out of an object", function()
        local rules = cluster_of(WATCHES .. [[
            local name = client:get("configmaps", "web/other"):get("data.target")
            local linked = "linked" -- the same text, by accident
            client:get("configmaps", "web/" .. name) ]])
        assert.same({ "get configmaps", "list,watch pods" }, rules)
    end)

    it("does not restrict by the name of an object that was listed", function()
        local rules = cluster_of [[
            local client, known = assert(kubelua.connect()), "settings"
            for _, found in ipairs(client:list("configmaps")) do
                client:patch(found, { data = { x = known } })
            end ]]
        assert.same({ "get,list,patch configmaps" }, rules)
    end)

    it("takes a name of an argument for constant", function()
        local result = assert(make('kubelua.connect():delete("configmaps", "web/" .. arg[1])',
            { args = { "settings" }, namespace = "web" }))
        assert.same({ "delete configmaps [settings]" }, tell(result.rules.namespaces.web))
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

    it("has what a finalizer needs, without any object", function()
        local text = [[kubelua.controller { "configmaps", labels = "none=here",
            finalizer = "example.com/x", finalize = function() end, reconcile = function() end }]]
        assert.same({ "get,list,watch,patch configmaps" }, cluster_of(text))
    end)

    it("deletes the objects of its manifests, so that finalize is reached", function()
        local result = assert(make [[kubelua.controller { "configmaps", name = "c",
            finalizer = "example.com/x", reconcile = function() end,
            finalize = function(map, run) assert(run.client:delete("secrets", map.key)) end }]])
        assert.same({ "get,delete secrets", "get,list,watch,patch configmaps" },
            tell(result.rules.cluster))
        assert.same({}, result.unreached)
    end)

    it("reaches what is due in weeks", function()
        local result = assert(make [[kubelua.controller { "configmaps", name = "c",
            reconcile = function(map, run)
                run.memo.due = run.memo.due or kubelua.now() + 30 * 86400
                if kubelua.now() < run.memo.due then return run.memo.due - kubelua.now() end
                assert(run:delete(map))
            end }]])
        assert.same({ "get,list,watch,delete configmaps" }, tell(result.rules.cluster))
        assert.is_true(result.seconds >= 30 * 86400)
    end)

    it("ends an endless loop that sleeps", function()
        assert.same({ "list configmaps" }, cluster_of [[
            while true do
                assert(kubelua.connect():list("configmaps"))
                kubelua.sleep(60)
            end ]])
    end)

    it("stops at the time that it is given", function()
        local text = 'kubelua.every(10, function() kubelua.connect():list("pods") end)'
        local result, message = make(text, { duration = 5 })
        assert.is_nil(result)
        assert.matches("asked nothing", message)
        assert.same({ "list pods" }, cluster_of(text, { duration = 15 }))
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

    it("has a path that is no resource, but not discovery and reviews of oneself", function()
        assert.same({ "get /metrics" }, cluster_of [[
            local client = kubelua.connect()
            client:request { path = "/metrics" }
            client:request { path = "/version" }
            client:request { path = "/apis/apps/v1" }
            client:request { method = "POST", body = {},
                path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" } ]])
    end)

    it("names what was not reached", function()
        local result = assert(make(WATCHES .. [[
            if client == nil then
                client:delete("pods", "web/a")
            end
            local function never()
                client:create { }
            end
            client:informer { "secrets" }:on { update = function() never() end }
        ]]))
        local texts = {}
        for i, range in ipairs(result.unreached) do
            texts[i] = range.text:match(":([%d-]+ was not reached.*)")
        end
        local rest = " was not reached: what it needs is not in the role"
        assert.same({ "4" .. rest, "6-8" .. rest, "9" .. rest }, texts)
    end)

    it("plays a recording, with its deletes", function()
        local object = '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a",'
            .. '"namespace":"default","uid":"u-1","resourceVersion":"%d"}}'
        local recording = write('{"kubelua":"recording","version":1}\n'
            .. '{"at":0,"type":"ADDED","initial":true,"object":' .. object:format(10) .. '}\n'
            .. '{"at":1,"type":"DELETED","object":' .. object:format(20) .. '}\n', ".ndjson")
        local result = assert(make([[kubelua.controller { "secrets", name = "c",
            reconcile = function() end,
            gone = function() assert(kubelua.connect():list("nodes")) end }]],
            { replay = recording, sim_load = {} }))
        assert.same({ "list nodes", "list,watch secrets" }, tell(result.rules.cluster))
    end)

    it("never reaches the server of another configuration", function()
        local result = assert(make(WATCHES .. [[
            local other = assert(kubelua.connect { server = "http://127.0.0.1:1" })
            assert(other:list("secrets")) ]]))
        assert.same({ "list,watch pods" }, tell(result.rules.cluster))
        assert.is_true(result.elsewhere)
    end)

    it("fails if the script fails, or cannot be loaded", function()
        assert.matches("%.lua:1: boom", select(2, make 'error("boom", 1)'))
        assert.matches("%.lua:1: ", select(2, make "x = = 1"))
    end)

    it("fails if a kind is not in the cluster", function()
        local result, message = make [[kubelua.controller { "foos.example.com",
            reconcile = function() end }]]
        assert.is_nil(result)
        assert.matches("foos", message)
    end)

    it("fails if the script asks nothing", function()
        assert.matches("asked nothing", select(2, make "local x = 1"))
    end)

    it("runs what follows kubelua.run, and takes os.exit for the end", function()
        assert.same({ "list pods" }, cluster_of [[
            kubelua.run()
            kubelua.connect():list("pods")
            os.exit(3) ]])
    end)

    it("leaves nothing of a script for the next one", function()
        local requests = require "kubelua.requests"
        local observed = requests.observed
        assert(make(WATCHES .. "leftover = 1"))
        assert.is_nil(rawget(_G, "leftover"))
        assert.same({ "list nodes" }, cluster_of 'kubelua.connect():list("nodes")')
        assert.is_nil(debug.gethook())
        assert.equal(observed, requests.observed)
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
