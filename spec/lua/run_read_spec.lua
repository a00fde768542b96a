-- run:get, list, by and owned: they read the declared caches, by any of their names.
local kubelua = require "kubelua"
local world = require "controller_world"

local function secret(name, owner)
    return { apiVersion = "v1", kind = "Secret", metadata = { name = name, namespace = "web",
        ownerReferences = owner and { { apiVersion = "v1", kind = "ConfigMap", name = owner.name,
            uid = owner.uid, controller = true } } } }
end

describe("a run reads", function()
    local w

    before_each(function()
        w = world.new()
        w.owner = w:apply("a")
    end)

    after_each(function()
        w:close()
    end)

    -- The result of f(object, run) in one run.
    local function read(options, f)
        local results
        options.reconcile = function(object, run)
            results = { f(object, run) }
            w:note("done")
        end
        w:controller(options)
        w:noted()
        return results
    end

    it("an object, by key, or by namespace and name", function()
        assert(w.cluster:apply(secret("s")))
        local results = read({ reads = { "secrets" } }, function(_, run)
            return run:get("secrets", "web/s"), run:get("secrets", "web", "s"),
                run:get("secrets", "web/none")
        end)
        assert.equal("web/s", results[1].key)
        assert.equal("web/s", results[2].key)
        assert.is_nil(results[3])
    end)

    it("a source by its `as`, its resource and any other name of its kind", function()
        assert(w.cluster:apply(secret("s")))
        local results = read({ reads = { { "secrets", as = "hidden" } } }, function(_, run)
            return run:get("hidden", "web/s"), run:get("secrets", "web/s"),
                run:get("Secret", "web/s"), run:get("v1/Secret", "web/s"),
                run:get("configmaps", "web/a"), run:get("cm", "web/a")
        end)
        for i = 1, 4 do
            assert.equal("web/s", results[i].key)
        end
        assert.equal("web/a", results[5].key)
        assert.equal("web/a", results[6].key)
    end)

    it("lists with a filter, by an index, and of objects that its object controls", function()
        local other = w:apply("b")
        for i = 1, 3 do
            assert(w.cluster:apply(secret("s" .. i, i < 3 and w.owner or other)))
        end
        local results = read({ owns = { { "secrets", indexes = { name = "metadata.name" } } },
            fields = "metadata.name=a" }, function(_, run)
            return run:list("secrets"), run:list("secrets", { namespace = "db" }),
                run:by("secrets", "name", "s3"), run:owned("secrets")
        end)
        assert.equal(3, #results[1])
        assert.equal(0, #results[2])
        assert.equal("web/s3", results[3][1].key)
        assert.equal(2, #results[4])
        assert.equal("web/s1", results[4][1].key)
        assert.equal("web/s2", results[4][2].key)
    end)

    it("only declared caches: any other name raises, and is named", function()
        local results = read({ reads = { "secrets", { "pods", as = "shop_pods" } } },
            function(_, run)
                local _, nodes = pcall(run.get, run, "nodes", "n1")
                local _, secrts = pcall(run.list, run, "secrts")
                local _, nothing = pcall(run.by, run, nil, "a", "b")
                return nodes, secrts, nothing
            end)
        assert.match("the controller has no cache 'nodes'", results[1])
        assert.match("it has configmaps, secrets, shop_pods", results[1])
        assert.match("do you mean 'secrets'%?", results[2])
        assert.match("name of a source expected", results[3])
    end)

    it("one of several sources of a kind by its name alone", function()
        local results = read({ reads = { { "pods", as = "one", labels = "a=1" },
            { "pods", as = "two", labels = "a=2" } } }, function(_, run)
            local ok, message = pcall(run.list, run, "pods")
            return ok, message, run:list("two")
        end)
        assert.is_false(results[1])
        assert.match("'pods' can mean one, two: name one of them", results[2])
        assert.equal(0, #results[3])
    end)

    it("what it wrote, in several tasks at once", function()
        local results = read({ reads = { "secrets" } }, function(_, run)
            local tasks, found = {}, 0
            for i = 1, 60 do
                tasks[i] = kubelua.spawn(function()
                    if i % 3 == 1 then
                        assert(run:create(secret("s" .. i)))
                    end
                    kubelua.sleep(0)
                    return run:list("secrets")
                end)
            end
            for _, task in ipairs(tasks) do
                found = math.max(found, #assert(task:wait()))
            end
            return found
        end)
        assert.equal(20, results[1])
    end)

    it("metadata only if that was asked for: spec and status raise", function()
        assert(w.cluster:apply(secret("s")))
        local results = read({ reads = { { "secrets", metadata = true } } }, function(_, run)
            local found = run:get("secrets", "web/s")
            local ok, message = pcall(function() return found.data end)
            return found.uid, ok, message
        end)
        assert.is_string(results[1])
        assert.is_false(results[2])
        assert.match("metadata", results[3])
    end)

    it("its key, attempt, client, memo and log; a mistyped field raises", function()
        local seen = {}
        w:controller { reconcile = function(_, run)
            run.memo.count = (run.memo.count or 0) + 1
            seen[#seen + 1] = { run.key, run.attempt, run.memo.count, run.client == w.client }
            run.log("info", "50%% of %s", "it")
            local ok, message = pcall(function() return run.aply end)
            seen[#seen + 1] = { ok, message }
            w:note("done")
            return nil, "not yet"
        end }
        w:noted()
        w.cluster:advance(1)
        w:noted()
        assert.same({ "web/a", 1, 1, true }, seen[1])
        assert.same({ "web/a", 2, 2, true }, seen[3])
        assert.is_false(seen[2][1])
        assert.match("a run has no 'aply'; do you mean 'apply'%?", seen[2][2])
        w:logged("info controller spec: web/a: 50%% of it")
    end)
end)
