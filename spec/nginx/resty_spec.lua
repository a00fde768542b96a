-- resty.kubelua in a real nginx: picks in every worker, scripts of kube.owner that go on in the
-- next owner, tables, metrics, lua_code_cache off. Faults under traffic are in other specs.
local eventually = require "eventually"
local kubelua = require "kubelua"
local nginx = require "nginx"
local Sim = require "kubelua.sim"

local CLUSTER = [[
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: default}
spec: {clusterIP: None, selector: {app: shop}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: bare, namespace: default, labels: {team: bare}}
spec: {clusterIP: None, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: away, namespace: default}
spec: {type: ExternalName, externalName: shop.example.com, ports: [{name: http, port: 443}]}
]]

local AWAY = [[
apiVersion: v1
kind: Service
metadata: {name: away, namespace: default}
spec: {type: ExternalName, externalName: "%s", ports: [{name: http, port: 443}]}
]]

local function slice(...)
    local endpoints = kubelua.array()
    for i, address in ipairs { ... } do
        endpoints[i] = { addresses = { address }, conditions = { ready = true } }
    end
    return { apiVersion = "discovery.k8s.io/v1", kind = "EndpointSlice", addressType = "IPv4",
        metadata = { name = "shop-1", namespace = "default",
            labels = { ["kubernetes.io/service-name"] = "shop" } },
        ports = { { name = "http", port = 8080, protocol = "TCP" } }, endpoints = endpoints }
end

local HTTP = [[
    init_by_lua_block {
        kube = require "resty.kubelua"
        assert(kube.init { connect = { server = "%s" }, %s })
        shop = kube.service("default/shop:http")
    }
    init_worker_by_lua_block {
        kube.owner(function(kubelua)
            local client = assert(kubelua.connect())
            local maps = assert(client:informer { "configmaps", namespace = "default" })
            local function put(map)
                kube.put("maps", map.name, kubelua.table(map.data))
            end
            maps:on { add = put, update = function(_, map) put(map) end,
                delete = function(map) kube.put("maps", map.name, nil) end,
                synced = function() kube.complete("maps") end }
            assert(maps:wait_synced(10))
            kube.put("seen", "owner", ngx.worker.pid())
        end)
        kube.init_worker { wait = 10 }
    }
    upstream picked {
        server 0.0.0.1;
        balancer_by_lua_block {
            local host, port = shop:pick()
            local ok, why = require "ngx.balancer".set_current_peer(host, port)
            ngx.log(ngx.NOTICE, "the balancer took it: ", ok, " ", why)
        }
    }
]]

-- Timers that use up nginx's limit, so none is left to supervise the scripts.
local HOG = "lua_max_running_timers 2;\n"
local HOGS = " for _ = 1, 2 do ngx.timer.at(0, function() ngx.sleep(4) end) end "

local SERVER = [[
    location = /pick { content_by_lua_block {
        local host, port, _, is_name = kube.pick(ngx.var.arg_name or "default/shop:http", {
            hash = ngx.var.arg_hash, exclude = ngx.var.arg_tried })
        ngx.say(tostring(host), " ", tostring(port), is_name and " true" or "")
    } }
    location = /resolved { content_by_lua_block { ngx.say((shop:pick())) } }
    location = /lookup { content_by_lua_block {
        local value = kube.lookup("maps", ngx.var.arg_key)
        ngx.say(ngx.worker.pid(), " ", value and value.text or "none")
    } }
    location = /slow { content_by_lua_block {
        ngx.say(ngx.worker.pid()) ngx.flush(true) ngx.sleep(9)
    } }
    location = /put { content_by_lua_block { ngx.say(tostring(kube.put("seen", "put", "yes"))) } }
    location = /put_seen { content_by_lua_block { ngx.say(tostring(kube.lookup("seen", "put"))) } }
    location = /seen { content_by_lua_block { ngx.say(tostring(kube.lookup("seen", "owner"))) } }
    location = /routed { proxy_connect_timeout 100ms; proxy_pass http://picked; }
    location = /metrics { content_by_lua_block { ngx.print(kube.metrics()) } }
    location / { content_by_lua_block { ngx.exit(kube.synced() and 200 or 503) } }
]]

describe("resty.kubelua in nginx", function()
    local sim, one

    local function start(options, init)
        sim = assert(Sim.new())
        assert(sim:apply(CLUSTER))
        assert(sim:apply(slice("10.0.0.1", "10.0.0.2")))
        local url = assert(sim:listen { address = "127.0.0.1", port = 0 })
        options.http, options.server = HTTP:format(url, init or ""), SERVER
        if options.hog then -- no other timer may run meanwhile
            options.http = options.http:gsub("init_worker_by_lua_block {", HOG .. "%0" .. HOGS)
        end
        one = nginx.start(options)
    end

    after_each(function()
        if one then
            one:close()
        end
        sim:close()
        one, sim = nil, nil
    end)

    local function get(path)
        local status, body = one:get(path)
        assert.equal(200, status)
        return body
    end

    local function metric(name)
        return tonumber(get("/metrics"):match("\nkubelua_" .. name .. " (%-?%d+)"))
    end

    -- Waits until every worker has given this answer.
    local function everywhere(path, said, workers)
        local seen, count = {}, 0
        eventually(function()
            local pid, text = get(path):match("^(%d+) (.*)$")
            if text ~= said then
                seen, count = {}, 0
            elseif not seen[pid] then
                seen[pid], count = true, count + 1
            end
            return count == workers
        end, "every worker says " .. said, 20)
    end

    it("picks in every worker, and follows changes", function()
        start { workers = 2 }
        assert.match("^10%.0%.0%.[12] 8080$", get("/pick"))
        assert.equal("10.0.0.2 8080", get("/pick?tried=10.0.0.1"))
        assert.equal(get("/pick?hash=me"), get("/pick?hash=me"))
        assert.equal("nil unknown", get("/pick?name=default/none:http"))
        assert.equal("nil empty", get("/pick?name=default/bare:http"))
        assert.equal("nil empty", get("/pick?name=default/away:http"))
        assert(sim:apply(slice("10.0.0.3")))
        eventually(function() return get("/pick") == "10.0.0.3 8080" end, "the change arrives", 10)
        for _ = 1, 10 do
            assert.equal("10.0.0.3", get("/resolved"))
        end
    end)

    it("serves names with external_names only, and says that they are names", function()
        start({ workers = 1 }, "external_names = true")
        assert.equal("shop.example.com 443 true", get("/pick?name=default/away:http"))
        assert(sim:load(AWAY:format("127.0.0.1")))
        eventually(function() return get("/pick?name=default/away:http") == "nil empty" end,
            "the address is refused", 10)
        assert(sim:load(AWAY:format("other.example.com")))
        eventually(function()
            return get("/pick?name=default/away:http") == "other.example.com 443 true"
        end, "the other name is served", 10)
    end)

    it("picks IPv6 addresses in the form that a balancer takes", function()
        start { workers = 1 }
        local six = slice("fd00::1")
        six.addressType, six.metadata.name = "IPv6", "shop-6"
        assert(sim:apply(slice()))
        assert(sim:apply(six))
        eventually(function() return get("/pick") == "[fd00::1] 8080" end, "it is picked", 10)
        one:get("/routed") -- whether the address answers does not matter
        assert.equal(1, one:count("the balancer took it: true nil"))
    end)

    it("keeps the last endpoints of an empty service with empty = \"keep\"", function()
        start({ workers = 1 }, 'empty = "keep", keep = 600')
        assert(sim:apply(slice()))
        assert(sim:apply { apiVersion = "v1", kind = "ConfigMap", data = { text = "later" },
            metadata = { name = "later", namespace = "default" } })
        eventually(function() return get("/lookup?key=later"):match("later") end, "it is heard", 10)
        assert.match("^10%.0%.0%.[12] 8080$", get("/pick"))
    end)

    it("empties a service that an update empties", function()
        start { workers = 1 }
        assert(sim:apply(slice()))
        eventually(function() return get("/pick") == "nil empty" end, "it is empty", 10)
    end)

    it("has only the services that the label selector of kube.init matches", function()
        start({ workers = 1 }, 'services = { labels = "team!=bare" }')
        assert.match("^10%.0%.0%.[12] 8080$", get("/pick"))
        assert.equal("nil unknown", get("/pick?name=default/bare:http"))
    end)

    it("runs a script in the owner, and again in the next one", function()
        start { workers = 2 }
        local function put(text)
            assert(sim:apply { apiVersion = "v1", kind = "ConfigMap", data = { text = text },
                metadata = { name = "a", namespace = "default" } })
        end
        put("first")
        everywhere("/lookup?key=a", "first", 2)
        local owner = tostring(metric("owner_pid"))
        eventually(function() return get("/seen") == owner end, "the script says who it is", 10)
        one:signal("KILL", owner)
        put("second")
        everywhere("/lookup?key=a", "second", 2)
        eventually(function()
            local now = get("/seen")
            return now ~= owner and now == tostring(metric("owner_pid"))
        end, "the script runs in the next owner", 10)
        assert(sim:delete("configmaps", "default/a"))
        everywhere("/lookup?key=a", "none", 2)
        assert.is_true(metric("takeovers_total") >= 2)
    end)

    it("changes the owner at once when nginx is reloaded", function()
        start { workers = 1, shutdown = 60 }
        local before = metric("owner_pid")
        local slow = io.popen("curl -s -N -m 20 http://127.0.0.1:" .. one.port .. "/slow")
        assert.equal(before, tonumber(slow:read("*l")))
        one:reload()
        eventually(function() return metric("owner_pid") ~= before end, "a new owner", 5)
        assert.same({ tostring(before), tostring(metric("owner_pid")) }, one:workers())
        eventually(function() return get("/seen") == tostring(metric("owner_pid")) end,
            "the script runs there", 10)
        assert.equal("10.0.0.2 8080", get("/pick?tried=10.0.0.1"))
        assert.equal(2, metric("epoch"))
        slow:close()
    end)

    it("runs handlers later if nginx had no timer for them", function()
        start({ workers = 1, hog = true })
        assert(sim:apply { apiVersion = "v1", kind = "ConfigMap", data = { text = "late" },
            metadata = { name = "a", namespace = "default" } })
        everywhere("/lookup?key=a", "late", 1)
        assert.is_true(one:count("lua_max_running_timers are not enough") > 0)
    end)

    it("publishes values that a request in the owner puts", function()
        start { workers = 1 }
        assert.equal("true", get("/put"))
        eventually(function() return get("/put_seen") == "yes" end, "it is published", 10)
    end)

    it("works with lua_code_cache off", function()
        start { workers = 1, code_cache = false }
        for _ = 1, 20 do
            assert.match("^10%.0%.0%.[12] 8080$", get("/pick"))
        end
        assert(sim:apply(slice("10.0.0.3")))
        eventually(function() return get("/resolved") == "10.0.0.3" end, "the change arrives", 10)
    end)
end)
