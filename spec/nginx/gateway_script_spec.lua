-- Lua on the route in a real nginx: what scripts of tenants can do, and what they cannot.
local eventually = require "eventually"
local kubelua = require "kubelua"
local length = require("nginx_world").length
local script_world = require "script_world"
local traffic = require "nginx_traffic"

local config_map, route = script_world.config_map, script_world.route

describe("Lua on the route", function()
    local world

    local function serve(name, text)
        return script_world.serve(world, name, text)
    end

    -- Serves a function `access` that answers with what its text returns.
    local function answer_of(name, text, wanted)
        local host = serve(name, "local function f() " .. text
            .. "\nend request:answer(200, '=' .. tostring(f()))")
        local body = world:expect("=", host, "/")
        assert.equal("=" .. wanted, body)
    end

    local function has_event(name, reason)
        for _, event in ipairs(world.sim:list("events.events.k8s.io", { namespace = "web" })) do
            if event.regarding.name == name and event.reason == reason then
                return true
            end
        end
        return false
    end

    setup(function()
        world = script_world.start [[require = { "ngx.base64", "nothing" }, body = 1000]]
    end)

    teardown(function()
        world:close()
    end)

    it("sets headers, the path and the query for the backend", function()
        local host = serve("sets", [[
            request:set_header("X-Test", request:header("X-From") .. "!")
            request:set_header("X-From", nil)
            request:set_path("/other way")
            request:set_query("a=" .. request:argument("b"))
        ]])
        local body = world:expect("web/one GET /other%20way?a=2 ", host, "/path?b=2",
            "-H 'X-From: here'")
        assert.truthy(body:find("x=here!", 1, true), body)
    end)

    it("answers in place of the backend", function()
        local host = serve("answers", [[
            if request:cookie("user") ~= "ann" then
                request:answer(401, "who are you?\n", { ["WWW-Authenticate"] = "Basic" })
            end
        ]])
        local body, head = world:expect(401, host, "/")
        assert.equal("who are you?", body)
        assert.truthy(head:lower():find("www-authenticate: basic", 1, true), head)
        world:expect("web/one GET / ", host, "/", "-b user=ann")
    end)

    it("sends a request to another Service of its namespace only", function()
        local host = serve("sends", [[
            local ok, message = pcall(request.send_to, request, request:argument("to"))
            if not ok then request:answer(418, message) end
        ]])
        world:expect("web/two GET ", host, "/?to=two:80")
        local body = world:expect(418, host, "/?to=db/three:80")
        assert.truthy(body:find("of the script's namespace", 1, true), body)
        world:expect(503, host, "/?to=three:80")
    end)

    it("changes the headers and the body of the answer", function()
        local host = serve("changes", [[
            return {
                header_filter = function(response, request)
                    response:set_header("X-Backend", nil)
                    response:set_header("X-New", response:header("X-Old") .. request:path())
                    response:set_status(203)
                end,
                body_filter = function(part, is_last)
                    return part:upper() .. (is_last and "END" or "")
                end,
            }
        ]])
        local body, head = world:expect(203, host, "/path")
        assert.truthy(body:find("^WEB/ONE GET /PATH"), body)
        assert.truthy(body:find("END$"), body)
        assert.truthy(head:find("X-New: old/path", 1, true), head)
        assert.falsy(head:find("X-Backend", 1, true))
    end)

    it("keeps the variables of a chunk for one request, through its phases", function()
        local host = serve("keeps", [[
            local seen = "none"
            count = 0
            return {
                access = function(request)
                    count = count + 1
                    seen = request:path() .. count
                end,
                header_filter = function(response) response:set_header("X-Seen", seen) end,
            }
        ]])
        for _ = 1, 3 do
            local _, head = world:expect("web/one", host, "/a")
            assert.truthy(head:find("X-Seen: /a1", 1, true), head)
        end
    end)

    it("reads a body, which goes to the backend all the same", function()
        local host = serve("reads", [[
            local body, why = request:body()
            request:set_header("X-Test", body and #body .. body:sub(-1) or why)
        ]])
        assert.truthy(world:expect("web/one", host, "/", "-d abc"):find("x=3c", 1, true))
        local body = world:expect("web/one", host, "/", "-d " .. ("a"):rep(1001))
        assert.truthy(body:find("x=too large", 1, true), body)
        body = world:expect("web/one", host, "/", "-H 'Transfer-Encoding: chunked' -d "
            .. ("a"):rep(1001))
        assert.truthy(body:find("x=too large", 1, true), body)
    end)

    it("talks to a Service of its namespace through a socket", function()
        local host = serve("talks", [[
            local auth = socket.tcp()
            auth:set_timeout(2)
            assert(auth:connect("two:80"))
            assert(auth:send("GET /other HTTP/1.0\r\nHost: auth\r\n\r\n"))
            local status = assert(auth:receive())
            local name
            repeat
                local line = assert(auth:receive())
                name = name or line:match("^X%-Backend: (.*)")
            until line == ""
            local start = auth:receive(7)
            auth:close()
            request:answer(200, status .. "|" .. name .. "|" .. start)
        ]])
        local body = world:expect("HTTP/1.1 200 OK|", host, "/")
        assert.equal("HTTP/1.1 200 OK|web/two|web/two", body)
    end)

    it("connects to nothing else", function()
        answer_of("connects", [[
            local s, list = socket.tcp(), {}
            for i, place in ipairs { { "127.0.0.1", 80 }, { "db/three:80" }, { "three:80" },
                { "unix:/tmp/a:80" } } do
                local ok, one, why = pcall(s.connect, s, unpack(place))
                list[i] = tostring(ok and one)
            end
            return table.concat(list, " ")
        ]], "false false nil false")
    end)

    it("requires modules of the administrator's list, and cannot change them", function()
        answer_of("requires", [[
            local base64 = require "ngx.base64"
            local list = { tostring(pcall(function() base64.encode_base64url = nil end)) }
            for i, name in ipairs { "nothing", "io", "string", "kubelua", "ngx" } do
                list[i + 1] = tostring((pcall(require, name)))
            end
            list[#list + 1] = base64.encode_base64url("abc")
            return table.concat(list, " ")
        ]], "false false false false false false YWJj")
    end)

    it("is refused in a namespace that the administrator does not name", function()
        assert(world.sim:apply(config_map("off", "return { access = function() end }", "db")))
        assert(world.sim:apply(route("off", "db")))
        world:expect(500, "off.example.com", "/")
        eventually(function()
            local object = world.sim:get("httproutes", "db/off")
            for _, parent in kubelua.ipairs(object:get("status.parents") or {}) do
                for _, condition in kubelua.ipairs(parent.conditions) do
                    if condition.type == "ResolvedRefs" then
                        return condition.status == "False" and condition.message:find(
                            "gateway.init { scripts = { namespaces", 1, true)
                    end
                end
            end
        end, "the condition names the option", 5)
    end)

    it("answers 500 without its script, and again with it", function()
        assert(world.sim:apply(route("late")))
        world:expect(500, "late.example.com", "/")
        assert(world.sim:apply(config_map("late", "return { access = function() end }")))
        world:expect("web/one", "late.example.com", "/")
        assert(world.sim:delete("configmaps", "web/late"))
        world:expect(500, "late.example.com", "/")
    end)

    it("keeps a version until the next one compiles, also with a new owner", function()
        local host = serve("versions", "request:set_header('X-Test', 'first')")
        local function has(text)
            return world:expect("web/one", host, "/"):find("x=" .. text, 1, true)
        end
        eventually(function() return has "first" end, "the first", 5)
        assert(world.sim:apply(config_map("versions", "return { access = function( end }")))
        eventually(function()
            return world.one:log():find("the version before runs on", 1, true)
        end, "the log says so", 5)
        assert.truthy(has "first")
        world.one:signal("KILL", world:owner())
        world:owner()
        for _ = 1, 20 do
            assert.truthy(has "first")
        end
        serve("versions", "request:set_header('X-Test', 'second')")
        eventually(function() return has "second" end, "the second", 5)
        assert.truthy(has_event("versions", "BadScript"))
    end)

    it("changes and breaks under load, also without its owner, and no request fails", function()
        local filters = { { type = "ExtensionRef",
            extensionRef = { group = "", kind = "ConfigMap", name = "load" } } }
        local object = route "load"
        object.spec.hostnames = nil
        object.spec.rules = { {
            matches = { { path = { type = "PathPrefix", value = "/gateway" } } },
            filters = filters, backendRefs = { { name = "one", port = 80 } } } }
        local text = "return { access = function(r) r:set_header('X-Test', '%d') end }"
        assert(world.sim:apply(config_map("load", text:format(0))))
        assert(world.sim:apply(object))
        world:expect("web/one", "any.example.com", "/gateway")
        local flowing = traffic.start(world.one, { gateway = "/gateway", static = "/static" })
        for i = 1, length(20, 200) do
            assert(world.sim:apply(config_map("load", "return { access = function( end }")))
            if i % 5 == 0 then
                world.one:signal("KILL", world:owner())
            end
            assert(world.sim:apply(config_map("load", text:format(i))))
            eventually(function()
                local _, body = world:ask("any.example.com", "/gateway")
                return body:find("x=" .. i .. " ", 1, true)
            end, "version " .. i, 10)
        end
        traffic.compare(flowing:stop(), "gateway")
    end)

    it("works on an Ingress by its annotation, and guards all of its paths", function()
        assert(world.sim:apply { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
            metadata = { name = "old", namespace = "web",
                annotations = { ["kubelua.dev/lua"] = "ingress" } },
            spec = { ingressClassName = "nginx",
                defaultBackend = { service = { name = "two", port = { number = 80 } } },
                rules = { { host = "old.example.com", http = { paths = { { path = "/a",
                    pathType = "Prefix", backend = { service = { name = "one",
                        port = { number = 80 } } } } } } } } } })
        world:expect(500, "old.example.com", "/a")
        world:expect(500, "old.example.com", "/b")
        assert(world.sim:apply(config_map("ingress",
            "return { access = function(r) r:set_header('X-Test', 'lua') end }")))
        local body = world:expect("web/one", "old.example.com", "/a")
        assert.truthy(body:find("x=lua", 1, true), body)
        assert.truthy(world:expect("web/two", "old.example.com", "/b"):find("x=lua", 1, true))
    end)
end)
