-- A run never reads a cache that is older than its controller's own writes; writes with an
-- unknown result are looked up by the key's next run.
local world = require "controller_world"
local eventually = require "eventually"
local kubelua = require "kubelua"
local writes = require "kubelua.controller.writes"
local trace = require "kubelua.trace"

local function secret(name, more)
    local object = world.secret(name, more)
    object.metadata.namespace = object.metadata.namespace or "web"
    return object
end

describe("what a controller has written", function()
    local w

    before_each(function()
        w = world.new()
    end)

    after_each(function()
        w:close()
    end)

    -- Runs f(object, run, waits) once while the cache of Secrets gets no events; the watch is
    -- healed when f has called waits().
    local function run_blind(source, f)
        w:apply("a")
        local has_run = false
        w:controller { reads = { source }, reconcile = function(object, run)
            if not has_run then
                has_run = true
                w.cluster:freeze { verb = "watch", resource = "secrets" }
                f(object, run, function() w:note("waits") end)
                w:note("done")
            end
        end }
        if w:noted()[1] == "waits" then
            w.cluster:heal()
            w:noted()
        end
    end

    it("is awaited by get, list, by and owned", function()
        for _, read in ipairs {
            function(run) return run:get("secrets", "web/s") end,
            function(run) return run:list("secrets")[1] end,
            function(run) return run:list("secrets", { namespace = "web" })[1] end,
            function(run) return run:by("secrets", "name", "s")[1] end,
            function(run) return run:owned("secrets")[1] end,
        } do
            local found
            run_blind({ "secrets", indexes = { name = "metadata.name" } }, function(_, run, waits)
                assert(run:apply(secret("s")))
                waits()
                found = read(run)
            end)
            assert.equal("web/s", found.key)
            w.controllers[#w.controllers]:stop()
            assert(w.cluster:delete("secrets", "web/s"))
        end
    end)

    it("does not delay reads of another key, namespace or owner", function()
        assert(w.cluster:apply(secret("other")))
        local seen = {}
        run_blind("secrets", function(_, run)
            assert(run:create(secret("s"), { owner = false }))
            seen[1] = run:get("secrets", "web/other")
            seen[2] = run:list("secrets", { namespace = "db" })
        end)
        assert.equal("web/other", seen[1].key)
        assert.same({}, seen[2])
    end)

    it("is remembered for any client of the cluster, and for spawned tasks", function()
        local found = {}
        run_blind("secrets", function(_, run, waits)
            local other = assert(w.cluster:connect())
            kubelua.spawn(function()
                assert(other:create(secret("s")))
                assert(w.client:create(secret("t")))
            end):wait()
            other:close()
            waits()
            found = run:list("secrets")
        end)
        assert.equal(2, #found)
    end)

    it("is gone from the cache, or terminating, after a delete", function()
        assert(w.cluster:apply(secret("gone")))
        assert(w.cluster:apply(secret("held", { finalizers = { "example.com/x" } })))
        local gone, held
        run_blind("secrets", function(_, run, waits)
            assert(run:delete("secrets", "web/gone"))
            local was = assert(w.client:get("secrets", "web/held"))
            assert(run:delete(was))
            waits()
            gone, held = run:get("secrets", "web/gone"), run:get("secrets", "web/held")
        end)
        assert.is_nil(gone)
        assert.is_string(held.metadata.deletionTimestamp)
    end)

    it("is not awaited if no cache can hold it", function()
        assert(w.cluster:apply { apiVersion = "v1", kind = "Namespace",
            metadata = { name = "db" } })
        assert(w.cluster:apply(secret("old", { labels = { app = "shop" } })))
        local count
        run_blind({ "secrets", as = "shop", labels = "app=shop", namespace = "web" },
            function(_, run)
                assert(run:create(secret("s", { namespace = "db" }), { owner = false }))
                assert(run:create(secret("s")))
                assert(run:patch { metadata = { labels = { seen = "1" } } })
                assert(run.client:create(secret("t"), { dry_run = true }))
                assert(run.client:delete_all("secrets", { namespace = "web", labels = "app" }))
                count = #run:list("shop")
            end)
        assert.equal(1, count)
    end)

    it("is out of the cache before a read, if selectors do not select it any more", function()
        assert(w.cluster:apply(secret("s", { labels = { app = "shop" } })))
        local count
        run_blind({ "secrets", labels = "app=shop" }, function(_, run, waits)
            assert(run:patch("secrets", "web/s", { metadata = { labels = { app = "db" } } }))
            waits()
            count = #run:list("secrets")
        end)
        assert.equal(0, count)
    end)

    it("is awaited for 5 s; then the read fails with stale, and the key is retried", function()
        w:apply("a")
        local reads, caught = 0, nil
        local made = w:controller { reads = { "secrets" }, reconcile = function(_, run)
            reads = reads + 1
            if reads == 1 then
                w.cluster:freeze { verb = "watch", resource = "secrets" }
                assert(run:apply(secret("s")))
                w:note("waits")
            end
            local found = run:get("secrets", "web/s")
            caught = found and found.key
            w:note("done")
        end }
        w:noted()
        w.cluster:advance(5)
        eventually(function() return made:status().failures[1] end, "it has failed", 10)
        assert.equal("stale", made:status().failures[1].code)
        assert.match("secrets web/s at version", made:status().failures[1].message)
        w.cluster:advance(1)
        assert.equal(1, reads) -- the next run waits as well, before it begins
        w.cluster:heal()
        w:noted()
        assert.equal(2, reads)
        assert.equal("web/s", caught)
    end)

    it("is read from the server before the next run if the answer was lost", function()
        w:apply("a")
        local found, codes = nil, {}
        w.cluster:cut { verb = "create", resource = "secrets", after_bytes = 1 }
        w:controller { reads = { "secrets" }, reconcile = function(_, run)
            found = run:get("secrets", "web/s")
            if not found then
                local _, message, code = run:create(secret("s"))
                codes[#codes + 1] = code
                w:note(code or "created")
                return nil, message, code
            end
            w:note("found")
        end }
        assert.equal("unknown", w:noted()[1])
        w.cluster:advance(1)
        assert.equal("found", w:noted()[1])
        assert.same({ "unknown" }, codes)
        assert.equal(1, #w.cluster:requests { verb = "get", resource = "secrets" })
    end)

    it("ends no backoff of its key", function()
        w:apply("a")
        local attempts = 0
        local made = w:controller { reconcile = function(_, run)
            attempts = attempts + 1
            assert(run:patch { metadata = { labels = { try = tostring(attempts) } } })
            w:note("done")
            return nil, "not yet"
        end }
        w:noted()
        w:rest(made)
        local informer = w.client:informer("configmaps")
        eventually(function()
            local seen = informer:get("web/a")
            return seen and seen.metadata.labels and seen.metadata.labels.try == "1"
        end, "the patch is seen", 10)
        kubelua.step(0.05)
        assert.equal(1, attempts)
        w.cluster:advance(0.2)
        w:noted()
        assert.equal(2, attempts)
    end)

    it("is never written twice: 1,000 objects, and a watch that is 3 s late #many", function()
        local COUNT = 1000
        for i = 1, COUNT do
            w:apply("m" .. i)
        end
        local created, finished, is_late = 0, 0, false
        local made = w:controller { owns = { "secrets" }, workers = 100,
            reconcile = function(object, run)
                if not is_late then
                    is_late = true
                    w.cluster:freeze { verb = "watch", resource = "secrets" }
                end
                if #run:owned("secrets") == 0 then
                    local document = secret(nil)
                    document.metadata.generateName = object.name .. "-"
                    assert(run:create(document))
                    created = created + 1
                    return 1
                end
                finished = finished + 1
            end }
        eventually(function() return created == COUNT end, "all are created", 30)
        w.cluster:advance(3)
        eventually(function() return #made:status().running == 100 end, "runs wait", 10)
        assert.equal(0, finished)
        w.cluster:heal()
        eventually(function() return finished >= COUNT end, "all are done", 30)
        w:rest(made)
        assert.equal(COUNT, created)
        local owners, children = {}, w.cluster:list("secrets", { namespace = "web" })
        assert.equal(COUNT, #children)
        for _, child in ipairs(children) do
            local owner = child.metadata.ownerReferences[1].name
            assert.is_nil(owners[owner])
            owners[owner] = true
        end
    end)
end)

describe("a write with an unknown result", function()
    it("is looked up again if the run was cancelled during the look-up", function()
        local asked = {}
        local client = {}
        function client:get(kind, key)
            asked[#asked + 1] = kind .. " " .. key
            if #asked == 1 then
                error(trace.CANCELED, 0)
            elseif #asked == 2 then
                return nil, "the server is away", "unavailable"
            end
            return nil, "there is none", "not_found"
        end
        local kind = { api_version = "v1", kind = "ConfigMap", namespaced = true }
        local tracker = writes.new { client = client, sources = {}, of_kind = {},
            in_order = {}, what = "spec" }
        local function write(name)
            return { kind = kind, namespace = "default", name = name }
        end
        tracker.unknown["default/a"] = { write("b"), write("c") }
        local ok, problem = pcall(tracker.settle, tracker, "default/a")
        assert.is_false(ok)
        assert.equal(trace.CANCELED, problem)
        local _, _, code = tracker:settle("default/a")
        assert.equal("unavailable", code)
        assert.is_true(tracker:settle("default/a"))
        assert.is_true(tracker:settle("default/a"))
        assert.same({ "v1/ConfigMap default/b", "v1/ConfigMap default/b", "v1/ConfigMap default/b",
            "v1/ConfigMap default/c" }, asked)
    end)
end)
