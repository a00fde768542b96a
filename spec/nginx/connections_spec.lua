-- How many connections a machine opens to the API server: only one worker connects, the owner of
-- the map. Over HTTP/1.1 each of its two watches has a connection; over HTTP/2 they share one.
local copies = require "nginx_copies"
local eventually = require "eventually"
local nginx = require "nginx"
local nginx_world = require "nginx_world"

describe("The connections of a machine to the API server", function()
    local world, front

    after_each(function()
        if world then
            world:close()
            world = nil
        end
        if front then
            front:close()
            front = nil
        end
    end)

    local SERVER = [[
        server {
            listen 127.0.0.1:@port@ ssl http2;
            ssl_certificate @folder@/crt;
            ssl_certificate_key @folder@/key;
            location / {
                proxy_pass @url@;
                proxy_http_version 1.1;
                proxy_set_header Connection "";
                proxy_buffering off;
                proxy_read_timeout 1h;
            }
        }
    ]]

    -- The simulator speaks HTTP/1.1; an nginx in front of it speaks HTTP/2, as kube-apiserver does.
    local function start_front(url)
        local values = { port = copies.free_ports(1)[1], folder = copies.shell("mktemp -d"),
            url = url }
        local said, status = copies.shell("openssl req -x509 -newkey rsa:2048 -nodes -days 1 "
            .. "-subj /CN=127.0.0.1 -out " .. values.folder .. "/crt -keyout " .. values.folder
            .. "/key 2>&1")
        assert(status == 0, said)
        front = nginx.start { workers = 1, lua = false, http = SERVER:gsub("@(%a+)@", values),
            server = "location = / { return 200 up; }" }
        copies.shell("rm -r " .. values.folder)
        return "https://127.0.0.1:" .. values.port
    end

    local function watches_of(resource)
        return #world.sim:requests { verb = "watch", resource = resource }
    end

    local function assert_connections(count)
        local has
        eventually(function()
            has = world:connections()
            return has == count
        end, function()
            return count .. " connections, and not " .. tostring(has) .. ": " .. world.one:said()
        end, 60)
    end

    -- With four workers, a reload and a new owner there are still as many connections: those of the
    -- former owner are closed.
    local function keeps_connections(count)
        world:follows(60)
        assert_connections(count)
        assert.is_true(watches_of "services" > 0 and watches_of "endpointslices" > 0)
        local workers = world.one:workers()
        world.one:reload()
        eventually(function()
            local now = world.one:workers()
            return #now == 4 and now[1] ~= workers[1] and now[4] ~= workers[4]
        end, "the workers are new", 60)
        world:follows(60)
        assert_connections(count)
        world:kill_owner()
        world:follows(60)
        assert_connections(count)
    end

    it("are two over HTTP/1.1, one for each watch of one worker of four", function()
        world = nginx_world.start { workers = 4 }
        keeps_connections(2)
    end)

    it("are one over HTTP/2, which both watches of one worker of four share", function()
        world = nginx_world.start { workers = 4, through = start_front,
            connect = "insecure = true" }
        keeps_connections(1)
    end)
end)
