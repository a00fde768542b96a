-- cluster:wait: for fields, for conditions, for a deletion; the message when it times out; and
-- misuse, which raises with the name of the call.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local cluster

before_each(function()
    cluster = assert(Sim.new())
    assert(cluster:apply {
        apiVersion = "v1", kind = "Pod",
        metadata = { name = "shop-1", labels = { app = "shop" },
            annotations = { ["example.com/a"] = "1" } },
        spec = { containers = { { name = "main", image = "shop:1" } } },
        status = { phase = "Running", conditions = { { type = "Ready", status = "False" } } },
    })
end)

after_each(function()
    cluster:close()
end)

-- The message of a wait that times out.
local function refusal(condition)
    local found, message, code = cluster:wait("pods", "shop-1", condition, 0.01)
    assert.is_nil(found)
    assert.equal("timeout", code)
    return message
end

local function later(f)
    kubelua.spawn(function()
        kubelua.sleep(0.01)
        assert(f())
    end)
end

describe("a wait", function()
    it("can be for fields", function()
        later(function()
            return cluster:patch("pods", "shop-1", { metadata = { labels = { team = "web" } } })
        end)
        local pod = assert(cluster:wait("pods", "shop-1", { metadata = { labels = {
            team = "web" } }, status = { phase = "Running" } }))
        assert.equal("shop", pod.metadata.labels.app)
        assert(cluster:wait("pods", "shop-1", { spec = { containers = { { image = "shop:1" } } } }))
        assert(cluster:wait("pods", "shop-1", { spec = { nodeName = kubelua.null } }))
    end)

    it("that times out names the field that differs, and the object", function()
        local message = refusal { metadata = { labels = { team = "web" } } }
        assert.matches('metadata.labels.team is absent, not "web"', message, 1, true)
        assert.matches('its status is {.*"phase":"Running"', message)
        assert.matches('"app":"shop"', message, 1, true)
        assert.is_nil(message:find("managedFields", 1, true))
        assert.matches('spec.containers[1].image is "shop:1", not "shop:2"',
            refusal { spec = { containers = { { image = "shop:2" } } } }, 1, true)
        assert.matches('metadata.annotations["example.com/a"] is "1", not absent',
            refusal { metadata = { annotations = { ["example.com/a"] = kubelua.null } } }, 1, true)
        assert.matches("spec.containers is [{", refusal { spec = { containers = {
            { image = "shop:1" }, { image = "proxy:1" } } } }, 1, true)
    end)

    it("can be for a condition of the status", function()
        assert.matches("its condition Ready is False", refusal("Ready"), 1, true)
        assert.matches("it has no condition Initialized", refusal("Initialized"), 1, true)
        later(function()
            return cluster:apply { apiVersion = "v1", kind = "Pod", metadata = { name = "shop-1" },
                status = { conditions = { { type = "Ready", status = "True" } } } }
        end)
        assert.equal("shop-1", assert(cluster:wait("pods", "shop-1", "Ready")).name)
    end)

    it("can be for a deletion", function()
        assert.matches('"app":"shop"', refusal("deleted"), 1, true)
        later(function()
            return cluster:delete("pods", "shop-1", { grace = 0 })
        end)
        assert.is_true(cluster:wait("pods", "shop-1", "deleted"))
        assert.matches('the object does not exist: pods "shop-1" not found', refusal("Ready"),
            1, true)
    end)

    it("does not count an object of an unserved kind as deleted", function()
        for _, condition in ipairs { "deleted", function(pod) return not pod end } do
            local gone, message, code = cluster:wait("podz", "shop-1", condition, 0.01)
            assert.is_nil(gone)
            assert.equal("timeout", code)
            assert.matches('do you mean "pods"', message, 1, true)
        end
    end)

    it("that times out says that the kind is not served", function()
        local _, message = cluster:wait("podz", "shop-1", nil, 0.01)
        assert.matches('do you mean "pods"', message, 1, true)
    end)
end)

describe("misuse", function()
    local function expect(pattern, f)
        local ok, message = pcall(f)
        assert.is_false(ok)
        assert.matches(pattern, message, 1, true)
    end

    it("of a wait names its arguments", function()
        expect('wait: write wait("pods"', function() cluster:wait("pods") end)
        expect("wait: the condition is", function() cluster:wait("pods", "a", 5) end)
        expect("wait: how many seconds?", function() cluster:wait("pods", "a", nil, "x") end)
        expect("eventually: how many seconds?", function() cluster:eventually(print, "x") end)
    end)

    it("of keys, kinds and objects raises", function()
        for _, key in ipairs { "", "a/", "a/b/c", "/" } do
            expect('get: write get("pods"', function() cluster:get("pods", key) end)
        end
        expect("list: a resource expected", function() cluster:list() end)
        expect("not nil", function() cluster:apply() end)
        expect("patch: a table or a text", function() cluster:patch("pods", "shop-1") end)
        expect("update: the object needs metadata.name", function()
            cluster:update { apiVersion = "v1", kind = "Pod" }
        end)
        expect("objects go to cluster:apply", function() cluster:load {} end)
        expect("run: the path of a script", function() cluster:run() end)
        expect("refuse: a rule such as", function() cluster:refuse(2) end)
        expect("freeze: a rule such as", function() cluster:freeze("pods") end)
        expect("controllers: a client expected", function()
            require("kubelua.sim.controllers").start(cluster)
        end)
        expect("a hundred years", function() cluster:advance(1e12) end)
        expect("fault: a table expected", function() cluster:cut("watch") end)
        expect('a group of user "jane" is a text', function()
            Sim.new { users = { { name = "jane", token = "a", groups = { 5 } } } }
        end)
        expect("the path of a manifest", function() Sim.new { load = { 5 } } end)
    end)

    it("of a path instead of a manifest, or of a closed cluster, raises", function()
        local _, message = cluster:apply("examples/cluster.yaml")
        assert.matches('not the text "examples/cluster.yaml"', message, 1, true)
        local other = assert(Sim.new())
        other:close()
        expect("run: the cluster is closed", function() other:run("examples/watch.lua") end)
    end)

    it("of a version names the one that is served", function()
        local _, message = cluster:apply { apiVersion = "extensions/v1beta1", kind = "Deployment",
            metadata = { name = "a" } }
        assert.equal("extensions/v1beta1 has no Deployment; it is served as apps/v1", message)
    end)
end)
