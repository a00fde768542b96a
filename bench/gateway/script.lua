-- Measures what Lua on the route adds to a request, inside of a worker of nginx: the phases that
-- the script has, called 100,000 times in one request. Least of 10 rounds, CPU time. The script
-- comes from a Lua table here, as the map gives it to a worker that has read it before.
--   sh spec/nginx/packages.sh build/nginx
--   LUA_PATH="lua/?.lua;lua/?/init.lua;spec/support/?.lua;sim/lua/?.lua;;" \
--   LUA_CPATH="build/lua/5.1/?.so;;" luajit bench/gateway/script.lua
local copies = require "nginx_copies"
local nginx = require "nginx"

local INIT = [[
    init_by_lua_block {
        local routing = require "resty.kubelua.gateway.routing"
        phases = require "resty.kubelua.gateway.script.phases"
        phases.set_up { scripts = { namespaces = { "web" } } }
        local texts = {
            ["web/header"] = { text = "return { header_filter = function(response) "
                .. "response:set_header('X-Served-By', 'KubeLua') end }" },
            ["web/request"] = { text = "return { access = function(request) "
                .. "request:set_header('X-From', 'KubeLua') end }" },
            ["web/empty"] = { text = "return { access = function() end }" },
            ["web/matches"] = { text = "return { access = function(request) "
                .. "if request:path():match('^/api/(%w+)$') then request:answer(403) end end }" },
        }
        routing.kube = { lookup = function(_, key) return texts[key] end }
    }
]]

local SERVER = [[
    location / { return 200; }
    location /bench {
        content_by_lua_block {
            local lines = {}
            local set, header = ngx.req.set_header, ngx.header
            local function measure(name, round)
                local least = math.huge
                for _ = 1, 10 do
                    local since = os.clock()
                    for _ = 1, 100000 do
                        round()
                    end
                    least = math.min(least, (os.clock() - since) / 100000)
                end
                table.insert(lines, ("%-44s %6.0f ns\n"):format(name, least * 1e9))
            end
            local function with(name)
                local filters = { { configmap = "web/" .. name } }
                return function()
                    local state = { rule = { source = "bench" }, backend = false }
                    phases.access(state, filters, set)
                    phases.header_filter(state)
                end
            end
            measure("nothing but ngx.header[name] = value", function()
                header["X-Served-By"] = "KubeLua"
            end)
            measure("a script whose access does nothing", with "empty")
            measure("a script that sets a header of the answer", with "header")
            measure("a script that sets a header of the request", with "request")
            measure("a script that matches the path", with "matches")
            ngx.print(lines)
        }
    }
]]

local one = nginx.start { workers = 1, http = INIT, server = SERVER }
io.write(copies.shell(("curl -s http://127.0.0.1:%d/bench"):format(one.port)))
local log = one:log()
if log:find("[error]", 1, true) then
    io.write(log)
end
one:close()
