-- client:wait, client:delete_all and client:evict; and the verbs of a simulated cluster, which are
-- called alike.
local expect_failure = require "expect_failure"
local definition = require "definition"
local informers = require "kubelua.informer"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local function map(name, labels, namespace)
    return { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = name, labels = labels, namespace = namespace } }
end

local function pod(name)
    return {
        apiVersion = "v1", kind = "Pod", metadata = { name = name, labels = { app = "shop" } },
        spec = { containers = { { name = "c", image = "shop:1" } }, nodeName = "n1" },
    }
end

local cluster, client

before_each(function()
    cluster = assert(Sim.new())
    client = assert(cluster:connect())
end)

after_each(function()
    client:close()
    cluster:close()
end)

local function later(f)
    kubelua.spawn(function()
        kubelua.sleep(0.01)
        assert(f())
    end)
end

describe("client:wait", function()
    it("waits for an object that is created, changed and deleted", function()
        later(function() return cluster:apply(pod("a")) end)
        assert.equal("a", assert(client:wait("pods", "default/a")).name)
        later(function()
            return cluster:apply { apiVersion = "v1", kind = "Pod", metadata = { name = "a" },
                status = { phase = "Running",
                    conditions = { { type = "Ready", status = "True" } } } }
        end)
        assert.equal("Running", assert(client:wait("pods", "a", "Ready")).status.phase)
        local found = assert(client:wait("pods", "a", { status = { phase = "Running" } }, 1))
        assert.equal(found.uid, assert(client:wait(found, function(now)
            return now and now.status.phase == "Running"
        end)).uid)
        later(function() return cluster:delete("pods", "a", { grace = 0 }) end)
        assert.is_true(client:wait(found, "deleted"))
    end)

    it("does not count another object with the same name", function()
        assert(cluster:create(map("a")))
        local first = assert(client:get("cm", "a"))
        assert(cluster:delete("cm", "a"))
        assert(cluster:create(map("a")))
        assert.is_true(client:wait(first, "deleted", 5))
    end)

    it("waits for a name with the signs of a selector", function()
        for _, name in ipairs { "a=b", "a,b", "a\\b", "a==b,c" } do
            assert(cluster:apply { apiVersion = "rbac.authorization.k8s.io/v1",
                kind = "ClusterRole", metadata = { name = name } })
            assert.equal(name, assert(client:wait("clusterroles", name, nil, 10)).name)
        end
    end)

    it("names the object's state when it times out", function()
        assert(cluster:apply(pod("a")))
        expect_failure('status.phase is "Pending", not "Running"', "timeout",
            client:wait("pods", "a", { status = { phase = "Running" } }, 0.05))
        expect_failure("the object does not exist", "timeout",
            client:wait("pods", "none", nil, 0.05))
        expect_failure('do you mean "pods"', "unknown_kind", client:wait("podz", "a", nil, 0.9))
    end)

    it("waits for a kind that is defined later", function()
        later(function()
            return cluster:apply(definition "foos.example.com") and cluster:apply {
                apiVersion = "example.com/v1", kind = "Foo", metadata = { name = "x" } }
        end)
        assert.equal("x", assert(client:wait("foos.example.com", "x", nil, 20)).name)
    end)

    it("leaves no watch behind, even if its condition raises or its task ends", function()
        assert(cluster:apply(pod("a")))
        assert.has_error(function()
            client:wait("pods", "a", function() error("no", 0) end)
        end, "no")
        local task = kubelua.spawn(function() client:wait("pods", "none", nil, 60) end)
        assert(cluster:eventually(function() return #cluster:requests { name = "none" } > 0
            or #cluster:requests { query = { fieldSelector = "metadata.name=none" } } > 0 end))
        assert.is_truthy(next(informers.open))
        task:cancel()
        assert(cluster:eventually(function() return next(informers.open) == nil end))
    end)

    it("fails at once if it may not watch", function()
        cluster:fail { verb = "watch", resource = "pods", status = 403, count = 0 }
        cluster:fail { verb = "list", resource = "pods", status = 403, count = 0 }
        local _, _, code = client:wait("pods", "a", nil, 20)
        assert.equal("forbidden", code)
    end)
end)

describe("client:delete_all", function()
    before_each(function()
        for _, name in ipairs { "web", "db" } do
            assert(client:create { apiVersion = "v1", kind = "Namespace",
                metadata = { name = name } })
            assert(client:create(map("a", { app = "old" }, name)))
            assert(client:create(map("b", nil, name)))
        end
    end)

    local function left()
        local names = {}
        for _, object in ipairs(client:list("cm")) do
            if object.name ~= "kube-root-ca.crt" then
                names[#names + 1] = object.key
            end
        end
        return table.concat(names, " ")
    end

    it("deletes the selected objects, in one namespace", function()
        local deleted = assert(client:delete_all("cm", { namespace = "web", labels = "app=old" }))
        assert.equal("ConfigMap web/a", tostring(deleted[1]))
        assert.equal("db/a db/b web/b", left())
        assert.same({}, client:delete_all("cm", { namespace = "web", labels = "app=old" }))
    end)

    it("deletes in all namespaces for \"*\"", function()
        assert.equal(2, #client:delete_all("cm", { namespace = "*", labels = "app=old" }))
        assert.equal("db/b web/b", left())
        assert.equal(1, #client:delete_all("cm", { namespace = "db", dry_run = true,
            fields = "metadata.name=b" }))
        assert.equal("db/b web/b", left())
    end)

    it("deletes in a namespace of which no object can be read, too", function()
        cluster:fail { resource = "configmaps", verb = "list", status = 200,
            content_type = "application/json",
            body = '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},'
                .. '"items":[{"metadata":{"name":"a","namespace":"web"},"data":{"k":"\\ud800"}},'
                .. '{"metadata":{"name":"a","namespace":"db"}}]}' }
        assert.equal(2, #client:delete_all("cm", { namespace = "*", labels = "app=old" }))
        assert.equal("db/b web/b", left())
    end)

    it("requires a namespace", function()
        local ok, message = pcall(client.delete_all, client, "cm", { labels = "app=old" })
        assert.is_false(ok)
        assert.truthy(message:find('"*" is all of them', 1, true), message)
        ok = pcall(client.delete_all, client, "cm")
        assert.is_false(ok)
    end)
end)

describe("client:evict", function()
    it("evicts a pod by its key, and by its object", function()
        assert(cluster:apply(pod("a")))
        local first = assert(client:get("pods", "a"))
        assert.is_true(client:evict("default/a", { grace = 0 }))
        expect_failure("not found", "not_found", client:get("pods", "a"))
        assert(cluster:apply(pod("a")))
        expect_failure("UID", "conflict", client:evict(first, { grace = 0 }))
        assert.is_true(client:evict(client:get("pods", "a"), { dry_run = true }))
        assert(client:get("pods", "a"))
    end)

    it("returns a 429 of a budget without a retry", function()
        local ready = pod("a")
        ready.status = { phase = "Running", conditions = { { type = "Ready", status = "True" } } }
        assert(cluster:apply(ready))
        assert(cluster:apply { apiVersion = "policy/v1", kind = "PodDisruptionBudget",
            metadata = { name = "shop" },
            spec = { minAvailable = 1, selector = { matchLabels = { app = "shop" } } } })
        cluster:clear_requests()
        expect_failure("disruption budget", "too_many_requests", client:evict("a"))
        assert.equal(1, #cluster:requests { subresource = "eviction" })
    end)
end)

describe("the verbs of a cluster", function()
    it("are called as those of a client", function()
        assert(cluster:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { generateName = "a-" } })
        assert.equal("1", assert(cluster:apply({ apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "b" }, data = { x = "1" } }, { manager = "shop" })).data.x)
        local found = assert(cluster:get("cm", "b"))
        assert.equal("2", assert(cluster:patch(found, { data = { x = "2" } })).data.x)
        local copy = found:table()
        copy.metadata.resourceVersion, copy.data.x = nil, "3"
        assert.equal("3", assert(cluster:update(copy)).data.x)
        assert.equal("3", assert(cluster:wait(found, { data = { x = "3" } }, 1)).data.x)
        assert.is_true(cluster:delete(found))
        assert.is_true(cluster:wait(found, "deleted"))
        assert.equal(1, #cluster:delete_all("cm", { namespace = "*" }))
        assert(cluster:apply(pod("a")))
        assert.is_true(cluster:evict("a", { grace = 0 }))
        assert.is_nil(cluster:get("pods", "a"))
        assert.equal(0, #cluster:requests())
    end)

    it("know a kind that was defined a moment ago", function()
        assert.equal("unknown_kind", (select(3, cluster:get("foos", "x"))))
        assert(cluster:apply(definition("foos.example.com", { scope = "Cluster" })))
        assert.equal("not_found", (select(3, cluster:get("foos", "x"))))
    end)
end)
