-- The examples of docs/HOSTS.md in the hosts' own programs, as they stand there, on a simulated
-- cluster behind a port: spec/hosts/run.sh.
local eventually = require "eventually"
local socket = require "cqueues.socket"
local Sim = require "kubelua.sim"

local BUILD = os.getenv("KUBELUA_BUILD") or "build"

local function shell(command)
    local pipe = assert(io.popen(command))
    local said = pipe:read("*a")
    pipe:close()
    return said
end

local ROOT = shell("pwd"):match("[^\n]+")

local function write(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
end

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

local function example(heading)
    local text = read("docs/HOSTS.md")
    local _, from = assert(text:find("\n## " .. heading .. "\n", 1, true))
    return assert(text:match("```lua\n(.-)```", from))
end

-- A port of this machine that nothing uses: programs of C get it as a number.
local function free_port()
    local listener = assert(socket.listen("127.0.0.1", 0))
    assert(listener:listen())
    local _, _, port = listener:localname()
    listener:close()
    return port
end

-- Asks a DNS server for the address of shop.web.kube; nil while it does not answer.
local function address_of_shop(port)
    -- One question, recursion desired: type A, class IN.
    local query = "\0\7\1\0\0\1\0\0\0\0\0\0" .. "\4shop\3web\4kube\0" .. "\0\1\0\1"
    local server = assert(socket.connect { host = "127.0.0.1", port = port,
        type = socket.SOCK_DGRAM })
    server:setmode("bn", "bn")
    server:settimeout(0.2)
    server:onerror(function(_, _, code) return code end)
    server:write(query)
    local answer = server:read(-512)
    server:close()
    if not answer or #answer < 4 + #query then
        return nil
    end
    return table.concat({ answer:byte(-4, -1) }, ".")
end

describe("KubeLua in", function()
    local cluster, folder, address, pid

    setup(function()
        cluster = assert(Sim.new { load = "examples/cluster.yaml" })
        assert(cluster:listen())
        address = assert(cluster:get("services", "web/shop")).spec.clusterIP
        folder = os.tmpname()
        os.remove(folder)
        shell("mkdir -p " .. folder .. "/state " .. folder .. "/modules")
        write(folder .. "/kubeconfig", cluster:kubeconfig())
    end)

    after_each(function()
        if pid then
            shell("kill -KILL -" .. pid .. " 2>&1")
            pid = nil
        end
    end)

    teardown(function()
        cluster:close()
        shell("rm -rf " .. folder)
    end)

    local function said()
        return read(folder .. "/said")
    end

    -- Starts a program with the modules of one ABI of Lua, as a group of processes of its own.
    -- False if this machine does not have it.
    local function start(abi, command)
        if shell("command -v " .. command:match("%S+")) == "" then
            pending("this Debian has no " .. command:match("%S+"))
            return false
        end
        local here = ROOT .. "/"
        local build = BUILD:find("^/") and BUILD or here .. BUILD
        pid = shell(string.format("cd %s && LUA_PATH='%s?.lua;%s?/init.lua;;' LUA_CPATH='%s/?.so;;'"
            .. " KUBECONFIG=%s/kubeconfig setsid timeout 60 %s >said 2>&1 </dev/null & echo $!",
            folder, here .. "lua/", here .. "lua/", build .. "/lua/" .. abi, folder,
            command)):match("%d+")
        return true
    end

    local function eventually_says(...)
        for _, text in ipairs { ... } do
            eventually(function() return said():find(text, 1, true) end, function()
                return text .. " in: " .. said()
            end)
        end
    end

    local function eventually_answers(port)
        eventually(function() return address_of_shop(port) == address end, said)
    end

    it("neovim", function()
        write(folder .. "/nvim.lua", example("luv and neovim"))
        if start("5.1", "nvim --headless -u NONE -i NONE +'luafile nvim.lua'") then
            eventually_says("web/db-0", "web/shop-1", "web/shop-2")
        end
    end)

    it("Prosody", function()
        write(folder .. "/modules/mod_kube.lua", example("Prosody"))
        write(folder .. "/prosody.lua", string.format([[
            run_as_root = true
            data_path, plugin_paths = "%s/state", { "%s/modules" }
            pidfile = "%s/prosody.pid"
            modules_enabled, modules_disabled = { "kube" }, { "s2s", "c2s", "tls" }
            log = { info = "*console" }
            VirtualHost "localhost"
        ]], folder, folder, folder))
        if start("5.4", "prosody --config " .. folder .. "/prosody.lua -F") then
            eventually_says("there is web/db-0", "there is web/shop-1", "there is web/shop-2")
        end
    end)

    it("knot-resolver", function()
        local port = free_port()
        write(folder .. "/kresd.conf", string.format("net.listen('127.0.0.1', %d)\n", port)
            .. example("knot-resolver"))
        if start("5.1", "kresd -n -c ../kresd.conf " .. folder .. "/state") then
            eventually_answers(port)
        end
    end)

    it("PowerDNS recursor", function()
        local port = free_port()
        write(folder .. "/recursor.lua", example("PowerDNS recursor"))
        if start("5.1", string.format("pdns_recursor --config-dir=. --local-address=127.0.0.1"
            .. " --local-port=%d --socket-dir=. --lua-dns-script=recursor.lua --daemon=no"
            .. " --security-poll-suffix= --setuid= --setgid=", port)) then
            eventually_answers(port)
        end
    end)

    it("Tarantool", function()
        write(folder .. "/tarantool.lua", "io.stdout:setvbuf('line')\n" .. example("Tarantool"))
        if start("5.1", "tarantool tarantool.lua") then
            eventually_says("web/db-0", "web/shop-1", "web/shop-2")
        end
    end)

    it("HAProxy, or is told what it lacks", function()
        local port = free_port()
        write(folder .. "/haproxy.lua", example("HAProxy"))
        write(folder .. "/haproxy.cfg", string.format([[
global
    lua-load haproxy.lua
defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 5s
frontend web
    bind 127.0.0.1:%d
    http-request return status 200 content-type text/plain lf-string %%[lua.kube_ip(web/shop)]
]], port))
        if not start("5.4", "haproxy -W -f haproxy.cfg") then
            return
        end
        if not shell("haproxy -vv"):find("Lua version : Lua 5.4", 1, true) then
            return eventually_says("this is Lua 5.3: the program that loads it has that Lua built"
                .. " in; use one that was built with Lua 5.4 or LuaJIT (docs/HOSTS.md)")
        end
        eventually(function()
            return shell("curl -s --max-time 5 http://127.0.0.1:" .. port) == address
        end, said)
    end)
end)
