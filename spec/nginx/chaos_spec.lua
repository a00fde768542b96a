-- Chaos: under steady load, plain and by TLS, nginx's processes, the API server and all objects get
-- into trouble in a random order. No request fails, no backend or certificate is served after a
-- newer one was, and no more connections break than beside it, at a static upstream.
local changes = require "chaos_changes"
local chaos_judge = require "chaos_judge"
local chaos_trouble = require "chaos_trouble"
local copies = require "nginx_copies"
local eventually = require "eventually"
local gateway_world = require "gateway_world"
local kubelua = require "kubelua"
local length = require("nginx_world").length
local slices = require "slices"

local SEED = tonumber(os.getenv("KUBELUA_CHAOS_SEED")) or 1
local SECONDS = tonumber(os.getenv("KUBELUA_CHAOS_SECONDS")) or length(30, 600)

-- A kube-apiserver in place of the simulator: chaos_real.lua.
local real = os.getenv("KUBELUA_CHAOS_CLUSTER") == "real" and require "chaos_real" or nil

if real then
    changes.life = 300 -- the server takes seconds to start again
end

local TROUBLE = { "reload", "kill_owner", "kill_worker", "stop_owner", "upgrade", "away", "silent",
    "cut", "compact", "cut_lists", "late_list" }
local CHANGES = { "shop", "secure", "old", "pods", "flux", "certificate_a", "certificate_old",
    "listener", "tenant" }

-- A server of nginx with TLS and a certificate in files, for handshakes beside the gateway's.
local CONTROL = [[ server { listen 127.0.0.1:%d ssl; ssl_certificate %s/crt.pem;
    ssl_certificate_key %s/key.pem; location = / { proxy_pass http://static;
    proxy_set_header Connection ""; } } ]]

-- For one who looks for a fault: names of some of these only.
local function named(default, variable)
    local list = {}
    for name in (os.getenv(variable) or ""):gmatch("[%w_]+") do
        list[#list + 1] = name
    end
    return #list > 0 and list or default
end

describe("the gateway in chaos", function()
    local world, judge, folder, tasks, control_port, is_over, problem

    -- Lets a task do something again and again, until the time is over or something fails.
    local function keep_doing(name, pause, act)
        tasks[#tasks + 1] = kubelua.spawn(function()
            while not is_over do
                local ok, message = xpcall(act, debug.traceback)
                if not ok then
                    problem = problem or name .. ": " .. message
                    is_over = true
                end
                kubelua.sleep(pause)
            end
        end)
    end

    local function load_objects()
        local sim = world.sim
        for _, name in ipairs { "pods", "flux" } do
            assert(sim:load(slices.service("web", name)))
            assert(sim:load(slices.slice("web", name, name .. "-1", { "127.0.0.1" },
                world.backends.backend_port)))
            assert(sim:load(changes.route(name, name)))
        end
        for _, secret in ipairs { "a", "old" } do
            assert(sim:apply(changes.secret(secret,
                changes.pair(secret .. ".example.com", 1, changes.life))))
        end
        assert(sim:load(changes.route("shop", "v1")))
        assert(sim:load(changes.route("a", "v1")))
        assert(sim:load(changes.ingress("old", 1, 60)))
    end

    setup(function()
        local services = {}
        for i = 1, changes.BACKENDS do
            services[i] = "web/v" .. i
        end
        folder, control_port = copies.shell("mktemp -d"), copies.free_ports(1)[1]
        local certificate, key = changes.pair("static.example.com", 1, 36000)
        for name, text in pairs { ["crt.pem"] = certificate, ["key.pem"] = key } do
            local file = assert(io.open(folder .. "/" .. name, "w"))
            file:write(text)
            file:close()
        end
        world = gateway_world.start { services = services, load = changes.GATEWAY,
            http = CONTROL:format(control_port, folder, folder),
            cluster = real and real.start(),
            connect = real and function(self) return self.sim:connect_text() end }
        tasks, is_over = {}, false
    end)

    teardown(function()
        world:close()
        copies.shell("rm -r " .. folder)
    end)

    local function start_load()
        local plain, tls = world.one.port, world.tls_port
        judge = chaos_judge.start {
            plain .. ",shop=shop.example.com/,pods=pods.example.com/,flux=flux.example.com/,"
                .. "static=static.example.com/static",
            tls .. "/a.example.com,secure=a.example.com/",
            tls .. "/old.example.com,old=old.example.com/",
            control_port .. "/static.example.com,control=static.example.com/",
        }
        for _, name in ipairs { "shop", "pods", "flux", "static", "secure", "old", "control",
            "a.example.com", "old.example.com", "static.example.com" } do
            judge:begin(name, 1)
        end
        judge:go()
    end

    local function start_tasks()
        for i, name in ipairs(named(CHANGES, "KUBELUA_CHAOS_CHANGES")) do
            local actors = changes.new { cluster = world.sim, judge = judge,
                port = world.backends.backend_port, random = changes.random(SEED + i) }
            keep_doing(name, name:find("certificate") and 1 or 0.1, function()
                actors[name](actors)
            end)
        end
        local random = changes.random(SEED)
        local trouble = chaos_trouble.new { world = world, judge = judge, random = random }
        trouble = real and real.trouble(trouble) or trouble
        local names = named(TROUBLE, "KUBELUA_CHAOS_TROUBLE")
        keep_doing("trouble", 0.3, function()
            local name = names[random(#names)]
            world.done = (world.done or "") .. " " .. name
            trouble[name](trouble)
        end)
    end

    it("keeps its word", function()
        load_objects()
        for _, host in ipairs { "shop", "pods", "flux" } do
            world:expect("web/v1 ", host .. ".example.com", "/")
        end
        world:expect(308, "old.example.com", "/")
        start_load()
        start_tasks()
        local ends = kubelua.now() + SECONDS
        eventually(function()
            is_over = is_over or kubelua.now() >= ends
            return is_over
        end, "the time is over", SECONDS + 10)
        for _, task in ipairs(tasks) do
            task:wait(90)
        end
        local tallies = judge:stop()
        local said = ("seed %d:%s\n%s"):format(SEED, world.done, judge:report())
        if os.getenv("KUBELUA_CHAOS_SAY") or problem then
            print(said)
        end
        assert.is_nil(problem)
        judge:compare(tallies, { shop = "static", pods = "static", flux = "static",
            secure = "control", old = "control", ["a.example.com"] = "static.example.com",
            ["old.example.com"] = "static.example.com" })
    end)
end)
