-- What a scope learns about the writes of its tasks, and how it stops them; and kinds that a server
-- serves in another version, later, or no longer.
local core = require "kubelua.core"
local definition = require "definition"
local kubelua = require "kubelua"
local scope = require "kubelua.scope"
local Sim = require "kubelua.sim"
local tasks = require "kubelua.tasks"

local function define(version)
    return definition("foos.example.com", { version = version })
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

-- Runs a function in a task of the scope, to its end.
local function run_in(hooks, f)
    local done = false
    kubelua.spawn(function()
        tasks.join_scope(tasks.current("a spec"), hooks)
        f()
        done = true
    end)
    assert(cluster:eventually(function() return done end))
end

local function map(name)
    return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name } }
end

describe("a scope", function()
    it("sees each write of its tasks, and its result", function()
        local hooks, seen = scope.new(), {}
        hooks.wrote = function(write) seen[#seen + 1] = write end
        run_in(hooks, function()
            local created = assert(client:create(map("a")))
            assert(client:get(created))
            assert(client:patch(created, { data = { x = "1" } }))
            assert(client:apply(map("b"), { dry_run = true }))
            assert(client:delete("cm", "default/a"))
            client:delete("cm", "a")
            client:create(map("A_"))
            assert.equal("create", seen[1].verb)
            assert.equal("ConfigMap", seen[1].kind.kind)
            assert.equal(client, seen[1].client)
            assert.equal("default", seen[1].namespace)
            assert.equal("a", seen[1].name)
            assert.equal(created.uid, seen[1].uid)
            assert.equal(created.resource_version, seen[1].object.resource_version)
            assert.equal(201, seen[1].status)
            assert.is_nil(seen[1].code)
            assert.is_false(seen[1].dry_run)
        end)
        local verbs = {}
        for i, write in ipairs(seen) do
            verbs[i] = write.verb .. " " .. tostring(write.name) .. " " .. tostring(write.code)
                .. (write.dry_run and " dry" or "")
        end
        assert.same({ "create a nil", "patch a nil", "apply b nil dry", "delete a nil",
            "delete a not_found", "create A_ invalid" }, verbs)
        assert.is_nil(seen[4].object)
        assert.is_string(seen[2].uid)
    end)

    it("refuses a write, and shortens its timeout", function()
        local hooks, timeout = scope.new(), nil
        hooks.before_write = function(write)
            if write.verb == "delete" then
                return nil, "not now", "not_leader"
            end
            write.timeout = 0.05
            return true
        end
        hooks.wrote = function(write) timeout = write.timeout end
        cluster:delay { verb = "create", before = 30 }
        run_in(hooks, function()
            local _, message, code = client:delete("cm", "a")
            assert.equal("not now", message)
            assert.equal("not_leader", code)
            assert.is_nil((client:create(map("a"))))
        end)
        assert.equal(0.05, timeout)
        assert.equal(0, #cluster:requests { verb = "delete" })
    end)

    it("sees only the writes of its own tasks", function()
        local hooks, count = scope.new(), 0
        hooks.wrote = function() count = count + 1 end
        run_in(hooks, function()
            assert(client:create(map("a")))
            kubelua.spawn(function() assert(client:create(map("b"))) end)
        end)
        assert(client:create(map("c")))
        assert(cluster:eventually(function() return count >= 2 end))
        assert.equal(2, count)
    end)

    it("gets \"unknown\" for a sent write of a cancelled task", function()
        local hooks, seen = scope.new(), nil
        hooks.wrote = function(write) seen = write end
        cluster:delay { verb = "create", before = 30 }
        local task = kubelua.spawn(function()
            tasks.join_scope(tasks.current("a spec"), hooks)
            client:create(map("a"))
        end)
        assert(cluster:eventually(function() return cluster:faults()[1].hits > 0 end))
        task:cancel()
        assert(cluster:eventually(function() return seen end))
        assert.equal("unknown", seen.code)
        assert.equal("a", seen.name)
    end)
end)


describe("a write that is not answered", function()
    it("may have been done: unknown", function()
        cluster:cut { resource = "configmaps", verb = "create", count = 0 }
        local object, message, code = client:create({ apiVersion = "v1", kind = "ConfigMap",
            metadata = { generateName = "a-" } })
        assert.is_nil(object)
        assert.equal("unknown", code, message)
        assert.equal(1, cluster:faults()[1].hits)
        cluster:heal()
        cluster:delay { resource = "configmaps", verb = "patch", before = 30 }
        assert(client:create(map("b")))
        object, message, code = client:patch("cm", "b", { data = { x = "1" } }, { timeout = 0.1 })
        assert.is_nil(object)
        assert.equal("unknown", code, message)
    end)

    it("is no write if the server is not reached", function()
        local other = assert(kubelua.connect { server = assert(cluster:listen()) })
        assert(other:create(map("a")))
        cluster:refuse()
        local _, message, code = other:create(map("b"), { timeout = 5 })
        assert.equal("unavailable", code, message)
        other:close()
    end)
end)

describe("a kind", function()
    it("is known as soon as it is defined", function()
        assert.equal("unknown_kind", (select(3, client:get("foos", "x"))))
        assert(client:create(define("v1")))
        assert(client:wait("crd", "foos.example.com", "Established"))
        assert(client:create { apiVersion = "example.com/v1", kind = "Foo",
            metadata = { name = "x" } })
        assert.equal("Foo default/x", tostring(client:get("foos", "x")))
    end)

    it("is looked up once for all tasks that ask at the same time", function()
        assert(cluster:apply(define("v1")))
        local done, began = 0, core.now()
        for _ = 1, 5 do
            kubelua.spawn(function()
                assert.equal("not_found", (select(3, client:get("foos", "x"))))
                done = done + 1
            end)
        end
        assert(cluster:eventually(function() return done == 5 end))
        -- An unknown name is looked up at most once a second.
        for _ = 1, 5 do
            assert.equal("unknown_kind", (select(3, client:get("bars", "x"))))
        end
        assert.is_true(#cluster:requests { path = "/apis" } <= 1 + core.now() - began)
    end)

    it("is looked up again if the server now serves another version", function()
        assert(cluster:apply(define("v1")))
        assert(cluster:create { apiVersion = "example.com/v1", kind = "Foo",
            metadata = { name = "x" } })
        assert(client:get("foos", "x"))
        assert(cluster:delete("crd", "foos.example.com"))
        assert(cluster:wait("crd", "foos.example.com", "deleted"))
        assert(cluster:apply(define("v2")))
        assert(cluster:eventually(function()
            return (select(3, client:get("foos", "x"))) == "not_found"
        end))
        assert(client:create { apiVersion = "example.com/v2", kind = "Foo",
            metadata = { name = "x" } })
        assert.equal("example.com/v2", client:get("foos", "x").apiVersion)
    end)

    it("that is not served any more is reported", function()
        assert(cluster:apply(define("v1")))
        assert.equal("not_found", (select(3, client:get("foos", "x"))))
        assert(cluster:delete("crd", "foos.example.com"))
        assert(cluster:wait("crd", "foos.example.com", "deleted"))
        assert(cluster:eventually(function()
            return (select(3, client:get("foos", "x"))) == "unknown_kind"
        end))
    end)

    it("of Kubernetes is known without discovery", function()
        assert(client:create(map("a")))
        assert(client:list("deploy"))
        assert.equal(0, #cluster:requests { path = "/apis" })
    end)
end)
