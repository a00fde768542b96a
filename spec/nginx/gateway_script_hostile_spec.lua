-- Lua on the route in the hands of a tenant who means harm, in a real nginx: it costs that tenant's
-- requests only.
local eventually = require "eventually"
local kubelua = require "kubelua"
local script_world = require "script_world"

describe("Lua on the route of a tenant who means harm", function()
    local world

    local function serve(name, text)
        return script_world.serve(world, name, text)
    end

    setup(function()
        world = script_world.start [[milliseconds = 20, megabytes = 2]]
        serve("good", "request:set_header('X-Test', 'good')")
        world:expect("web/one", "good.example.com", "/")
    end)

    teardown(function()
        world:close()
    end)

    -- Others are served as before.
    local function check_others()
        for _ = 1, 4 do
            local body = world:expect("web/one", "good.example.com", "/")
            assert.truthy(body:find("x=good", 1, true), body)
        end
    end

    for name, text in pairs {
        loop = "while true do end",
        caught = "while true do pcall(function() while true do end end) end",
        memory = "local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end",
        doubled = "local s = 'x' while true do s = s .. s end",
        pattern = "(request:header('X-Long') or ('a'):rep(5000)):find(('.-'):rep(20) .. '!')",
        waits = "while true do local s = socket.tcp() s:connect('one:80') s:close() end",
        again = "local s = socket.tcp() while true do pcall(s.connect, s, 'none:80') end",
        object = "error(setmetatable({}, { __tostring = function() while true do end end }))",
        answer = "while true do pcall(request.answer, request, 200, ('x'):rep(1e6)) end",
        deep = "local function f() return pcall(f) and f() end f() while true do f() end",
        ["string"] = "string.rep = nil",
        meta = "getmetatable('').__index = nil",
        global = "ngx.exit(200)",
        header = "request:set_header('Transfer-Encoding', 'chunked')",
        split = "request:set_header('X-A', 'a\\r\\nX-B: b')",
        target = "request:set_path('http://127.0.0.1/')",
        module = "require 'io'",
    } do
        it("answers 500 for its own request: " .. name, function()
            local host = serve(name, text)
            world:expect(name == "answer" and 200 or 500, host, "/")
            check_others()
        end)
    end

    it("lets an answer go on if a later phase does not end", function()
        local host = serve("later", [[
            return {
                header_filter = function() while true do end end,
                body_filter = function() while true do end end,
                log = function() while true do end end,
            }
        ]])
        for _ = 1, 3 do
            world:expect("web/one", host, "/")
        end
        check_others()
    end)

    it("bounds what a script keeps of a long body", function()
        local host = serve("keeps", [[
            local parts = {}
            return { body_filter = function(part, is_last)
                parts[#parts + 1] = part .. #parts
                return part
            end }
        ]])
        assert.equal(8000000, #world:expect("xxx", host, "/large"))
        eventually(function()
            return world.one:log():find("keeps more than 2 MB", 1, true)
        end, "the log says so", 5)
        check_others()
    end)

    it("streams a long body through a script that keeps nothing", function()
        local host = serve("streams", "return { body_filter = function(part) return part .. '' end,"
            .. " log = function(response) log('sent ' .. response:bytes()) end }")
        assert.equal(8000000, #world:expect("xxx", host, "/large"))
        assert.falsy(world.one:log():find("web/streams: body_filter", 1, true))
    end)

    it("has an Event with what happened", function()
        eventually(function()
            world:ask("loop.example.com", "/")
            for _, event in kubelua.ipairs(world.sim:list("events.events.k8s.io",
                { namespace = "web" })) do
                if event.regarding.name == "loop" and event.reason == "ScriptFailed" then
                    return event.note:find("has run for more than 20 ms", 1, true)
                end
            end
        end, "there is one", 15)
    end)

    it("writes one line of the log for one call", function()
        local host = serve("forges", "log('x\\nFORGED') error('y\\nFORGED')")
        world:expect(500, host, "/")
        assert.falsy(world.one:log():find("\nFORGED", 1, true))
    end)
end)
