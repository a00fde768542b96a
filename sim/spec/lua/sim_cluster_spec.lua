-- kubelua.sim as tests use it: objects, waiting for them, and checked options.
local definition = require "definition"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local function pod(name, phase)
    return {
        apiVersion = "v1", kind = "Pod",
        metadata = { name = name, namespace = "default", labels = { app = "shop" } },
        spec = { containers = { { name = "main", image = "shop:1" } } },
        status = phase and { phase = phase } or nil,
    }
end

describe("a simulated cluster", function()
    local cluster

    before_each(function()
        cluster = assert(Sim.new())
    end)

    after_each(function()
        cluster:close()
    end)

    describe("apply", function()
        it("creates an object and returns its new state", function()
            local created = assert(cluster:apply(pod("shop-1", "Running")))
            assert.equal("Pod default/shop-1", tostring(created))
            assert.equal("Running", created.status.phase)
            assert.is_string(created.uid)
        end)

        it("merges into an existing object, status too", function()
            assert(cluster:apply(pod("shop-1", "Pending")))
            assert(cluster:apply {
                apiVersion = "v1", kind = "Pod",
                metadata = { name = "shop-1", labels = { tier = "web" } },
                status = { phase = "Running" },
            })
            local now = assert(cluster:get("pods", "default/shop-1"))
            assert.equal("shop:1", now.spec.containers[1].image)
            assert.same({ app = "shop", tier = "web" }, kubelua.table(now.metadata.labels))
            assert.equal("Running", now.status.phase)
        end)

        it("replaces the object if the uid differs", function()
            local first = assert(cluster:apply(pod("shop-1")))
            local other = pod("shop-1")
            other.metadata.uid = "11111111-2222-4333-8444-555555555555"
            local second = assert(cluster:apply(other))
            assert.not_equal(first.uid, second.uid)
            assert.equal(other.metadata.uid, second.uid)
        end)

        it("is refused with the server's code", function()
            local map = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "A_B" } }
            assert.equal("invalid", (select(3, cluster:apply(map))))
            map.metadata.name, map.data = "a", { port = 80 }
            assert.equal("bad_request", (select(3, cluster:apply(map))))
            assert(cluster:create { apiVersion = "v1", kind = "Namespace", metadata = {
                name = "web", finalizers = { "example.com/hold" } } })
            assert(cluster:delete("namespaces", "web"))
            map.metadata.namespace, map.data = "web", nil
            assert.equal("forbidden", (select(3, cluster:apply(map))))
        end)

        it("takes a view", function()
            local first = assert(cluster:apply(pod("shop-1", "Running")))
            local again = assert(cluster:apply(first))
            assert.equal(first.uid, again.uid)
        end)

        it("takes text, and returns an object for each document", function()
            local first, second = assert(cluster:apply [[
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: web}
]])
            assert.equal("ConfigMap default/a", tostring(first))
            assert.equal("ConfigMap web/b", tostring(second))
        end)

        it("names the nearest kind of an unknown one", function()
            local nothing, message, code = cluster:apply { apiVersion = "v1", kind = "Podd",
                metadata = { name = "x" } }
            assert.is_nil(nothing)
            assert.truthy(message:find('do you mean "Pod"', 1, true), message)
            assert.equal("unknown_kind", code)
        end)

        it("says what an object lacks", function()
            local nothing, message = cluster:apply { metadata = { name = "x" } }
            assert.is_nil(nothing)
            assert.truthy(message:find("apiVersion and kind", 1, true))
        end)

        it("names the line of a text that does not parse", function()
            local nothing, message, code = cluster:apply("a: [")
            assert.is_nil(nothing)
            assert.truthy(message:find("line", 1, true), message)
            assert.equal("parse", code)
        end)
    end)

    it("gets objects by every name of their kind", function()
        assert(cluster:apply(pod("shop-1")))
        assert(cluster:apply { apiVersion = "apps/v1", kind = "Deployment",
            metadata = { name = "shop", namespace = "web" },
            spec = { selector = { matchLabels = { a = "b" } }, template = {
                metadata = { labels = { a = "b" } },
                spec = { containers = { { name = "c", image = "i" } } } } } })
        for _, name in ipairs { "pods", "Pod", "po", "pod", "v1/Pod", "v1/pods" } do
            assert.equal("shop-1", assert(cluster:get(name, "default/shop-1")).name)
        end
        for _, name in ipairs { "deploy", "deployments.apps", "apps/v1/Deployment" } do
            assert.equal("shop", assert(cluster:get(name, "web", "shop")).name)
        end
        assert.equal("default", assert(cluster:get("ns", "default")).name)
        assert.equal("shop-1", assert(cluster:get("po", "shop-1")).name)
    end)

    it("knows the kind of a definition that was applied later", function()
        assert.is_nil(cluster:get("foos", "x"))
        assert(cluster:apply(definition "foos.example.com"))
        assert(cluster:apply { apiVersion = "example.com/v1", kind = "Foo",
            metadata = { name = "x" } })
        assert.equal("Foo", assert(cluster:get("foos", "x")).kind)
    end)

    it("lists by namespace and selectors, each with its kind", function()
        assert(cluster:apply(pod("shop-1")))
        assert(cluster:apply(pod("shop-2")))
        assert(cluster:apply { apiVersion = "v1", kind = "Pod",
            metadata = { name = "db", namespace = "data" },
            spec = { containers = { { name = "c", image = "i" } } } })
        assert.equal(3, #cluster:list("pods"))
        assert.equal(1, #cluster:list("pods", { namespace = "data" }))
        local shops = assert(cluster:list("pods", { labels = "app in (shop)" }))
        assert.equal("Pod default/shop-2", tostring(shops[2]))
        assert.equal(1, #cluster:list("pods", { fields = "metadata.name=db" }))
    end)

    it("patches, updates and deletes", function()
        assert(cluster:create(pod("shop-1")))
        local patched = assert(cluster:patch("pods", "default/shop-1",
            { metadata = { annotations = { a = "1" } } }))
        assert.equal("1", patched.metadata.annotations.a)
        local copy = patched:table()
        copy.metadata.annotations.a = "2"
        assert.equal("2", assert(cluster:update(copy)).metadata.annotations.a)
        assert(cluster:delete("pods", "default/shop-1", { grace = 0 }))
        local nothing, message, code = cluster:get("pods", "default/shop-1")
        assert.is_nil(nothing)
        assert.equal('pods "shop-1" not found', message)
        assert.equal("not_found", code)
    end)

    it("refuses with the messages of the API", function()
        assert(cluster:create(pod("shop-1")))
        local _, message, code = cluster:create(pod("shop-1"))
        assert.equal("already_exists", code)
        assert.equal('pods "shop-1" already exists', message)
        local stale = pod("shop-1")
        stale.metadata.resourceVersion = "1"
        _, _, code = cluster:update(stale)
        assert.equal("conflict", code)
    end)

    it("waits for changes by a script", function()
        kubelua.spawn(function()
            kubelua.sleep(0.02)
            assert(cluster:apply(pod("late", "Running")))
        end)
        local late = assert(cluster:wait("pods", "late", function(found)
            return found and found.status.phase == "Running"
        end))
        assert.equal("late", late.name)
        assert.is_true(cluster:wait("pods", "never", function(found) return not found end))
        local nothing, message, code = cluster:wait("pods", "late", function(found)
            return not found
        end, 0.02)
        assert.is_nil(nothing)
        assert.truthy(message:find("pods late: it did not happen within 0.02 s; "
            .. 'its status is {"phase":"Running"', 1, true), message)
        assert.equal("timeout", code)
    end)
end)

describe("options", function()
    local function message_of(f, ...)
        local ok, message = pcall(f, ...)
        assert.is_false(ok)
        return message
    end

    it("that do not exist raise, and name the nearest", function()
        assert.truthy(message_of(Sim.new, { lod = "x" }):find("mean 'load'", 1, true))
        assert.truthy(message_of(Sim.new, { bookmarks = 1 }):find("mean 'bookmark'", 1, true))
        local cluster = assert(Sim.new())
        assert.truthy(message_of(cluster.requests, cluster, { verbs = "list" })
            :find("do you mean 'verb'", 1, true))
        assert.truthy(message_of(cluster.listen, cluster, { prot = 1 }):find("'port'", 1, true))
        cluster:close()
    end)

    it("of a wrong type raise, and name the right one", function()
        assert.truthy(message_of(Sim.new, { token = 5 }):find("must be a string, not a", 1, true))
        assert.truthy(message_of(Sim.new, { clock = "slow" }):find('"real" or "fake"', 1, true))
    end)

    it("require a token, which its own clients have", function()
        local cluster = assert(Sim.new { token = "secret" })
        local right, wrong = assert(cluster:connect()), assert(cluster:connect { token = "guess" })
        assert.equal(200, assert(right:request { path = "/api/v1/pods" }).status)
        assert.equal("unauthorized", select(3, wrong:request { path = "/api/v1/pods" }))
        right:close()
        wrong:close()
        cluster:close()
    end)

    it("load files, or name the wrong one", function()
        local cluster = assert(Sim.new { load = { "examples/cluster.yaml" } })
        assert.truthy(#cluster:list("pods") > 0)
        cluster:close()
        local nothing, message = Sim.new { load = "nowhere.yaml" }
        assert.is_nil(nothing)
        assert.truthy(message:find("nowhere.yaml", 1, true))
    end)
end)
