-- The log names a handler that blocks the loop, with its traceback, and what a signal interrupts.
-- Each case runs in a separate process, which reads its own log.
local processes = require "processes"

-- The first line of every script here. `logged(text)`: true if the log has it. `busy(text)` blocks
-- the loop until the log has it, at most 30 s.
local BEGIN = ([[
    local core, kubelua = require "kubelua.core", require "kubelua"
    local function logged(text)
        local file = assert(io.open(os.getenv("LOG")))
        local log = file:read("*a")
        file:close()
        return log:find(text, 1, true)
    end
    local function busy(text)
        local deadline = core.now() + 30
        while not logged(text) do
            assert(core.now() < deadline, "not within 30 s")
        end
    end
    local function interrupt()
        local file = assert(io.open("/proc/self/stat"))
        local pid = file:read("*n")
        file:close()
        io.popen(string.format("kill -INT %d", pid)):close()
    end
    local function pods()
        local sim = assert(require("kubelua.sim").new())
        assert(sim:apply { apiVersion = "v1", kind = "Pod",
            metadata = { name = "a", namespace = "web" } })
        return assert(assert(sim:connect()):informer { "pods" })
    end
]]):gsub("\n", " ")

local function log_of(text, environment)
    return processes.log_of(BEGIN .. text, environment)
end

local function has(log, pattern)
    assert.truthy(log:find(pattern), log)
end

describe("a handler that blocks the loop #processes", function()
    it("is named with its traceback, and once more when it ends", function()
        local log = log_of([[

            local function wait_busily()
                busy("has blocked the loop")
            end
            pods():on { name = "reaper", add = function()
                wait_busily()
                kubelua.spawn(function()
                    busy("let the loop go on")
                    kubelua.stop()
                end)
            end }
            kubelua.run(30)
        ]], "KUBELUA_WATCHDOG=0.2")
        has(log, "warn  reaper: handler of add %(%S+:6%) for web/a has blocked the loop for %d")
        has(log, "; stack traceback:; [^\n]*:4: in [^\n]*wait_busily[^\n]*; %S+:7: in [^\n;]*\n")
        has(log, "reaper: handler of add %(%S+:6%) for web/a let the loop go on after %d")
    end)

    it("is named while it is in a C function", function()
        local log = log_of([[

            kubelua.spawn(function()
                os.execute("until grep -q 'has blocked' $LOG; do sleep 0.02; done")
                busy("stack traceback")
                kubelua.stop()
            end)
            kubelua.run(30)
        ]], "KUBELUA_WATCHDOG=0.2")
        has(log, "kubelua.spawn %(%S+:3%) has blocked the loop for %d+.%d s\n")
        has(log, "s; stack traceback:; [^\n]*:[45]: in ")
    end)

    it("is named after it has waited", function()
        local log = log_of([[

            pods():on { add = function()
                kubelua.sleep(0.01)
                busy("handler of add")
                kubelua.stop()
            end }
            kubelua.run(30)
        ]], "KUBELUA_WATCHDOG=0.2")
        has(log, "pods: handler of add %(%S+:3%) for web/a has blocked the loop")
    end)

    it("keeps the hook that the script has set", function()
        local log = log_of([[

            kubelua.spawn(function()
                debug.sethook(function() end, "", 1000000)
                busy("has blocked the loop")
                assert(debug.gethook())
                kubelua.stop()
            end)
            kubelua.run(30)
        ]], "KUBELUA_WATCHDOG=0.2")
        has(log, "kubelua.spawn %(%S+:3%) has blocked the loop for %d+.%d s\n")
    end)

    it("is not named where the limit is 0, nor while it sleeps", function()
        local text = [[

            kubelua.spawn(function()
                local till = core.now() + 0.6
                while %s do
                end
                kubelua.stop()
            end)
            kubelua.run(30)
        ]]
        assert.equal("", log_of(text:format("core.now() < till"), "KUBELUA_WATCHDOG=0"))
        assert.equal("", log_of(text:format("kubelua.sleep(0.3) or core.now() < till"),
            "KUBELUA_WATCHDOG=0.05"))
    end)

    it("is also named if it is an index function", function()
        local log = log_of([[

            local informer = pods()
            informer:index("node", function()
                busy("has blocked the loop")
                kubelua.stop()
            end)
            kubelua.run(30)
        ]], "KUBELUA_WATCHDOG=0.2")
        has(log, "pods: index node %(%S+:4%) has blocked the loop")
    end)

    it("does not go on with a limit that is no number", function()
        has(log_of("", "KUBELUA_WATCHDOG=soon"),
            "KUBELUA_WATCHDOG=soon: use a number of seconds, or 0 to switch it off")
    end)

    it("may end the process", function()
        log_of([[
            pods():on { add = function() os.exit(0, true) end }
            kubelua.run(30)
        ]], "KUBELUA_WATCHDOG=0.2")
    end)
end)

describe("a signal #processes #signals", function()
    it("names the handler that blocks the loop", function()
        local log = log_of([[

            pods():on { add = function()
                interrupt()
                busy("SIGINT waits")
            end }
            assert(kubelua.run(30) == 2)
        ]], "KUBELUA_WATCHDOG=5")
        has(log, "SIGINT waits for pods: handler of add %(%S+:3%) for web/a, which blocks the loop")
    end)

    it("names what still runs or waits, and nothing else", function()
        local log = log_of([[

            pods():on { add = function() kubelua.sleep(100) end, synced = function() end }
            pods():on { name = "idle", add = function() end }
            kubelua.every(100, function() end)
            kubelua.spawn(function() end)
            kubelua.spawn(function()
                kubelua.sleep(0.2)
                interrupt()
                kubelua.sleep(100)
            end)
            assert(kubelua.run(30) == 2)
        ]], "KUBELUA_WATCHDOG=5")
        has(log, "info  SIGINT ends the run; still running: kubelua.spawn %(%S+:7%); "
            .. "pods: handler of add %(%S+:3%) for web/a\n")
    end)
end)
