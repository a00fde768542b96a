-- What reconcile returns or raises, and what then happens to its key.
local eventually = require "eventually"
local world = require "controller_world"

local unpacked = table.unpack or unpack -- luacheck: ignore 143 113

describe("a result of reconcile:", function()
    local w, result, calls

    before_each(function()
        w, result, calls = world.new(), {}, 0
        w:apply("a")
    end)

    after_each(function()
        w:close()
    end)

    local function controller(options)
        options = options or {}
        options.reconcile = function(_, run)
            calls = calls + 1
            w:note(run.attempt)
            if type(result) == "function" then
                return result(run)
            end
            return unpacked(result, 1, 4)
        end
        return w:controller(options)
    end

    -- The one run that the controller begins with has ended.
    local function run_once(options)
        local made = controller(options)
        w:noted()
        w:rest(made)
        return made
    end

    for what, value in pairs { ["nothing"] = {}, ["true"] = { true }, ["nil alone"] = { nil } } do
        it(what .. " is done", function()
            result = value
            local made = run_once()
            w.cluster:advance(400)
            assert.equal(1, calls)
            assert.equal(0, made:status().queue.delayed)
        end)
    end

    it("an object is done", function()
        result = function() return w.client:informer("configmaps"):get("web/a") or true end
        run_once()
        w.cluster:advance(400)
        assert.equal(1, calls)
    end)

    it("a number above 0 is again, not before so many seconds", function()
        result = { 60 }
        local made = run_once()
        w.cluster:advance(59.999)
        assert.equal(1, calls)
        w.cluster:advance(0.001)
        assert.same({ 1 }, w:noted())
        w:rest(made)
        w.cluster:advance(600)
        assert.equal(12, calls)
    end)

    it("a number of 0 or below is again, paced like a failure, and not counted as one", function()
        for _, number in ipairs { 0, -5 } do
            result = { number }
            calls = 0
            local made = controller { name = "paced" .. number }
            w:noted()
            w:rest(made)
            assert.equal(1, made:status().queue.delayed)
            w.cluster:advance(60) -- 0.1 + 0.2 + 0.4 ... at least
            assert.is_true(calls > 5 and calls < 12, calls .. " calls")
            for _, attempt in ipairs(w:noted(calls - 1)) do
                assert.equal(1, attempt)
            end
            assert.same({}, made:status().failures)
            made:stop()
        end
    end)

    it("false and a message is not before the next event", function()
        result = { false, "its spec makes no sense" }
        local made = run_once()
        w:logged("info controller spec: ConfigMap web/a: its spec makes no sense; it runs again")
        w.cluster:advance(1000)
        assert.equal(1, calls)
        assert.same({}, made:status().failures)
        result = {}
        w:apply("a", "2")
        w:noted()
    end)

    it("nil and a message is a failure: again with backoff, and attempts are counted", function()
        result = { nil, "no route to host", "unavailable" }
        local made = run_once()
        w:logged("warn controller spec: ConfigMap web/a: no route to host "
            .. "%(attempt 1; again in 0.[12] s%)")
        assert.same({ { key = "web/a", message = "no route to host", code = "unavailable",
            attempt = 1 } }, made:status().failures)
        w.cluster:advance(10)
        local attempts = w:noted(5)
        for i, attempt in ipairs(attempts) do
            assert.equal(i + 1, attempt)
        end
        result = {}
        w.cluster:advance(300)
        w:noted()
        assert.same({}, made:status().failures)
    end)

    it("a failure with the server's Retry-After is not retried earlier", function()
        result = { nil, "slow down", "too_many_requests", 30 }
        local made = run_once()
        w.cluster:advance(29.999)
        assert.equal(1, calls)
        w.cluster:advance(20)
        assert.equal(2, calls)
        made:stop()
    end)

    it("backoff doubles to 300 s and has no last attempt", function()
        result = { nil, "never" }
        run_once()
        w.cluster:advance(3600)
        local before = calls
        w.cluster:advance(3600)
        assert.is_true(calls - before >= 12, "again every 300 s at least")
        assert.is_true(calls - before <= 24, "and not before 150 s")
    end)

    it("a result that is no failure resets the backoff", function()
        local answers = { { nil, "no" }, { nil, "no" }, { nil, "no" }, { 1 }, { nil, "no" } }
        result = function() return unpacked(answers[calls] or {}, 1, 4) end
        run_once()
        w.cluster:advance(60)
        assert.same({ 2, 3, 4, 1, 2 }, w:noted(5))
    end)

    it("an error that is raised is a failure, logged with its traceback", function()
        result = function() error("oops") end
        local made = run_once()
        local line = w:logged("error controller spec: ConfigMap web/a: .*oops")
        assert.matches("stack traceback", line)
        assert.matches("controller_results_spec.lua", line)
        assert.equal("error", made:status().failures[1].code)
        w.cluster:advance(0.2)
        assert.same({ 2 }, w:noted())
    end)

    it("an error of assert keeps the call's code, names its line, and has no traceback", function()
        result = function(run) -- of busted's assert, which puts this position before the message
            local patched = assert(run.client:patch("configmaps", "web/missing", { data = {} }))
            return patched
        end
        local made = run_once()
        local line = w:logged("warn controller spec: ConfigMap web/a: "
            .. "spec/lua/controller_results_spec.lua:158: patch ConfigMap web/missing: .*not found")
        assert.is_nil(line:find("traceback"))
        assert.equal("not_found", made:status().failures[1].code)
        result = function(run)
            return assert(run:create(w.configmap("a")))
        end
        w.cluster:advance(1)
        w:logged("warn controller spec: ConfigMap web/a: .*exists already.*attempt 2")
        eventually(function()
            return made:status().failures[1].code == "not_owned"
        end, "the code of run:create is kept, too")
    end)

    it("an error of assert keeps the server's Retry-After", function()
        w.cluster:fail { verb = "patch", status = 503, retry_after = 60, count = 0 }
        result = function(run)
            return assert(run.client:patch("configmaps", "web/a", { data = {} }, { timeout = 5 }))
        end
        local made = run_once()
        w:logged("warn controller spec: ConfigMap web/a: .*again in 60")
        assert.equal("unavailable", made:status().failures[1].code)
        w.cluster:advance(59)
        assert.equal(1, calls)
        w.cluster:heal()
    end)

    it("a raised table is logged", function()
        result = function() error({ reason = "odd" }) end
        run_once()
        w:logged('error controller spec: ConfigMap web/a: {"reason":"odd"}')
    end)

    it("a result without a meaning is an error that says so", function()
        local odd = { ["a string"] = { "done" }, ["a table"] = { {} }, ["a function"] = { print },
            ["the number"] = { 0 / 0 }, ["the number inf"] = { math.huge },
            ["nil without a message"] = { nil, 5 } }
        local count = 0
        for what, value in pairs(odd) do
            count = count + 1
            result = value
            local made = controller { name = "odd" .. count }
            w:noted()
            w:rest(made)
            w:logged("error controller odd" .. count .. ": ConfigMap web/a: reconcile returned "
                .. what .. ".*return nothing, true or an object")
            assert.equal(1, #made:status().failures)
            made:stop()
        end
    end)

    it("each replaces the key's timer, and run.due is the time that was asked for", function()
        local dues = {}
        result = function(run)
            dues[#dues + 1] = run.due or false
            return 100
        end
        local made = run_once()
        local began = w.cluster:now()
        w.cluster:advance(40)
        w:apply("a", "2")
        w:noted()
        w:rest(made)
        assert.same({ false, began + 100 }, dues)
        w.cluster:advance(99)
        assert.equal(2, calls)
        w.cluster:advance(1)
        assert.equal(3, calls)
        assert.equal(began + 140, dues[3])
    end)

    it("a failure is not logged at each of its attempts", function()
        result = { nil, "the same" }
        run_once()
        w.cluster:advance(3600)
        assert.is_true(calls > 10)
        assert.is_true(w:count_logged("the same") <= 5)
    end)

    it("an event of the object itself ends the backoff", function()
        result = { nil, "slow down", "too_many_requests", 100 }
        run_once()
        w:apply("a", "2")
        assert.same({ 2 }, w:noted())
    end)
end)
