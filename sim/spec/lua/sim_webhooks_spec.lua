-- The webhooks of a script under test: asked before a write goes to its cluster in this process.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local function config_map(data, name)
    return { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = name or "one", namespace = "default" }, data = data }
end

describe("a webhook of a simulated cluster", function()
    local cluster, client, hooks

    -- Registers a webhook for the cluster; `seen` has what it is asked.
    local function admit(given)
        given.client, given[1], given.name = client, given[1] or "configmaps", given.name or "maps"
        hooks[#hooks + 1] = assert(kubelua.admit(given))
    end

    -- A function for validate that notes what it is asked.
    local function noting(seen)
        return function(object, old, request)
            seen[#seen + 1] = { object = object, old = old, request = request }
        end
    end

    local function deny(message, code)
        return function() return false, message, code end
    end

    before_each(function()
        cluster = assert(Sim.new { users = {
            { name = "jane", token = "secret", groups = { "dev", "ops" } } } })
        client, hooks = assert(cluster:connect()), {}
    end)

    after_each(function()
        for _, hook in ipairs(hooks) do
            hook:stop()
        end
        client:close()
        cluster:close()
    end)

    it("denies what validate denies, as a server says it", function()
        admit { validate = deny "not today" }
        local object, message, code = client:create(config_map { a = "1" })
        assert.is_nil(object)
        assert.equal("admission webhook \"maps.kubelua.dev\" denied the request: not today",
            message)
        assert.equal("forbidden", code)
        object, message, code = cluster:apply(config_map { a = "1" })
        assert.is_nil(object)
        assert.matches("denied the request: not today$", message)
        assert.equal("forbidden", code)
        assert.is_nil(cluster:get("configmaps", "default/one"))
        assert.equal(0, #cluster:requests { resource = "configmaps" })
    end)

    it("gives the status that the function names", function()
        admit { validate = deny("too many", 422) }
        local _, _, code, reply = client:request { method = "POST",
            path = "/api/v1/namespaces/default/configmaps", body = config_map {} }
        assert.equal("invalid", code)
        assert.equal(422, reply.status)
        assert.equal("Invalid", kubelua.decode(reply.body).reason)
    end)

    it("is asked for its operations, resources and subresources only", function()
        local seen = {}
        admit { operations = { "UPDATE" }, validate = noting(seen) }
        admit { "pods/status", name = "pods", validate = noting(seen),
            operations = { "UPDATE", "CREATE" } }
        assert(client:create(config_map { a = "1" }))
        assert(client:create { apiVersion = "v1", kind = "Pod",
            metadata = { name = "p", namespace = "default" },
            spec = { containers = { { name = "c", image = "i" } } } })
        assert.equal(0, #seen)
        assert(client:patch("pods", "default/p", { status = { phase = "Running" } },
            { subresource = "status" }))
        assert.equal("status", seen[1].request.subResource)
        assert.equal("Running", seen[1].object.status.phase)
        assert.equal("Pending", seen[1].old.status.phase)
        assert.equal("UPDATE", seen[1].request.operation)
    end)

    it("sees the object that a patch or an apply leads to, and the old one", function()
        local seen = {}
        admit { validate = noting(seen) }
        assert(client:apply(config_map { a = "1" }))
        assert(client:patch("configmaps", "default/one", { data = { b = "2" } }))
        assert(cluster:apply(config_map { c = "3" }))
        assert.equal(3, #seen)
        assert.equal("CREATE", seen[1].request.operation)
        assert.is_nil(seen[1].old)
        assert.same({ a = "1" }, seen[2].old.data)
        assert.same({ a = "1", b = "2" }, seen[2].object.data)
        assert.same({ a = "1", b = "2", c = "3" }, seen[3].object.data)
        assert.same({ "default", "one" }, { seen[3].request.namespace, seen[3].request.name })
    end)

    it("changes what is written: new objects, updates, patches and applies", function()
        admit { mutate = function(object)
            object.data = object.data or {}
            object.data.mark = "x"
        end }
        local made = assert(client:create(config_map { a = "1" }))
        assert.equal("x", made.data.mark)
        assert(client:create(config_map({}, "two")))
        local changed = assert(client:patch("configmaps", "default/one",
            { data = { a = "2", mark = kubelua.null } }))
        assert.same({ a = "2", mark = "x" }, kubelua.table(changed).data)
        assert.equal(made.uid, changed.uid)
        local copy = kubelua.table(changed)
        copy.data = { b = "3" }
        assert.same({ b = "3", mark = "x" }, kubelua.table(assert(client:update(copy))).data)
        assert.equal("x", assert(client:apply(config_map({ a = "1" }, "three"))).data.mark)
        local applied = assert(client:apply(config_map({ b = "1" }, "three")))
        assert.same({ b = "1", mark = "x" }, kubelua.table(applied).data)
        assert.equal("x", assert(cluster:apply(config_map({ a = "1" }, "four"))).data.mark)
        assert.equal("x", cluster:get("configmaps", "default/four").data.mark)
    end)

    it("validates what mutate left, of all webhooks in the order of their names", function()
        local seen = {}
        admit { name = "b", mutate = function(object) object.data.b = object.data.a .. "b" end }
        admit { name = "a", mutate = function(object) object.data = { a = "a" } end,
            validate = noting(seen) }
        assert(client:create(config_map {}))
        assert.same({ a = "a", b = "ab" }, seen[1].object.data)
        assert.is_string(seen[1].object.metadata.uid)
    end)

    it("mends what the server would refuse", function()
        admit { "pods", mutate = function(pod) pod.spec.containers[1].image = "i" end }
        local pod = { apiVersion = "v1", kind = "Pod", metadata = { name = "p" },
            spec = { containers = { { name = "c" } } } }
        assert.equal("i", assert(client:create(pod)).spec.containers[1].image)
    end)

    it("asks no validate about what the server refuses", function()
        local seen = {}
        admit { validate = noting(seen) }
        assert.equal("invalid", select(3, client:create(config_map({}, "No Name"))))
        assert.equal("not_found", select(3, client:patch("configmaps", "default/one", {})))
        assert.equal("not_found", select(3, client:delete("configmaps", "default/one")))
        assert.equal(0, #seen)
    end)

    it("sends a changed apply as an apply, of no more than it has and what differs", function()
        assert(client:apply(config_map { other = "o" }, { manager = "other" }))
        admit { mutate = function(object) object.metadata.labels = { mark = "x" } end }
        assert(client:apply(config_map { a = "1" }, { manager = "mine" }))
        assert(client:apply(config_map { b = "2" }, { manager = "mine" }))
        assert.same({ other = "o", b = "2" },
            kubelua.table(cluster:get("configmaps", "default/one")).data)
        local sent = cluster:requests { verb = "patch", resource = "configmaps" }
        assert.equal(3, #sent)
        assert.same({ b = "2" }, sent[3].body.data)
        assert.same({ mark = "x" }, sent[3].body.metadata.labels)
    end)

    it("leaves an empty array an array", function()
        admit { "services", mutate = function(service) service.spec.externalIPs = {} end }
        local service = assert(client:create { apiVersion = "v1", kind = "Service",
            metadata = { name = "s" }, spec = { ports = { { port = 80 } },
                externalIPs = { "10.1.1.1" } } })
        assert.is_nil(service.spec.externalIPs and service.spec.externalIPs[1])
    end)

    it("is asked about deletes: of one object, and of each in a collection", function()
        local seen = {}
        assert(client:create(config_map({}, "a")))
        assert(client:create(config_map({}, "b")))
        admit { operations = { "DELETE" }, validate = function(object, old, request)
            seen[#seen + 1] = request.name
            assert.is_nil(object)
            return old.metadata.name ~= "b" or false, "b stays"
        end }
        assert.matches("b stays$", select(2, client:delete("configmaps", "default/b")))
        assert.matches("b stays$", select(2, cluster:delete("configmaps", "default/b")))
        assert.matches("b stays$",
            select(2, client:delete_all("configmaps", { namespace = "default" })))
        assert.same({ "b", "b", "a", "b" }, seen)
        assert(cluster:delete("configmaps", "default/a"))
        assert(cluster:get("configmaps", "default/b"))
    end)

    it("knows of a dry run, and of the user", function()
        local seen = {}
        admit { operations = { "CREATE", "DELETE" }, validate = noting(seen) }
        local jane = assert(cluster:connect { user = "jane" })
        assert(jane:create(config_map {}, { dry_run = true }))
        assert(client:create(config_map {}))
        assert(client:delete("configmaps", "default/one", { dry_run = true }))
        jane:close()
        assert.same({ true, false, true }, { seen[1].request.dryRun, seen[2].request.dryRun,
            seen[3].request.dryRun })
        assert.equal("jane", seen[1].request.userInfo.username)
        assert.same({ "dev", "ops" }, seen[1].request.userInfo.groups)
        assert.equal("kubernetes-admin", seen[2].request.userInfo.username)
        assert(cluster:get("configmaps", "default/one"))
    end)

    it("fails the write if the function fails, unless the policy is Ignore", function()
        admit { validate = function() error("broken", 0) end }
        local object, message, code = client:create(config_map {})
        assert.is_nil(object)
        assert.matches("^Internal error occurred: failed calling webhook \"maps.kubelua.dev\"",
            message)
        assert.matches("broken", message)
        assert.equal("internal", code)
        hooks[1]:stop()
        admit { name = "other", failure_policy = "Ignore",
            validate = function() error("broken", 0) end }
        assert(client:create(config_map {}))
    end)

    it("denies with 503 while its caches have no first list", function()
        local freeze = assert(cluster:freeze { verb = "list", resource = "secrets", count = 0 })
        local watch = assert(cluster:freeze { verb = "watch", resource = "secrets", count = 0 })
        admit { reads = { "secrets" }, validate = function() end }
        local _, message = cluster:create(config_map {})
        assert.matches("does not know the cluster yet", message)
        cluster:heal(freeze)
        cluster:heal(watch)
        assert(cluster:settle())
        assert(cluster:create(config_map {}))
    end)

    it("heeds namespaces and selectors", function()
        admit { namespaces = { "kube-system" }, validate = deny "by namespace" }
        admit { name = "labels", validate = deny "by label", object_selector = {
            matchExpressions = { { key = "tier", operator = "In", values = { "web" } } } } }
        assert(client:create(config_map {}))
        local other = config_map({}, "two")
        other.metadata.namespace = "kube-system"
        assert.matches("by namespace$", select(2, client:create(other)))
        other = config_map({}, "two")
        other.metadata.labels = { tier = "web" }
        assert.matches("by label$", select(2, client:create(other)))
    end)

    it("may write itself; endless circles are a failure", function()
        admit { operations = { "CREATE" }, validate = function(_, _, request)
            if request.name == "one" then
                assert(client:create(config_map({}, "made")))
            end
        end }
        assert(client:create(config_map {}))
        assert(cluster:get("configmaps", "default/made"))
        local asked, problems = 0, {}
        admit { "secrets", name = "circle", validate = function()
            asked = asked + 1
            local _, message = client:create { apiVersion = "v1", kind = "Secret",
                metadata = { name = "s" .. asked, namespace = "default" } }
            problems[#problems + 1] = message or "none"
        end }
        assert(client:create { apiVersion = "v1", kind = "Secret", metadata = { name = "s" } })
        assert.matches("without end", problems[1])
        problems[1] = ""
        assert.same({ "", "none", "none", "none" }, problems)
    end)

    it("may wait in a task", function()
        local found
        admit { validate = function() found = client:get("namespaces", "kube-system") end }
        local made
        kubelua.spawn(function() made = client:create(config_map {}) end)
        assert(cluster:eventually(function() return made ~= nil end))
        assert.equal("kube-system", found.name)
        assert.equal("one", made.name)
    end)

    it("asks no webhook of another cluster, and none that was stopped", function()
        admit { validate = deny "no" }
        local other = assert(Sim.new())
        assert(other:create(config_map {}))
        other:close()
        hooks[1]:stop()
        assert(client:create(config_map {}))
    end)

    it("is there once for each cluster that runs the script", function()
        local others = {}
        for i = 1, 2 do
            others[i] = assert(Sim.new())
            others[i]:run("examples/unique-hosts.lua")
            assert(others[i]:settle())
        end
        local ingress = { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
            metadata = { name = "one", namespace = "default" },
            spec = { rules = { { host = "a.example.com" } } } }
        for _ = 1, 2 do
            for i = 1, #others do
                ingress.metadata.name = "one"
                assert(others[i]:apply(ingress))
                assert(others[i]:settle())
                ingress.metadata.name = "two"
                assert.equal("forbidden", select(3, others[i]:apply(ingress)))
            end
            table.remove(others):close()
        end
        assert.is_nil(others[1])
    end)
end)
