-- client:logs: lines as they arrive. The simulator runs no containers, so a fault gives the
-- answers.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local cluster, client

before_each(function()
    cluster = assert(Sim.new())
    assert(cluster:apply { apiVersion = "v1", kind = "Pod", metadata = { name = "a" },
        spec = { nodeName = "n1", containers = { { name = "c", image = "shop:1" } } } })
    client = assert(cluster:connect())
end)

after_each(function()
    client:close()
    cluster:close()
end)

local function answer(body, status)
    cluster:fail { resource = "pods/log", status = status or 200, body = body,
        content_type = "text/plain" }
end

local function lines_of(stream)
    local lines = {}
    for line in stream:lines() do
        lines[#lines + 1] = line
    end
    return lines
end

describe("client:logs", function()
    it("gives the lines, without their ends", function()
        answer("one\n\nthree\r\nlast")
        local stream = assert(client:logs("default/a", { container = "c", tail = 5, since = 1.5,
            timestamps = true }))
        assert.same({ "one", "", "three\r", "last" }, lines_of(stream))
        assert.is_nil(stream:error())
        local asked = cluster:requests({ resource = "pods", subresource = "log" })[1]
        assert.same({ container = "c", tailLines = "5", sinceSeconds = "2", timestamps = "true" },
            asked.query)
    end)

    it("joins lines that arrive byte by byte", function()
        answer("one\ntwo\n")
        cluster:delay { resource = "pods/log", bytes = 1 }
        assert.same({ "one", "two" }, lines_of(assert(client:logs("a"))))
    end)

    it("ends at once if the log is empty", function()
        answer("")
        assert.same({}, lines_of(assert(client:logs("a"))))
    end)

    it("returns a very long line in pieces", function()
        answer(("x"):rep(3 * 1024 * 1024) .. "\nlast\n")
        local size, last = 0, nil
        local stream = assert(client:logs("a"))
        for line in stream:lines() do
            assert.is_true(#line < 1.5 * 1024 * 1024)
            size, last = size + #line, line
        end
        assert.equal(3 * 1024 * 1024 + 4, size)
        assert.equal("last", last)
    end)

    it("goes on where an earlier loop stopped", function()
        answer("one\ntwo\nthree\n")
        local stream = assert(client:logs("a"))
        for line in stream:lines() do -- luacheck: ignore 512
            assert.equal("one", line)
            break
        end
        assert.same({ "two", "three" }, lines_of(stream))
        stream:close()
    end)

    it("says why it broke, after the lines that have arrived", function()
        answer("one\ntwo\nhalf of th")
        cluster:cut { resource = "pods/log", after_bytes = 10 }
        local stream = assert(client:logs("a"))
        assert.same({ "one", "two", "ha" }, lines_of(stream))
        local message, code = stream:error()
        assert.is_string(message)
        assert.equal("unavailable", code)
    end)

    it("suspends its own task only, until it is closed", function()
        answer("one\ntwo\n")
        cluster:freeze { resource = "pods/log", after_bytes = 4 }
        local lines, stream, code = {}, nil, nil
        kubelua.spawn(function()
            stream = assert(client:logs("a", { follow = true }))
            for line in stream:lines() do
                lines[#lines + 1] = line
            end
            code = select(2, stream:error()) or "no error"
        end)
        local ticks = 0
        local ticker = kubelua.every(0.005, function() ticks = ticks + 1 end)
        assert(cluster:eventually(function() return lines[1] and ticks > 3 end))
        stream:close()
        assert(cluster:eventually(function() return code end))
        ticker.stop()
        assert.same({ "one" }, lines)
        assert.equal("no error", code)
        assert.same({}, lines_of(stream))
    end)

    it("ends with its task, and with its client", function()
        for _, finish in ipairs {
            function(task) task:cancel() end,
            function() client:close() end,
        } do
            answer("one\ntwo\n")
            cluster:freeze { resource = "pods/log", after_bytes = 4 }
            local seen, code
            local task = kubelua.spawn(function()
                local stream = assert(client:logs("a", { follow = true }))
                for line in stream:lines() do
                    seen = line
                end
                code = select(2, stream:error())
            end)
            assert(cluster:eventually(function() return seen end))
            finish(task)
            local _, _, ended = task:wait(5)
            assert.truthy(ended == "canceled" or code == "closed", ended)
        end
    end)

    it("fails as other verbs do", function()
        local _, message, code = client:logs("none")
        assert.equal('pods "none" not found', message)
        assert.equal("not_found", code)
        answer('{"kind":"Status","code":400,"reason":"BadRequest","message":"a container name must '
            .. 'be specified for pod a, choose one of: [c d]"}', 400)
        _, message, code = client:logs("a")
        assert.truthy(message:find("choose one of: [c d]", 1, true), message)
        assert.equal("bad_request", code)
    end)

    it("raises for wrong options", function()
        local function expect(text, ...)
            local ok, message = pcall(client.logs, client, ...)
            assert.is_false(ok)
            assert.truthy(message:find(text, 1, true), message)
        end
        expect("do you mean 'container'", "a", { containr = "c" })
        expect("'tail' is a whole number", "a", { tail = -1 })
        expect("'since' is a number of seconds", "a", { since = 0 })
        expect("is not a key", "a/b/c")
        expect("a pod expected", client:get("ns", "default"))
    end)
end)
