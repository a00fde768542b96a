-- kubelua.http: requests to servers that are no API servers; over the network, and answered by a
-- test.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

describe("kubelua.http over the network", function()
    local cluster, url

    before_each(function()
        cluster = assert(Sim.new { token = "secret" })
        url = assert(cluster:listen { tls = true })
    end)

    after_each(function() cluster:close() end)

    local function ca()
        local data = cluster:kubeconfig():match("certificate%-authority%-data: *\"?([%w+/=]+)")
        return assert(kubelua.unbase64(data))
    end

    it("sends the Authorization that it is given, and trusts the CA that it is given", function()
        local reply = assert(kubelua.http(url .. "/version",
            { headers = { authorization = "Bearer secret" }, ca_data = ca() }))
        assert.equal(200, reply.status)
        assert.is_string(kubelua.decode(reply.body).gitVersion)
        assert.matches("^application/json", reply.headers["content-type"])
        assert.equal(url .. "/version", reply.url)
    end)

    it("fails with the server's status, and gives its answer", function()
        local value, message, code, reply = kubelua.http(url .. "/api", { ca_data = ca() })
        assert.is_nil(value)
        assert.equal("unauthorized", code)
        assert.matches("^GET https://[%d.:]+/api: ", message)
        assert.equal(401, reply.status)
    end)

    it("trusts no certificate that the system does not know", function()
        local value, _, code = kubelua.http(url .. "/version")
        assert.is_nil(value)
        assert.equal("tls", code)
    end)

    it("takes a client certificate and its key as texts", function()
        local pem = "-----BEGIN %s-----\nMAA=\n-----END %s-----\n"
        local given = { ca_data = ca(), key_data = pem:format("PRIVATE KEY", "PRIVATE KEY"),
            cert_data = pem:format("CERTIFICATE", "CERTIFICATE") }
        local _, message, code = kubelua.http(url .. "/version", given)
        assert.equal("tls", code)
        assert.matches("client certificate for %S+ is not usable: .* cert_data", message)
        given.key_data = nil
        _, message, code = kubelua.http(url .. "/version", given)
        assert.equal("config", code)
        assert.matches("a client certificate without its key", message, 1, true)
    end)

    it("sends a body, a query and a method", function()
        local reply = assert(kubelua.http(url .. "/api/v1/namespaces/default/configmaps", {
            method = "POST", query = { dryRun = "All" }, ca_data = ca(),
            headers = { Authorization = "Bearer secret" },
            body = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } } }))
        assert.equal(201, reply.status)
        assert.is_nil(cluster:get("configmaps", "default/a"))
    end)

    it("is over when its time is over, and lets other tasks run", function()
        cluster:freeze { verb = "get", resource = "configmaps", count = 0 }
        local ticks, code = 0, nil
        local ticker = kubelua.every(0.001, function() ticks = ticks + 1 end)
        local task = kubelua.spawn(function()
            code = select(3, kubelua.http(url .. "/api/v1/namespaces/default/configmaps/a",
                { timeout = 0.2, ca_data = ca(), headers = { Authorization = "Bearer secret" } }))
        end)
        task:wait(20)
        ticker.stop()
        assert.equal("timeout", code)
        assert.is_true(ticks > 2)
        cluster:heal()
    end)

    it("is cancelled with its task", function()
        cluster:freeze { verb = "get", resource = "configmaps", count = 0 }
        local task = kubelua.spawn(kubelua.http, url .. "/api/v1/namespaces/default/configmaps/a",
            { ca_data = ca(), headers = { Authorization = "Bearer secret" } })
        kubelua.step(0.01)
        task:cancel()
        assert.equal("canceled", select(3, task:wait(20)))
        cluster:heal()
    end)

    it("names what is wrong with a URL or an option, at the script's line", function()
        local function raises(text, ...)
            local ok, problem = pcall(kubelua.http, ...)
            assert.is_false(ok)
            assert.matches(text, problem, 1, true)
        end
        raises("a URL expected")
        raises("begins with http:// or https://", "example.com/zones")
        raises("must not have a user", "https://user:word@example.com/")
        raises("percent-encoded", "https://example.com/a b")
        raises("do you mean 'timeout'", "https://example.com/", { timeuot = 5 })
        raises("from 0", "https://example.com/", { timeout = -1 })
        local _, problem = pcall(kubelua.http, "https://user:hidden7@a/")
        assert.is_nil(problem:find("hidden7"))
    end)
end)

describe("kubelua.http under a test", function()
    local cluster, asked, path

    before_each(function()
        cluster, asked, path = assert(Sim.new()), {}, os.tmpname()
    end)

    after_each(function()
        cluster:close()
        os.remove(path)
    end)

    -- Runs kubelua.http in a script; returns its results.
    local function ask(...)
        local file = assert(io.open(path, "w"))
        file:write('return require("kubelua").http(...)')
        file:close()
        return cluster:run(path, ...)
    end

    -- A server that notes each request; `answers` has the answer by URL.
    local function serve(answers)
        for url, answer in pairs(answers) do
            cluster:serve(url, function(request)
                asked[#asked + 1] = request
                return answer
            end)
        end
    end

    it("is answered by the test, which sees the request", function()
        cluster:serve("https://dns.example.com/zones", function(request)
            asked[1] = request
            return { status = 201, headers = { ["X-Zone"] = "1" }, body = { id = 7 } }
        end)
        local reply = assert(ask("https://DNS.example.com/zones/a?x=1%202&y", { method = "POST",
            headers = { ["X-Key"] = "k" }, body = { name = "a" } }))
        assert.equal(201, reply.status)
        assert.equal("1", reply.headers["x-zone"])
        assert.equal(7, kubelua.decode(reply.body).id)
        assert.equal("POST", asked[1].method)
        assert.equal("/zones/a", asked[1].path)
        assert.same({ x = "1 2", y = "" }, asked[1].query)
        assert.equal("k", asked[1].headers["x-key"])
        assert.equal('{"name":"a"}', asked[1].body)
    end)

    it("reaches no server that the test does not answer for", function()
        serve { ["https://example.com/zones"] = "here" }
        for _, url in ipairs { "https://example.com/zonesmore", "https://example.com/",
            "http://example.com/zones", "https://example.com:8443/zones" } do
            local value, message, code = ask(url)
            assert.is_nil(value)
            assert.matches("answer it with cluster:serve", message, 1, true)
            assert.equal("unavailable", code)
        end
        assert.equal("here", assert(ask("https://example.com/zones/")).body)
        cluster:serve("https://example.com/zones", nil)
        assert.is_nil(ask("https://example.com/zones"))
    end)

    it("fails as the test says", function()
        cluster:serve("https://example.com", function() return nil, "too slow", "timeout" end)
        local value, message, code = ask("https://example.com/a")
        assert.is_nil(value)
        assert.equal("GET https://example.com/a: too slow", message)
        assert.equal("timeout", code)
        serve { ["https://example.com"] = { status = 503, body = "later" } }
        local _, _, refused, reply = ask("https://example.com/a")
        assert.equal("unavailable", refused)
        assert.equal(503, reply.status)
    end)

    it("follows redirects of GET and HEAD, however they are written", function()
        for location, wanted in pairs { ["https://b.example.com/x"] = "https://b.example.com/x",
            ["//b.example.com/x"] = "https://b.example.com/x",
            ["/x?y=1"] = "https://a.example.com/x?y=1",
            ["d"] = "https://a.example.com/b/d", ["../d/./e"] = "https://a.example.com/d/e",
            ["?z=1"] = "https://a.example.com/b/c?z=1", ["#part"] = "https://a.example.com/b/c" } do
            serve { ["https://a.example.com"] = "end", ["https://b.example.com"] = "end" }
            local is_first = true
            cluster:serve("https://a.example.com/b/c", function()
                if is_first then
                    is_first = false
                    return { status = 302, headers = { Location = location } }
                end
                return "end"
            end)
            local reply = assert(ask("https://a.example.com/b/c"))
            assert.equal("end", reply.body)
            assert.equal(wanted, reply.url)
        end
    end)

    it("follows no redirect of another method, and gives its answer", function()
        serve { ["https://a.example.com"] = { status = 307, headers = { Location = "/b" } } }
        local reply = assert(ask("https://a.example.com", { method = "POST" }))
        assert.equal(307, reply.status)
        assert.equal("/b", reply.headers.location)
        assert.equal(1, #asked)
    end)

    it("follows ten redirects, and no more", function()
        local count = 0
        cluster:serve("https://a.example.com", function(request)
            count = count + 1
            local left = tonumber(request.path:match("%d+"))
            return left == 0 and "end" or { status = 301,
                headers = { Location = "/" .. left - 1 } }
        end)
        assert.equal("end", assert(ask("https://a.example.com/10")).body)
        count = 0
        local value, message, code = ask("https://a.example.com/11")
        assert.is_nil(value)
        assert.matches("more than 10 times", message)
        assert.equal("unavailable", code)
        assert.equal(11, count)
    end)

    it("follows no redirect from https to http", function()
        serve { ["https://a.example.com"] = { status = 301,
            headers = { Location = "http://a.example.com/" } }, ["http://a.example.com"] = "end" }
        local value, message, code, reply = ask("https://a.example.com")
        assert.is_nil(value)
        assert.matches("from https to http://a.example.com/", message)
        assert.equal("unavailable", code)
        assert.equal(301, reply.status)
        assert.equal(1, #asked)
    end)

    it("takes no credential to another server", function()
        local headers = { Authorization = "Bearer x", Cookie = "c=1", ["X-Api-Key"] = "k",
            Accept = "text/plain" }
        for _, other in ipairs { "https://b.example.com/", "https://a.example.com:8443/" } do
            asked = {}
            serve { ["https://a.example.com"] = { status = 302, headers = { Location = other } },
                [other] = "end" }
            assert.equal("end", assert(ask("https://a.example.com", { headers = headers })).body)
            assert.equal("Bearer x", asked[1].headers.authorization)
            assert.same({ accept = "text/plain" }, asked[2].headers)
        end
        serve { ["https://a.example.com"] = { status = 302, headers = { Location = "/same" } },
            ["https://a.example.com/same"] = "end" }
        asked = {}
        assert(ask("https://a.example.com", { headers = headers }))
        assert.equal("Bearer x", asked[2].headers.authorization)
    end)

    it("may be answered late, on the test's clock", function()
        cluster:close()
        cluster = assert(Sim.new { clock = "fake" })
        local log = {}
        cluster:serve("https://a.example.com", function()
            kubelua.sleep(60)
            return "late"
        end)
        local file = assert(io.open(path, "w"))
        file:write([[local log, kubelua = ..., require "kubelua"
            kubelua.spawn(function()
                log[1] = kubelua.http("https://a.example.com", { timeout = 61 }).body
            end)
            kubelua.spawn(function()
                log[2] = select(3, kubelua.http("https://a.example.com", { timeout = 59 }))
            end)]])
        file:close()
        cluster:run(path, log)
        cluster:advance(59)
        assert.is_nil(log[1])
        cluster:advance(1)
        assert.equal("late", log[1])
        assert.equal("timeout", log[2])
    end)

    it("refuses what a function of the test must not return", function()
        cluster:serve("https://a.example.com", function() return 5 end)
        assert.error_matches(function() ask("https://a.example.com") end, "returned a number")
        assert.error_matches(function() cluster:serve("a.example.com", print) end,
            "begins with http")
    end)
end)
