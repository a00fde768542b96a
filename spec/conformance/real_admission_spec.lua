-- kubelua.admit and kubelua run --admit, asked by a real kube-apiserver.
local admitting = require "kubelua.cli.admitting"
local clients = require "kubelua.client"
local conformance = require "conformance"
local core = require "kubelua.core"
local eventually = require "eventually"
local identity = require "kubelua.admission.identity"
local kubelua = require "kubelua"

if not (os.getenv("KUBELUA_BACKEND") or ""):find("real", 1, true) then
    return
end

local serve = require "kubelua.serve"

local function write_file(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
end

-- A server of webhooks with a certificate of its own, and what the API server knows of it.
local function start(cluster)
    local world = { path = os.tmpname(), hooks = {}, made = {} }
    world.client = assert(kubelua.connect { kubeconfig = cluster.folder .. "/kubeconfig" })
    world.ca, world.ca_key = assert(serve.make_authority("spec", core.unix(), 3600))
    function world.certify()
        return serve.make_certificate(world.ca, world.ca_key, { "127.0.0.1" }, core.unix(), 600)
    end
    local cert, key = assert(world.certify())
    write_file(world.path .. ".crt", cert)
    write_file(world.path .. ".key", key)
    world.server = assert(admitting { admit = { host = "127.0.0.1", port = "0" },
        admit_cert = world.path .. ".crt", admit_key = world.path .. ".key" })

    -- Registers a webhook for one namespace, and waits until the API server asks it: `is_asked` is
    -- true then.
    function world.admit(given, is_asked)
        local hook = assert(kubelua.admit(given))
        world.hooks[#world.hooks + 1] = hook
        for _, object in ipairs(hook:configuration { ca = world.ca,
            url = "https://127.0.0.1:" .. world.server:port() }) do
            world.made[#world.made + 1] = assert(world.client:apply(object))
        end
        eventually(is_asked, "the API server asks " .. given.name)
    end

    function world.stop()
        for _, object in ipairs(world.made) do
            assert(world.client:delete(object))
        end
        for _, hook in ipairs(world.hooks) do
            hook:stop()
        end
        world.server:stop()
        world.client:close()
        for _, ending in ipairs { "", ".crt", ".key" } do
            os.remove(world.path .. ending)
        end
    end
    return world
end

local function config_map(namespace, name, data)
    return { apiVersion = "v1", kind = "ConfigMap", data = data,
        metadata = { name = name, namespace = namespace } }
end

local function ingress(namespace, name, host)
    return { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
        metadata = { name = name, namespace = namespace },
        spec = { rules = { { host = host, http = { paths = { { path = "/", pathType = "Prefix",
            backend = { service = { name = "svc", port = { number = 80 } } } } } } } } } }
end

conformance.describe("A real API server", function(it, cluster)
    it("asks a script that sees other objects", function(scene)
        local world, ns = start(cluster), scene.namespace
        local client = world.client
        local ok, problem = pcall(function()
            world.admit({ "ingresses", name = "hosts", namespaces = { ns }, client = client,
                reads = { { "ingresses", namespace = ns,
                    indexes = { host = "spec.rules[*].host" } } },
                validate = function(object, _, request, all)
                    local host = object.spec.rules[1].host
                    for _, other in ipairs(all:by("ingresses", "host", host)) do
                        if other.name ~= request.name then
                            return false, "the host " .. host .. " belongs to " .. other.key
                        end
                    end
                    return host ~= "probe", "asked"
                end }, function()
                    local _, message = client:create(ingress(ns, "probe", "probe"),
                        { dry_run = true })
                    return message and message:find("asked", 1, true)
                end)
            assert(client:create(ingress(ns, "one", "shop.example.com")))
            local _, message, code
            eventually(function()
                _, message, code = client:create(ingress(ns, "two", "shop.example.com"),
                    { dry_run = true })
                return message
            end, "the cache has the first")
            assert.equal("forbidden", code)
            assert.truthy(message:find("admission webhook \"hosts.kubelua.dev\" denied the request:"
                .. " the host shop.example.com belongs to " .. ns .. "/one", 1, true), message)
            assert(client:apply(ingress(ns, "one", "shop.example.com"))) -- its own
            assert(client:delete("ingresses", ns .. "/one"))
            eventually(function()
                return client:create(ingress(ns, "two", "shop.example.com"))
            end, "the host is free")
        end)
        world.stop()
        assert(ok, problem)
    end)

    it("takes what mutate changes, in its order, and tells of a dry run", function(scene)
        local world, ns = start(cluster), scene.namespace
        local client = world.client
        local ok, problem = pcall(function()
            local is_dry, who
            world.admit({ "configmaps", name = "change", namespaces = { ns },
                mutate = function(object, _, request)
                    is_dry, who = request.dryRun, request.userInfo.username
                    request:warn("changed %s", object.metadata.name)
                    object.metadata.labels = { ["a/b"] = "d" }
                    object.data = { x = object.data.x .. "!", list = nil, new = "1" }
                end,
                validate = function(object)
                    return object.data.x ~= "no!", "after mutate"
                end }, function()
                    local made = client:create(config_map(ns, "probe", { x = "y" }),
                        { dry_run = true })
                    local _, message = client:create(config_map(ns, "probe", { x = "no" }),
                        { dry_run = true })
                    return made and made.data.new and message
                        and message:find("after mutate", 1, true)
                end)
            assert.is_true(is_dry)
            local made = assert(client:create(config_map(ns, "one", { x = "y", list = "z" })))
            assert.is_false(is_dry)
            assert.equal("admin", who)
            assert.same({ x = "y!", new = "1" }, kubelua.table(made.data))
            assert.same({ ["a/b"] = "d" }, kubelua.table(made.metadata.labels))
        end)
        world.stop()
        assert(ok, problem)
    end)

    it("decides by the failure policy if a function fails, or is late", function(scene)
        local world, ns = start(cluster), scene.namespace
        local client = world.client
        local calls = 0
        local function fail(object)
            calls = calls + 1
            if object.metadata.name == "late" then
                kubelua.sleep(60)
            end
            error("a mistake")
        end
        local ok, problem = pcall(function()
            local function is_asked()
                local before = calls
                client:create(config_map(ns, "probe", {}), { dry_run = true })
                return calls > before
            end
            world.admit({ "configmaps", name = "ignored", namespaces = { ns }, timeout = 1,
                failure_policy = "Ignore", validate = fail }, is_asked)
            assert(client:create(config_map(ns, "one", {})))
            assert(client:create(config_map(ns, "late", {}), { dry_run = true }))
            world.admit({ "configmaps", name = "strict", namespaces = { ns }, timeout = 1,
                validate = fail }, function()
                    return not client:create(config_map(ns, "probe", {}), { dry_run = true })
                end)
            local _, message = client:create(config_map(ns, "two", {}), { timeout = 5 })
            assert.truthy(message:find("a mistake", 1, true), message)
            _, message = client:create(config_map(ns, "late", {}), { timeout = 5 })
            assert.truthy(message:find("its time is over", 1, true)
                or message:find("has not returned", 1, true), message)
        end)
        world.stop()
        assert(ok, problem)
    end)

    it("fails no create while the certificate changes", function(scene)
        local world, ns = start(cluster), scene.namespace
        local client = world.client
        local ok, problem = pcall(function()
            local calls = 0
            world.admit({ "configmaps", name = "rotated", namespaces = { ns },
                validate = function() calls = calls + 1 end }, function()
                    client:create(config_map(ns, "probe", {}), { dry_run = true })
                    return calls > 0
                end)
            calls = 0
            for i = 1, 60 do
                if i % 10 == 0 then
                    assert(world.server.server:renew(world.certify()))
                end
                assert(client:create(config_map(ns, "m" .. i, {})))
            end
            assert.equal(60, calls)
        end)
        world.stop()
        assert(ok, problem)
    end)

    it("fails no create while a new CA comes, and is used", function(scene)
        local ns, overlap, before = scene.namespace, identity.OVERLAP, clients.defaults
        local client = assert(kubelua.connect { kubeconfig = cluster.folder .. "/kubeconfig" })
        local free = assert(serve.start(core.report_pointer(), "127.0.0.1", "0"))
        local port = free:port()
        free:stop()
        -- A CA that has lived for 300 of its 365 days.
        local then_ = core.unix() - 300 * 86400
        local ca, ca_key = assert(serve.make_authority("old", then_, 365 * 86400))
        local cert, key = assert(serve.make_certificate(ca, ca_key, { "127.0.0.1" }, core.unix(),
            65 * 86400))
        assert(client:create { apiVersion = "v1", kind = "Secret",
            metadata = { name = "admit-127-0-0-1", namespace = ns }, stringData = {
                ["ca.crt"] = ca, ["ca.key"] = ca_key, ["tls.crt"] = cert, ["tls.key"] = key } })
        clients.defaults = { kubeconfig = cluster.folder .. "/kubeconfig", namespace = ns }
        local server = assert(admitting { admit = { host = "127.0.0.1", port = tostring(port) },
            admit_url = "https://127.0.0.1:" .. port })
        local calls, made = 0, 0
        local hook = kubelua.admit { "configmaps", name = "ca", namespaces = { ns },
            validate = function() calls = calls + 1 end }
        local function create()
            made = made + 1
            assert(client:create(config_map(ns, "m" .. made, {})))
            return calls > 0
        end
        local function served()
            return assert(serve.read_certificate(server.source.data["tls.crt"])).issuer
        end
        local ok, problem = pcall(function()
            eventually(create, "the API server asks")
            assert.equal("CN=old", served())
            assert.truthy(server.source.data["ca.crt"]:find(ca, 1, true)) -- beside a new one
            identity.OVERLAP, calls, made = 0, 0, 1000
            eventually(function()
                server.source.read_at = 0 -- it looks at the Secret in each round
                return create() and served() ~= "CN=old"
            end, "the new CA is used")
            for _ = 1, 20 do
                create()
            end
            assert.equal(made - 1000, calls)
        end)
        identity.OVERLAP, clients.defaults = overlap, before
        client:delete("validatingwebhookconfigurations", ns .. "-admit-127-0-0-1-ca")
        hook:stop()
        server:stop()
        client:close()
        assert(ok, problem)
    end)

    it("shows the old object of a DELETE", function(scene)
        local world, ns = start(cluster), scene.namespace
        local client = world.client
        local ok, problem = pcall(function()
            assert(client:create(config_map(ns, "probe", {})))
            assert(client:create(config_map(ns, "kept", { keep = "yes" })))
            world.admit({ "configmaps", name = "kept", namespaces = { ns },
                operations = { "DELETE" }, validate = function(object, old)
                    assert(object == nil)
                    return not (old.data and old.data.keep), old.metadata.name .. " is kept"
                end }, function()
                    local _, message = client:delete("configmaps", ns .. "/kept",
                        { dry_run = true })
                    return message
                end)
            local _, message = client:delete("configmaps", ns .. "/kept")
            assert.truthy(message:find("kept is kept", 1, true), message)
            assert(client:delete("configmaps", ns .. "/probe"))
        end)
        world.stop()
        assert(ok, problem)
    end)
end)
