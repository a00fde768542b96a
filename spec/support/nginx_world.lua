-- A cluster on a port, backends, and an nginx whose workers route by resty.kubelua, beside a static
-- upstream: the world of the scenarios in spec/nginx.
local kubelua = require "kubelua"
local core = require "kubelua.core"
local eventually = require "eventually"
local nginx = require "nginx"
local Sim = require "kubelua.sim"
local slices = require "slices"
local traffic = require "nginx_traffic"

local nginx_world = {}

---@class spec.NginxWorld
---@field sim kubelua.Sim the API server
---@field url string
---@field one spec.Nginx
---@field backends spec.Nginx
---@field addresses string[] of the backends
local World = {}
World.__index = World

local HTTP = [[
    init_by_lua_block {
        kube = require "resty.kubelua"
        peers = setmetatable({}, { __index = function(known, host)
            known[host] = host:gsub("^10%.127%.", "127.0.")
            return known[host]
        end })
        assert(kube.init {
            connect = { server = "@url@", @connect@ }, services = { namespace = "*" }, @init@
        })
        @init_master@
    }
    init_worker_by_lua_block {
        assert(kube.init_worker { wait = 10 })
        @init_worker@
    }
    upstream kube {
        server 0.0.0.1;
        balancer_by_lua_block {
            local balancer = require "ngx.balancer"
            assert(balancer.set_current_peer(peers[ngx.ctx.host], ngx.ctx.port))
        }
        keepalive 16;
    }
]]

local SERVER = [[
        location /kube {
            access_by_lua_block {
                local host, port = kube.pick(ngx.var.arg_service or "web/shop:http")
                if not host then
                    ngx.status = 503
                    ngx.say(port)
                    return ngx.exit(503)
                end
                ngx.ctx.host, ngx.ctx.port = host, port
            }
            proxy_pass http://kube;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }
        location /state {
            content_by_lua_block {
                ngx.header["Connection"] = "close"
                ngx.print("pid ", ngx.worker.pid(), "\n", "age ", kube.age() or -1, "\n",
                    "synced ", tostring(kube.synced()), "\n", kube.metrics())
            }
        }
]]

local function fill(text, values)
    return (text:gsub("@([%w_]+)@", values))
end

---Returns the short one of two times or numbers; or, with KUBELUA_NGINX_LENGTH=full in the
---environment, the full one (spec/nginx/README.md).
---@param short number
---@param full number
---@return number
function nginx_world.length(short, full)
    return os.getenv("KUBELUA_NGINX_LENGTH") == "full" and full or short
end

---@class spec.NginxWorldOptions : spec.NginxOptions
---@field backend_count integer? default: 4
---@field init string? more fields of kube.init
---@field init_master string? Lua after kube.init
---@field init_worker string? Lua after kube.init_worker
---@field sim kubelua.Sim.Options?
---@field through fun(url: string): string? returns the URL that workers connect to, from the
---cluster's URL
---@field connect string? more fields of kube.init's connect
---@field load string? objects to load into the cluster before nginx starts

---Starts the cluster, the backends and nginx, with a Service web/shop whose endpoints are all
---backends.
---@param options spec.NginxWorldOptions?
---@return spec.NginxWorld
function nginx_world.start(options)
    options = options or {}
    local self = setmetatable({ options = options }, World)
    self.sim = assert(Sim.new(options.sim or { no_controllers = true }))
    self.url = assert(self.sim:listen())
    if options.through then
        self.url = options.through(self.url)
    end
    self.backends, self.addresses = traffic.backends(options.backend_count or 4)
    assert(self.sim:load(slices.service("web", "shop")))
    self:route(self.addresses)
    if options.load then
        assert(self.sim:load(options.load))
    end
    self.http, self.server = traffic.control(self.backends)
    local given = { workers = options.workers, code_cache = options.code_cache,
        environment = options.environment, level = options.level, main = options.main }
    self:describe(given)
    self.one = nginx.start(given)
    return self
end

-- Adds the directives of this world to the options of nginx.
function World:describe(given)
    given.http = self.http .. fill(HTTP, {
        url = self.url, connect = self.options.connect or "", init = self.options.init or "",
        init_master = self.options.init_master or "",
        init_worker = self.options.init_worker or "",
    }) .. fill(self.options.http or "", self.backends)
    given.server = self.server .. SERVER .. fill(self.options.server or "", self.backends)
end

---Gives Service web/shop these endpoints, all ready.
---@param addresses string[]
function World:route(addresses)
    assert(self.sim:load(slices.slice("web", "shop", "shop-1", addresses,
        self.backends.backend_port)))
end

---Starts traffic to web/shop and to the control.
---@param options table? of nginx_traffic.start
---@return spec.Traffic
function World:traffic(options)
    return traffic.start(self.one, { kube = "/kube", static = "/static" }, options)
end

---The state of the worker that answers: pid, age, synced, and the metrics by name.
---@return table?
function World:state()
    local status, body = self.one:get("/state")
    if status ~= 200 then
        return nil
    end
    local state = {}
    for name, value in body:gmatch("([%w_]+)[^%s]* (%S+)") do
        state[name] = tonumber(value) or value
    end
    return state
end

---The pid of the worker that watches the API server; waits until there is one.
---@return string
function World:owner()
    return eventually(function()
        local state = self:state()
        local pid = state and string.format("%d", state.kubelua_owner_pid)
        for _, worker in ipairs(self.one:workers()) do
            if worker == pid then
                return pid
            end
        end
    end, "a worker is the owner")
end

---Kills the owner with signal 9.
function World:kill_owner()
    self.one:signal("KILL", self:owner())
end

---How many connections to the API server are open on this machine.
---@return integer
function World:connections()
    local port, count = string.format(":%04X", self.url:match(":(%d+)$")), 0
    for line in io.lines("/proc/net/tcp") do
        local remote, state = line:match("^ *%d+: %S+ (%S+) (%S+)")
        if remote and remote:sub(-5) == port and state == "01" then
            count = count + 1
        end
    end
    return count
end

---Waits until every worker routes by a change of the cluster.
---@param seconds number?
function World:follows(seconds)
    local address = self.addresses[#self.addresses]
    self:route { address }
    -- Enough requests on new connections for each worker to answer one, almost surely.
    eventually(function()
        for _ = 1, 8 * (self.options.workers or 2) do
            local status, body = self.one:get("/kube")
            if status ~= 200 or body ~= address then
                return false
            end
        end
        return true
    end, function()
        return "the workers follow the cluster: " .. self.one:said()
    end, seconds or 10)
    self:route(self.addresses)
end

---Calls `change` with 1, 2, 3 and so on, `rate` times a second, for `seconds`.
---@param rate number
---@param seconds number
---@param change fun(number: integer)
---@return integer
function World:repeatedly(rate, seconds, change)
    local begun, count = core.now(), 0
    while core.now() - begun < seconds do
        local due = math.floor((core.now() - begun) * rate)
        while count < due do
            count = count + 1
            change(count)
        end
        kubelua.step(0.001)
    end
    return count
end

function World:close()
    local problems = {}
    for _, one in ipairs { self.one or false, self.backends or false } do
        local ok, problem = pcall(one and one.close or type, one)
        problems[#problems + 1] = not ok and problem or nil
    end
    self.sim:close()
    if #problems > 0 then
        error(table.concat(problems, "\n"), 2)
    end
end

return nginx_world
