-- kubelua run --admit: the server and the functions of a script together, in one loop.
local admission = require "kubelua.admission"
local admitting = require "kubelua.cli.admitting"
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local open_files = require "kubelua.cli.certificate_files"
local serve = require "kubelua.serve"
local Sim = require "kubelua.sim"

local function write_file(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
end

local function make_pair(path)
    local ca, ca_key = assert(serve.make_authority("spec", core.unix(), 3600))
    local cert, key = assert(serve.make_certificate(ca, ca_key, { "127.0.0.1" }, core.unix(), 600))
    write_file(path .. ".crt", cert)
    write_file(path .. ".key", key)
    return ca, cert, key
end

local function review(data)
    return kubelua.json { apiVersion = "admission.k8s.io/v1", kind = "AdmissionReview", request = {
        uid = "u", operation = "CREATE", name = "a", namespace = "default",
        kind = { group = "", version = "v1", kind = "ConfigMap" },
        resource = { group = "", version = "v1", resource = "configmaps" },
        object = { metadata = { name = "a" }, data = data } } }
end

describe("kubelua run --admit", function()
    local path, ca, server, hooks

    local function open()
        server = assert(admitting { admit = { host = "127.0.0.1", port = "0" },
            admit_cert = path .. ".crt", admit_key = path .. ".key" })
    end

    before_each(function()
        path, hooks = os.tmpname(), {}
        ca = make_pair(path)
        open()
    end)

    after_each(function()
        for _, hook in ipairs(hooks) do
            hook:stop()
        end
        server:stop()
        for _, ending in ipairs { "", ".crt", ".key" } do
            os.remove(path .. ending)
        end
    end)

    local function admit(given)
        local hook, message, code = kubelua.admit(given)
        hooks[#hooks + 1] = hook
        return hook, message, code
    end

    local function ask(where, body)
        local reply, message = kubelua.http("https://127.0.0.1:" .. server:port() .. where,
            { method = "POST", body = body or review(), ca_data = ca, timeout = 20 })
        return reply or { status = tonumber(message:match("HTTP (%d+)")), body = message }
    end

    it("asks the function of the path", function()
        admit { "configmaps", name = "one", validate = function() return false, "no" end }
        admit { "configmaps", name = "two", mutate = function(o) o.data = { a = "b" } end,
            validate = function(o) return o.data.a == "b", "not b" end }
        local response = kubelua.decode(ask("/admit/one").body).response
        assert.equal("no", response.status.message)
        assert.equal("JSONPatch", kubelua.decode(ask("/admit/two/mutate").body).response.patchType)
        response = kubelua.decode(ask("/admit/two/validate", review { a = "c" }).body).response
        assert.equal("not b", response.status.message)
        for _, wrong in ipairs { "/admit/three", "/admit/one/mutate", "/admit/two/both",
            "/admit/one/validate/x" } do
            local reply = ask(wrong)
            assert.equal(404, reply.status, wrong)
            assert.truthy(reply.body:find("there are: one, two", 1, true), reply.body)
        end
        assert.equal(400, ask("/admit/one", "rubbish").status)
    end)

    it("answers others while a function waits, and cancels it when the time is over", function()
        local ended = false
        admit { "configmaps", name = "slow", validate = function()
            kubelua.sleep(60)
        end }
        admit { "configmaps", name = "fast", validate = function() end }
        local slow = kubelua.spawn(function()
            local reply = ask("/admit/slow?timeout=1s")
            ended = true
            return reply.status
        end)
        assert.equal(200, ask("/admit/fast").status)
        assert.is_false(ended)
        assert.equal(500, (slow:wait(20)))
    end)

    it("may end before a function has answered", function()
        local began, goes_on, ended
        admit { "configmaps", name = "late", validate = function()
            began = true
            while not goes_on do
                kubelua.sleep(0.001)
            end
            ended = true
        end }
        local function await(is_so)
            local till = kubelua.now() + 20
            while not is_so() and kubelua.now() < till do
                kubelua.step(0.01)
            end
            assert.is_true(is_so())
        end
        kubelua.spawn(ask, "/admit/late")
        await(function() return began end)
        server:stop()
        goes_on = true
        await(function() return ended end)
        kubelua.step(0) -- raises what the answer raised
        open()
    end)

    it("does not decide before its caches are known", function()
        local cluster = assert(Sim.new())
        local client = assert(cluster:connect())
        cluster:fail { verb = "list", resource = "secrets", status = 503, count = 1000 }
        cluster:fail { verb = "watch", resource = "secrets", status = 503, count = 1000 }
        admit { "configmaps", name = "unsynced", client = client, reads = { "secrets" },
            validate = function() return false, "asked" end }
        local response = kubelua.decode(ask("/admit/unsynced").body).response
        assert.equal(503, response.status.code)
        assert.truthy(response.status.message:find("secrets", 1, true))
        client:close()
        cluster:close()
    end)

    it("gives the functions the caches that they read", function()
        local cluster = assert(Sim.new())
        local client = assert(cluster:connect())
        assert(client:create { apiVersion = "v1", kind = "Secret",
            metadata = { name = "s", namespace = "default", labels = { a = "b" } } })
        local seen = {}
        admit { "configmaps", name = "reads", client = client, reads = { { "secrets", as = "keys",
            namespace = "default", indexes = { a = "metadata.labels.a" } } },
            validate = function(_, _, _, all)
                seen = { all:get("keys", "default/s").name, #all:list("keys"),
                    #all:by("keys", "a", "b"), #all:by("keys", "a", "c"),
                    select(2, pcall(all.get, all, "key", "x")),
                    select(2, pcall(function() return all.gets end)) }
            end }
        eventually(function()
            return kubelua.decode(ask("/admit/reads").body).response.allowed
        end, "the cache is known")
        assert.same({ "s", 1, 1, 0 }, { seen[1], seen[2], seen[3], seen[4] })
        assert.truthy(seen[5]:find("do you mean 'keys'?", 1, true), seen[5])
        assert.truthy(seen[6]:find("it has by, get, list", 1, true), seen[6])
        client:close()
        cluster:close()
    end)

    it("takes one webhook of a name", function()
        admit { "configmaps", name = "twice", validate = print }
        local ok, message = pcall(kubelua.admit, { "secrets", name = "twice", validate = print })
        assert.is_false(ok)
        assert.truthy(message:find("admitting_spec.lua:%d+: give this one another name"), message)
        for i = 1, 2 do -- the same line again: a script that a test loads anew
            admit { "configmaps", name = "again", validate = function() return i == 2 end }
        end
        assert.is_true(admission.ask("again", { object = { apiVersion = "v1",
            kind = "ConfigMap" } }).allowed)
        hooks[1]:stop()
        assert.is_nil((admission.ask("twice", { object = { apiVersion = "v1",
            kind = "ConfigMap" } })))
    end)
end)

describe("kubelua run --admit without a certificate", function()
    it("says what is missing or wrong", function()
        local path, address = os.tmpname(), { host = "127.0.0.1", port = "0" }
        make_pair(path)
        for _, case in ipairs {
            { { admit = address }, "together" },
            { { admit_cert = path .. ".crt", admit_key = path .. ".key" }, "together" },
            { { admit = address, admit_cert = "/none", admit_key = path .. ".key" },
                "/none: No such file" },
            { { admit = address, admit_cert = path .. ".key", admit_key = path .. ".key" },
                "certificate (PEM) cannot be read" },
            { { admit = address, admit_cert = path .. ".crt", admit_key = path .. ".crt" },
                "private key (PEM) cannot be read" },
        } do
            local one, message = admitting(case[1])
            assert.is_nil(one)
            assert.truthy(message:find("--admit: ", 1, true) and message:find(case[2], 1, true),
                message)
        end
        for _, ending in ipairs { "", ".crt", ".key" } do
            os.remove(path .. ending)
        end
    end)
end)

describe("the files of a certificate", function()
    it("are taken when both have changed, and a pair that does not fit is not", function()
        local path, taken = os.tmpname(), {}
        local function use(cert, key)
            if cert ~= key then
                return nil, "they do not fit"
            end
            taken[#taken + 1] = cert
            return true
        end
        local function write(cert, key)
            write_file(path .. ".crt", cert)
            write_file(path .. ".key", key)
        end
        write("1", "1")
        local files = assert(open_files(path .. ".crt", path .. ".key", use))
        assert.is_false(files:look(use))
        write("2", "1")
        for _ = 1, 3 do
            assert.is_false(files:look(use))
        end
        write("2", "2")
        assert.is_true(files:look(use))
        assert.is_false(files:look(use))
        os.remove(path .. ".key")
        assert.is_false(files:look(use))
        assert.same({ "1", "2" }, taken)
        assert.is_nil((open_files(path .. ".crt", path .. ".key", use)))
        os.remove(path)
        os.remove(path .. ".crt")
    end)
end)
