-- run:apply of what the controller has applied before, where the object of a cache is not enough:
-- it is sent, or another cache answers.
local definition = require "definition"
local eventually = require "eventually"
local kubelua = require "kubelua"
local world = require "controller_world"

local secret = world.secret

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
