-- cluster:requests says which run of a controller has sent a request.
local kubelua = require "kubelua"
local world = require "controller_world"

describe("a request of a controller's run", function()
    local w

    before_each(function()
        w = world.new()
    end)
    after_each(function()
        w:close()
    end)

    local function secret(name)
        return { apiVersion = "v1", kind = "Secret", metadata = { name = name } }
    end

    it("has the controller, the key and the attempt", function()
        local fails = true
        w:controller { name = "first", owns = { "secrets" }, reconcile = function(object, run)
            local wanted = secret(object.name)
            -- Another document in each attempt: an apply that changes nothing sends no request.
            wanted.metadata.annotations = { attempt = tostring(run.attempt) }
            assert(run:apply(wanted))
            if fails and object.name == "b" then
                fails = false
                return nil, "meant"
            end
        end }
        w:apply("a")
        w:apply("b")
        assert(w.cluster:settle())
        w.cluster:advance(1)
        assert(w.cluster:settle())
        local of_a = w.cluster:requests { controller = "first", key = "web/a", verb = "patch" }
        assert.equal("a", of_a[1].name)
        assert.same({ "first", "web/a", 1 }, { of_a[1].controller, of_a[1].key, of_a[1].attempt })
        for _, request in ipairs(of_a) do
            assert.equal("a", request.name)
        end
        local second = w.cluster:requests { key = "web/b", attempt = 2 }
        assert.equal(2, second[1].attempt)
        assert.is_true(#w.cluster:requests { key = "web/b", attempt = 1 } >= 1)
        assert.same({}, w.cluster:requests { controller = "second" })
        assert(w.cluster:asked {
            { key = "web/b", attempt = 1, verb = "patch" }, { key = "web/b", attempt = 2 },
        })
    end)

    it("has them in tasks that the run spawned, and in no others", function()
        w:controller { reconcile = function(object, run)
            assert(kubelua.spawn(function()
                assert(run.client:get("configmaps", object.key))
            end):wait())
        end }
        w:apply("a")
        assert(w.cluster:settle())
        assert(w.client:get("configmaps", "web/a"))
        local gets = w.cluster:requests { verb = "get", name = "a" }
        assert.equal("web/a", gets[1].key)
        assert.is_nil(gets[#gets].key)
        assert.is_nil(w.cluster:requests({ verb = "watch" })[1].controller)
    end)

    it("does not have them if the client connects to a port", function()
        local client = assert(kubelua.connect { server = assert(w.cluster:listen()) })
        w:controller { reconcile = function(object)
            assert(client:get("configmaps", object.key))
            w:note(object.key)
        end }
        w:apply("a")
        w:noted()
        client:close()
        local gets = w.cluster:requests { verb = "get", name = "a" }
        assert.equal(1, #gets)
        assert.is_nil(gets[1].controller)
    end)
end)
