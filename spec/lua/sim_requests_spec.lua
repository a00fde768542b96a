-- What a simulated cluster was asked, as tests assert on it.
local Sim = require "kubelua.sim"

describe("what was asked", function()
    local cluster, client

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
    end)

    after_each(function()
        client:close()
        cluster:close()
    end)

    it("is told in parts", function()
        assert(client:call { target = "/apis/apps/v1/namespaces/web/deployments?limit=5"
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
        assert(client:call { method = "POST", target = "/api/v1/namespaces/default/configmaps",
            body = '{"metadata":{"name":"a"},"data":{}}' })
        assert(client:call { method = "POST", target = "/api/v1/namespaces/default/configmaps",
            body = "metadata: {name: b}", type = "application/yaml" })
        local made = cluster:requests { verb = "create" }
        local first, second = made[1], made[2]
        assert.equal("a", first.body.metadata.name)
        assert.equal("b", second.body.metadata.name)
        assert.equal(201, second.status)
    end)

    it("can be filtered, and forgotten", function()
        client:call { target = "/api/v1/pods" }
        client:call { target = "/api/v1/namespaces/default/pods/x" }
        client:call { target = "/api/v1/nodes/x" }
        assert.equal(3, #cluster:requests())
        assert.equal(2, #cluster:requests { resource = "pods" })
        assert.equal(1, #cluster:requests { resource = "pods", verb = "get", status = 404 })
        assert.equal(3, #cluster:requests { user_agent = "kubelua" })
        cluster:clear_requests()
        assert.same({}, cluster:requests())
    end)

    it("leaves out what the test itself does", function()
        cluster:apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "mine" } }
        cluster:get("configmaps", "mine")
        assert.same({}, cluster:requests())
    end)
end)
