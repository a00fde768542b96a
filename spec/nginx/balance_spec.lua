-- The gateway's balancers in workers of nginx: what one counts, all know, and a worker that is
-- killed in the middle of requests leaves nothing behind.
local eventually = require "eventually"
local nginx_world = require "nginx_world"

local LOCATIONS = [[
        location = /begin { # begins requests that never end
            content_by_lua_block {
                for _ = 1, 40 do
                    assert(gateway_balance.pick(shop, { by = "least_conn" }))
                end
                ngx.say(ngx.worker.pid())
            }
        }
        location = /fail {
            content_by_lua_block {
                local host, port, token = gateway_balance.pick(shop)
                gateway_balance.done(token, "failed", 0.01)
                ngx.say(ngx.worker.pid(), " ", host, ":", port)
            }
        }
        location = /hold { # takes all columns that are free
            content_by_lua_block {
                local library = require "resty.kubelua.library"
                local options = require("ffi").new("kl_loads_options")
                held = library.kl_loads_open(options, nil)
                while library.kl_loads_join(held) ~= 4294967295 do end
                ngx.say(ngx.worker.pid())
            }
        }
        location = /counted { # what a request counts for
            content_by_lua_block {
                ngx.header["Connection"] = "close"
                local _, _, token = gateway_balance.pick(shop)
                local sum = 0
                for _, one in ipairs(gateway_balance.status(shop)) do
                    sum = sum + one.in_flight
                end
                gateway_balance.done(token, "ok")
                ngx.say(ngx.worker.pid(), " ", sum)
            }
        }
        location = /loads {
            content_by_lua_block {
                ngx.header["Connection"] = "close" -- each worker answers now and then
                local sum, out = 0, {}
                for _, one in ipairs(gateway_balance.status(shop)) do
                    sum = sum + one.in_flight
                    out[#out + 1] = one.out and one.host .. ":" .. one.port or nil
                end
                ngx.say(ngx.worker.pid(), " ", sum, " ", table.concat(out, ","))
            }
        }
]]

describe("Balancers of the gateway in nginx", function()
    local world

    before_each(function()
        world = nginx_world.start { workers = 3,
            init_worker = [[
                gateway_balance.init_worker()
                shop = kube.service("web/shop:http")
            ]],
            init_master = [[
                gateway_balance = require "resty.kubelua.gateway.balance"
                assert(gateway_balance.init { workers = 3 })
            ]],
            server = LOCATIONS }
    end)

    after_each(function()
        world:close()
    end)

    -- Waits until another worker than `pid` says what it should of the loads.
    local function others_see(pid, claim, judge)
        world.one:signal("STOP", pid) -- so that another one answers
        local seen = pcall(eventually, function()
            local status, body = world.one:get("/loads")
            local other, sum, out = (status == 200 and body or ""):match("^(%d+) (%d+) (.*)$")
            return other ~= nil and other ~= pid and judge(tonumber(sum), out)
        end, claim)
        world.one:signal("CONT", pid)
        assert.is_true(seen, claim)
    end

    it("counts requests of all workers, and none of one that was killed", function()
        local _, body = world.one:get("/begin")
        local pid = body:match("%d+")
        others_see(pid, "others see 40 requests", function(sum) return sum == 40 end)
        world.one:signal("KILL", pid)
        eventually(function()
            local status, loads = world.one:get("/loads")
            return status == 200 and loads:find("^%d+ 0 ") ~= nil
        end, "the requests of the killed worker are gone")
    end)

    it("keeps what old workers count at a reload, until they end", function()
        local _, body = world.one:get("/begin")
        local pid = body:match("%d+")
        world.one:signal("STOP", pid) -- it cannot end
        world.one:reload()
        eventually(function()
            local status, loads = world.one:get("/loads")
            return status == 200 and loads:find("^%d+ 40 ") ~= nil
        end, "new workers see its requests")
        world.one:signal("CONT", pid)
        eventually(function()
            local status, loads = world.one:get("/loads")
            return status == 200 and loads:find("^%d+ 0 ") ~= nil
        end, "they end with it")
    end)

    it("takes an endpoint that fails out of all workers", function()
        local _, body = world.one:get("/fail")
        local pid, name = body:match("^(%d+) (.+)$")
        others_see(pid, "others know the one that failed", function(_, out) return out == name end)
    end)

    it("counts workers that found no free column, once there are some", function()
        local _, body = world.one:get("/hold")
        local holder = body:match("%d+")
        world.one:signal("STOP", holder) -- it cannot end at the reload
        world.one:reload()
        eventually(function()
            return world.one:count("more workers than balance.init was told of") > 0
        end, "a worker finds no free column")
        world.one:signal("KILL", holder)
        local counting, number = {}, 0
        eventually(function()
            local status, said = world.one:get("/counted")
            local pid = status == 200 and said:match("^(%d+) 1$")
            number = number + (pid and not counting[pid] and 1 or 0)
            counting[pid or ""] = true
            return number == 3
        end, function() return "requests of all workers count\n" .. world.one:said() end, 30)
    end)
end)
