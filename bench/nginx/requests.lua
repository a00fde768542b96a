-- What a request costs a worker, by what runs for it: the phases alone, a constant peer, a pick.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local measures = require "measures"
local traffic = require "nginx_traffic"

local requests = {}

local function location(name, upstream, access)
    return "location /" .. name .. " {\n" .. (access and "access_by_lua_block {" .. access .. "}\n"
        or "") .. "proxy_pass http://" .. upstream .. ";\n"
        .. 'proxy_http_version 1.1; proxy_set_header Connection "";\n}\n'
end

-- The first path segment of each route that is measured; nginx has a location for each.
local ROUNDS = 16
local ROUTES = { "static", "empty", "constant", "balancer", "phase", "handed", "access",
    "documented" }

---Microseconds of CPU that a worker needs for a request, by route: the least of the
---rounds, for other work on the machine can only add to it.
function requests.measure(seconds)
    local world = measures.start {
        workers = 1,
        http = [[
            upstream in_balancer {
                server 0.0.0.1;
                balancer_by_lua_block {
                    local balancer = require "ngx.balancer"
                    local host, port = shop:pick()
                    balancer.set_current_peer(host, port)
                }
                keepalive 16;
            }
            upstream constant {
                server 0.0.0.1;
                balancer_by_lua_block {
                    local balancer = require "ngx.balancer"
                    balancer.set_current_peer("127.0.0.1", @backend_port@)
                }
                keepalive 16;
            }
            upstream empty {
                server 127.0.0.1:@backend_port@;
                balancer_by_lua_block { }
                keepalive 16;
            }
            upstream documented {
                server 0.0.0.1;
                balancer_by_lua_block {
                    local balancer, choice = require "ngx.balancer", ngx.ctx.choice
                    if not choice.tried then
                        choice.tried = { choice.host }
                        balancer.set_more_tries(2)
                    end
                    assert(balancer.set_current_peer(choice.host, choice.port))
                }
                keepalive 16;
            }
            upstream handed {
                server 0.0.0.1;
                balancer_by_lua_block {
                    local balancer = require "ngx.balancer"
                    local context = ngx.ctx
                    balancer.set_current_peer(context.host, context.port)
                }
                keepalive 16;
            }
        ]],
        init_worker = "shop = kube.service('web/shop:http')",
        server = location("balancer", "in_balancer") .. location("constant", "constant")
            .. location("empty", "empty") .. location("phase", "empty", " ")
            .. location("handed", "handed", [[
                local context = ngx.ctx
                context.host, context.port = "127.0.0.1", @backend_port@
            ]]) .. location("access", "handed", [[
                local context = ngx.ctx
                context.host, context.port = shop:pick()
            ]]) .. location("documented", "documented", [[
                local host, port = shop:pick()
                if not host then
                    return ngx.exit(503)
                end
                ngx.ctx.choice = { host = host, port = port }
            ]]),
    }
    local pid = world.one:workers()[1]
    local costs = {}
    for round = 0, ROUNDS do
        -- Each round in another order, or what comes first would always meet a quieter machine.
        for turn = 1, #ROUTES do
            local name = ROUTES[(turn * 3 + round) % #ROUTES + 1]
            local before = measures.cpu_of(pid, true) -- the worker is idle
            local flow = traffic.start(world.one, { one = "/" .. name },
                { connections = 8, rate = 0 })
            kubelua.step(0) -- nothing of before is left
            local ends = core.now() + seconds / 5
            while core.now() < ends do
                kubelua.step(ends - core.now())
            end
            local tally = flow:stop().one
            assert(tally.failed == 0, tally.line)
            local cost = (measures.cpu_of(pid, true) - before) / tally.requests * 1e6
            if round > 0 then
                costs[name] = math.min(costs[name] or cost, cost)
            end
        end
    end
    world:close()
    return costs
end

return requests
