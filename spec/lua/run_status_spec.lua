-- run:status: what it writes, and when it sends nothing.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local world = require "controller_world"

local FOOS = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: foos, singular: foo, kind: Foo}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              phase: {type: string}
              replicas: {type: integer}
              zones: {type: object, additionalProperties: {type: string}}
              list: {type: array, items: {type: string}}
              conditions:
                type: array
                items:
                  type: object
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    lastTransitionTime: {type: string}
                    observedGeneration: {type: integer}
]]

describe("run:status", function()
    local w

    before_each(function()
        w = world.new { now = "2026-01-01T00:00:00Z" }
        assert(w.cluster:apply(FOOS))
        assert(w.cluster:apply { apiVersion = "example.com/v1", kind = "Foo",
            metadata = { name = "a", namespace = "web" }, spec = { size = 1 } })
    end)

    after_each(function()
        w:close()
    end)

    local function run(f, options)
        options = options or {}
        options[1] = "foos"
        return w:in_run("a", f, options)
    end

    local function status()
        return kubelua.table(w.cluster:get("foos", "web/a").status)
    end

    local function sent()
        return #w.cluster:requests { verb = "patch", resource = "foos" }
    end

    it("sets each named field to exactly this value, and leaves the others", function()
        run(function(_, of_run)
            assert(of_run:status { phase = "New", zones = { a = "1", b = "2" }, list = { "x" } })
            assert(of_run:status { zones = { b = "3", c = "4" }, list = core.array() })
            assert(of_run:status { phase = core.null, replicas = 2 })
        end)
        assert.same({ zones = { b = "3", c = "4" }, list = {}, replicas = 2 }, status())
        assert.equal("status", w.cluster:requests { verb = "patch" }[1].subresource)
    end)

    it("takes a quantity for its text", function()
        run(function(_, of_run)
            local zones = { a = assert(kubelua.quantity("1")) * 2, b = kubelua.duration(90) }
            assert(of_run:status { zones = zones })
            assert(of_run:status { zones = zones })
        end)
        assert.same({ zones = { a = "2", b = "1m30s" } }, status())
        assert.equal(1, sent())
    end)

    it("sends nothing if nothing changes, by the newest known object", function()
        run(function(_, of_run)
            w.cluster:freeze { verb = "watch", resource = "foos" }
            for _ = 1, 3 do
                assert.equal("New", assert(of_run:status {
                    phase = "New", zones = { a = "1" }, replicas = 2.0 }).status.phase)
            end
            w.cluster:heal()
        end)
        assert.equal(1, sent())
    end)

    it("does not send fields again that the server has dropped", function()
        run(function(_, of_run)
            for _ = 1, 3 do
                assert(of_run:status { phase = "New", unknown_field = "x" })
            end
        end)
        assert.equal(1, sent())
        assert.same({ phase = "New" }, status())
    end)

    it("reads the object again after a conflict", function()
        run(function(_, of_run)
            assert(of_run:status { conditions = { { type = "Ready", status = "False" } } })
            assert(w.cluster:patch("foos", "web/a", { status = { phase = "Old", conditions = {
                { type = "Ready", status = "False" }, { type = "Other", status = "True" } } } },
                { subresource = "status" }))
            assert(of_run:status { conditions = { { type = "Ready", status = "True" } } })
        end)
        local now = status()
        assert.equal("Old", now.phase)
        assert.equal(2, #now.conditions)
        assert.equal("True", now.conditions[1].status)
        assert.equal("Other", now.conditions[2].type)
    end)

    for given, options in pairs {
        ["drop = status"] = { drop = "status" },
        ["drop = status.conditions"] = { drop = { "spec.size", "['status'].conditions" } },
        ["a drop inside of conditions"] = { drop = "status.conditions[*].message" },
        ["keep = spec"] = { keep = "spec" },
        ["keep = status.phase"] = { keep = { "status.phase" } },
    } do
        it("leaves the conditions of other writers with " .. given, function()
            assert(w.cluster:patch("foos", "web/a", { status = { phase = "Old", conditions = {
                { type = "Other", status = "True", message = "kept" } } } },
                { subresource = "status" }))
            run(function(_, of_run)
                assert(of_run:status { conditions = { { type = "Ready", status = "True" } } })
            end, options)
            local now = status()
            assert.equal("Old", now.phase)
            assert.equal(2, #now.conditions)
            assert.equal("kept", now.conditions[1].message)
            assert.equal("Ready", now.conditions[2].type)
        end)
    end

    it("reads nothing from the server if only other fields are dropped", function()
        run(function(_, of_run)
            for _ = 1, 3 do
                assert(of_run:status { phase = "New" })
            end
            assert.equal(0, #w.cluster:requests { verb = "get", resource = "foos" })
        end, { drop = "spec.size", keep = { "spec", "status" } })
        assert.equal(1, sent())
        assert.same({ phase = "New" }, status())
    end)

    it("goes on after conflicts, and gives up after five in a row", function()
        w.cluster:fail { verb = "patch", resource = "foos", status = 409, count = 4 }
        local code = run(function(_, of_run)
            assert(of_run:status { phase = "New" })
            w.cluster:fail { verb = "patch", resource = "foos", status = 409, count = 5 }
            local _, _, its_code = of_run:status { phase = "Old" }
            return its_code
        end)
        assert.equal("conflict", code)
        assert.same({ phase = "New" }, status())
    end)

    it("keeps lastTransitionTime while the status of a condition stays", function()
        run(function(_, of_run)
            assert(of_run:status { conditions = { { type = "Ready", status = "False",
                reason = "One" } } })
        end)
        local first = status().conditions[1]
        assert.equal("2026-01-01T00:00:00Z", first.lastTransitionTime)
        assert.equal(1, first.observedGeneration)
        w.controllers[1]:stop()
        w.cluster:advance(60)
        run(function(_, of_run)
            assert(of_run:status { conditions = { { type = "Ready", status = "False",
                reason = "Two" } } })
        end)
        local second = status().conditions[1]
        assert.equal("Two", second.reason)
        assert.equal("2026-01-01T00:00:00Z", second.lastTransitionTime)
        w.controllers[2]:stop()
        w.cluster:advance(60)
        assert(w.cluster:patch("foos", "web/a", { spec = { size = 2 } }))
        run(function(_, of_run)
            assert(of_run:status { conditions = { { type = "Ready", status = "True",
                reason = "Three" }, { type = "Synced", status = "True" } } })
        end)
        local now = status().conditions
        assert.equal("2026-01-01T00:02:00Z", now[1].lastTransitionTime)
        assert.equal(2, now[1].observedGeneration)
        assert.equal("Synced", now[2].type)
    end)

    it("writes the status of another object", function()
        assert(w.cluster:apply { apiVersion = "example.com/v1", kind = "Foo",
            metadata = { name = "b", namespace = "web" } })
        run(function(_, of_run)
            local other = assert(of_run.client:get("foos", "web/b"))
            assert.equal("Other", assert(of_run:status(other, { phase = "Other" })).status.phase)
        end)
        assert.equal("Other", w.cluster:get("foos", "web/b").status.phase)
    end)

    it("fails for an object that is gone, or replaced", function()
        local code, other = run(function(object, of_run)
            assert(w.cluster:delete("foos", "web/a"))
            local _, _, missing = of_run:status { phase = "New" }
            assert(w.cluster:apply { apiVersion = "example.com/v1", kind = "Foo",
                metadata = { name = "a", namespace = "web" } })
            local _, _, conflict = of_run:status(object, { phase = "New" })
            return missing, conflict
        end)
        assert.equal("not_found", code)
        assert.equal("conflict", other)
        assert.is_nil(w.cluster:get("foos", "web/a").status)
    end)

    it("raises for a wrong condition", function()
        local message = run(function(_, of_run)
            local _, problem = pcall(of_run.status, of_run,
                { conditions = { { typ = "Ready", status = "True" } } })
            return problem
        end)
        assert.match("a condition is a table such as", message)
    end)
end)
