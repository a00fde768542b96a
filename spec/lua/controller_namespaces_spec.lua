-- Controllers of several namespaces, and sources with metadata only.
local eventually = require "eventually"
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
end)

local function apply(kind, namespace, name, more)
    return assert(w.cluster:apply { apiVersion = "v1", kind = kind, data = more,
        metadata = { name = name, namespace = namespace, labels = { app = name } } })
end

local function sorted(list)
    table.sort(list)
    return list
end

describe("a controller of several namespaces", function()
    it("reconciles the objects in these namespaces only", function()
        for _, namespace in ipairs { "web", "db", "other" } do
            apply("ConfigMap", namespace, "a")
        end
        local controller = w:controller { namespace = { "web", "db", "web" } }
        assert.same({ "db/a", "web/a" }, sorted(w:noted(2)))
        apply("ConfigMap", "other", "b")
        apply("ConfigMap", "db", "b")
        assert.same({ "db/b" }, w:noted())
        w:rest(controller)
        assert.same({}, w.runs)
    end)

    it("gives its namespaces to its sources, but not to kinds that have none", function()
        apply("ConfigMap", "web", "a")
        apply("Secret", "db", "s")
        apply("Secret", "other", "s")
        local results
        w:controller { namespace = { "web", "db" },
            reads = { "secrets", "namespaces", { "pods", namespace = "other" } },
            reconcile = function(object, run)
                results = { run:list("secrets"), run:get("namespaces", "web"),
                    #run:list("namespaces") }
                w:note(object.key)
            end }
        w:noted()
        assert.equal(1, #results[1])
        assert.equal("db/s", results[1][1].key)
        assert.equal("Namespace web", tostring(results[2]))
        assert.equal(#w.cluster:list("namespaces"), results[3])
    end)

    it("reads its own writes in one namespace while the other has no events", function()
        apply("ConfigMap", "web", "a")
        apply("ConfigMap", "db", "a")
        w:controller { namespace = { "web", "db" }, owns = { "secrets" },
            reconcile = function(object, run)
                local made = assert(run:apply { apiVersion = "v1", kind = "Secret",
                    metadata = { name = "made" }, stringData = { of = object.key } })
                local read = assert(run:get("secrets", object.namespace, "made"))
                assert(read.resource_version == made.resource_version)
                w:note(object.key .. " " .. #run:owned("secrets"))
            end }
        eventually(function()
            local seen = {}
            for _, note in ipairs(w.runs) do
                seen[note] = true
            end
            return seen["web/a 1"] and seen["db/a 1"]
        end, "both read what they wrote")
    end)
end)

describe("a source of metadata alone", function()
    it("maps to owners, and its metadata can be read", function()
        local a = apply("ConfigMap", "web", "a")
        local results
        w:controller { owns = { { "secrets", metadata = true } },
            reconcile = function(object, run)
                local owned = run:owned("secrets")
                if owned[1] then
                    results = { tostring(owned[1]), pcall(function() return owned[1].data end) }
                end
                w:note(object.key)
            end }
        w:noted()
        assert(w.cluster:apply { apiVersion = "v1", kind = "Secret", metadata = { name = "s",
            namespace = "web", ownerReferences = { { apiVersion = "v1", kind = "ConfigMap",
                name = "a", uid = a.uid, controller = true } } } })
        assert.same({ "web/a" }, w:noted())
        assert.equal("Secret web/s", results[1])
        assert.is_false(results[2])
        assert.matches("only metadata was asked for", results[3], 1, true)
    end)

    it("can be the reconciled resource", function()
        apply("ConfigMap", "web", "a", { value = "1" })
        w:controller { metadata = true, reconcile = function(object)
            w:note(object.key .. " " .. object.metadata.labels.app)
            return (object.data)
        end }
        assert.same({ "web/a a" }, w:noted())
        w:logged("only metadata was asked for")
    end)
end)
