-- Verbs with wrong arguments raise an error with the script's line.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local cluster, client

before_each(function()
    cluster = assert(Sim.new())
    client = assert(cluster:connect())
end)

after_each(function()
    client:close()
    cluster:close()
end)

-- The error has the line of the script that calls.
local function expect_misuse(text, f)
    local ok, message = pcall(f)
    assert.is_false(ok)
    assert.truthy(message:find(text, 1, true), message)
    assert.truthy(message:find("^spec/lua/verbs_misuse_spec%.lua:%d+: "), message)
end

describe("a verb raises at its line", function()
    it("if its target is wrong", function()
        for _, verb in ipairs { "get", "delete", "patch", "wait" } do
            local call = client[verb]
            expect_misuse(verb .. ": a resource and a key expected", function() call(client) end)
            expect_misuse(verb .. ": a resource and a key expected", function() call(client, 5) end)
            expect_misuse(verb .. ': write ' .. verb .. '("pods", "namespace/name")',
                function() call(client, "pods") end)
            for _, key in ipairs { "", "/", "a/", "/a", "a/b/c" } do
                expect_misuse("is not a key", function() call(client, "pods", key) end)
            end
            expect_misuse("cannot be a namespace", function() call(client, "pods", "A_/b") end)
        end
        expect_misuse("list: a resource expected", function() client:list {} end)
        expect_misuse("cannot be a namespace", function()
            client:list("pods", { namespace = "a,b" })
        end)
    end)

    it("if it gets a part of an object", function()
        local pods = assert(client:get("ns", "default"))
        expect_misuse("part of an object", function() client:delete(pods.metadata) end)
        expect_misuse("part of an object", function() client:create(pods.metadata) end)
        expect_misuse("not nil", function() client:create() end)
        expect_misuse("not a number", function() client:apply(5) end)
    end)

    it("if an option is unknown, or of a wrong type", function()
        local map = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } }
        for call, f in pairs {
            get = function(o) client:get("cm", "a", o) end,
            list = function(o) client:list("cm", o) end,
            create = function(o) client:create(map, o) end,
            update = function(o) client:update(map, o) end,
            apply = function(o) client:apply(map, o) end,
            patch = function(o) client:patch("cm", "a", {}, o) end,
            scale = function(o) client:scale("deploy", "a", 1, o) end,
            delete = function(o) client:delete("cm", "a", o) end,
            delete_all = function(o) client:delete_all("cm", o) end,
            evict = function(o) client:evict("a", o) end,
        } do
            expect_misuse(call .. ": there is no option 'timeot'; do you mean 'timeout'?",
                function() f { timeot = 1 } end)
            expect_misuse(call .. ": 'timeout' must be a number",
                function() f { timeout = "1" } end)
            expect_misuse(call .. ": a table of options expected", function() f(5) end)
        end
        expect_misuse('do you mean "merge"', function()
            client:patch("cm", "a", {}, { type = "merg" })
        end)
        expect_misuse('do you mean "Foreground"', function()
            client:delete("cm", "a", { propagation = "foreground" })
        end)
        expect_misuse("'grace' is a whole number", function()
            client:delete("cm", "a", { grace = -1 })
        end)
        expect_misuse("'page_size' is a whole number", function()
            client:list("cm", { page_size = 0 })
        end)
        expect_misuse("how many replicas?", function() client:scale("deploy", "a") end)
        expect_misuse("how many replicas?", function() client:scale("deploy", "a", 1.5) end)
        expect_misuse("how many seconds?", function() client:wait("cm", "a", nil, "5") end)
        expect_misuse("wait: the condition is a function", function() client:wait("cm", "a", 5) end)
        expect_misuse("a pod expected", function() client:evict(map) end)
        expect_misuse("patch: a table or a text expected", function() client:patch("cm", "a") end)
    end)

    it("if an object has no name", function()
        expect_misuse("update: the object needs metadata.name", function()
            client:update { apiVersion = "v1", kind = "ConfigMap" }
        end)
        expect_misuse("only create makes a name", function()
            client:apply { apiVersion = "v1", kind = "ConfigMap",
                metadata = { generateName = "a-" } }
        end)
        expect_misuse("has no JSON form", function()
            client:create { apiVersion = "v1", kind = "ConfigMap",
                metadata = { name = "a" }, data = print }
        end)
    end)

    it("if it cannot wait there", function()
        kubelua.spawn(function()
            expect_misuse("client:get inside a coroutine of your own", function()
                coroutine.wrap(function() client:get("cm", "a") end)()
            end)
        end)
        kubelua.step()
    end)
end)
