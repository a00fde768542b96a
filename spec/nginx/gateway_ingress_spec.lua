-- Ingresses of ingress-nginx in a real nginx: what its users expect of an annotation.
local copies = require "nginx_copies"
local eventually = require "eventually"
local gateway_world = require "gateway_world"
local slices = require "slices"

describe("an Ingress of ingress-nginx", function()
    local world

    setup(function()
        world = gateway_world.start { options = "nginx = true" }
    end)

    teardown(function()
        world:close()
    end)

    it("leads / to app-root, also where no path of it fits /", function()
        local host = world:ingress("root", { ["app-root"] = "/app" }, { "/app" })
        world:expect("web/one GET /app ", host, "/app")
        local _, head = world:expect(302, host, "/")
        assert.match("Location: http://root%.example%.com/app$", head)
        world:expect(404, host, "/other")
    end)

    it("tells the backend port, scheme and an id, whatever the client says of them", function()
        local host = world:ingress("told", {})
        local body = world:expect("port=80 scheme=http,http id=", host, "/told",
            "-H 'X-Forwarded-Port: 1' -H 'X-Forwarded-Scheme: https' -H 'X-Scheme: https' "
            .. "-H 'Proxy: http://evil'")
        assert.match("id=%x+ proxy= ", body)
        world:expect("port=80 scheme=http,http id=mine ", host, "/told", "-H 'X-Request-ID: mine'")
    end)

    it("redirects to a rewrite-target that is a URL, with what the path has caught", function()
        local host = world:ingress("moved", { ["rewrite-target"] = "https://new.example.com/$1" },
            { "/old/(.*)" })
        local _, head = world:expect(302, host, "/old/a%20b%0d%0aX:1?c=d")
        assert.match("Location: https://new%.example%.com/a%%20b%%0D%%0AX:1%?c=d$", head)
    end)

    it("without host sends the backend a Host, if HTTP/1.0 has none", function()
        assert(world.sim:apply { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
            metadata = { name = "any", namespace = "web" },
            spec = { ingressClassName = "nginx", defaultBackend = { service = { name = "one",
                port = { number = 80 } } } } })
        world:expect("web/one GET / ", "any.example.org", "/")
        local said = copies.shell(("curl -s -0 -H 'Host:' http://127.0.0.1:%d/told"):format(
            world.one.port))
        assert.match("host=127.0.0.1,", said, 1, true)
    end)

    it("hands on each part of an answer at once, as events need it", function()
        local host = world:ingress("events", {})
        world:expect("web/one GET / ", host, "/")
        local function count_bytes(seconds)
            return #copies.shell(("curl -s -N -m %g -H 'Host: %s' http://127.0.0.1:%d/events")
                :format(seconds, host, world.one.port)) -- 800 bytes, then 100 a second
        end
        local count, first = count_bytes(3.5), count_bytes(0.5)
        assert.truthy(first > 0 and count > first, first .. ", then " .. count)
    end)

    it("with proxy-buffering has a slow client's answer from the backend before", function()
        local host = world:ingress("buffered", { ["proxy-buffering"] = "on" })
        world:expect("web/one GET / ", host, "/")
        copies.shell(("curl -s -m 60 --limit-rate 10k -H 'Host: %s' http://127.0.0.1:%d/large "
            .. ">/dev/null 2>&1 &"):format(host, world.one.port))
        eventually(function()
            return world:asked(" GET /large")
        end, "the backend has sent all 8 MB", 20)
    end)

    it("tells its default-backend why it is asked", function()
        assert(world.sim:load(slices.service("web", "empty")))
        local host = world:ingress("why", { ["default-backend"] = "two" }, nil, "empty")
        world:expect("503 text/css web why empty:80,", host, "/why", "-H 'Accept: text/css' "
            .. "-H 'X-Code: 200'")
    end)
end)
