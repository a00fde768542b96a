-- nginx's error log: one call is one line, whatever names, messages of the server and arguments
-- contain: otherwise a tenant could write lines of the log. What it says if kube.init or
-- kube.init_worker fails, although the script does not look at the result.
local eventually = require "eventually"
local Sim = require "kubelua.sim"
local nginx = require "nginx"

-- CR, LF, ESC, C1 (as UTF-8, and as a lone byte), bidi controls, NUL; and as the log has it.
local EVIL = "x\\r\\nFORGED\\27[2J\\194\\155\\155\\226\\128\\174\\226\\129\\166\\0y"
local SHOWN = "x\\r\\nFORGED\\x1b[2J\\u009b\\x9b\\u202e\\u2066\\0y"

-- No line begins with what the text would forge, and a terminal obeys nothing in it.
local function check_log(one)
    local log = one:log()
    assert.is_nil(log:find("\nFORGED", 1, true))
    assert.is_nil(log:find("[%z\1-\8\11-\31\127]"))
    for _, control in ipairs { "\194\155", "\226\128\174", "\226\129\166" } do
        assert.is_nil(log:find(control, 1, true))
    end
    assert.is_nil(log:find("[^\128-\255]\155"))
end

describe("error.log", function()
    local sim, one

    local function start(script, server, init)
        sim = assert(Sim.new())
        assert(sim:load "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
        local url = assert(sim:listen { address = "127.0.0.1", port = 0 })
        one = nginx.start { workers = 1, level = "info", http = string.format([[
            init_by_lua_block {
                EVIL = "%s"
                kube = require "resty.kubelua"
                assert(kube.init { connect = { %s }, services = false })
                kube.owner(function(kubelua) %s end)
            }
            init_worker_by_lua_block { kube.init_worker { wait = 0.1 } }
        ]], EVIL, init or 'server = "' .. url .. '"', script),
            server = "location / { return 200; }" .. (server or "") }
    end

    after_each(function()
        one:close()
        sim:close()
    end)

    local function has_lines(count, ...)
        local texts = { ... }
        eventually(function()
            local found = 0
            for line in one:log():gmatch("[^\n]+") do
                local has_all = true
                for _, text in ipairs(texts) do
                    has_all = has_all and line:find(text, 1, true) ~= nil
                end
                found = found + (has_all and 1 or 0)
            end
            return found >= count
        end, function()
            return count .. " lines with " .. table.concat(texts, " and ") .. "\n" .. one:log()
        end, 10)
        check_log(one)
    end

    it("has one line for each call of kubelua.log, at every level", function()
        start [[
            for _, level in ipairs { "info", "warn", "error" } do
                kubelua.log(level, "said: " .. EVIL)
                kubelua.log(level, "said: %s", (EVIL:gsub("%z.*", "")))
            end
        ]]
        has_lines(6, "kubelua: said: x\\r\\nFORGED")
        has_lines(3, "kubelua: said: " .. SHOWN)
    end)

    it("has one line for a failed handler, task and function of kube.run, with its traceback",
        function()
            start [[
                kubelua.connect():informer "configmaps":on { add = function(map)
                    error("handler " .. EVIL)
                end }
                kubelua.spawn(function() error("task " .. EVIL) end)
                kubelua.spawn(function() kube.run(function() error("thread " .. EVIL) end) end)
            ]]
            for _, what in ipairs { "handler ", "task ", "thread " } do
                has_lines(1, "kubelua: ", what .. SHOWN, "stack traceback:")
            end
        end)

    it("has one line for a message of the server, which threads of the core write", function()
        start [[
            kubelua.connect():informer "secrets":on { add = print }
        ]]
        sim:fail { resource = "pods", status = 403, count = 0,
            message = "x\r\nFORGED\27[2J\194\155\226\128\174" }
        one:configure { http = one.options.http:gsub('"secrets"', '"pods"') }
        one:reload()
        has_lines(1, "informer pods: ", "x\\r\\nFORGED\\x1b[2J\\u009b\\u202e")
    end)

    it("has one line for a configuration that cannot be read", function()
        start("", "", "kubeconfig = '/none/' .. EVIL:gsub('%z.*', '')")
        one:configure { http = one.options.http:gsub("services = false", "services = nil") }
        one:reload()
        has_lines(1, "kube.init_worker: cannot read /none/x\\r\\nFORGED\\x1b[2J")
    end)

    it("has one line for a message of KubeLua that nginx logs: a misuse, a failure", function()
        start("", [[
            location /misuse { content_by_lua_block {
                ngx.log(ngx.ERR, select(2, pcall(kube.service, "service " .. EVIL)))
                ngx.log(ngx.ERR, select(2, pcall(kube.pick, "a/b:c", { ["option " .. EVIL] = 1 })))
                local _, message = require "kubelua".connect {
                    kubeconfig = "/none/" .. EVIL:gsub("%z.*", "") }
                ngx.log(ngx.ERR, message)
            } }
        ]])
        one:get("/misuse")
        has_lines(1, "not \"service " .. SHOWN)
        has_lines(1, "option " .. SHOWN)
        has_lines(1, "cannot read /none/x\\r\\nFORGED\\x1b[2J")
    end)
end)

describe("resty.kubelua", function()
    local one

    after_each(function()
        if one then
            one:close()
            one = nil
        end
    end)

    it("refuses kube.init in a worker, where the map would be of that worker alone", function()
        one = nginx.start { workers = 2, http = [[
            init_worker_by_lua_block {
                local kube = require "resty.kubelua"
                assert(kube.init { services = false })
                assert(kube.init_worker())
            }
        ]] }
        eventually(function() return one:count("call it in init_by_lua") == 2 end, "both say so")
    end)

    it("logs why a worker cannot connect", function()
        one = nginx.start {
            workers = 1,
            http = [[
                init_by_lua_block {
                    kube = require "resty.kubelua"
                    assert(kube.init { connect = { kubeconfig = "/no/such/kubeconfig" } })
                }
                init_worker_by_lua_block { kube.init_worker { wait = 5 } }
            ]],
            server = [[
                location / { content_by_lua_block { ngx.say((select(2, kube.pick("web/shop")))) } }
            ]],
        }
        assert.equal(1, one:count("/no/such/kubeconfig"))
        assert.equal("not_synced", (select(2, one:get("/"))))
    end)
end)
