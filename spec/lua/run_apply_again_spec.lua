-- run:apply of what the controller has applied before: it is sent only if it may change
-- something; where the object of a cache is not enough, it is sent, or another cache answers.
local world = require "controller_world"
local definition = require "definition"
local eventually = require "eventually"
local kubelua = require "kubelua"

local secret = world.secret

describe("run:apply of the same fields again", function()
    local w, answers

    before_each(function()
        w, answers = world.new(), {}
        w:apply("a")
    end)

    after_each(function()
        w:close()
    end)

    -- A controller that applies in each run: what `make` returns now, with these options.
    local function start(make, options, owns)
        local controller = w:controller {
            fields = "metadata.name=a",
            owns = owns ~= false and { owns or "secrets" } or nil,
            reads = owns == false and { "secrets" } or nil,
            reconcile = function(_, run)
                local ok, answer, message = pcall(run.apply, run, make(), options)
                answers[#answers + 1] = answer or message
                return ok, message
            end,
        }
        w:rest(controller)
        return controller
    end

    local function run_again(controller)
        local before = #answers
        controller:enqueue("web/a")
        w:rest(controller)
        assert.is_true(#answers > before)
    end

    local function make_secret()
        return secret("s")
    end

    it("is not sent, and returns the object of the cache", function()
        local controller = start(make_secret)
        assert.equal(1, w:count_sent())
        assert.is_true(#answers >= 2) -- its own event has caused a second run
        run_again(controller)
        assert.equal(1, w:count_sent())
        for _, answer in ipairs(answers) do
            assert.equal("web/s", answer.key)
            assert.equal(answers[1].resource_version, answer.resource_version)
        end
    end)

    it("is sent if a field differs, or one is missing", function()
        local more = { labels = { a = "1", b = "2" } }
        local controller = start(function() return secret("s", more) end)
        more.labels.a = "2"
        run_again(controller)
        assert.equal(2, w:count_sent())
        more.labels.b = nil
        run_again(controller)
        assert.equal(3, w:count_sent())
        local labels = w.cluster:get("secrets", "web/s").metadata.labels
        assert.equal("2", labels.a)
        assert.is_nil(labels.b)
    end)

    it("is sent after another client has changed the object", function()
        start(make_secret)
        assert(w.cluster:patch("secrets", "web/s", { data = { a = "Mg==" } }))
        assert(w.cluster:settle(60))
        assert.equal("MQ==", w.cluster:get("secrets", "web/s").data.a)
        assert.equal(2, w:count_sent())
    end)

    it("is sent after the object was deleted, or deleted and created again", function()
        local controller = start(make_secret)
        assert(w.cluster:delete("secrets", "web/s"))
        assert(w.cluster:settle(60))
        assert.equal("MQ==", w.cluster:get("secrets", "web/s").data.a)
        run_again(controller)
        assert.equal(2, w:count_sent())
    end)

    it("is sent once the cache learns that the object was deleted", function()
        local controller = start(make_secret)
        w.cluster:freeze { verb = "watch", resource = "secrets" }
        assert(w.cluster:delete("secrets", "web/s"))
        local before = #answers
        controller:enqueue("web/a")
        eventually(function() return #answers > before end, "it runs with an old cache")
        assert.equal(1, w:count_sent())
        w.cluster:heal()
        eventually(function() return w:count_sent() == 2 end, "the event reconciles the owner")
        assert(w.cluster:settle(60))
        assert.equal("MQ==", w.cluster:get("secrets", "web/s").data.a)
    end)

    it("is sent if the cache is only read: its events reconcile nothing", function()
        local controller = start(make_secret, nil, false)
        local before = w:count_sent()
        run_again(controller)
        assert.equal(before + 1, w:count_sent())
    end)

    it("is sent again after ten minutes, twenty at most", function()
        local controller = start(make_secret)
        w.cluster:advance(599)
        run_again(controller)
        assert.equal(1, w:count_sent())
        w.cluster:advance(601)
        run_again(controller)
        assert.equal(2, w:count_sent())
        w.cluster:advance(3600)
        run_again(controller)
        assert.equal(3, w:count_sent())
    end)

    it("is sent with dry_run", function()
        local controller = start(make_secret)
        start(make_secret, { dry_run = true })
        local before = w:count_sent()
        run_again(controller)
        assert.equal(before, w:count_sent())
        run_again(w.controllers[2])
        assert.is_true(w:count_sent() > before)
    end)

    it("is sent if manager or force differs", function()
        local options = {}
        local controller = start(make_secret, options)
        options.manager = "other"
        run_again(controller)
        assert.equal(2, w:count_sent())
        options.force = false
        run_again(controller)
        assert.equal(3, w:count_sent())
    end)

    for what, owns in pairs {
        ["only metadata"] = { "secrets", metadata = true },
        ["no data"] = { "secrets", drop = { "data" } },
    } do
        it("is sent if the cache has " .. what .. " of the object", function()
            local controller = start(make_secret, nil, owns)
            local before = w:count_sent()
            run_again(controller)
            assert.equal(before + 1, w:count_sent())
            assert.equal("MQ==", answers[#answers].data.a)
        end)
    end

    it("lets other tasks have their turn in a loop, and raises once it is cancelled", function()
        local applied, others, raised, runs = 0, 0, false, 0
        local controller = w:controller { fields = "metadata.name=a", owns = { "secrets" },
            timeout = 5, reconcile = function(_, run)
                runs = runs + 1
                assert(run:apply(secret("s")))
                if runs == 2 then
                    kubelua.spawn(function() others = others + 1 end)
                    raised = not pcall(function()
                        while applied < 10000 do
                            assert(run:apply(secret("s")))
                            applied = applied + 1
                            if others == 1 then
                                others = 2
                                w.cluster:advance(6) -- its timeout
                            end
                        end
                    end)
                end
            end }
        w:rest(controller)
        eventually(function() return raised end, "the timeout cancels it", 20)
        assert.equal(2, others)
        assert.is_true(applied < 10000)
    end)

    it("is sent if the answer had no UID, or no resourceVersion", function()
        for _, metadata in ipairs { '"uid":"1"', '"resourceVersion":"1"' } do
            w.cluster:fail { resource = "secrets", verb = "patch", status = 200,
                content_type = "application/json", body = '{"kind":"Secret","apiVersion":"v1",'
                    .. '"metadata":{"name":"s","namespace":"web",' .. metadata .. '}}' }
        end
        local controller = start(make_secret)
        assert.equal("web/s", answers[1].key)
        run_again(controller)
        run_again(controller)
        assert.equal(3, w:count_sent())
    end)

    it("raises for a document that cannot be sent", function()
        local given = make_secret()
        local controller = start(function() return given end)
        given.data = print
        run_again(controller)
        assert.matches("a function has no JSON form", answers[#answers])
    end)
end)

local w, answers

local function begin_world(options)
    w, answers = world.new(options), {}
    w:apply("a")
end

-- Applies what `make` returns, and notes the answer.
local function apply(run, make)
    local answer, message, code = run:apply(make())
    answers[#answers + 1] = { object = answer, code = code }
    return answer, message, code
end

local function start(make, options)
    options = options or {}
    options.fields, options.owns = "metadata.name=a", options.owns or { "secrets" }
    options.reconcile = function(_, run) return apply(run, make) end
    local controller = w:controller(options)
    w:rest(controller)
    return controller
end

local function run_again(controller)
    local before = #answers
    controller:enqueue("web/a")
    eventually(function() return #answers > before end, "it runs again")
end

local function make_secret()
    return secret("s")
end

-- Another client changes the Secret, and the caches do not see it.
local function change_unseen()
    w.cluster:freeze { verb = "watch", resource = "secrets" }
    assert(w.cluster:patch("secrets", "web/s", { data = { a = "Mg==" } }))
end

local function assert_corrected()
    w.cluster:heal()
    assert(w.cluster:settle(60))
    assert.equal("MQ==", w.cluster:get("secrets", "web/s").data.a)
end

describe("run:apply of the same fields again", function()
    before_each(function() begin_world() end)

    after_each(function()
        w:close()
    end)

    it("is sent if `when` may hold back the event that the cache lacks", function()
        local controller = start(make_secret,
            { owns = { { "secrets", when = kubelua.changed("labels") } } })
        change_unseen()
        run_again(controller)
        assert_corrected()
    end)

    it("is sent while the owner is being deleted: after finalize nothing corrects it", function()
        start(make_secret, { finalizer = "example.com/cleanup",
            finalize = function(_, run) assert(apply(run, make_secret)) end })
        change_unseen()
        assert(w.cluster:delete("configmaps", "web/a"))
        eventually(function() return not w.cluster:get("configmaps", "web/a") end,
            "the owner is finalized")
        assert_corrected()
    end)

    it("is sent after twenty minutes, whenever it was asked for meanwhile", function()
        local controller = start(make_secret)
        w.cluster:advance(1190)
        run_again(controller)
        assert.equal(1, w:count_sent())
        w.cluster:advance(590)
        run_again(controller)
        w:rest(controller)
        assert.equal(2, w:count_sent())
    end)

    it("is sent with a resourceVersion, and conflicts if that is old", function()
        local metadata = {}
        local controller = start(function() return secret("s", metadata) end)
        metadata.resourceVersion = w.cluster:get("secrets", "web/s").resource_version
        metadata.labels = { a = "1" }
        local before = #answers
        run_again(controller)
        assert.is_nil(answers[before + 1].code)
        run_again(controller)
        assert.equal("conflict", answers[#answers].code)
    end)

    it("returns the whole object, though another cache has its metadata alone", function()
        for _, name in ipairs { "a", "b", "c", "d" } do -- their order is that of a table
            local controller = start(make_secret,
                { name = name, reads = { { "secrets", as = name, metadata = true } } })
            run_again(controller)
            assert.equal("MQ==", answers[#answers].object.data.a)
            controller:stop()
        end
    end)

    it("returns the version of the API that the document names", function()
        assert(w.cluster:apply(definition("foos.example.com", { versions = {
            { name = "v1", served = true, storage = true },
            { name = "v2", served = true, storage = false } } })))
        local controller = start(function()
            return { apiVersion = "example.com/v2", kind = "Foo", metadata = { name = "f" } }
        end, { owns = { "foos.v1.example.com" } })
        run_again(controller)
        for _, answer in ipairs(answers) do
            assert.equal("example.com/v2", answer.object.apiVersion)
        end
    end)
end)

describe("a cluster restored from a backup", function()
    before_each(function() begin_world { clock = "real" } end)

    after_each(function()
        w:close()
    end)

    it("gets an apply again, though its object has the version of the answer", function()
        local metadata = {}
        local controller = start(function() return secret("s", metadata) end)
        local snapshot = assert(w.cluster:snapshot())
        metadata.labels = { a = "1" }
        run_again(controller)
        w:rest(controller)
        local before = w.cluster:get("secrets", "web/s").resource_version
        assert(w.cluster:apply(secret("other", { namespace = "web" })))
        w:rest(controller)
        w.cluster:expire { verb = "watch", resource = "secrets", how = "status" }
        assert(w.cluster:restore(snapshot))
        local after = assert(w.cluster:patch("secrets", "web/s", { data = { a = "Mg==" } }))
        assert.equal(before, after.resource_version)
        eventually(function()
            return w.cluster:get("secrets", "web/s").data.a == "MQ=="
        end, "it is corrected", 20)
    end)
end)
