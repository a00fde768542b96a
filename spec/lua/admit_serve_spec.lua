-- The HTTPS server of kubelua run --admit: requests go to the loop, and are answered in time also
-- while the loop hangs.
local core = require "kubelua.core"
require "kubelua"
local serve = require "kubelua.serve"
local tasks = require "kubelua.tasks"

local function make_files()
    local ca, ca_key = assert(serve.make_authority("spec", core.unix(), 3600))
    local cert, key = assert(serve.make_certificate(ca, ca_key, { "127.0.0.1" }, core.unix(), 600))
    return { ca = ca, ca_key = ca_key, cert = cert, key = key }
end

local function write_file(text)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    return path
end

-- Asks with a program of its own; its answer comes when the pipe is read. Without LD_PRELOAD: curl
-- hangs with the sanitizer that the interpreter is started with.
local function ask(server, ca_path, path, options)
    return assert(io.popen(string.format(
        "LD_PRELOAD= curl -s -m 20 --cacert %s -w '\\n%%{http_code}' %s 'https://127.0.0.1:%d%s'",
        ca_path, options or "-d body", server:port(), path)))
end

local function read_answer(pipe)
    local text = pipe:read("*a")
    pipe:close()
    local body, status = text:match("^(.*)\n(%d+)$")
    return tonumber(status), body
end

describe("the server of webhooks #processes", function()
    local files, ca_path, server

    -- Waits for the next request, by the descriptor that the loop polls.
    local function take()
        local id, path, body, seconds = server:take()
        while not id do
            assert(tasks.poller:wait(20))
            id, path, body, seconds = server:take()
        end
        return id, path, body, seconds
    end

    before_each(function()
        files = make_files()
        ca_path = write_file(files.ca)
        server = assert(serve.admit("127.0.0.1", "0", files.cert, files.key))
        assert(tasks.poller:watch(server:fd()))
    end)

    after_each(function()
        server:stop()
        os.remove(ca_path)
    end)

    it("hands a body to the loop, and sends its answer", function()
        local pipe = ask(server, ca_path, "/admit/a/validate?timeout=10s", "-d '{\"x\": 1}'")
        local id, path, body, seconds = take()
        assert.equal("/admit/a/validate", path)
        assert.equal('{"x": 1}', body)
        assert.truthy(seconds > 5 and seconds <= 9, seconds)
        assert.is_nil((server:take()))
        assert.is_true(server:answer(id, 202, "text/x", "an answer\0 of bytes"))
        assert.is_false(server:answer(id, 200, "text/x", "twice"))
        assert.same({ 202, "an answer\0 of bytes" }, { read_answer(pipe) })
    end)

    it("answers several that wait, in any order", function()
        local pipes, ids = {}, {}
        for i = 1, 8 do
            pipes[i] = ask(server, ca_path, "/admit/n" .. i)
        end
        for _ = 1, 8 do
            local id, path = take()
            ids[#ids + 1] = { id = id, path = path }
        end
        for i = 8, 1, -1 do
            assert.is_true(server:answer(ids[i].id, 200, "text/plain", ids[i].path))
        end
        for i = 1, 8 do
            assert.same({ 200, "/admit/n" .. i }, { read_answer(pipes[i]) })
        end
    end)

    it("says itself that there was no answer in time, and why", function()
        local status, body = read_answer(ask(server, ca_path, "/admit/a?timeout=300ms"))
        assert.equal(500, status)
        assert.truthy(body:find("the script's loop does not go on", 1, true), body)
        local pipe = ask(server, ca_path, "/admit/a?timeout=1s")
        local id = take()
        status, body = read_answer(pipe)
        assert.equal(500, status)
        assert.truthy(body:find("the script's function has not returned", 1, true), body)
        assert.is_false(server:answer(id, 200, "text/plain", "late"))
    end)

    it("refuses other paths, other methods and bodies over 8 MB", function()
        assert.equal(404, (read_answer(ask(server, ca_path, "/metrics"))))
        assert.equal(405, (read_answer(ask(server, ca_path, "/admit/a", "--get"))))
        local large = write_file(("x"):rep(9 * 2 ^ 20))
        assert.equal(413, (read_answer(ask(server, ca_path, "/admit/a", "--data-binary @" .. large
            .. " -H 'Expect:'"))))
        os.remove(large)
        local whole = write_file(("x"):rep(7 * 2 ^ 20))
        local pipe = ask(server, ca_path, "/admit/a", "--data-binary @" .. whole)
        local id, _, body = take()
        assert.equal(7 * 2 ^ 20, #body)
        server:answer(id, 200, "text/plain", "")
        assert.same({ 200, "" }, { read_answer(pipe) })
        os.remove(whole)
    end)

    it("goes on after clients that go away, and after rubbish instead of TLS", function()
        local pipe = ask(server, ca_path, "/admit/a", "-d x -m 1")
        local id = take()
        read_answer(pipe) -- it has given up
        server:answer(id, 200, "text/plain", "to nobody")
        os.execute(string.format("printf 'GET / HTTP/1.0\\r\\n\\r\\n' | "
            .. "LD_PRELOAD= curl -s -m 1 telnet://127.0.0.1:%d >/dev/null", server:port()))
        pipe = ask(server, ca_path, "/admit/b")
        id = take()
        server:answer(id, 200, "text/plain", "fine")
        assert.same({ 200, "fine" }, { read_answer(pipe) })
    end)

    it("takes a new certificate without a break; one that does not fit changes nothing", function()
        local other = make_files()
        local ok, message, code = server:renew(other.cert, files.key)
        assert.is_nil(ok)
        assert.equal("the private key is not that of the certificate", message)
        assert.equal("invalid_argument", code)
        assert.is_nil((server:renew("x", files.key)))
        assert.is_nil((server:renew(files.cert, "x")))
        assert.equal(404, (read_answer(ask(server, ca_path, "/"))))
        assert(server:renew(other.cert, other.key))
        assert.equal(0, (read_answer(ask(server, ca_path, "/")))) -- the old CA
        local new_path = write_file(other.ca)
        assert.equal(404, (read_answer(ask(server, new_path, "/"))))
        os.remove(new_path)
    end)

    it("closes each connection with its answer once it drains", function()
        local function answer_one()
            local pipe = ask(server, ca_path, "/admit/a", "-d x -i")
            server:answer((take()), 200, "text/plain", "")
            return select(2, read_answer(pipe))
        end
        assert.is_nil(answer_one():find("[Cc]onnection: close"))
        server:drain()
        assert.truthy(answer_one():find("[Cc]onnection: close"))
    end)

    it("answers what waits when it is stopped", function()
        local pipe = ask(server, ca_path, "/admit/a")
        take()
        server:stop()
        assert.equal(500, (read_answer(pipe)))
    end)

    it("ends while clients send one request behind the other, and one half a body", function()
        local head = "POST /admit/%s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
        local path = write_file(head:format("many", 0):rep(20000))
        local half = write_file(head:format("half", 0) .. head:format("half", 9) .. "body")
        local pipes, answered = {}, {}
        for i = 1, 9 do
            pipes[i] = assert(io.popen(string.format("LD_PRELOAD= timeout 60 openssl s_client "
                .. "-quiet -connect 127.0.0.1:%d 2>/dev/null <%s", server:port(),
                i == 1 and half or path)))
        end
        repeat
            local id, asked = take()
            server:answer(id, 200, "text/plain", "")
            answered[asked] = true
        until answered["/admit/half"] and answered["/admit/many"]
        -- Not one of those that send: it may fail to write before it reads what has come.
        local got = pipes[1]:read("*l")
        server:stop()
        for i = 1, 9 do -- a client that has not even connected gets nothing
            pipes[i]:read("*a")
            pipes[i]:close()
        end
        assert.equal("HTTP/1.1 200 OK", (got:gsub("%s+$", "")))
        os.remove(path)
        os.remove(half)
    end)

    it("is one in a process, and says which port is in use", function()
        local second, message = serve.admit("127.0.0.1", "0", files.cert, files.key)
        assert.is_nil(second)
        assert.equal("this process serves webhooks already", message)
        local port = server:port()
        server:stop()
        local plain = assert(serve.start(core.report_pointer(), "127.0.0.1", tostring(port)))
        second, message = serve.admit("127.0.0.1", tostring(port), files.cert, files.key)
        assert.is_nil(second)
        assert.truthy(message:find("another program has this port", 1, true), message)
        plain:stop()
        server = assert(serve.admit("127.0.0.1", tostring(port), files.cert, files.key))
    end)
end)

describe("a certificate that is made", function()
    it("has the names, the times and the issuer", function()
        local ca, key = assert(serve.make_authority("spec ca", 1e9, 3600))
        local names = { "a.b.svc", "10.0.0.7", "::1" }
        local cert = assert(serve.make_certificate(ca, key, names, 1e9, 600))
        assert.same({ made_at = 1e9, ends_at = 1e9 + 600, names = names, subject = "CN=kubelua",
            issuer = "CN=spec ca" }, assert(serve.read_certificate(cert)))
    end)

    it("cannot be made of what is no CA", function()
        local ca, key = assert(serve.make_authority("spec ca", 1e9, 3600))
        for _, pair in ipairs { { "x", key }, { ca, "x" } } do
            local cert, message, code = serve.make_certificate(pair[1], pair[2], { "a" }, 1e9, 1)
            assert.is_nil(cert)
            assert.truthy(message:find("the CA cannot be read", 1, true))
            assert.equal("invalid_argument", code)
        end
        assert.is_nil((serve.read_certificate("x")))
        assert.is_false((pcall(serve.make_certificate, ca, key, {}, 1e9, 1)))
    end)
end)
