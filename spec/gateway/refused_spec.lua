-- The table gateway.refused: what the owner says of objects that are not served as they are
-- written. It is bounded, and a namespace has a part of it only.
local compile = require "resty.kubelua.gateway.compile"
local refused = require "resty.kubelua.gateway.refused"

local function go_on() end

-- A table that a batch writes to.
local function new_writing()
    local values, puts = {}, { count = 0 }
    local function put(_, name, key, value)
        assert.equal("gateway.refused", name)
        puts.count = puts.count + 1
        values[key] = value
    end
    return { pace = go_on, values = values, puts = puts, batch = { put = put } }
end

local function count(values)
    local number = 0
    for _ in pairs(values) do
        number = number + 1
    end
    return number
end

-- Reports on Ingresses: { name, kind, message, annotation }; those of the report before have none.
local function publish(self, writing, list)
    local reported = {}
    for name in pairs(self.lists.ingresses) do
        reported[name:match("^Ingress (.*)$")] = {}
    end
    for _, item in ipairs(list) do
        reported[item[1]] = reported[item[1]] or {}
        table.insert(reported[item[1]], { kind = item[2], message = item[3],
            annotation = item[4] })
    end
    self:read_ingresses(reported, go_on)
    self:publish(writing)
end

describe("what is refused", function()
    local self, writing

    before_each(function()
        self, writing = refused.new(), new_writing()
    end)

    it("has a word and a message for each problem of an Ingress", function()
        publish(self, writing, { { "web/a", "unsupported", "no", "x/y" },
            { "web/a", "conflict", "two" }, { "web/b", "foreign", "of another controller" } })
        assert.same({ ["Ingress web/a"] = { { "Unsupported", "x/y: no" }, { "Conflict", "two" } } },
            writing.values)
    end)

    it("writes only what has changed", function()
        publish(self, writing, { { "web/a", "wrong", "1" }, { "web/b", "wrong", "1" } })
        self:publish(writing)
        assert.equal(2, writing.puts.count)
        publish(self, writing, { { "web/a", "wrong", "1" } })
        assert.equal(3, writing.puts.count)
        assert.equal("Ingress web/a", (next(writing.values)))
    end)

    it("cuts long messages and long lists", function()
        local list = {}
        for i = 1, 100 do
            list[i] = { "web/a", "wrong", ("x"):rep(1000) .. i }
        end
        publish(self, writing, list)
        local value = writing.values["Ingress web/a"]
        assert.equal(4, #value)
        assert.equal(("x"):rep(240) .. "...", value[1][2])
    end)

    it("gives a namespace a part of its room, and the next object a place that is free", function()
        local list = {}
        for i = 1, 500 do
            list[i] = { "rubbish/" .. i, "wrong", "x" }
        end
        list[501] = { "web/a", "wrong", "x" }
        publish(self, writing, list)
        assert.equal(51, count(writing.values))
        assert.truthy(writing.values["Ingress web/a"])
        for i = 500, 1, -1 do
            if writing.values["Ingress rubbish/" .. i] then
                table.remove(list, i)
            end
        end
        publish(self, writing, list)
        assert.equal(51, count(writing.values))
        publish(self, writing, {})
        assert.equal(0, count(writing.values))
        publish(self, writing, list)
        assert.equal(51, count(writing.values))
    end)

    it("has at most 1,000 objects", function()
        local list = {}
        for i = 1, 3000 do
            list[i] = { ("n%d/a"):format(i), "wrong", "x" }
        end
        publish(self, writing, list)
        assert.equal(1000, count(writing.values))
    end)

    it("tells of a certificate that cannot be used, until it can", function()
        local known = { ["web/pair"] = { why = "no key" } }
        self:read_secrets { uses = { ["web/pair"] = 1 }, known = known }
        self:publish(writing)
        assert.same({ { "BadCertificate", "no key" } }, writing.values["Secret web/pair"])
        known["web/pair"].why = nil
        self:read_secrets { uses = { ["web/pair"] = 1 }, known = known }
        self:publish(writing)
        assert.same({}, writing.values)
        known["web/pair"].why = "no key"
        self:read_secrets { uses = {}, known = known }
        self:publish(writing)
        assert.same({}, writing.values, "none names it")
    end)

    it("tells of a script that does not compile, and of an object that is too large", function()
        self:read_scripts { known = { ["web/a"] = { why = "no end" }, ["web/b"] = {} } }
        self:tell("HTTPRoute web/large", { reason = "LimitExceeded", message = "large" })
        self:publish(writing)
        assert.same({ ["ConfigMap web/a"] = { { "BadScript", "no end" } },
            ["HTTPRoute web/large"] = { { "LimitExceeded", "large" } } }, writing.values)
        self:read_scripts { known = { ["web/b"] = {} } }
        self:tell("HTTPRoute web/large", nil)
        self:publish(writing)
        assert.same({}, writing.values)
    end)

    it("takes routes whose parents are no list, or no objects", function()
        local compiler = compile.new { now = function() return "" end }
        for i, parents in ipairs { 0, "x", true, { 1 }, { "x" }, { { namespace = true } } } do
            compiler:set("HTTPRoute", { kind = "HTTPRoute", metadata = { namespace = "bad",
                name = "r" .. i, uid = "u" .. i }, spec = { parentRefs = parents } })
        end
        compiler:set("HTTPRoute", { kind = "HTTPRoute", metadata = { namespace = "bad",
            name = "r0", uid = "u0" }, spec = 0 })
        compiler:run()
        self:read_compiler(compiler, go_on)
        self:publish(writing)
    end)

    it("says that a Gateway is not there, and forgets it when it comes", function()
        local compiler = compile.new {}
        local function run()
            compiler:run()
            self:read_compiler(compiler, go_on)
            self:publish(writing)
        end
        compiler:set("HTTPRoute", { metadata = { namespace = "web", name = "a", generation = 1 },
            spec = { parentRefs = { { name = "main" } }, rules = {} } })
        run()
        assert.same({ { "NoMatchingParent", "there is no Gateway web/main" } },
            writing.values["HTTPRoute web/a"])
        compiler:set("Gateway", { metadata = { namespace = "web", name = "main", generation = 1 },
            spec = { gatewayClassName = "of-another", listeners = {} } })
        run()
        assert.same({}, writing.values)
        compiler:delete("Gateway", { metadata = { namespace = "web", name = "main" } })
        run()
        assert.truthy(writing.values["HTTPRoute web/a"])
        compiler:delete("HTTPRoute", { metadata = { namespace = "web", name = "a" } })
        run()
        assert.same({}, writing.values)
    end)
end)
