-- kube.admit in nginx, asked by a real kube-apiserver: no create fails while the certificate is
-- replaced, nginx is reloaded, and the owner is killed.
local backend = require "backend_real"
local copies = require "nginx_copies"
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local nginx = require "nginx"
local serve = require "kubelua.serve"

local DAY = 86400
local SECRET = "default/admit-127-0-0-1"

local HTTP = [[
    client_max_body_size 8m;
    init_by_lua_block {
        kube = require "resty.kubelua"
        assert(kube.init { services = false, connect = { kubeconfig = "@kubeconfig@" } })
        kube.admit_certificate { url = "https://127.0.0.1:@tls@" }
        kube.admit { "configmaps", name = "seen", namespaces = { "default" },
            mutate = function(object)
                object.data.seen = "yes"
            end }
    }
    init_worker_by_lua_block { kube.init_worker { wait = 20 } }
    server {
        listen 127.0.0.1:@tls@ ssl;
        keepalive_timeout 0; # or the API server may ask over a connection that a reload closes
        ssl_certificate data:$ssl_server_name;
        ssl_certificate_key data:$ssl_server_name;
        ssl_certificate_by_lua_block { kube.admit_handshake() }
        location /admit/ { content_by_lua_block { kube.admission() } }
    }
]]

local SERVER = "location = /owner { content_by_lua_block { ngx.print(kube.status().owner_pid) } }"

local function is_alive(pid)
    local file = io.open("/proc/" .. pid .. "/stat")
    if file then
        file:close()
    end
    return file ~= nil
end

describe("kube.admit in nginx, asked by a real API server", function()
    local client, one, made

    setup(function()
        backend:start()
        client = assert(kubelua.connect { kubeconfig = backend.folder .. "/kubeconfig" })
        local folder = copies.shell("cd '" .. backend.folder .. "' && pwd")
        local values = { kubeconfig = folder .. "/kubeconfig", tls = copies.free_ports(1)[1] }
        one = nginx.start { workers = 2, server = SERVER, http = (HTTP:gsub("@(%l+)@", values)) }
        made = 0
    end)

    teardown(function()
        one:close()
        client:delete("mutatingwebhookconfigurations", "default-admit-127-0-0-1-seen")
        client:close()
        backend:stop()
    end)

    -- Creates an object; the webhook must not fail. True: it was asked.
    local function create()
        made = made + 1
        local object, message = client:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "m" .. made, namespace = "default" }, data = { number = "1" } }
        assert(object, message)
        return object.data.seen == "yes"
    end

    -- While the API server asks, it always does.
    local function create_seen()
        assert.is_true(create())
    end

    local function certificate_of_secret()
        local data = assert(client:get("secrets", SECRET)).data
        return assert(kubelua.unbase64(data["tls.crt"]))
    end

    it("answers each create through new certificates", function()
        eventually(create, "the API server asks", 40)
        -- A certificate of the same CA that is due: the owner takes it, and then makes another one.
        local secret = kubelua.table(assert(client:get("secrets", SECRET)))
        local ca, key = kubelua.unbase64(secret.data["ca.crt"]),
            kubelua.unbase64(secret.data["ca.key"])
        local due, due_key = assert(serve.make_certificate(ca, key, { "127.0.0.1" }, core.unix(),
            20 * DAY))
        secret.data["tls.crt"], secret.data["tls.key"] = kubelua.base64(due),
            kubelua.base64(due_key)
        assert(client:update(secret))
        eventually(function()
            create_seen()
            return certificate_of_secret() ~= due
        end, "the certificate is renewed", 60)
        for _ = 1, 20 do
            create_seen()
        end
    end)

    it("answers each create through reloads and a kill -9 of the owner", function()
        eventually(create, "the API server asks", 40)
        for turn = 1, 3 do
            one:reload()
            for _ = 1, 30 do
                create_seen()
            end
            local _, owner = one:get("/owner")
            -- No request is on its way now: those that a worker has taken die with it.
            one:signal("KILL", owner)
            eventually(function() return not is_alive(owner) end, "it is dead", 10)
            for _ = 1, 30 do
                create_seen()
            end
            eventually(function()
                create_seen()
                local status, now = one:get("/owner")
                return status == 200 and now ~= owner and now ~= "0"
            end, "another worker is the owner, turn " .. turn, 30)
        end
    end)
end)
