-- KubeLua inside nginx's Lua module: where its handlers can run, and which calls it refuses.
local copies = require "nginx_copies"
local eventually = require "eventually"
local guest = require "nginx_guest"

describe("KubeLua inside of nginx", function()
    local world, one

    before_each(function()
        world = guest.new()
    end)

    after_each(function()
        world:close()
    end)

    it("runs handlers of init_worker in timers, and they wait", function()
        one = world:start { workers = 2,
            http = guest.INIT_WORKER:gsub("MORE", guest.TIMER), server = guest.STATE }
        world:says("/state", "3 3 3")
    end)

    it("registers a handler in one timer, and dispatches it in another", function()
        one = world:start { workers = 2, http = [[
            init_worker_by_lua_block {
                local seen, pods = 0
                assert(ngx.timer.at(0, function()
                    pods = assert(assert(kubelua.connect { server = "URL" }):informer "pods")
                    assert(pods:on { add = function()
                        kubelua.sleep(0.001)
                        pcall(ngx.sleep, 0.001)
                        seen = seen + 1
                    end })
                end))
                assert(ngx.timer.every(0.005, function() kubelua.step(0) end))
                kubelua.seen = function() return seen end
            }
        ]], server = "location /seen { content_by_lua_block { ngx.say(kubelua.seen()) } }" }
        world:says("/seen", "3")
    end)

    it("makes ngx functions that need a request raise in a handler, instead of crashing", function()
        one = world:start { workers = 1,
            http = guest.INIT_WORKER:gsub("MORE", guest.TIMER), server = guest.STATE }
        world:says("/state", "3 3 3")
        local _, body = one:get("/refusals")
        for line in body:gmatch("[^\n]+") do
            assert.match("^%l+: false .*no request", line)
        end
    end)

    it("dispatches in init_worker, timers, requests and light threads at once", function()
        one = world:start { workers = 1,
            http = guest.INIT_WORKER:gsub("MORE", [[
            kubelua.step(0.05)
            for i = 1, 20 do
                assert(ngx.timer.every(0.001 * i, function() kubelua.step(0) end))
            end
        ]]), server = guest.STATE .. [[
            location /step { content_by_lua_block {
                local threads, done = {}, 0
                for i = 1, 5 do
                    threads[i] = ngx.thread.spawn(function()
                        for _ = 1, 10 do
                            kubelua.spawn(function() kubelua.sleep(0.001) done = done + 1 end)
                            kubelua.step(0)
                            ngx.sleep(0.001)
                        end
                    end)
                end
                for i = 1, 5 do
                    assert(ngx.thread.wait(threads[i]))
                end
                while done < 50 do
                    ngx.sleep(0.001)
                end
                ngx.say(done)
            } }
        ]] }
        world:says("/state", "3 3 3")
        for _ = 1, 5 do
            world:says("/step", "50")
        end
    end)

    local REFUSED = [[
        location /refused { content_by_lua_block {
            local calls = {
                { "run", function() kubelua.run(0) end },
                { "sleep", function() kubelua.sleep(10) end },
                { "step", function() kubelua.step(10) end },
                { "exec", function() kubelua.exec { "sleep", "10" } end },
                { "get", function() client:get("pods", "default/p1") end },
                { "request", function() client:request { method = "GET", path = "/version" } end },
                { "wait_synced", function() pods:wait_synced(10) end },
                { "wait_synced for ever", function() pods:wait_synced() end },
                { "task", function() kubelua.spawn(print):wait(10) end },
                { "client:wait", function() client:wait("pods", "default/none", print, 10) end },
            }
            for _, call in ipairs(calls) do
                local ok, problem = pcall(call[2])
                ngx.say(call[1], ": ", tostring(ok), " ", problem)
            end
        } }
    ]]

    it("refuses calls that would block the worker, and names the alternative", function()
        one = world:start { workers = 1,
            http = guest.INIT_WORKER:gsub("MORE", guest.TIMER), server = guest.STATE .. REFUSED }
        world:says("/state", "3 3 3")
        local _, body = one:get("/refused")
        local lines = 0
        for line in body:gmatch("[^\n]+") do
            lines = lines + 1
            assert.match("^[%l_: ]+: false .*would block nginx's worker; .*ngx.timer.every", line)
        end
        assert.equal(10, lines)
        one:reload() -- nginx's signals still work
        eventually(function()
            return one:count("gracefully shutting down") > 0
        end, "nginx reloads", 20)
        world:says("/state", "3 3 3")
    end)

    it("allows a bounded wait in init_worker, and no endless one", function()
        one = world:start { workers = 1,
            http = guest.INIT_WORKER:gsub("MORE", [[
            said = tostring(pods:wait_synced(20)) .. " " .. client:get("pods", "default/p2").name
            local ok, problem = pcall(pods.wait_synced, pods)
            said = said .. " " .. tostring(ok) .. " " .. problem:match("wait_synced without a time")
            ok, problem = pcall(kubelua.run, 1)
            said = said .. " " .. tostring(ok) .. " " .. problem:match("kubelua.run would block")
        ]]), server = "location /said { content_by_lua_block { ngx.say(said) } }" }
        world:says("/said", "true p2 false wait_synced without a time false kubelua.run would "
            .. "block")
    end)

    it("has a Lua state for each request if the code cache is off", function()
        one = world:start({ workers = 1, code_cache = false, server = [[
            location /own { content_by_lua_block {
                local kubelua = require "kubelua"
                local client = assert(kubelua.connect { server = "URL" })
                local pods = assert(client:informer "pods")
                local seen = 0
                assert(pods:on { add = function() kubelua.sleep(0.001) seen = seen + 1 end })
                repeat
                    kubelua.step(0)
                    ngx.sleep(0.001)
                until seen == 3
                if ngx.var.arg_close then
                    client:close()
                end
                ngx.say(seen)
            } }
        ]] }, "")
        for i = 1, 20 do
            world:says(i % 2 == 0 and "/own" or "/own?close=1", "3")
        end
        -- With the cache off, each request has a new Lua state, and its own loop.
        world:says("/own", "3")
    end)

    it("has five Lua states in flight at once in one worker", function()
        one = world:start({ workers = 1, code_cache = false, http = "lua_shared_dict flight 1m;",
            server = [[
            location /flight { content_by_lua_block {
                local kubelua = require "kubelua"
                local flight = ngx.shared.flight
                local client = assert(kubelua.connect { server = "URL" })
                local pods = assert(client:informer "pods")
                local seen = 0
                assert(pods:on { add = function() kubelua.sleep(0.001) seen = seen + 1 end })
                flight:incr("begun", 1, 0)
                repeat -- until all of them have begun, and this one has seen all pods
                    kubelua.step(0)
                    ngx.sleep(0.001)
                until seen == 3 and flight:get("begun") == 5
                flight:incr("ended", 1, 0)
                repeat
                    kubelua.step(0)
                    ngx.sleep(0.001)
                until flight:get("ended") == 5
                client:close()
                ngx.say(seen)
            } }
        ]] }, "")
        local said = copies.shell("for i in 1 2 3 4 5; do curl -s -m 60 http://127.0.0.1:"
            .. one.port .. "/flight & done; wait")
        assert.equal("3\n3\n3\n3\n3", said)
    end)

    it("writes to error.log with nginx's levels, and only levels that it shows", function()
        one = world:start { workers = 1, level = "warn",
            http = guest.INIT_WORKER:gsub("MORE", guest.TIMER .. [[
            kubelua.log("info", "an info of ours")
            kubelua.log("warn", "a warning of ours")
            kubelua.log("error", "a\r\nforged\27[2J\194\155\226\128\174\0b")
            kubelua.spawn(function() error("an error of ours") end)
            kubelua.connect({ server = "http://127.0.0.1:1" }):informer("pods"):on { add = print }
            local broken = kubelua.connect({ server = "http://127.0.0.1:1", token = "t" })
        ]]), server = guest.STATE }
        world:says("/state", "3 3 3")
        local log = one:log()
        assert.match("%[warn%] %d+#%d+: .*kubelua: a warning of ours", log)
        assert.match("kubelua: a\\r\\nforged\\x1b[2J\\u009b\\u202e\\0b", log, 1, true)
        assert.match("%[error%] %d+#%d+: .*kubelua.spawn failed: [^\n]*an error of ours; stack "
            .. "traceback:; ", log)
        for line in log:gmatch("[^\n]+") do
            assert.match("^%d%d%d%d/%d%d/%d%d ", line)
        end
        assert.falsy(log:find("an info of ours", 1, true))
        -- A line that the core logs.
        assert.match("%[warn%] %d+#%d+: [^\n]*kubelua: [^\n]*plain http", log)
    end)

    it("loads nothing of the simulator", function()
        one = world:start { workers = 1,
            http = guest.INIT_WORKER:gsub("MORE", guest.TIMER), server = guest.STATE .. [[
            location /loaded { content_by_lua_block {
                local maps = io.open("/proc/self/maps"):read("*a")
                ngx.say(tostring(maps:find("kubelua", 1, true) ~= nil), " ",
                    tostring(maps:find("kubelua-sim", 1, true)), " ",
                    tostring(maps:find("microhttpd", 1, true)), " ",
                    tostring(package.loaded["kubelua.simcore"]))
            } }
        ]] }
        world:says("/state", "3 3 3")
        world:says("/loaded", "true nil nil nil")
    end)
end)
