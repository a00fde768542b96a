-- What a dry run must never let out: the values of Secrets.
local dry_run = require "kubelua.cli.dry_run"
local Sim = require "kubelua.sim"

describe("a dry run", function()
    local cluster, client, trial, shown, stderr

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
        for _, text in ipairs {
            "{apiVersion: v1, kind: Namespace, metadata: {name: web}}",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}}",
        } do
            assert(cluster:create(text))
        end
        shown, stderr = {}, {}
        trial = dry_run.begin(function(text) shown[#shown + 1] = text end,
            function(text) stderr[#stderr + 1] = text end)
    end)

    after_each(function()
        trial.undo()
        client:close()
        cluster:close()
    end)

    local function request(method, path, body, headers)
        return client:request { method = method, path = "/api/v1/namespaces/" .. path,
            body = body, headers = headers }
    end

    local function assert_hidden()
        local all = table.concat(shown) .. table.concat(stderr)
        assert.is_nil(all:find("HIDDEN", 1, true), all)
    end

    it("masks a Secret that does not say that it is one", function()
        assert(client:create { apiVersion = "v1", kind = "Namespace", metadata = { name = "ns" } })
        local bodies = { { stringData = { k = "HIDDEN" } }, { data = "HIDDEN" }, { data = 7 },
            { data = { "HIDDEN" }, apiVersion = "v1", kind = "ConfigMap" },
            { stringdata = { k = "HIDDEN" } }, { data = { k = { "HIDDEN" } } } }
        for i, body in ipairs(bodies) do
            body.metadata = { name = "s" .. i }
            assert(request("POST", "ns/secrets", body))
            assert.truthy(shown[i + 1]:find("***", 1, true), shown[i + 1])
        end
        assert_hidden()
        assert.truthy(shown[2]:find("\n+stringData:\n+  k: \"***\"\n", 1, true), shown[2])
        assert.truthy(shown[3]:find("\n+data: \"***\"\n", 1, true), shown[3])
    end)

    it("masks a Secret of which the server shows a part", function()
        assert(request("POST", "web/secrets", { metadata = { name = "s", annotations = {
            ["kubectl.kubernetes.io/last-applied-configuration"] = "HIDDEN" } } },
            { Accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" }))
        assert.truthy(shown[1]:find("last-applied-configuration: \"***\"\n", 1, true), shown[1])
        assert_hidden()
    end)

    it("marks on both sides what changes in a Secret, also if it is no table", function()
        assert(client:create { apiVersion = "v1", kind = "Namespace", metadata = { name = "ns" } })
        for _, data in ipairs { "HIDDEN", "HIDDEN 2" } do
            assert(request(data == "HIDDEN" and "POST" or "PUT", "ns/secrets"
                .. (data == "HIDDEN" and "" or "/s"), { metadata = { name = "s" }, data = data }))
        end
        assert.truthy(shown[3]:find("\n-data: \"*** (before)\"\n+data: \"*** (after)\"\n", 1, true),
            shown[3])
        assert_hidden()
    end)

    it("does not tell what a server says about a Secret; the script gets it", function()
        for _, resource in ipairs { "secrets", "configmaps" } do
            cluster:fail { verb = "create", resource = resource, status = 400,
                reason = "BadRequest", message = "cannot unmarshal \"HIDDEN\"" }
        end
        local _, message = client:create { apiVersion = "v1", kind = "Secret",
            metadata = { name = "s", namespace = "web" } }
        assert.truthy(message:find("HIDDEN", 1, true), message)
        assert_hidden()
        assert.truthy(stderr[1]:find("create /api/v1/namespaces/web/secrets: refused: HTTP 400", 1,
            true), stderr[1])
        client:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "m", namespace = "web" } }
        assert.truthy(stderr[2]:find("HIDDEN", 1, true), stderr[2])
        assert.equal(2, trial.refusals)
    end)
end)
