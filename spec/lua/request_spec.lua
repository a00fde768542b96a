-- client:request: raw requests, their replies and their failures.
local kubelua = require "kubelua"
local query = require "kubelua.query"
local Sim = require "kubelua.sim"

describe("a request", function()
    local cluster, client

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
    end)

    after_each(function()
        client:close()
        cluster:close()
    end)

    it("returns the status, the body and the headers of its answer", function()
        local reply = assert(client:request { path = "/version" })
        assert.equal(200, reply.status)
        assert.equal("1", kubelua.decode(reply.body).major)
        assert.equal("application/json", reply.headers["content-type"])
    end)

    it("encodes its parameters, in the order of their names", function()
        assert.equal("/x", query.target("/x", {}))
        assert.equal("/x?a=1&b%20c=d%2Fe%3D%C3%A4&f=true",
            query.target("/x", { f = true, ["b c"] = "d/e=ä", a = 1 }))
        assert.equal("/x?limit=1&watch=true", query.target("/x?limit=1", { watch = true }))
        assert(client:request { path = "/api/v1/pods", query = { labelSelector = "a=b,c" } })
        assert.same({ labelSelector = "a=b,c" }, cluster:requests()[1].query)
    end)

    it("sends a text as body with the Content-Type of its headers", function()
        local reply = assert(client:request { method = "POST",
            path = "/api/v1/namespaces/default/configmaps", body = "metadata: {name: b}",
            headers = { ["Content-Type"] = "application/yaml" } })
        assert.equal(201, reply.status)
    end)

    it("sends a table or a view as JSON", function()
        local path = "/api/v1/namespaces/default/configmaps"
        local reply = assert(client:request { method = "POST", path = path,
            body = { metadata = { name = "a" } } })
        assert.equal("a", kubelua.decode(reply.body).metadata.name)
        assert(client:request { method = "PUT", path = path .. "/a",
            body = assert(cluster:get("cm", "default/a")) })
    end)

    it("with a status of 400 or more fails, with the reply as the fourth result", function()
        local reply, message, code, answer = client:request {
            path = "/api/v1/namespaces/default/pods/none" }
        assert.is_nil(reply)
        assert.truthy(message:find('pods "none" not found', 1, true))
        assert.equal("not_found", code)
        assert.equal(404, answer.status)
        assert.equal("Status", kubelua.decode(answer.body).kind)
    end)

    it("with wrong arguments raises", function()
        for text, given in pairs {
            ["needs a path"] = {},
            ["do you mean 'method'"] = { path = "/", metod = "GET" },
            ["'timeout' must be a number"] = { path = "/", timeout = "1" },
            ["table of options expected"] = "/version",
        } do
            local ok, problem = pcall(client.request, client, given)
            assert.is_false(ok)
            assert.truthy(problem:find(text, 1, true), problem)
        end
    end)
end)
