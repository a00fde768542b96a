-- The certificates that kubelua run --admit makes for itself: when which is renewed, the Secret
-- that replicas share, and the configurations.
local admission = require "kubelua.admission"
local admitting = require "kubelua.cli.admitting"
local clients = require "kubelua.client"
local eventually = require "eventually"
local identity = require "kubelua.admission.identity"
local kubelua = require "kubelua"
local new_secret = require "kubelua.admission.secret"
local serve = require "kubelua.serve"
local Sim = require "kubelua.sim"

local DAY, NAMES, START = 86400, { "a.b.svc", "10.0.0.1" }, 1700000000

local function read(data, name)
    return assert(serve.read_certificate(data[name]))
end

local function count_authorities(data)
    return select(2, data["ca.crt"]:gsub("BEGIN CERTIFICATE", ""))
end

describe("the identity of a server of webhooks", function()
    it("is made of nothing, and stays while it is good", function()
        local data = assert(identity.renew({}, NAMES, START, false))
        assert.same(NAMES, read(data, "tls.crt").names)
        assert.equal(read(data, "ca.crt").subject, read(data, "tls.crt").issuer)
        assert.is_true(serve.fits(data["tls.crt"], data["tls.key"]))
        for _, days in ipairs { 0, 1, 59 } do
            assert.is_nil(identity.renew(data, NAMES, START + days * DAY, true))
        end
    end)

    it("gets a new certificate of the same CA when a third of its time is left", function()
        local data = assert(identity.renew({}, NAMES, START, false))
        local new = assert(identity.renew(data, NAMES, START + 61 * DAY, false))
        assert.equal(data["ca.crt"], new["ca.crt"])
        assert.not_equal(data["tls.crt"], new["tls.crt"])
        assert.equal(START + 151 * DAY, read(new, "tls.crt").ends_at)
    end)

    it("trusts a new CA before it uses it, and the old one until it ends", function()
        local data = assert(identity.renew({}, NAMES, START, false))
        local now = START + 200 * DAY
        data = assert(identity.renew(data, NAMES, now, true))
        now = START + 245 * DAY
        local both = assert(identity.renew(data, NAMES, now, true))
        assert.equal(2, count_authorities(both))
        assert.equal(data["tls.crt"], both["tls.crt"])
        assert.not_equal(data["ca.key"], both["ca.key"])
        assert.is_nil(identity.renew(both, NAMES, now + 3599, true)) -- too early
        assert.is_nil(identity.renew(both, NAMES, now + DAY, false)) -- not in the configurations
        local used = assert(identity.renew(both, NAMES, now + 3600, true))
        assert.equal(both["ca.crt"], used["ca.crt"])
        assert.equal(read(both, "ca.crt").subject, read(used, "tls.crt").issuer)
        local much_later = assert(identity.renew(used, NAMES, START + 495 * DAY, true))
        assert.equal(2, count_authorities(much_later)) -- the first has ended, a third is there
    end)

    it("is made anew where it cannot be used", function()
        local data = assert(identity.renew({}, NAMES, START, false))
        local other = assert(identity.renew({}, NAMES, START, false))
        for name, text in pairs { ["tls.key"] = other["tls.key"], ["tls.crt"] = other["tls.crt"],
            ["ca.key"] = "x", ["ca.crt"] = "rubbish" } do
            local broken = {}
            for each, value in pairs(data) do
                broken[each] = each == name and text or value
            end
            local new = assert(identity.renew(broken, { "new.svc" }, START, false), name)
            assert.is_true(serve.fits(new["tls.crt"], new["tls.key"]))
            assert.same({ "new.svc" }, read(new, "tls.crt").names)
            assert.equal(read(new, "ca.crt").subject, read(new, "tls.crt").issuer)
            assert.is_nil(identity.renew(new, { "new.svc" }, START, false))
        end
        local ended = assert(identity.renew(data, NAMES, START + 1000 * DAY, false))
        assert.equal(1, count_authorities(ended))
    end)

    local function is_signed(data)
        return serve.is_signed(data["tls.crt"], data["ca.crt"])
    end

    it("does not believe names: another CA has the same one", function()
        local data = assert(identity.renew({}, NAMES, START, false))
        local other = assert(identity.renew({}, NAMES, START, false))
        assert.equal(read(data, "ca.crt").subject, read(other, "ca.crt").subject)
        assert.is_true(is_signed(data))
        data["tls.crt"], data["tls.key"] = other["tls.crt"], other["tls.key"]
        assert.is_false(is_signed(data))
        assert.is_true(is_signed(assert(identity.renew(data, NAMES, START, false))))
    end)

    it("is not signed with a key that is not that of the CA", function()
        local data = assert(identity.renew({}, NAMES, START, false))
        data["ca.key"] = assert(identity.renew({}, NAMES, START, false))["ca.key"]
        local new = assert(identity.renew(data, NAMES, START + 61 * DAY, false))
        assert.is_true(is_signed(new))
    end)
end)

describe("the Secret of replicas", function()
    local cluster, client

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
    end)

    after_each(function()
        client:close()
        cluster:close()
    end)

    local function never() return false end

    it("is made once, also by two at the same moment", function()
        local results, tasks = {}, {}
        for i = 1, 4 do
            tasks[i] = kubelua.spawn(function()
                results[i] = assert(new_secret(client, "default", "s", NAMES):read(never))
            end)
        end
        for _, task in ipairs(tasks) do
            task:wait(20)
        end
        for i = 2, 4 do
            assert.same(results[1], results[i])
        end
    end)

    it("is made again when it was deleted, and says why it cannot be", function()
        local secret = new_secret(client, "default", "s", NAMES)
        local first = assert(secret:read(never))
        assert(client:delete("secrets", "default/s"))
        assert.not_equal(first["tls.crt"], assert(secret:read(never))["tls.crt"])
        cluster:fail { verb = "get", resource = "secrets", status = 403, count = 1 }
        local data, _, code = secret:read(never)
        assert.is_nil(data)
        assert.equal("forbidden", code)
        -- "eAB5": a NUL is in it.
        assert(client:patch("secrets", "default/s", { data = { ["tls.crt"] = "eAB5",
            ["ca.crt"] = "eAB5", ["ca.key"] = "eAB5", ["tls.key"] = "eAB5", other = "eAB5" } }))
        assert.is_true(serve.fits(assert(secret:read(never))["tls.crt"],
            assert(secret:read(never))["tls.key"]))
        assert.equal("eAB5", assert(client:get("secrets", "default/s")).data.other)
        cluster:fail { verb = "update", resource = "secrets", status = 409, count = 1 }
        assert(client:patch("secrets", "default/s", { data = { ["tls.key"] = "eA==" } }))
        assert.is_true(serve.fits(assert(secret:read(never))["tls.crt"],
            assert(secret:read(never))["tls.key"]))
    end)
end)

describe("kubelua run --admit with a Service or a URL", function()
    local cluster, client, before

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
        before = clients.defaults
        clients.defaults = { sim = cluster }
    end)

    after_each(function()
        clients.defaults = before
        client:close()
        cluster:close()
    end)

    it("registers the script's webhooks with its CA", function()
        local server = assert(admitting { admit = { host = "127.0.0.1", port = "0" },
            admit_service = "default/hooks:8443" })
        local hook = kubelua.admit { "ingresses", name = "one", validate = print, mutate = print }
        local name = "default-hooks-admit-one"
        local kinds = { "validatingwebhookconfigurations", "mutatingwebhookconfigurations" }
        for i, phase in ipairs { "validate", "mutate" } do
            local object = eventually(function() return client:get(kinds[i], name) end, phase)
            local told = kubelua.table(object.webhooks[1].clientConfig)
            local data = assert(client:get("secrets", "default/hooks-admit")).data
            assert.same({ ["app.kubernetes.io/managed-by"] = "kubelua",
                ["kubelua.dev/admit-namespace"] = "default", ["kubelua.dev/admit"] = "hooks" },
                kubelua.table(object.metadata.labels))
            assert.same({ caBundle = data["ca.crt"], service = { namespace = "default",
                name = "hooks", port = 8443, path = "/admit/one/" .. phase } }, told)
        end
        hook:stop()
        server:stop()
        assert.same({}, admission.ready())
    end)

    it("says what is wrong with them", function()
        for _, case in ipairs { { "admit_url", "http://a:1", "write https://HOST:PORT" },
            { "admit_url", "https://a:1/path", "write https://HOST:PORT" },
            { "admit_service", "a/b/c", "write NAME, NAMESPACE/NAME" } } do
            local server, message = admitting { admit = { host = "127.0.0.1", port = "0" },
                [case[1]] = case[2] }
            assert.is_nil(server)
            assert.truthy(message:find(case[3], 1, true), message)
        end
        local server, message = admitting { admit = { host = "127.0.0.1", port = "0" } }
        assert.is_nil(server)
        assert.truthy(message:find("one of --admit-service", 1, true), message)
    end)
end)
