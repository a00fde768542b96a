-- What a request costs a worker, by what runs for it: the phases alone, a constant peer, a pick.
local copies = require "nginx_copies"
local ffi = require "ffi"
local measures = require "measures"
local traffic = require "nginx_traffic"

ffi.cdef "int getpid(void);"

local requests = {}

local function location(name, upstream, access)
    return "location /" .. name .. " {\n" .. (access and "access_by_lua_block {" .. access .. "}\n"
        or "") .. "proxy_pass http://" .. upstream .. ";\n"
        .. 'proxy_http_version 1.1; proxy_set_header Connection "";\n}\n'
end

-- The first path segment of each route that is measured; nginx has a location for each.
local ROUNDS = 64
local ROUTES = { "static", "empty", "constant", "balancer", "phase", "handed", "access",
    "documented" }

-- Keeps a process on one core, and the processes that it starts from now on.
local function pin(pid, cores)
    copies.shell("taskset -pc " .. cores .. " " .. pid .. " >/dev/null")
end

local function median(values)
    table.sort(values)
    return values[math.ceil(#values / 2)]
end

-- What the routes cost in one round.
local function measure_round(world, pid, round, seconds)
    local costs = {}
    -- Each round in another order, or what comes first would always meet a quieter machine.
    for turn = 1, #ROUTES do
        local name = ROUTES[(turn * 3 + round) % #ROUTES + 1]
        local before = measures.cpu_of(pid, true) -- the worker is idle
        local tally = traffic.run(world.one, { one = "/" .. name },
            { connections = 8, rate = 0, seconds = seconds }).one
        assert(tally.failed == 0, tally.line)
        costs[name] = (measures.cpu_of(pid, true) - before) / tally.requests * 1e6
    end
    return costs
end

---Measures how much CPU time an nginx worker needs for one request, for each route. If the machine
---has two cores, the worker runs alone on one; the load generator and the backends use the other.
---@param seconds number each route gets so long, in 64 turns
---@return table<string, number> costs microseconds, the median of the rounds
---@return fun(one: string, other: string): number ratio of two routes, the median of what each
---round has: the machine's speed changes less within a round than between two
function requests.measure(seconds)
    local cores = tonumber((copies.shell("nproc")))
    pin(ffi.C.getpid(), 0)
    local world = measures.start {
        workers = 1,
        http = [[
            upstream in_balancer {
                server 0.0.0.1;
                balancer_by_lua_block {
                    local balancer = require "ngx.balancer"
                    local host, port = shop:pick()
                    balancer.set_current_peer(peers[host], port)
                }
                keepalive 64;
            }
            upstream constant {
                server 0.0.0.1;
                balancer_by_lua_block {
                    local balancer = require "ngx.balancer"
                    balancer.set_current_peer("127.0.0.1", @backend_port@)
                }
                keepalive 64;
            }
            upstream empty {
                server 127.0.0.1:@backend_port@;
                balancer_by_lua_block { }
                keepalive 64;
            }
            upstream documented {
                server 0.0.0.1;
                balancer_by_lua_block {
                    local balancer, choice = require "ngx.balancer", ngx.ctx.choice
                    if not choice.tried then
                        choice.tried = { choice.host }
                        balancer.set_more_tries(2)
                    end
                    assert(balancer.set_current_peer(peers[choice.host], choice.port))
                }
                keepalive 64;
            }
            upstream handed {
                server 0.0.0.1;
                balancer_by_lua_block {
                    local balancer = require "ngx.balancer"
                    local context = ngx.ctx
                    balancer.set_current_peer(peers[context.host], context.port)
                }
                keepalive 64;
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
    pin(pid, math.min(1, cores - 1))
    local rounds, costs = {}, {}
    for round = 0, ROUNDS do
        local found = measure_round(world, pid, round, seconds / 20)
        rounds[round] = found -- the first one warms up, and is not counted
    end
    pin(ffi.C.getpid(), "0-" .. cores - 1)
    world:close()
    for _, name in ipairs(ROUTES) do
        local all = {}
        for round = 1, ROUNDS do
            all[round] = rounds[round][name]
        end
        costs[name] = median(all)
    end
    return costs, function(one, other)
        local all = {}
        for round = 1, ROUNDS do
            all[round] = rounds[round][one] / rounds[round][other]
        end
        return median(all)
    end
end

return requests
