-- kube.admit in a real nginx: a location answers AdmissionReviews from tables of kube.owner.
local copies = require "nginx_copies"
local eventually = require "eventually"
local kubelua = require "kubelua"
local nginx = require "nginx"
local Sim = require "kubelua.sim"

local HTTP = [[
    client_max_body_size 8m;
    init_by_lua_block {
        kube = require "resty.kubelua"
        assert(kube.init { connect = { server = "%s" }, services = false })
        kube.admit { "ingresses", name = "hosts", tables = { "hosts" },
            validate = function(ingress, _, request, cluster)
                for _, rule in ipairs(ingress.spec.rules) do
                    local other = cluster.lookup("hosts", rule.host)
                    if other and other ~= request.namespace .. "/" .. request.name then
                        return false, "the host " .. rule.host .. " belongs to " .. other
                    end
                end
            end,
            mutate = function(ingress) ingress.spec.seen = true end }
        kube.admit { "ingresses", name = "bad",
            validate = function(i) ngx.sleep(0.01) i.x.y = 1 end }
        said = ""
        for _, given in ipairs { { "pods", validate = print, reads = {} },
            { "pods", validate = print, client = 1 }, { "pods", name = "hosts", validate = print },
            { "pods" }, { "pods", validate = print, tables = { "services" } } } do
            said = said .. tostring(select(2, pcall(kube.admit, given))) .. "\n"
        end
    }
    init_worker_by_lua_block {
        kube.owner(function(kubelua)
            local client = assert(kubelua.connect())
            local ingresses = assert(client:informer { "ingresses", namespace = "*" })
            local function put(ingress)
                for _, rule in kubelua.ipairs(ingress.spec.rules) do
                    kube.put("hosts", rule.host, ingress.key)
                end
            end
            ingresses:on { add = put, synced = function() kube.complete("hosts") end }
        end)
        kube.init_worker {}
    }
]]

local SERVER = [[
    location /admit/ { content_by_lua_block { kube.admission() } }
    location = /said { content_by_lua_block { ngx.print(said) } }
]]

local function ingress(namespace, name, host)
    return { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
        metadata = { name = name, namespace = namespace },
        spec = { rules = { { host = host } } } }
end

local function review(namespace, name, host)
    return kubelua.json { apiVersion = "admission.k8s.io/v1", kind = "AdmissionReview", request = {
        uid = "u", operation = "CREATE", name = name, namespace = namespace,
        kind = { group = "networking.k8s.io", version = "v1", kind = "Ingress" },
        resource = { group = "networking.k8s.io", version = "v1", resource = "ingresses" },
        object = ingress(namespace, name, host) } }
end

describe("kube.admit in nginx", function()
    local sim, one

    before_each(function()
        sim = assert(Sim.new())
        assert(sim:apply(ingress("default", "one", "shop.example.com")))
        local url = assert(sim:listen { address = "127.0.0.1", port = 0 })
        one = nginx.start { workers = 2, http = HTTP:format(url), server = SERVER }
    end)

    after_each(function()
        one:close()
        sim:close()
    end)

    local function post(path, body)
        local file = os.tmpname()
        local out = assert(io.open(file, "w"))
        out:write(body)
        out:close()
        local pipe = assert(io.popen(string.format("curl -s -m 10 -w '\\n%%{http_code}' "
            .. "--data-binary @%s http://127.0.0.1:%d%s", file, one.port, path)))
        local text, status = pipe:read("*a"):match("^(.*)\n(%d+)$")
        pipe:close()
        os.remove(file)
        return tonumber(status), text
    end

    local function respond(path, ...)
        local status, body = post(path, review(...))
        assert.equal(200, status, body)
        return assert(kubelua.decode(body)).response
    end

    it("decides from tables of kube.owner, once they are complete", function()
        local response
        eventually(function()
            response = respond("/admit/hosts/validate", "default", "two", "shop.example.com")
            return response.status.code ~= 503
        end, "the table is complete", 20)
        assert.equal("the host shop.example.com belongs to default/one", response.status.message)
        for _ = 1, 20 do -- in every worker
            assert.is_true(respond("/admit/hosts/validate", "default", "one",
                "shop.example.com").allowed)
            response = respond("/admit/hosts", "default", "two", "b.example.com")
            assert.same({ { op = "add", path = "/spec/seen", value = true } },
                kubelua.decode(kubelua.unbase64(response.patch)))
        end
    end)

    it("answers failures, rubbish and wrong paths with their status", function()
        eventually(function()
            return post("/admit/bad", review("default", "two", "b.example.com")) == 500
        end, "the function is called", 20)
        local _, body = post("/admit/bad", review("default", "two", "b.example.com"))
        assert.truthy(body:find("admit bad: validate failed: ", 1, true), body)
        assert.equal(400, (post("/admit/bad", "rubbish")))
        assert.equal(400, (post("/admit/bad", ("x"):rep(2 ^ 21)))) -- nginx keeps it in a file
        local status
        status, body = post("/admit/none", "x")
        assert.equal(404, status)
        assert.truthy(body:find("there are: bad, hosts", 1, true), body)
        assert.equal(404, (post("/admit/bad/mutate", "x")))
        assert.equal(405, (one:get("/admit/bad")))
    end)

    it("refuses options that have no sense in nginx", function()
        local _, said = one:get("/said")
        for _, text in ipairs { "there is no 'reads' in nginx: a script of kube.owner",
            "there is no 'client' in nginx", "there is one with the name 'hosts' already",
            "give validate, mutate or both", "kube.admit: tables" } do
            assert.truthy(said:find(text, 1, true), text .. " is not in\n" .. said)
        end
    end)
end)

-- The conf of docs/ADMISSION.md: the certificate is made by the owner.
local OWN_HTTP = [[
    init_by_lua_block {
        kube = require "resty.kubelua"
        assert(kube.init { connect = { server = "@server@" }, services = false,
            tables = { "hosts" } })
        kube.admit_certificate { url = "https://127.0.0.1:@tls@" }
        kube.admit { "ingresses", name = "hosts", validate = function(_, _, _, cluster)
            return false, "it is " .. cluster.lookup("hosts", "a") end }
        said = ""
        for _, given in ipairs { {}, { url = "https://a:1", service = "b" }, { host = "a" } } do
            said = said .. tostring(select(2, pcall(kube.admit_certificate, given))) .. "\n"
        end
    }
    init_worker_by_lua_block {
        kube.owner(function()
            kube.put("hosts", "a", "there")
            kube.complete("hosts")
        end)
        kube.init_worker {}
    }
    server {
        listen 127.0.0.1:@tls@ ssl;
        ssl_certificate data:$ssl_server_name;
        ssl_certificate_key data:$ssl_server_name;
        ssl_certificate_by_lua_block { kube.admit_handshake() }
        location /admit/ { content_by_lua_block { kube.admission() } }
    }
]]

local OWN_SERVER = [[
    location = /said { content_by_lua_block { ngx.print(said) } }
    location = /ready { content_by_lua_block { ngx.exit(kube.synced() and 200 or 503) } }
]]

describe("kube.admit_certificate", function()
    local sim, client, one, tls

    before_each(function()
        sim = assert(Sim.new())
        client = assert(sim:connect())
        tls = copies.free_ports(1)[1]
        local values = { server = assert(sim:listen { address = "127.0.0.1", port = 0 }),
            tls = tls }
        one = nginx.start { workers = 2, server = OWN_SERVER,
            http = (OWN_HTTP:gsub("@(%l+)@", values)) }
    end)

    after_each(function()
        one:close()
        client:close()
        sim:close()
    end)

    local function registered()
        return client:get("validatingwebhookconfigurations",
            "default-admit-127-0-0-1-hosts")
    end

    -- Asks as the API server does: it trusts the CAs of the configuration, and nothing else.
    local function ask(bundle)
        local ca, body = os.tmpname(), os.tmpname()
        for path, text in pairs { [ca] = bundle, [body] = review("default", "two", "h") } do
            local out = assert(io.open(path, "w"))
            out:write(text)
            out:close()
        end
        local pipe = assert(io.popen(("curl -sS -m 10 --cacert %s --data-binary @%s "
            .. "https://127.0.0.1:%d/admit/hosts/validate 2>&1"):format(ca, body, tls)))
        local text = pipe:read("*a")
        pipe:close()
        os.remove(ca)
        os.remove(body)
        return text
    end

    local function bundle_of(object)
        return assert(kubelua.unbase64(object.webhooks[1].clientConfig.caBundle))
    end

    it("is made, registered and served in every worker", function()
        local object = eventually(registered, "the webhook is registered", 20)
        assert.equal(200, (one:get("/ready")))
        assert.equal(("https://127.0.0.1:%d/admit/hosts"):format(tls),
            object.webhooks[1].clientConfig.url)
        for _ = 1, 10 do
            local text = ask(bundle_of(object))
            assert.truthy(text:find("it is there", 1, true), text)
        end
        local _, said = one:get("/said")
        for _, text in ipairs { "give service = ", "'host'" } do
            assert.truthy(said:find(text, 1, true), said)
        end
    end)

    it("is that of the Secret, also after a kill of all workers and a new Secret", function()
        local before = bundle_of(eventually(registered, "the webhook is registered", 20))
        for _, pid in ipairs(one:workers()) do
            one:signal("KILL", pid)
        end
        assert(client:delete("secrets", "default/admit-127-0-0-1"))
        local after = eventually(function()
            local bundle = bundle_of(registered())
            return bundle ~= before and bundle
        end, "a new CA is registered", 40)
        eventually(function()
            return ask(after):find("it is there", 1, true)
        end, "the new certificate is served", 20)
        assert.truthy(ask(before):find("certificate", 1, true))
    end)
end)
