-- The harness itself: nginx starts with the module, and a static upstream loses no request through
-- reloads. The other specs in this folder rely on this.
local eventually = require "eventually"
local nginx = require "nginx"
local traffic = require "nginx_traffic"

describe("nginx", function()
    local one, backends

    after_each(function()
        for _, each in ipairs { one or false, backends or false } do
            if each then
                each:close()
            end
        end
        one, backends = nil, nil
    end)

    it("starts with the module in the master process and in its workers", function()
        one = nginx.start {
            http = [[
                init_by_lua_block { kubelua = require "kubelua" }
            ]],
            server = [[
                location / {
                    content_by_lua_block {
                        local core = require "kubelua.core"
                        ngx.say(type(kubelua.connect), " ", core.now() > 0)
                    }
                }
            ]],
        }
        assert.equal(2, #one:workers())
        local status, body = one:get("/")
        assert.equal(200, status)
        assert.equal("function true", body)
    end)

    it("loses no request of a static upstream through reloads", function()
        backends = traffic.backends(3)
        local http, server = traffic.control(backends)
        one = nginx.start { http = http, server = server }
        local flow = traffic.start(one, { static = "/static", again = "/static" })
        for _ = 1, 5 do
            local before = one:workers()
            one:reload()
            eventually(function()
                local now = one:workers()
                return #now == 2 and now[1] ~= before[1] and now[2] ~= before[2]
            end, "the old workers exit")
        end
        local tallies = flow:stop()
        traffic.compare(tallies, "again")
        assert.equal(0, tallies.static.broken + tallies.static.refused + tallies.static.late)
        local answered = 0
        for _, address in ipairs(backends.addresses) do
            answered = answered + (tallies.static.body[address] or 0)
        end
        assert.equal(tallies.static.status[200], answered)
    end)

    it("names a worker that was killed, and fails if one crashes", function()
        one = nginx.start { server = [[
            location / { return 200 "up\n"; }
            location /crash {
                content_by_lua_block {
                    local ffi = require "ffi"
                    ffi.cdef "int raise(int);"
                    ffi.C.raise(11)
                }
            }
        ]] }
        local victim = one:workers()[1]
        one:signal("KILL", victim)
        eventually(function()
            return one:count("exited on signal 9") == 1 and #one:workers() == 2
        end, "a worker takes the place of the one killed")
        assert.same({}, one:faults())
        one:get("/crash")
        eventually(function()
            return #one:faults() == 1
        end, "the crash is found")
        assert.match("exited on signal 11", one:faults()[1])
        for _, pid in ipairs { one:log():match("process (%d+) exited on signal 11") } do
            one.killed[pid] = true -- the test has killed it
        end
    end)
end)
