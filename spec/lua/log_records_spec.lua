-- The log as JSON: each line is one record that every reader of JSON takes, whatever it is about.
local kubelua = require "kubelua"
local processes = require "spec.support.processes"

-- The records that a script writes.
local function records_of(script, environment)
    local log = processes.log_of("local kubelua = require 'kubelua'\n" .. script,
        "KUBELUA_LOG_FORMAT=json " .. (environment or ""))
    local records = {}
    for line in log:gmatch("([^\n]*)\n") do
        assert.is_nil(line:find("[%c\155]"), line)
        assert.is_true(#line < 16384)
        local record = assert(kubelua.decode(line))
        assert.matches("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%dZ$", record.ts)
        record.ts = nil
        records[#records + 1] = record
    end
    return records
end

-- A record without the script's file, whose name differs in each run.
local function expect_record(expected, record)
    local line = record.line and record.line:match(":(%d+)$")
    record.line = line and tonumber(line)
    assert.same(expected, record)
end

local CONTROLLER = [[
    local Sim = require "kubelua.sim"
    local cluster = assert(Sim.new())
    assert(cluster:create { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "a", namespace = "default" } })
    local client = assert(kubelua.connect { sim = cluster })
]]

describe("the log as JSON", function()
    it("has a record for each line of a script, with its fields #processes", function()
        local records = records_of [[
kubelua.log("info", "plain")
kubelua.log("warn", "%d of %s", 3, "web", { free = 4.5, on = 1 > 0, list = { 1, "b" }, of = {} })
kubelua.log("error", "only fields", { a = kubelua.null, q = kubelua.quantity("1Gi") })
kubelua.log("debug", "hidden")
]]
        assert.equal(3, #records)
        expect_record({ level = "info", logger = "script", msg = "plain", line = 3 }, records[1])
        expect_record({ level = "warn", logger = "script", msg = "3 of web", line = 4, free = 4.5,
            on = true, list = { 1, "b" }, of = {} }, records[2])
        expect_record({ level = "error", logger = "script", msg = "only fields", line = 5,
            a = kubelua.null, q = "1Gi" }, records[3])
    end)

    it("is broken by no value #processes", function()
        local records = records_of [[
local cycle, deep, wide = {}, {}, {}
cycle.me = cycle
local at = deep
for _ = 1, 100 do at.x = {}; at = at.x end
for i = 1, 10000 do wide["k" .. i] = i end
local mute = setmetatable({}, { __tostring = function() error("no") end })
kubelua.log("info", "a\n\0\27[2J\155\194\133\226\128\174\240\159\144\152\237\160\128\"\\", {
    cycle = cycle, deep = deep, nan = 0 / 0, more = math.huge, less = -math.huge,
    f = print, mute = mute, [1] = "one", [true] = "yes", ["\155\n"] = "key",
    holes = { 1, nil, 3 }, big = 2 ^ 53, tiny = 5e-324, co = coroutine.create(print) })
kubelua.log("info", "long", { text = ("x"):rep(1e6) })
kubelua.log("info", "long", { text = ("\n"):rep(1e6) })
kubelua.log("info", "wide", { wide = wide })
kubelua.log("info", "many", wide)
kubelua.log("info", ("y"):rep(1e6))
]]
        assert.equal(6, #records)
        local first = records[1]
        assert.equal("a\n\0\27[2J\\x9b\194\133\226\128\174\240\159\144\152\\xed\\xa0\\x80\"\\",
            first.msg)
        assert.same({ me = "a table within itself" }, first.cycle)
        assert.equal("...", first.deep.x.x.x.x.x)
        assert.same({ "NaN", "Infinity", "-Infinity" }, { first.nan, first.more, first.less })
        assert.equal("a table without a text", first.mute)
        assert.same({ "one", "yes", "key" }, { first["1"], first["true"], first["\\x9b\n"] })
        assert.equal(2 ^ 53, first.big)
        assert.matches("^function", first.f)
        assert.matches("^xxxx.*x%.%.%.$", records[2].text)
        assert.matches("^\n\n.*\n%.%.%.$", records[3].text)
        assert.is_true(records[5].truncated)
        assert.matches("^yyyy.*y%.%.%.$", records[6].msg)
    end)

    it("writes a long list as a list, and says where it is cut #processes", function()
        local records = records_of [[
local list = {}
for i = 1, 100 do list[i] = i end
kubelua.log("info", "full", { list = list })
list[101] = 101
kubelua.log("info", "cut", { list = list })
for i = 102, 1000 do list[i] = i end
kubelua.log("info", "long", { list = list })
]]
        assert.equal(100, #records[1].list)
        assert.equal(100, records[1].list[100])
        for number = 2, 3 do
            assert.equal(101, #records[number].list)
            assert.equal(100, records[number].list[100])
            assert.equal("...", records[number].list[101])
        end
    end)

    it("keeps its own members where a script's fields have their names #processes", function()
        local records = records_of [[
kubelua.log("info", "m", { msg = 1, level = 2, ts = 3, controller = 4, error = 5 })
]]
        expect_record({ level = "info", logger = "script", msg = "m", line = 3, msg_ = 1,
            level_ = 2, ts_ = 3, controller_ = 4, error_ = 5 }, records[1])
    end)

    it("says which controller, object and attempt a line is about #processes", function()
        local records = records_of(CONTROLLER .. [[
            kubelua.controller { "configmaps", name = "shop", client = client,
                reconcile = function(object, run)
                    run.log("info", "sees %s", object.name, { size = 2 })
                    kubelua.log("info", "says")
                    if run.attempt == 1 then
                        return nil, "no luck", "conflict"
                    elseif run.attempt == 2 then
                        error("boom")
                    end
                    kubelua.stop()
                end }
            kubelua.run(20)
        ]])
        local about = { level = "info", logger = "script", controller = "shop",
            namespace = "default", name = "a", attempt = 1 }
        assert.equal("shop", records[1].controller)
        assert.equal(1, records[1].keys)
        assert.matches("^controller shop runs: ", records[1].msg)
        about.msg, about.size, about.line = "sees a", 2, 10
        expect_record(about, records[2])
        about.msg, about.size, about.line = "says", nil, 11
        expect_record(about, records[3])
        local failed = records[4]
        assert.is_number(failed.again_in)
        failed.again_in = nil
        about.level, about.logger, about.line = "warn", "kubelua", nil
        about.msg, about.error, about.code = "the run failed", "no luck", "conflict"
        expect_record(about, failed)
        local raised = records[7]
        assert.equal("error", raised.level)
        assert.equal(2, raised.attempt)
        assert.matches("^%S+:15: boom$", raised.error)
        assert.equal(raised.error:match("^(.*): boom$"), raised.line)
        assert.matches("in function", raised.traceback)
        assert.is_nil(raised.error:find("traceback", 1, true))
    end)

    it("has the error, line and traceback of handlers and tasks #processes", function()
        local records = records_of(CONTROLLER .. [[
            kubelua.spawn(function() error("oops \"x\"") end)
            client:informer { "configmaps" }:on { add = function() error("bad") end }
            kubelua.run(0.5)
        ]])
        local spawned, handled = records[1], records[2]
        assert.equal("kubelua.spawn failed", spawned.msg)
        assert.matches(':8: oops "x"$', spawned.error)
        assert.matches(":8$", spawned.line)
        assert.matches("in function", spawned.traceback)
        assert.equal("configmaps: handler of add for ConfigMap default/a failed", handled.msg)
        assert.same({ "default", "a" }, { handled.namespace, handled.name })
        assert.matches(":9: bad$", handled.error)
    end)

    it("has lines of the core, and the traceback of what blocks #processes #signals", function()
        local records = records_of([[
            if jit then jit.off() end -- compiled code calls no hook
            kubelua.spawn(function()
                local till = kubelua.now() + 0.5
                while kubelua.now() < till do end
            end)
            kubelua.run(0.1)
        ]], "KUBELUA_WATCHDOG=0.1")
        local blocked
        for _, record in ipairs(records) do
            assert.equal("kubelua", record.logger)
            if record.traceback and record.msg:find("has blocked the loop for", 1, true) then
                blocked = record
            end
        end
        assert.is_table(blocked)
        assert.is_nil(blocked.traceback:find("; ", 1, true))
    end)

    it("calls no metamethod of a field but __tostring #processes", function()
        local records = records_of [[
local strict = setmetatable({}, { __index = function(_, key) error("no member " .. key) end })
kubelua.log("info", "strict", { value = setmetatable({ 1, nil, 3 }, strict),
    list = setmetatable({ 1, 2 }, { __len = function() error("no length") end,
        __index = function() error("no member") end }), odd = { [0] = "a", nil, "b" } })
]]
        assert.same({ ["1"] = 1, ["3"] = 3 }, records[1].value)
        assert.same({ 1, 2 }, records[1].list)
        assert.same({ ["0"] = "a", ["2"] = "b" }, records[1].odd)
    end)

    it("has the levels that KUBELUA_LOG_LEVEL names, before KUBELUA_LOG #processes", function()
        local script = "for _, l in ipairs { 'debug', 'info', 'warn', 'error' } do "
            .. "kubelua.log(l, l) end"
        assert.equal(4, #records_of(script, "KUBELUA_LOG_LEVEL=debug"))
        assert.equal(1, #records_of(script, "KUBELUA_LOG_LEVEL=error KUBELUA_LOG=debug"))
        assert.equal(2, #records_of(script, "KUBELUA_LOG=warn"))
        assert.equal(0, #records_of(script, "KUBELUA_LOG_LEVEL=off"))
    end)
end)

describe("the log as text", function()
    local function lines_of(script, environment)
        return processes.log_of("local kubelua = require 'kubelua'\n" .. script, environment)
    end

    it("has a script's fields behind the message #processes", function()
        assert.matches(" info  3 of web a=1 b=\"two words\" c={\"x\":%[1%]} d=word\n$", lines_of [[
            kubelua.log("info", "%d of %s", 3, "web", { a = 1, b = "two words", c = { x = { 1 } },
                d = "word" })
        ]])
    end)

    it("warns of a format or level that does not exist #processes", function()
        local log = lines_of("", "KUBELUA_LOG_FORMAT=xml KUBELUA_LOG_LEVEL=loud")
        assert.matches("KUBELUA_LOG_FORMAT=xml: use text or json", log, 1, true)
        assert.matches("KUBELUA_LOG_LEVEL=loud: use debug, info, warn, error or off", log, 1, true)
    end)

    it("takes a table with a text of its own for a value #processes", function()
        assert.matches(" info  1500m left\n$", lines_of [[
            kubelua.log("info", "%s left", tostring(kubelua.quantity("1.5")))
        ]])
    end)
end)
