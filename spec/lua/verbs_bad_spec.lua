-- Verbs with wrong arguments raise an error with the script's line; with servers that answer
-- nonsense, each returns a clear message.
local expect_failure = require "expect_failure"
local kubelua = require "kubelua"
local core = require "kubelua.core"
local Sim = require "kubelua.sim"

local cluster, client

before_each(function()
    cluster = assert(Sim.new())
    client = assert(cluster:connect())
end)

after_each(function()
    client:close()
    cluster:close()
end)

describe("a verb returns what is wrong", function()
    it("with an object", function()
        expect_failure("apiVersion and kind", "invalid_argument",
            client:create { metadata = { name = "a" } })
        expect_failure("apiVersion and kind", "invalid_argument",
            client:apply { kind = "Pod", metadata = { name = "a" } })
        expect_failure("metadata is a table", "invalid_argument",
            client:create { apiVersion = "v1", kind = "ConfigMap", metadata = "a" })
        expect_failure("are texts", "invalid_argument",
            client:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = 5 } })
        expect_failure('"a/b" cannot be the name', "invalid_argument",
            client:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a/b" } })
        expect_failure("cannot be a namespace", "invalid_argument", client:create {
            apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a", namespace = "A/" } })
        expect_failure("belong to the cluster", "invalid_argument", client:create {
            apiVersion = "v1", kind = "Namespace", metadata = { name = "a", namespace = "web" } })
        expect_failure("belong to the cluster", "invalid_argument", client:get("nodes", "web/a"))
        expect_failure("belong to the cluster", "invalid_argument",
            client:list("nodes", { namespace = "web" }))
        expect_failure("it is served as apps/v1", "unknown_kind", client:create {
            apiVersion = "extensions/v1beta1", kind = "Deployment", metadata = { name = "a" } })
        expect_failure("Invalid value", "invalid",
            client:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "A_B" } })
        expect_failure("cannot be handled as a ConfigMap", "bad_request",
            client:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" },
                data = { port = 80 } })
    end)

    it("with a subresource that is not served", function()
        assert(client:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } })
        expect_failure('no "scale" of configmaps', "not_found", client:scale("cm", "a", 1))
        expect_failure('no "status" of configmaps', "not_found",
            client:patch("cm", "a", {}, { subresource = "status" }))
    end)

    it("with a subresource that is no single name, without a request", function()
        assert(client:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } })
        cluster:clear_requests()
        for _, name in ipairs { "..", ".", "", "status/..", "a%2e", "status\0", "a\nb" } do
            local given = { subresource = name }
            expect_failure("cannot be a subresource", "invalid_argument",
                client:get("cm", "a", given))
            expect_failure("cannot be a subresource", "invalid_argument",
                client:patch("cm", "a", {}, given))
            expect_failure("cannot be a subresource", "invalid_argument",
                client:update({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } },
                    given))
            expect_failure("cannot be a subresource", "invalid_argument",
                client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } },
                    given))
        end
        assert.same({}, cluster:requests())
    end)

    it("with a text", function()
        expect_failure("line 2", "parse", client:create("a: ["))
        expect_failure("the text has none", "invalid_argument", client:create(""))
        expect_failure("the text has 2 documents", "invalid_argument",
            client:apply("a: 1\n---\nb: 2"))
        expect_failure('not the text "map.yaml"', "invalid_argument", client:create("map.yaml"))
        expect_failure("not a number", "invalid_argument",
            client:create("kind: List\nitems: [5]"))
        expect_failure("not a number", "invalid_argument",
            cluster:apply { kind = "List", items = { 5 } })
        expect_failure("line 2", "parse", client:patch("cm", "a", "{"))
        expect_failure("the text of one table", "invalid_argument",
            client:patch("cm", "a", "x"))
    end)

    describe("with a server that answers what no API server does:", function()
        -- The next get, list and create of ConfigMaps get this answer.
        local function answer(status, body, content_type)
            for _, verb in ipairs { "get", "list", "create" } do
                cluster:fail { resource = "configmaps", verb = verb, status = status, body = body,
                    content_type = content_type or "application/json" }
            end
        end

        local function create()
            return client:create { apiVersion = "v1", kind = "ConfigMap",
                metadata = { name = "a" } }
        end

        it("an error page of a proxy", function()
            answer(502, "<html><title>Bad gateway</title></html>", "text/html")
            expect_failure("HTML page, as of a proxy in front of the API server: Bad gateway",
                "unavailable", client:get("cm", "a"))
        end)

        it("a login page", function()
            answer(200, "<html><title>Log in</title></html>", "text/html")
            expect_failure("is there a proxy or login page in between?", "parse",
                client:get("cm", "a"))
            expect_failure("login page", "parse", client:list("cm"))
            expect_failure("login page", "unknown", create())
        end)

        it("a redirect", function()
            answer(302, "")
            expect_failure("HTTP status 302 and no body", "parse", client:get("cm", "a"))
            expect_failure("HTTP status 302", "unknown", create())
        end)

        -- In pages of which each names the next one.
        local function answer_pages(count, token)
            for i = 1, count do
                cluster:fail { resource = "configmaps", verb = "list", status = 200,
                    content_type = "application/json",
                    body = '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{'
                        .. '"resourceVersion":"1","continue":"' .. token(i) .. '"},"items":[]}' }
            end
        end

        it("a list whose continue token repeats", function()
            answer_pages(5, function() return "again" end)
            expect_failure("its list never ends", "parse", client:list("cm"))
        end)

        it("a list that has always another page: its timeout is that of the call", function()
            answer_pages(20000, function(i) return "page" .. i end)
            local began = core.now()
            expect_failure("within 0.1 s", "timeout", client:list("cm", { timeout = 0.1 }))
            assert.is_true(core.now() - began < 5)
            expect_failure("within 0.1 s", "timeout", client:delete_all("cm",
                { namespace = "*", timeout = 0.1 }))
        end)

        it("a table", function()
            answer(200, '{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[],"items":[]}')
            expect_failure("kind Table, not ConfigMap", "parse", client:get("cm", "a"))
            expect_failure("kind Table", "parse", client:list("cm"))
            expect_failure("kind Table", "unknown", create())
        end)

        it("JSON that is no object, no list, or cut in half", function()
            answer(200, "[]")
            expect_failure("get configmaps default/a: ", "parse", client:get("cm", "a"))
            expect_failure("answered with other JSON", "parse", client:list("cm"))
            answer(200, '{"items":5}')
            expect_failure("get configmaps default/a: ", "parse", client:get("cm", "a"))
            expect_failure("answered with other JSON", "parse", client:list("cm"))
            answer(200, '{"items":[{"metadata":')
            expect_failure("get configmaps default/a: ", "parse", client:get("cm", "a"))
            expect_failure("list configmaps: ", "parse", client:list("cm"))
            answer(200, '{"items":[{"metadata":{"name":"a"},"data":{"k":"\\ud800"}},'
                .. '{"metadata":{"name":"b"}}]}')
            local listed, unreadable = assert(client:list("cm"))
            assert.equal("b", listed[1].name)
            assert.matches("^ConfigMap a cannot be read: not JSON", unreadable[1].why)
            expect_failure("get configmaps default/a: ", "parse", client:get("cm", "a"))
            answer(200, '{"items":[{"metadata":{}}]}')
            client:get("cm", "a")
            expect_failure("list configmaps: ", "parse", client:list("cm"))
        end)

        it("an object of another kind", function()
            answer(200, '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}')
            expect_failure("kind Secret, not ConfigMap", "parse", client:get("cm", "a"))
            expect_failure("kind Secret, not ConfigMap", "unknown", create())
            expect_failure("a list was asked for", "parse", client:list("cm"))
            answer(200, '{"kind":"Status","apiVersion":"v1","status":"Success"}')
            expect_failure("kind Status, not ConfigMap", "parse", client:get("cm", "a"))
            expect_failure("kind Status, not ConfigMap", "unknown", create())
        end)

        it("an answer without a list", function()
            answer(200, '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":null}')
            client:get("cm", "a")
            assert.same({}, client:list("cm"))
        end)

        it("a discovery that is not valid", function()
            cluster:fail { path = "/api", verb = "get", status = 200, body = "<html>", count = 0 }
            cluster:fail { path = "/apis", status = 200, body = "<html>", count = 0 }
            expect_failure("is its address right", "parse", client:get("foos", "a"))
        end)
    end)

    it("with a missing right (403): its verb and resource", function()
        local guarded = assert(Sim.new { rbac = true, users = { { name = "jane", token = "t" } } })
        local hers = assert(guarded:connect { user = "jane" })
        expect_failure('User "jane" cannot delete resource "pods" in API group ""', "forbidden",
            hers:delete("pods", "web/a"))
        expect_failure("RBAC must allow it", "forbidden", hers:list("pods"))
        hers:close()
        guarded:close()
    end)

    it("with a server that answers 429 with Retry-After", function()
        cluster:fail { verb = "create", status = 429, retry_after = 7, count = 0 }
        local _, _, code, retry_after = client:create({ apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "a" } }, { timeout = 0.5 })
        assert.equal("too_many_requests", code)
        assert.equal(7, retry_after)
    end)

    it("with a client that is closed", function()
        local other = assert(cluster:connect())
        other:close()
        expect_failure("the client is closed", "closed", other:get("cm", "a"))
        expect_failure("the client is closed", "closed", other:logs("a"))
        expect_failure("the client is closed", "closed", other:wait("cm", "a"))
        client:close()
        expect_failure("the client is closed", "closed", client:create {
            apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } })
    end)
end)

-- The error has the line of the script that calls.
local function expect_misuse(text, f)
    local ok, message = pcall(f)
    assert.is_false(ok)
    assert.truthy(message:find(text, 1, true), message)
    assert.truthy(message:find("^spec/lua/verbs_bad_spec%.lua:%d+: "), message)
end

describe("a verb raises at its line", function()
    it("if its target is wrong", function()
        for _, verb in ipairs { "get", "delete", "patch", "wait" } do
            local call = client[verb]
            expect_misuse(verb .. ": a resource and a key expected", function() call(client) end)
            expect_misuse(verb .. ": a resource and a key expected", function() call(client, 5) end)
            expect_misuse(verb .. ': write ' .. verb .. '("pods", "namespace/name")',
                function() call(client, "pods") end)
            for _, key in ipairs { "", "/", "a/", "/a", "a/b/c" } do
                expect_misuse("is not a key", function() call(client, "pods", key) end)
            end
            expect_misuse("cannot be a namespace", function() call(client, "pods", "A_/b") end)
        end
        expect_misuse("list: a resource expected", function() client:list {} end)
        expect_misuse("cannot be a namespace", function()
            client:list("pods", { namespace = "a,b" })
        end)
    end)

    it("if it gets a part of an object", function()
        local pods = assert(client:get("ns", "default"))
        expect_misuse("part of an object", function() client:delete(pods.metadata) end)
        expect_misuse("part of an object", function() client:create(pods.metadata) end)
        expect_misuse("not nil", function() client:create() end)
        expect_misuse("not a number", function() client:apply(5) end)
    end)

    it("if an option is unknown, or of a wrong type", function()
        local map = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } }
        for call, f in pairs {
            get = function(o) client:get("cm", "a", o) end,
            list = function(o) client:list("cm", o) end,
            create = function(o) client:create(map, o) end,
            update = function(o) client:update(map, o) end,
            apply = function(o) client:apply(map, o) end,
            patch = function(o) client:patch("cm", "a", {}, o) end,
            scale = function(o) client:scale("deploy", "a", 1, o) end,
            delete = function(o) client:delete("cm", "a", o) end,
            delete_all = function(o) client:delete_all("cm", o) end,
            evict = function(o) client:evict("a", o) end,
        } do
            expect_misuse(call .. ": there is no option 'timeot'; do you mean 'timeout'?",
                function() f { timeot = 1 } end)
            expect_misuse(call .. ": 'timeout' must be a number",
                function() f { timeout = "1" } end)
            expect_misuse(call .. ": a table of options expected", function() f(5) end)
        end
        expect_misuse('do you mean "merge"', function()
            client:patch("cm", "a", {}, { type = "merg" })
        end)
        expect_misuse('do you mean "Foreground"', function()
            client:delete("cm", "a", { propagation = "foreground" })
        end)
        expect_misuse("'grace' is a whole number", function()
            client:delete("cm", "a", { grace = -1 })
        end)
        expect_misuse("'page_size' is a whole number", function()
            client:list("cm", { page_size = 0 })
        end)
        expect_misuse("how many replicas?", function() client:scale("deploy", "a") end)
        expect_misuse("how many replicas?", function() client:scale("deploy", "a", 1.5) end)
        expect_misuse("how many seconds?", function() client:wait("cm", "a", nil, "5") end)
        expect_misuse("wait: the condition is a function", function() client:wait("cm", "a", 5) end)
        expect_misuse("a pod expected", function() client:evict(map) end)
        expect_misuse("patch: a table or a text expected", function() client:patch("cm", "a") end)
    end)

    it("if an object has no name", function()
        expect_misuse("update: the object needs metadata.name", function()
            client:update { apiVersion = "v1", kind = "ConfigMap" }
        end)
        expect_misuse("only create makes a name", function()
            client:apply { apiVersion = "v1", kind = "ConfigMap",
                metadata = { generateName = "a-" } }
        end)
        expect_misuse("has no JSON form", function()
            client:create { apiVersion = "v1", kind = "ConfigMap",
                metadata = { name = "a" }, data = print }
        end)
    end)

    it("if it cannot wait there", function()
        kubelua.spawn(function()
            expect_misuse("client:get inside a coroutine of your own", function()
                coroutine.wrap(function() client:get("cm", "a") end)()
            end)
        end)
        kubelua.step()
    end)
end)
