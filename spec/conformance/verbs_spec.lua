-- Verbs on any API server: each of them, its refusals, and kinds that are defined later.
local conformance = require "conformance"
local eventually = require "eventually"
local kubelua = require "kubelua"

local OTHER = "11111111-2222-4333-8444-555555555555"

local function map(scene, name, data)
    return { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = name, namespace = scene.namespace, labels = { app = "spec" } },
        data = data }
end

local function pod(scene, name)
    return { apiVersion = "v1", kind = "Pod",
        metadata = { name = name, namespace = scene.namespace },
        spec = { containers = { { name = "c", image = "shop:1" } } } }
end

local function shop(scene)
    return { apiVersion = "apps/v1", kind = "Deployment",
        metadata = { name = "shop", namespace = scene.namespace },
        spec = { replicas = 1, selector = { matchLabels = { app = "shop" } }, template = {
            metadata = { labels = { app = "shop" } },
            spec = { containers = { { name = "c", image = "shop:1" } } } } } }
end

local function expect_code(code, object, message, got)
    assert.is_nil(object)
    assert.equal(code, got, message)
    assert.is_string(message)
end

conformance.describe("A verb", function(it)
    it("creates, reads, changes and deletes an object", function(scene)
        local client = scene:connect { namespace = scene.namespace }
        local key = scene.namespace .. "/a"
        local created = assert(client:create(map(scene, "a", { x = "1" })))
        assert.equal("ConfigMap " .. key, tostring(created))
        assert.equal(created.uid, assert(client:get("cm", key)).uid)
        assert.equal(created.uid, assert(client:get("configmaps", "a")).uid)
        assert.equal("2", assert(client:patch("cm", key, { data = { x = "2" } })).data.x)
        local copy = assert(client:get(created)):table()
        copy.data.x = "3"
        assert.equal("3", assert(client:update(copy)).data.x)
        expect_code("conflict", client:update(copy))
        assert.equal("3", assert(client:patch(created, { data = { x = "4" } },
            { dry_run = true })) and client:get(created).data.x)
        assert.is_true(client:delete(created))
        expect_code("not_found", client:get("cm", key))
        expect_code("not_found", client:delete("cm", key))
        expect_code("not_found", client:patch("cm", key, {}))
    end)

    it("creates with generateName", function(scene)
        local client = scene:connect()
        local object = map(scene)
        object.metadata.generateName = "spec-"
        assert.truthy(assert(client:create(object)).name:find("^spec%-%w%w%w%w%w$"))
    end)

    it("takes an object in place of its name", function(scene)
        local client = scene:connect()
        local first = assert(client:create(map(scene, "a", { x = "1" })))
        assert(client:delete(first))
        local second = assert(client:create(map(scene, "a", { x = "2" })))
        expect_code("conflict", client:patch(first, { data = { x = "3" } }))
        expect_code("conflict", client:patch(first,
            { { op = "replace", path = "/data/x", value = "3" } }, { type = "json" }))
        expect_code("conflict", client:patch(first, { data = { x = "3" } }, { type = "strategic" }))
        expect_code("conflict", client:update(first))
        expect_code("conflict", client:delete(first))
        expect_code("conflict", client:delete("cm", second.key, { uid = OTHER }))
        expect_code("conflict", client:delete("cm", second.key, { resource_version = "1" }))
        expect_code("not_found", client:get(first))
        assert.equal("2", assert(client:get(second)).data.x)
        assert.equal("4", assert(client:patch(second, { data = { x = "4" } })).data.x)
        assert.equal("5", assert(client:patch(second,
            { { op = "replace", path = "/data/x", value = "5" } }, { type = "json" })).data.x)
    end)

    it("applies as a manager", function(scene)
        local client = scene:connect()
        assert.equal("1", assert(client:apply(map(scene, "a", { x = "1" }))).data.x)
        expect_code("conflict", client:apply(map(scene, "a", { x = "2" }), { manager = "other" }))
        assert.equal("2", assert(client:apply(map(scene, "a", { x = "2" }),
            { manager = "other", force = true })).data.x)
        assert.is_nil(assert(client:apply(map(scene, "a"), { manager = "other" })).data)
    end)

    it("scales, and writes the status alone", function(scene)
        local client = scene:connect()
        local deployment = assert(client:create(shop(scene)))
        local scale = assert(client:scale("deploy", deployment.key, 3))
        assert.equal(3, scale.spec.replicas)
        assert.equal(deployment.uid, scale.uid)
        assert(client:scale(deployment, 2))
        assert(client:patch(deployment, { status = { replicas = 2 } }, { subresource = "status" }))
        local now = assert(client:get(deployment))
        assert.equal(2, now.spec.replicas)
        assert.equal(2, now.status.replicas)
        assert(client:delete(deployment))
        expect_code("not_found", client:scale("deploy", deployment.key, 3))
        expect_code("not_found", client:scale("cm", scene.namespace .. "/a", 3))
    end)

    it("lists in pages", function(scene)
        local client = scene:connect()
        for _, name in ipairs { "a", "b", "c" } do
            assert(client:create(map(scene, name)))
        end
        local all = assert(client:list("cm", { namespace = scene.namespace, labels = "app=spec",
            page_size = 2 }))
        assert.equal(3, #all)
        assert.equal("ConfigMap", all[3].kind)
        assert.equal(1, #client:list("cm", { namespace = scene.namespace,
            fields = "metadata.name=b" }))
        expect_code("bad_request", client:list("cm", { fields = "spec.none=b" }))
    end)

    it("deletes a collection", function(scene)
        local client = scene:connect()
        for _, name in ipairs { "a", "b", "c" } do
            assert(client:create(map(scene, name)))
        end
        assert.equal(1, #client:delete_all("cm", { namespace = scene.namespace,
            fields = "metadata.name=b" }))
        assert.equal(2, #client:delete_all("cm", { namespace = "*",
            labels = "app=spec", fields = "metadata.namespace=" .. scene.namespace }))
        assert.same({}, client:delete_all("cm", { namespace = scene.namespace,
            labels = "app=spec" }))
    end)

    it("evicts a pod", function(scene)
        local client = scene:connect()
        local first = assert(client:create(pod(scene, "a")))
        assert.is_true(client:evict(first, { dry_run = true }))
        assert(client:get(first))
        assert.is_true(client:evict(first.key, { grace = 0 }))
        eventually(function()
            return select(3, client:get(first)) == "not_found"
        end, "the pod is gone")
        expect_code("not_found", client:evict(first.key))
    end)

    it("waits for what another client does", function(scene)
        local client = scene:connect()
        local other = scene:connect()
        local done
        kubelua.spawn(function()
            done = assert(client:wait("cm", scene.namespace .. "/a", { data = { x = "2" } }))
        end)
        assert(other:create(map(scene, "a", { x = "1" })))
        assert(other:patch("cm", scene.namespace .. "/a", { data = { x = "2" } }))
        eventually(function() return done end, "the wait is over")
        assert.equal("2", done.data.x)
        assert(other:delete(done))
        assert.is_true(client:wait(done, "deleted"))
        expect_code("timeout", client:wait("cm", scene.namespace .. "/a", nil, 0.1))
    end)

    it("finds a kind that comes later", function(scene)
        local client = scene:connect()
        local group = scene.name .. ".example.com"
        local foo = { apiVersion = group .. "/v1", kind = "Foo",
            metadata = { name = "x", namespace = scene.namespace }, spec = { size = 1 } }
        expect_code("unknown_kind", client:create(foo))
        local definition = assert(client:create {
            apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
            metadata = { name = "foos." .. group },
            spec = { group = group, scope = "Namespaced", names = { plural = "foos", kind = "Foo" },
                versions = { { name = "v1", served = true, storage = true,
                    subresources = { status = kubelua.decode("{}") },
                    schema = { openAPIV3Schema = { type = "object",
                        ["x-kubernetes-preserve-unknown-fields"] = true } } } } },
        })
        assert(client:wait(definition, "Established"))
        eventually(function() return client:create(foo) end, "the kind is served", 20)
        local key = scene.namespace .. "/x"
        assert.equal("Foo " .. key, tostring(client:get("foos." .. group, key)))
        assert(client:patch("foos." .. group, key, { status = { ready = true } },
            { subresource = "status" }))
        assert.is_true(client:get("foos." .. group, key).status.ready)
        assert(client:delete(definition))
        eventually(function()
            return select(3, client:get("foos." .. group, key)) == "unknown_kind"
        end, "the kind is gone", 20)
    end)

    it("is refused in the server's words", function(scene)
        local client = scene:connect()
        expect_code("invalid", client:create(map(scene, "A_B")))
        expect_code("bad_request", client:create(map(scene, "a", { x = 5 })))
        assert(client:create(map(scene, "a")))
        expect_code("bad_request", client:patch("cm", scene.namespace .. "/a",
            { { op = "none" } }, { type = "merge" }))
        expect_code("already_exists", client:create(map(scene, "a")))
        local lost = map(scene, "a")
        lost.metadata.namespace = scene.name .. "-none"
        expect_code("not_found", client:create(lost))
        expect_code("method_not_allowed", client:list("tokenreviews"))
    end)
end)
