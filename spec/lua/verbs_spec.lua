-- The verbs of clients, with objects named by a key and by an object; and `{}` where a server
-- wants a list: the server's error is followed by the remedy.
local expect_failure = require "expect_failure"
local definition = require "definition"
local kubelua = require "kubelua"
local core = require "kubelua.core"
local Sim = require "kubelua.sim"

local OTHER = "11111111-2222-4333-8444-555555555555"

local function map(name, data)
    return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name }, data = data }
end

local function shop(replicas)
    return {
        apiVersion = "apps/v1", kind = "Deployment", metadata = { name = "shop" },
        spec = { replicas = replicas, selector = { matchLabels = { app = "shop" } }, template = {
            metadata = { labels = { app = "shop" } },
            spec = { containers = { { name = "c", image = "shop:1" } } },
        } },
    }
end

-- The result of a failed verb: a message with a text, and a code.
describe("the verbs of a client", function()
    local cluster, client

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
    end)

    after_each(function()
        client:close()
        cluster:close()
    end)

    it("get objects by every name of their kind", function()
        assert(client:create(shop(1)))
        for _, name in ipairs { "deployments", "deploy", "Deployment", "deployment",
            "deployments.apps", "deployments.v1.apps", "apps/v1/Deployment", "apps/deployments" } do
            local found, message = client:get(name, "default/shop")
            assert.equal("Deployment default/shop", tostring(found), message)
        end
        assert.equal("shop", client:get("deploy", "shop").name)
        assert.equal("shop", client:get("deploy", "default", "shop").name)
        assert.equal("default", client:get("ns", "default").name)
    end)

    it("name an object that does not exist", function()
        expect_failure('configmaps "none" not found', "not_found", client:get("cm", "web/none"))
        expect_failure('do you mean "pods"', "unknown_kind", client:get("podz", "a"))
        expect_failure("install its CRD", "unknown_kind", client:get("foos.example.com", "a"))
    end)

    it("create of a table, a view and a text", function()
        assert.equal("1", assert(client:create(map("a", { x = "1" }))).data.x)
        local text = assert(client:create([[
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {port: "80"}
]]))
        assert.equal("80", text.data.port)
        local copy = client:get("cm", "b"):table()
        copy.metadata = { name = "c" }
        assert.equal("ConfigMap default/c", tostring(client:create(copy)))
        assert.equal("ConfigMap default/d", tostring(client:create(kubelua.json(map("d")))))
        expect_failure("already exists", "already_exists", client:create(map("a")))
    end)

    it("make a name of generateName before the request is sent", function()
        local given = { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "a-" } }
        local created = assert(client:create(given))
        assert.truthy(created.name:find("^a%-%w%w%w%w%w$"), created.name)
        assert.is_nil(given.metadata.name)
        local sent = cluster:requests({ verb = "create" })[1].body
        assert.equal(created.name, sent.metadata.name)
        given.metadata.generateName = ("b"):rep(70)
        assert.equal(63, #assert(client:create(given)).name)
    end)

    it("change a part of an object", function()
        assert(client:create(map("a", { x = "1" })))
        assert.equal("2", client:patch("cm", "default/a", { data = { x = "2" } }).data.x)
        assert.equal("3", client:patch("cm", "a", "data: {x: '3'}").data.x)
        assert.equal("4", client:patch("cm", "a",
            { { op = "replace", path = "/data/x", value = "4" } }, { type = "json" }).data.x)
        assert.equal("5", client:patch("cm", "a", { data = { x = "5" } },
            { type = "strategic", dry_run = true }).data.x)
        assert.equal("4", client:get("cm", "a").data.x)
    end)

    it("change the object itself, and no other with its name", function()
        local first = assert(client:create(map("a", { x = "1" })))
        assert(client:delete(first))
        expect_failure("not found", "not_found", client:patch(first, { data = { x = "2" } }))
        assert(client:create(map("a", { x = "3" })))
        expect_failure("another object", "conflict", client:patch(first, { data = { x = "2" } }))
        expect_failure("another object", "conflict", client:patch(first,
            { { op = "replace", path = "/data/x", value = "2" } }, { type = "json" }))
        expect_failure("UID", "conflict", client:delete(first))
        expect_failure("UID", "conflict", client:update(first))
        expect_failure("another object", "not_found", client:get(first))
        local again = assert(client:get("cm", "a"))
        assert.equal("3", again.data.x)
        assert.equal("4", assert(client:patch(again:table(), { data = { x = "4" } })).data.x)
        assert.is_true(client:delete(again))
    end)

    it("replace an object that has not changed since", function()
        local read = assert(client:create(map("a", { x = "1" }))):table()
        assert(client:patch("cm", "a", { data = { x = "2" } }))
        read.data.x = "3"
        expect_failure("the object has been modified", "conflict", client:update(read))
        read.metadata.resourceVersion = nil
        assert.equal("3", assert(client:update(read)).data.x)
    end)

    it("apply as a manager, and take fields only by force", function()
        assert.equal("1", assert(client:apply(map("a", { x = "1" }))).data.x)
        expect_failure('conflict with "kubelua"', "conflict",
            client:apply(map("a", { x = "2" }), { manager = "shop" }))
        assert.equal("2", assert(client:apply(map("a", { x = "2" }),
            { manager = "shop", force = true })).data.x)
        assert.is_nil(assert(client:apply(map("a"), { manager = "shop" })).data)
    end)

    it("scale through the subresource", function()
        local deployment = assert(client:create(shop(1)))
        local scale = assert(client:scale("deployments", "default/shop", 3))
        assert.equal(3, scale.spec.replicas)
        assert.equal(deployment.uid, scale.uid)
        assert(client:scale(deployment, 0))
        assert.equal(0, client:get("deploy", "shop").spec.replicas)
    end)

    it("bind a pod to a node", function()
        assert(client:create { apiVersion = "v1", kind = "Pod", metadata = { name = "a" },
            spec = { containers = { { name = "c", image = "shop:1" } } } })
        assert.is_true(client:create { apiVersion = "v1", kind = "Binding",
            metadata = { name = "a" }, target = { kind = "Node", name = "n1" } })
        assert.equal("n1", client:get("pods", "a").spec.nodeName)
    end)

    it("write the status alone", function()
        local deployment = assert(client:create(shop(1)))
        assert(client:patch(deployment, { status = { replicas = 1 } }, { subresource = "status" }))
        local now = client:get("deploy", "shop")
        assert.equal(1, now.status.replicas)
        local changed = now:table()
        changed.status.replicas, changed.spec.replicas = 2, 7
        local written = assert(client:update(changed, { subresource = "status" }))
        assert.equal(2, written.status.replicas)
        assert.equal(1, written.spec.replicas)
    end)

    it("list in pages, of all namespaces or one", function()
        for _, name in ipairs { "a", "b", "c" } do
            assert(client:create(map(name)))
        end
        assert.equal(3, #client:list("cm", { namespace = "default", page_size = 2 }))
        assert.equal(1, #client:list("cm", { fields = "metadata.name=b" }))
        assert.equal("ConfigMap default/b",
            tostring(client:list("cm", { namespace = "*", page_size = 1 })[2]))
        assert.same({}, client:list("pods"))
        assert.equal(0, #client:list("cm", { labels = "a=b" }))
    end)

    it("begin a list again if its continue token has expired (410)", function()
        for i = 1, 4 do
            assert(client:create(map("a" .. i)))
        end
        cluster:clear_requests()
        cluster:expire { verb = "list", page = 2 }
        assert.equal(4, #assert(client:list("cm", { page_size = 2 })))
        assert.is_nil(cluster:requests { verb = "list" }[3].query.limit)
    end)

    it("delete an object with a finalizer, and one without", function()
        local held = map("a")
        held.metadata.finalizers = { "example.com/hold" }
        assert(client:create(held))
        local terminating = assert(client:delete("cm", "default/a"))
        assert.is_string(terminating.metadata.deletionTimestamp)
        assert(client:patch(terminating, { metadata = { finalizers = kubelua.null } }))
        assert(client:create(map("b")))
        assert.is_true(client:delete("cm", "default", "b", { dry_run = true }))
        expect_failure("UID", "conflict", client:delete("cm", "b", { uid = OTHER }))
        expect_failure("ResourceVersion", "conflict",
            client:delete("cm", "b", { resource_version = "1" }))
        assert.is_true(client:delete("cm", "b", { propagation = "Foreground", grace = 0 }) ~= nil)
    end)

    it("run side by side in their tasks", function()
        local done, began = 0, core.now()
        for i = 1, 5 do
            kubelua.spawn(function()
                assert(client:create(map("a" .. i)))
                assert(client:get("foos", "x") == nil)
                done = done + 1
            end)
        end
        assert(cluster:eventually(function() return done == 5 end))
        -- An unknown name is looked up at most once a second.
        assert.is_true(#cluster:requests { path = "/apis" } <= 1 + core.now() - began)
    end)
end)

local cluster, client

local function service(ports)
    return { apiVersion = "v1", kind = "Service", metadata = { name = "s" },
        spec = { ports = ports, selector = { a = "b" } } }
end

local REMEDY = "; spec.ports is {}, which is an object in JSON: for an empty list write "
    .. "kubelua.array()"

local function expect_remedy(expected, made, message)
    assert.is_nil(made)
    assert.matches(expected, message, 1, true)
    assert.matches(REMEDY, message, 1, true)
end

describe("an empty table where a list is expected", function()
    before_each(function()
        cluster = assert(Sim.new { no_controllers = true })
        client = assert(cluster:connect())
    end)

    after_each(function()
        client:close()
        cluster:close()
    end)

    it("is explained by each verb that writes, of a client and of a cluster", function()
        expect_remedy(".spec.ports: expected list", client:apply(service({})))
        expect_remedy("cannot unmarshal object", client:create(service({})))
        expect_remedy("cannot unmarshal object", cluster:create(service({})))
        assert(client:create(service { { port = 80 } }))
        expect_remedy("is invalid", client:patch("services", "default/s",
            { spec = { ports = {} } }))
        local whole = client:get("services", "default/s"):table()
        whole.spec.ports = {}
        expect_remedy("cannot unmarshal object", client:update(whole))
    end)

    it("is explained for a custom resource, with the path in a list", function()
        local foos = definition("foos.example.com")
        foos.spec.versions[1].schema.openAPIV3Schema = { type = "object", properties = {
            spec = { type = "object", properties = { rules = { type = "array", items = {
                type = "object", properties = { hosts = { type = "array",
                    items = { type = "string" } } } } } } } } }
        assert(cluster:create(foos))
        local _, message = client:create { apiVersion = "example.com/v1", kind = "Foo",
            metadata = { name = "a" }, spec = { rules = { { hosts = {} } } } }
        assert.matches("must be of type array", message)
        assert.matches("; spec.rules[1].hosts is {}", message, 1, true)
    end)

    it("is not named if another field is wrong, or the table is right", function()
        local given = service(kubelua.array())
        given.spec.selector = kubelua.array()
        given.metadata.annotations = {}
        local _, message = client:apply(given)
        assert.matches("selector", message)
        assert.is_nil(message:find("kubelua.array", 1, true))
        assert(client:apply(service { { port = 80 } }))
    end)
end)
