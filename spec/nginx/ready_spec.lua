-- Readiness: tables of scripts count as Services do, at a cold start, in a binary upgrade and while
-- a right or the kubeconfig is missing; kube.age and the metrics see the scripts' informers.
local eventually = require "eventually"
local nginx = require "nginx"
local Sim = require "kubelua.sim"

local HTTP = [[
    init_by_lua_block {
        kube = require "resty.kubelua"
        assert(kube.init { tables = { "hosts" }, @init@ })
        kube.owner(function(kubelua)
            local maps = assert(assert(kubelua.connect()):informer { "configmaps" })
            maps:on { add = function(map) kube.put("hosts", map.name, map.namespace) end,
                synced = function() assert(kube.complete("hosts")) end, error = print }
        end)
    }
    init_worker_by_lua_block {
        local ok, message, code = kube.init_worker { wait = @wait@ }
        ngx.log(ngx.NOTICE, "init_worker: ", tostring(ok), " ", tostring(message), " ",
            tostring(code))
    }
]]

local SERVER = [[
    location = /host { content_by_lua_block {
        ngx.header["Connection"] = "close"
        if not kube.synced() then return ngx.exit(503) end
        local host = kube.lookup("hosts", "shop")
        ngx.status = host and 200 or 404
        ngx.say(tostring(host))
    } }
    location = /synced { content_by_lua_block {
        ngx.say(tostring(kube.synced()), " ", tostring(kube.synced("services")), " ",
            tostring(kube.synced("hosts")), " ", tostring(kube.synced("others")))
    } }
    location = /age { content_by_lua_block { ngx.say(tostring(kube.age())) } }
    location = /metrics { content_by_lua_block { ngx.print(kube.metrics()) } }
    location / { return 200; }
]]

describe("readiness", function()
    local sim, one, url

    before_each(function()
        sim = assert(Sim.new { no_controllers = true })
        assert(sim:load [[{apiVersion: v1, kind: ConfigMap, metadata: {name: shop}}]])
        url = assert(sim:listen { address = "127.0.0.1", port = 0 })
    end)

    after_each(function()
        if one then
            one:close()
        end
        sim:close()
        one = nil
    end)

    local function start(options, init, wait)
        options.http = HTTP:gsub("@(%a+)@", { init = init, wait = wait or "10" })
        options.server = SERVER
        one = nginx.start(options)
    end

    local function says(path, text, seconds)
        local said
        eventually(function()
            local _
            _, said = one:get(path)
            return said == text
        end, function()
            return path .. " says " .. text .. ", not " .. tostring(said) .. "\n" .. one:said()
        end, seconds or 15)
    end

    local function to_server(more)
        return 'connect = { server = "' .. url .. '" } ' .. (more or "")
    end

    it("waits at a cold start until the tables of the scripts are complete", function()
        sim:delay { resource = "configmaps", before = 1, count = 0 }
        start({ workers = 2 }, to_server())
        for _ = 1, 8 do
            assert.same({ 200, "default" }, { one:get("/host") })
        end
        eventually(function()
            return one:count("init_worker: true nil nil") == 2
        end, "both workers have waited")
        assert.same({ 200, "true true true false" }, { one:get("/synced") })
    end)

    it("a binary upgrade waits for them too, so that no request finds a half-filled map", function()
        start({ workers = 2 }, to_server())
        assert.same({ 200, "default" }, { one:get("/host") })
        sim:delay { resource = "configmaps", before = 1, count = 0 }
        local old, statuses = one:master(), {}
        one:signal("USR2")
        local function ask()
            local status = one:get("/host")
            statuses[status or "none"] = (statuses[status or "none"] or 0) + 1
        end
        eventually(function()
            ask()
            local new = one:master()
            return new and new ~= old and #one:workers(new) == 2
        end, "a new master starts")
        one:signal("QUIT", old)
        eventually(function()
            ask()
            return #one:workers(old) == 0
        end, "the old workers exit")
        for _ = 1, 50 do
            ask()
        end
        assert.same({ 200 }, { next(statuses), next(statuses, 200) })
    end)

    it("is false while the right to read the objects is missing, and the log says so", function()
        sim:fail { resource = "configmaps", status = 403, count = 0 }
        start({ workers = 1 }, to_server(), "1")
        says("/synced", "false true false false")
        assert.equal(1, one:count("kube.init_worker: no script of kube.owner has called "
            .. "kube.complete for hosts within 1 s"))
        assert.equal(1, one:count("init_worker: nil no script"))
        local _, text = one:get("/metrics")
        assert.match("\nkubelua_ready 0\n", text)
        assert.match("\nkubelua_table_complete{table=\"hosts\"} 0\n", text)
        assert.match("\nkubelua_owner_informers 1\n.*\nkubelua_owner_informers_synced 0\n", text)
        sim:heal()
        says("/synced", "true true true false", 30)
        eventually(function()
            _, text = one:get("/metrics")
            return text:match("\nkubelua_owner_informers_synced 1\n")
        end, "the metrics follow")
        assert.match("\nkubelua_ready 1\n", text)
        assert.match("\nkubelua_table_complete{table=\"hosts\"} 1\n", text)
    end)

    it("stays true through a reload and a killed worker", function()
        start({ workers = 1 }, to_server())
        sim:delay { resource = "configmaps", before = 1, count = 0 }
        local before = one:workers()[1]
        one:reload()
        eventually(function()
            assert.equal(200, (one:get("/host")))
            return one:workers()[1] ~= before
        end, "a new worker serves")
        one:signal("KILL", one:workers()[1])
        for _ = 1, 5 do
            local status = one:get("/host")
            assert.is_true(status == 200 or status == nil) -- nil: the connection of that worker
        end
        says("/host", "default")
    end)

    -- At once: a reader never sees half of it.
    local function write_file(path, text)
        local file = assert(io.open(path .. ".new", "w"))
        file:write(text)
        file:close()
        assert(os.rename(path .. ".new", path))
    end

    local function write_kubeconfig(path)
        write_file(path, string.format("{apiVersion: v1, kind: Config, current-context: a, "
            .. "contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: "
            .. "{server: \"%s\"}}]}", url))
    end

    for name, services in pairs { ["Services and scripts"] = "", ["scripts alone"]
        = ", services = false" } do
        it("a kubeconfig that is missing is tried again: " .. name, function()
            local path = os.tmpname()
            os.remove(path)
            start({ workers = 1 }, 'connect = { kubeconfig = "' .. path .. '" }' .. services, "0.2")
            assert.match("^false %a+ false false$", (select(2, one:get("/synced"))))
            eventually(function()
                return one:count("cannot read " .. path) > 0
            end, "the log names the file")
            assert.equal(1, one:count("it is tried again each second"))
            write_file(path, "no map")
            eventually(function()
                return one:count(path .. " is no kubeconfig") > 0
            end, "the log has the new reason")
            write_kubeconfig(path)
            says("/host", "default")
            assert.equal(2, one:count("it is tried again each second"))
            os.remove(path)
        end)
    end

    it("says what the master process lacks, and reads the kubeconfig of its HOME later", function()
        local home = assert(io.popen("mktemp -d")):read("*l")
        start({ workers = 1,
            environment = "-u KUBECONFIG -u KUBERNETES_SERVICE_HOST HOME=" .. home }, "", "0.2")
        assert.is_true(one:count("cannot read " .. home .. "/.kube/config: No such file or "
            .. "directory; check the path; nginx's master process had neither KUBECONFIG nor "
            .. "KUBERNETES_SERVICE_HOST in its environment: set one of them, or give kube.init a "
            .. "kubeconfig or a server; it is tried again each second") > 0, one:said())
        assert(os.execute("mkdir " .. home .. "/.kube"))
        write_kubeconfig(home .. "/.kube/config")
        says("/host", "default")
        os.execute("rm -rf " .. home)
    end)

    it("kube.age sees the informers of scripts", function()
        start({ workers = 1 }, to_server(", services = false"))
        eventually(function()
            local _, age = one:get("/age")
            return tonumber(age) and tonumber(age) < 5
        end, "it is a time though no Services are watched")
        sim:freeze()
        eventually(function()
            local _, age = one:get("/age")
            return tonumber(age) > 2
        end, "it grows while the server is silent", 15)
    end)
end)
