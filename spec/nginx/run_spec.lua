-- kube.run: scripts of kube.owner reach OpenResty's sockets, timers and light threads from a
-- handler, a task and a controller.
local eventually = require "eventually"
local nginx = require "nginx"
local Sim = require "kubelua.sim"

local HTTP = [[
    server {
        listen unix:@folder@/external.sock;
        location / { content_by_lua_block { ngx.say("hello ", ngx.var.arg_name) } }
        location = /slow { content_by_lua_block { ngx.sleep(0.5) ngx.say("late") } }
    }
    init_by_lua_block {
        kube = require "resty.kubelua"
        assert(kube.init { connect = { server = "@url@" }, services = false })
        -- One request to a service that is no API server, over a cosocket.
        function fetch(path)
            local socket = ngx.socket.tcp()
            socket:settimeout(5000)
            assert(socket:connect "unix:@folder@/external.sock")
            assert(socket:send("GET " .. path .. " HTTP/1.0\r\n\r\n"))
            local text = assert(socket:receive "*a")
            socket:close()
            return tonumber(text:match "^HTTP/1%.. (%d+)"), text:match "\r\n\r\n(.-)\n?$"
        end
    }
    init_worker_by_lua_block {
        said = {}
        kube.owner(function(kubelua) @script@ end)
        assert(kube.init_worker {})
    }
]]

local SERVER = [[
    location = /said { content_by_lua_block { ngx.say(tostring(said[ngx.var.arg_key])) } }
    location = /direct { content_by_lua_block { ngx.say(select(2, kube.run(fetch, "/?name=me"))) } }
    location / { return 200; }
]]

describe("kube.run", function()
    local sim, one, folder

    before_each(function()
        sim = assert(Sim.new())
        for i = 1, 3 do
            assert(sim:load("{apiVersion: v1, kind: ConfigMap, metadata: {name: m" .. i .. "}}"))
        end
        folder = assert(io.popen("mktemp -d")):read("*l")
    end)

    after_each(function()
        one:close()
        sim:close()
        os.execute("rm -rf " .. folder)
    end)

    local function start(script)
        local url = assert(sim:listen { address = "127.0.0.1", port = 0 })
        os.execute("chmod 755 " .. folder)
        one = nginx.start { workers = 1, server = SERVER,
            http = HTTP:gsub("@(%a+)@", { url = url, script = script, folder = folder }) }
    end

    local function says(key, text)
        local said
        eventually(function()
            local _
            _, said = one:get("/said?key=" .. key)
            return said:find(text) ~= nil
        end, function()
            return key .. " is " .. text .. ", not " .. tostring(said) .. "\n" .. one:said()
        end, 15)
    end

    it("makes an HTTP request over a cosocket in a handler", function()
        start [[
            local maps = assert(kubelua.connect():informer "configmaps")
            maps:on { add = function(map)
                local status, body = kube.run(fetch, "/?name=" .. map.name)
                assert(kube.put("bodies", map.name, body))
                said[map.name] = status .. " " .. body
            end }
        ]]
        for i = 1, 3 do
            says("m" .. i, "^200 hello m" .. i .. "$")
        end
    end)

    it("works in a script's body, a spawned task and a controller", function()
        start [[
            said.body = select(2, kube.run(fetch, "/?name=body"))
            kubelua.spawn(function() said.task = select(2, kube.run(fetch, "/?name=task")) end)
            kubelua.controller { "configmaps", client = kubelua.connect(),
                reconcile = function(map)
                    said["c" .. map.name] = select(2, kube.run(fetch, "/?name=" .. map.name))
                end }
        ]]
        says("body", "^hello body$")
        says("task", "^hello task$")
        says("cm3", "^hello m3$")
    end)

    it("gives all results, also nil and none, and takes all arguments", function()
        start [[
            local function list(...) return select("#", ...) .. ": " .. tostring(...) end
            said.results = list(kube.run(function(...) return select("#", ...), nil, nil end, 1,
                nil, nil)) .. ", " .. select("#", kube.run(function() end))
        ]]
        says("results", "^3: 3, 0$")
    end)

    it("raises the function's error, with its traceback", function()
        start [[
            local ok, problem = pcall(kube.run, function() error "out of order" end)
            said.ok, said.problem = ok, problem:gsub("\n", " ")
            said.misuse = select(2, pcall(kube.run, "no function"))
            kube.run(function() local none; return none.field end)
        ]]
        says("ok", "^false$")
        says("problem", "out of order stack traceback:.*in function")
        says("misuse", "kube.run: a function expected, not a string")
        eventually(function()
            return one:log():find("kubelua.spawn failed: [^\n]*attempt to index local 'none'")
        end, "the error of the script is logged")
    end)

    it("gives timers, light threads, sleeps and semaphores", function()
        start [[
            kube.run(function()
                local semaphore = require "ngx.semaphore".new()
                assert(ngx.timer.at(0.01, function() said.timer = "fired" semaphore:post() end))
                assert(semaphore:wait(5))
                local thread = ngx.thread.spawn(function() ngx.sleep(0.01) return "thread" end)
                said.thread = select(2, ngx.thread.wait(thread))
            end)
        ]]
        says("timer", "^fired$")
        says("thread", "^thread$")
    end)

    it("other tasks and handlers go on meanwhile, and many run at once", function()
        start [[
            local begun, left = kubelua.now(), 50
            for _ = 1, 50 do
                kubelua.spawn(function()
                    assert(select(2, kube.run(fetch, "/slow")) == "late")
                    left = left - 1
                    if left == 0 then said.many = kubelua.now() - begun < 10 end
                end)
            end
            for i = 1, 5 do kubelua.sleep(0.01) end
            said.meanwhile = left
        ]]
        says("meanwhile", "^50$")
        says("many", "^true$")
    end)

    it("ends the wait of a cancelled task at once", function()
        start [[
            local task = kubelua.spawn(function() kube.run(ngx.sleep, 60) end)
            kubelua.sleep(0.05)
            task:cancel()
            said.cancelled = select(3, task:wait(5))
        ]]
        says("cancelled", "^canceled$")
    end)

    it("outside of tasks calls the function", function()
        start ""
        assert.same({ 200, "hello me" }, { one:get("/direct") })
    end)
end)
