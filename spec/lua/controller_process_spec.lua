-- Controllers in a separate process: what blocks the loop, signals, and when a script ends.
local processes = require "processes"

local BEGIN = ([[
    local core, kubelua = require "kubelua.core", require "kubelua"
    local sim = assert(require("kubelua.sim").new())
    local client = assert(sim:connect())
    local function logged(text)
        local file = assert(io.open(os.getenv("LOG")))
        local log = file:read("*a")
        file:close()
        return log:find(text, 1, true)
    end
    local function terminate()
        local file = assert(io.open("/proc/self/stat"))
        local pid = file:read("*n")
        file:close()
        io.popen(string.format("kill -TERM %d", pid)):close()
    end
]]):gsub("\n", " ")

local function log_of(text, environment)
    return processes.log_of(BEGIN .. text, environment)
end

describe("a reconcile that never waits #processes", function()
    it("is logged with its traceback", function()
        local log = log_of([[

            local function stand_still()
                local deadline = core.now() + 30
                while not logged("has blocked the loop") and core.now() < deadline do
                end
                return true
            end
            local controller = assert(kubelua.controller { name = "busy", client = client,
                reconcile = function()
                    local done = stand_still()
                    kubelua.stop()
                    return done
                end })
            controller:enqueue("a/key")
            kubelua.run(60)
        ]], "KUBELUA_WATCHDOG=0.2")
        assert.matches("controller busy: a/key has blocked the loop", log, 1, true)
        assert.matches("stand_still", log, 1, true)
        assert.matches("traceback", log, 1, true)
    end)
end)

describe("SIGTERM #processes", function()
    it("ends the runs, and releases the Lease, within a second", function()
        log_of [[

            local raised
            local controller = assert(kubelua.controller { name = "slow", client = client,
                leader = "slow", reconcile = function()
                    terminate()
                    local _, problem = pcall(kubelua.sleep, 100)
                    raised = tostring(problem)
                end })
            controller:enqueue("a key")
            local signal = kubelua.run { seconds = 60, grace = 0 }
            assert(signal == 15, signal)
            assert(raised:find("cancelled", 1, true), raised)
            local lease = assert(sim:get("leases", "default/slow"))
            assert((lease.spec.holderIdentity or "") == "", lease:json())
        ]]
    end)
end)

describe("a script whose only work is a controller #processes", function()
    it("goes on until it is stopped", function()
        local log = log_of [[

            local controller = assert(kubelua.controller { name = "keys", client = client,
                reconcile = function() kubelua.stop() end })
            assert(not require("kubelua.scheduler").is_idle())
            controller:enqueue("a key", 0.05)
            kubelua.run()
            controller:stop()
            kubelua.step(0)
            assert(require("kubelua.scheduler").is_idle())
        ]]
        assert.is_nil(log:find("no handler", 1, true), log)
    end)
end)
