-- cluster:requests and cluster:asked, which tests use to check requests.
local Sim = require "kubelua.sim"

describe("the record of requests", function()
    local cluster, client

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
    end)

    after_each(function()
        client:close()
        cluster:close()
    end)

    it("is returned in fields", function()
        assert(client:request { path = "/apis/apps/v1/namespaces/web/deployments?limit=5"
            .. "&labelSelector=app%3Dshop%2Ctier" })
        local request = cluster:requests()[1]
        assert.equal("GET", request.method)
        assert.equal("/apis/apps/v1/namespaces/web/deployments", request.path)
        assert.same({ limit = "5", labelSelector = "app=shop,tier" }, request.query)
        assert.equal("list", request.verb)
        assert.equal("apps", request.group)
        assert.equal("v1", request.version)
        assert.equal("deployments", request.resource)
        assert.equal("web", request.namespace)
        assert.is_nil(request.name)
        assert.equal(200, request.status)
        assert.truthy(request.user_agent:find("^kubelua/"))
        assert.is_true(math.abs(request.at - cluster:now()) < 60)
    end)

    it("has the bodies of writes, in JSON and in YAML", function()
        assert(client:request { method = "POST", path = "/api/v1/namespaces/default/configmaps",
            body = '{"metadata":{"name":"a"},"data":{}}' })
        assert(client:request { method = "POST", path = "/api/v1/namespaces/default/configmaps",
            body = "metadata: {name: b}", headers = { ["Content-Type"] = "application/yaml" } })
        local made = cluster:requests { verb = "create" }
        local first, second = made[1], made[2]
        assert.equal("a", first.body.metadata.name)
        assert.equal("b", second.body.metadata.name)
        assert.equal(201, second.status)
    end)

    it("can be filtered, and forgotten", function()
        client:request { path = "/api/v1/pods" }
        client:request { path = "/api/v1/namespaces/default/pods/x" }
        client:request { path = "/api/v1/nodes/x" }
        assert.equal(3, #cluster:requests())
        assert.equal(2, #cluster:requests { resource = "pods" })
        assert.equal(1, #cluster:requests { resource = "pods", verb = "get", status = 404 })
        assert.equal(3, #cluster:requests { user_agent = "kubelua" })
        cluster:clear_requests()
        assert.same({}, cluster:requests())
    end)

    it("can be filtered by fields of bodies and parameters", function()
        for _, name in ipairs { "a", "b" } do
            client:request { method = "POST", path = "/api/v1/namespaces/default/configmaps",
                body = '{"metadata":{"name":"' .. name .. '"},"data":{"x":"1"}}' }
        end
        client:request { path = "/api/v1/pods?limit=5" }
        assert.equal(1, #cluster:requests { body = { metadata = { name = "a" } } })
        assert.equal(2, #cluster:requests { body = { data = { x = "1" } } })
        assert.equal(0, #cluster:requests { body = { data = { x = "2" } } })
        assert.equal(1, #cluster:requests { query = { limit = "5" } })
    end)

    it("is compared with an expected order", function()
        client:request { path = "/api/v1/pods" }
        client:request { path = "/api/v1/nodes" }
        client:request { path = "/api/v1/pods?watch=true&timeoutSeconds=1" }
        assert.is_true(cluster:asked { { verb = "list", resource = "pods" }, { verb = "watch" } })
        local asked, message = cluster:asked { { verb = "watch" }, { resource = "nodes" } }
        assert.is_nil(asked)
        assert.matches('filter 2, {"resource":"nodes"}', message, 1, true)
        assert.matches("GET /api/v1/nodes 200", message, 1, true)
        assert.has_error(function() cluster:asked { { verbs = "list" } } end)
        assert.has_error(function() cluster:asked {} end)
    end)

    it("says so if there was no request", function()
        local _, message = cluster:asked { { verb = "watch" } }
        assert.matches("requests: none", message, 1, true)
    end)

    it("refuses verbs that no request has", function()
        assert.has_error(function() cluster:requests { verb = "lst" } end)
        local ok, message = pcall(cluster.asked, cluster, { { verb = "GET" } })
        assert.is_false(ok)
        assert.matches('no request has the verb "GET"; there are get, list', message, 1, true)
    end)

    it("leaves out the requests of the test itself", function()
        cluster:apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "mine" } }
        cluster:get("configmaps", "mine")
        assert.same({}, cluster:requests())
    end)
end)
