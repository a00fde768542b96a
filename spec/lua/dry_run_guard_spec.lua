-- What a dry run must never let out: writes, and the values of Secrets.
local core = require "kubelua.core"
local dry_run = require "kubelua.cli.dry_run"
local requests = require "kubelua.requests"
local Sim = require "kubelua.sim"
local simcore = require "kubelua.simcore"
local world = require "dry_run_world"

describe("a dry run", function()
    local cluster, client, trial, shown, stderr

    before_each(function()
        cluster, client, trial, shown, stderr = world.begin {
            "{apiVersion: v1, kind: Namespace, metadata: {name: web}}",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}}",
        }
    end)

    after_each(world.finish)

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
        assert.truthy(stderr[1]:find("create /api/v1/namespaces/web/secrets: refused: HTTP 400 "
            .. "(the server's message is not shown", 1, true), stderr[1])
        client:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "m", namespace = "web" } }
        assert.truthy(stderr[2]:find("HIDDEN", 1, true), stderr[2])
        assert.equal(2, trial.refusals)
    end)

    it("refuses a request that may not be what it looks like", function()
        local version = simcore.version(cluster)
        for _, name in ipairs { "X-HTTP-Method-Override", "x-http-method", "X-Method-Override" } do
            local reply, message, code = request("GET", "web/configmaps/a", nil,
                { [name] = "DELETE" })
            assert.is_nil(reply)
            assert.equal("dry_run", code)
            assert.truthy(message:find("its header " .. name, 1, true), message)
            local sent
            sent, message = core.request_send(client, { method = "GET", target = "/api/v1/nodes",
                headers = { "A", "b", name, "PUT" } }, require("kubelua.tasks").poller, 1)
            assert.is_nil(sent, message)
        end
        assert.equal(6, trial.refusals)
        assert.equal(version, simcore.version(cluster))
    end)

    it("asks for whole objects as JSON, and refuses what must not be that", function()
        local function patch(accept)
            shown[1] = nil
            return request("PATCH", "web/configmaps/a", { data = { n = accept } },
                { Accept = accept, ["Content-Type"] = "application/merge-patch+json" })
        end
        for _, accept in ipairs { "application/yaml, */*;q=0.1", "application/*",
            "Application/JSON",
            "application/json;as=Table;v=v1;g=meta.k8s.io, application/json" } do
            assert(patch(accept))
            assert.truthy(shown[1]:find("\n   namespace: web\n+data:\n+  \"n\": ", 1, true),
                shown[1])
        end
        for _, accept in ipairs { "application/yaml", "application/vnd.kubernetes.protobuf",
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            "application/json; as=Table;g=meta.k8s.io;v=v1" } do
            assert.equal("dry_run", select(3, patch(accept)))
            assert.truthy(stderr[#stderr]:find("it has to accept application/json", 1, true))
        end
        assert(request("GET", "web/configmaps/a", nil,
            { Accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" }))
    end)

    it("reads the object before a write from a list that does not say of which kind", function()
        local answers = { GET = { { status = 403, body = "" }, { status = 200, body = core.encode {
            items = { 7, { metadata = { name = "a" }, data = { n = "1" } } } } } },
            PATCH = { { status = 200, body = core.encode { kind = "ConfigMap", apiVersion = "v1",
                metadata = { name = "a" }, data = { n = "2" } } } } }
        local reply = requests.trial(client, { method = "PATCH", headers = {},
            target = "/api/v1/namespaces/web/configmaps/a", body = "{}" }, "spec",
            function(_, call) return table.remove(answers[call.method], 1) end)
        assert.equal(200, reply.status)
        assert.truthy(shown[1]:find("\n-  \"n\": \"1\"\n+  \"n\": \"2\"\n", 1, true), shown[1])
    end)

    it("tries a delete with an empty body, as one without", function()
        for _, body in ipairs { "null", "[]", "kind: DeleteOptions" } do
            assert.equal("dry_run", select(3, request("DELETE", "web/configmaps/a", body)))
        end
        local reply, message = request("DELETE", "web/configmaps/a", "")
        assert.equal(200, reply and reply.status, message)
        assert.equal(3, trial.refusals)
        assert.truthy(shown[1]:find("+++ /dev/null\tdelete", 1, true), shown[1])
        assert(cluster:get("configmaps", "web/a"))
    end)
end)

-- A dry run of a server behind which another one may stand.
describe("a dry run, where API servers stand behind a server,", function()
    local cluster, client, trial, shown, stderr, ignores
    local send = core.request_send

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
        assert(cluster:create "{apiVersion: v1, kind: Namespace, metadata: {name: web}}")
        for _, group in ipairs { "x.io", "y.io" } do
            assert(cluster:create(([[{apiVersion: apiextensions.k8s.io/v1,
                kind: CustomResourceDefinition, metadata: {name: foos.%s}, spec: {group: %s,
                scope: Namespaced, names: {plural: foos, kind: Foo}, versions: [{name: v1,
                served: true, storage: true, schema: {openAPIV3Schema: {type: object,
                x-kubernetes-preserve-unknown-fields: true}}}]}}]]):format(group, group)))
        end
        assert(cluster:create [[{apiVersion: apiregistration.k8s.io/v1, kind: APIService,
            metadata: {name: v1.x.io}, spec: {group: x.io, version: v1, groupPriorityMinimum: 1,
            versionPriority: 1, service: {name: foos, namespace: system}}}]])
        shown, stderr, ignores = {}, {}, false
        core.request_send = function(to, call, ...)
            if ignores then
                call.target = call.target:gsub("dryRun=All", "")
            end
            return send(to, call, ...)
        end
        trial = dry_run.begin(function(text) shown[#shown + 1] = text end,
            function(text) stderr[#stderr + 1] = text end)
    end)

    after_each(function()
        trial.undo()
        core.request_send = send
        client:close()
        cluster:close()
    end)

    local function foo(group, size)
        return { apiVersion = group .. "/v1", kind = "Foo", size = size,
            metadata = { name = "f", namespace = "web" } }
    end

    local function refuse_services(status)
        cluster:fail { verb = "list", resource = "apiservices", status = status, count = 0 }
    end

    it("sends no write to them", function()
        assert.same({}, assert(client:list("foos.x.io")))
        local version = simcore.version(cluster)
        for _ = 1, 2 do
            local made, message, code = client:create(foo("x.io"))
            assert.is_nil(made)
            assert.equal("dry_run", code)
            assert.truthy(message:find("POST /apis/x.io/v1/namespaces/web/foos was not sent, "
                .. "because of --dry-run: x.io/v1 is served by an API server of its own (Service "
                .. "system/foos), which may ignore dryRun", 1, true), message)
        end
        assert.equal("dry_run", select(3, client:delete("foos.x.io", "web/f")))
        local sent = core.request_send(client, { method = "POST", headers = {},
            target = "/apis/x.io/v1/namespaces/web/foos?dryRun=All" },
            require("kubelua.tasks").poller, 1)
        assert.is_nil(sent)
        assert.equal(4, trial.refusals)
        assert.equal(version, simcore.version(cluster))
    end)

    it("tries what the server itself serves, and asks once, and only if need be", function()
        refuse_services(500)
        assert(client:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "m", namespace = "web" } })
        local made, message = client:create(foo("y.io"))
        assert.is_nil(made)
        assert.truthy(message:find("HTTP 500", 1, true), message)
        cluster:heal()
        assert(client:create(foo("y.io")))
        refuse_services(500)
        assert(client:apply(foo("y.io")))
        assert.equal(0, trial.refusals)
        assert.equal(2, trial.changes)
    end)

    it("says once that it must not read which", function()
        refuse_services(403)
        assert(client:create(foo("y.io")))
        assert(client:create { apiVersion = "y.io/v1", kind = "Foo",
            metadata = { name = "g", namespace = "web" } })
        assert.equal(1, #stderr)
        assert.truthy(stderr[1]:find("(allow the verb list for "
            .. "apiservices.apiregistration.k8s.io)", 1, true), stderr[1])
        assert.equal(0, trial.refusals)
    end)

    it("counts what was written in spite of it, as far as a reply tells", function()
        refuse_services(403)
        assert(cluster:create(foo("y.io")))
        ignores = true
        assert(client:create(foo("x.io")))
        assert.truthy(stderr[2]:find("create /apis/x.io/v1/namespaces/web/foos: has been written: "
            .. "its API server ignores dryRun, as the object has a resourceVersion", 1, true),
            stderr[2])
        assert(client:patch("foos.y.io", "web/f", { size = 2 }))
        assert.truthy(stderr[3]:find("patch /apis/y.io/v1/namespaces/web/foos/f: has been written: "
            .. "its API server ignores dryRun, as the resourceVersion has changed", 1, true),
            stderr[3])
        -- The API server itself is believed: what it says of a new Service looks as if written.
        assert(client:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "own", namespace = "web" } })
        assert.equal(2, trial.refusals)
    end)
end)
