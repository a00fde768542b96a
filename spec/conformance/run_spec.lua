-- What a run of a controller writes and reads, on any server: objects that it owns or adopts,
-- objects of others with the same name, deleted ones; and a finalizer from its start to its end.
local conformance = require "conformance"
local eventually = require "eventually"
local kubelua = require "kubelua"

local function secret(name, more)
    local document = { apiVersion = "v1", kind = "Secret", metadata = { name = name },
        stringData = { a = "1" } }
    for field, value in pairs(more or {}) do
        document.metadata[field] = value
    end
    return document
end

-- Returns what f(object, run) returned in the first run of a ConfigMap.
local function in_run(scene, options, f)
    local results
    options[1], options.namespace, options.fields = "configmaps", scene.namespace, "metadata.name=a"
    options.name, options.client = "spec", options.client or scene:connect()
    options.reconcile = function(object, run)
        results = results or { pcall(f, object, run) }
    end
    scene.admin:create("configmaps", scene.namespace, { metadata = { name = "a" } })
    local controller = assert(kubelua.controller(options))
    local ok, problem = pcall(eventually, function() return results end, "it has run")
    if options.finalizer == nil then
        controller:stop()
    end
    assert(ok, problem)
    assert(results[1], results[2])
    return results[2], controller, options.client
end

conformance.describe("A run", function(it)
    it("applies what it owns, reads it again, and takes no object of others", function(scene)
        local seen = in_run(scene, { owns = { "secrets" } }, function(_, run)
            local all = {}
            assert(run.client:apply(secret("other", { namespace = scene.namespace })))
            all.made = assert(run:apply(secret("s")))
            all.read = run:get("secrets", scene.namespace .. "/s")
            all.again = assert(run:apply(secret("s")))
            all.not_owned = select(3, run:apply(secret("other")))
            all.adopted = assert(run:apply(secret("other"), { adopt = true }))
            all.owned = #run:owned("secrets")
            all.exists = select(3, run:create(secret("other")))
            return all
        end)
        assert.equal(seen.made.uid, seen.read.uid)
        assert.equal(seen.made.resource_version, seen.again.resource_version)
        assert.equal("not_owned", seen.not_owned)
        assert.equal("a", seen.adopted.metadata.ownerReferences[1].name)
        assert.equal(2, seen.owned)
        assert.equal("already_exists", seen.exists)
    end)

    it("deletes and patches the object that it means, and no other", function(scene)
        local seen = in_run(scene, { owns = { "secrets" } }, function(object, run)
            local all = {}
            local made = assert(run:apply(secret("s")))
            all.deleted = assert(run:delete(made))
            all.twice = run:delete(made)
            all.read = run:get("secrets", scene.namespace .. "/s")
            all.missing = select(3, run:patch(made, { stringData = { a = "2" } }))
            assert(run:apply(secret("s")))
            all.mistaken = select(3, run:patch(made, { stringData = { a = "2" } }))
            all.other = run:delete(made)
            all.left = run:get("secrets", scene.namespace .. "/s")
            assert(run:patch { data = { v = "1" } })
            all.locked = select(3, run:patch(object, { data = { v = "2" } }, { lock = true }))
            all.evicted = run:evict(scene.namespace .. "/none")
            return all
        end)
        assert.is_true(seen.twice)
        assert.is_nil(seen.read)
        assert.equal("not_found", seen.missing)
        assert.equal("conflict", seen.mistaken)
        assert.is_true(seen.other)
        assert.equal("s", seen.left.name)
        assert.equal("conflict", seen.locked)
        assert.is_true(seen.evicted)
    end)

    it("finalizes an object, which then is gone", function(scene)
        local ends = {}
        local first, controller, client = in_run(scene, { finalizer = "example.com/cleanup",
            finalize = function(object)
                ends[#ends + 1] = "finalize " .. object.name
            end,
            gone = function() ends[#ends + 1] = "gone" end }, function(object)
            return object.metadata.finalizers[1]
        end)
        assert.equal("example.com/cleanup", first)
        assert(client:delete("configmaps", scene.namespace .. "/a"))
        eventually(function() return ends[2] end, "it is gone")
        controller:stop()
        assert.same({ "finalize a", "gone" }, ends)
    end)
end)
