-- kubelua.exec: runs programs while the loop goes on.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local scheduler = require "kubelua.scheduler"

local function sh(script, options)
    return kubelua.exec({ "sh", "-c", script }, options)
end

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

-- Runs a script that writes to FILE once it has begun, until its time is over; with twice the time
-- if it had not begun by then, as on a busy machine. Returns what is in the file, what kubelua.exec
-- returned, and the time.
local function time_out(script, options)
    local path, text = os.tmpname(), ""
    script = script:gsub("FILE", path)
    local value, message, code
    options.timeout = options.timeout / 2
    while text == "" do
        options.timeout = options.timeout * 2
        value, message, code = sh(script, options)
        text = read(path)
    end
    os.remove(path)
    return text, value, message, code, options.timeout
end

-- The kernel ends a process that was killed when that has its next turn: on a busy machine, some
-- time after kubelua.exec has returned.
local function until_ended(pid)
    local path = "/proc/" .. assert(tonumber(pid), pid) .. "/stat"
    eventually(function()
        local file = io.open(path)
        local text = file and file:read("*a")
        if file then
            file:close()
        end
        return not text or text:match("^.*%) (%a)") == "Z"
    end, "process " .. pid .. " has ended")
end

describe("a program #processes", function()
    it("gets its arguments unchanged, and its output is returned", function()
        local result = assert(kubelua.exec { "printf", "%s|", "a b", "$HOME", "" })
        assert.same({ status = 0, stdout = "a b|$HOME||", stderr = "" }, result)
        result = assert(sh("echo out; echo one >&2; echo two >&2"))
        assert.same({ status = 0, stdout = "out\n", stderr = "one\ntwo\n" }, result)
    end)

    it("with an exit status other than 0 is a failure with that status", function()
        local value, message, code, result = sh("echo no such zone >&2; exit 3")
        assert.is_nil(value)
        assert.equal("sh: exit status 3: no such zone", message)
        assert.equal("exit_status", code)
        assert.same({ status = 3, stdout = "", stderr = "no such zone\n" }, result)
        value, message, code, result = sh("kill -9 $$")
        assert.is_nil(value)
        assert.equal("sh: ended by signal 9", message)
        assert.equal("exit_status", code)
        assert.equal(9, result.signal)
    end)

    it("that does not exist is named in the error", function()
        local value, message, code = kubelua.exec { "no-such-program" }
        assert.is_nil(value)
        assert.matches("no%-such%-program", message)
        assert.equal("io", code)
    end)

    it("reads its stdin, more than a pipe holds", function()
        local text = ("0123456789abcdef"):rep(65536) .. "\0end"
        assert.equal(text, assert(kubelua.exec({ "cat" }, { stdin = text })).stdout)
        assert.equal("", assert(kubelua.exec { "cat" }).stdout)
        assert(sh("exit 0", { stdin = text })) -- a program need not read its stdin
    end)

    it("has the environment and the folder that it is given", function()
        local result = assert(sh("echo $A $HOME.; pwd",
            { env = { A = "b=c", HOME = false }, cwd = "/" }))
        assert.equal("b=c .\n/\n", result.stdout)
    end)

    it("lets other tasks run, and keeps a run going", function()
        local loop = require "kubelua.loop"
        local ticks, status = 0, nil
        local ticker = kubelua.every(0.001, function() ticks = ticks + 1 end)
        kubelua.spawn(function()
            local result = assert(kubelua.exec({ "cat" }, { stdin = "x" }))
            status = result.status
            ticker:stop()
        end)
        loop.run_until_idle()
        assert.equal(0, status)
    end)

    it("is killed with its group when its time is over", function()
        local child, value, message, code, timeout = time_out(
            "sleep 1000 & echo $! >FILE; wait", { timeout = 0.3 })
        assert.is_nil(value)
        assert.matches(("did not end within %g s"):format(timeout), message, 1, true)
        assert.equal("timeout", code)
        until_ended(child)
    end)

    it("gets SIGTERM, and time to end, when its time is over", function()
        local text, _, _, code = time_out("trap 'echo ended >FILE; exit 0' TERM; echo begun >FILE;"
            .. " while :; do sleep 0.01; done", { timeout = 0.3, grace = 60 })
        assert.equal("timeout", code)
        assert.equal("ended\n", text)
    end)

    it("is killed, with what it has started, if it goes on for longer than its grace", function()
        local began = core.now()
        local pid, _, _, code, timeout = time_out("trap '' TERM; echo $$ >FILE;"
            .. " while :; do sleep 0.01; echo more; done", { timeout = 0.5, grace = 0.3 })
        assert.equal("timeout", code)
        assert.is_true(core.now() - began >= timeout + 0.29)
        until_ended(pid)
    end)

    it("without a grace is killed at once", function()
        local path = os.tmpname()
        local script = "trap 'echo ended >" .. path .. "; exit 0' TERM;"
            .. " while :; do sleep 0.01; done"
        assert.equal("timeout", select(3, sh(script, { timeout = 0.5, grace = 0 })))
        local file = assert(io.open(path))
        assert.equal("", file:read("*a"))
        file:close()
        os.remove(path)
    end)

    it("gets SIGTERM when its task is cancelled, or the run ends", function()
        local path = os.tmpname()
        local function ends_gently(cancel)
            os.remove(path)
            local task = kubelua.spawn(kubelua.exec, { "sh", "-c", "trap 'rm " .. path
                .. "; exit 0' TERM; echo >" .. path .. "; while :; do sleep 0.01; done" })
            local function exists()
                local file = io.open(path)
                return file ~= nil and file:close()
            end
            while not exists() do
                kubelua.step(0.01)
            end
            cancel(task)
            assert.equal("canceled", select(3, task:wait(20)))
            assert.is_false(exists())
        end
        ends_gently(function(task) task:cancel() end)
        ends_gently(function()
            kubelua.spawn(kubelua.stop)
            kubelua.run(20)
        end)
    end)

    it("is killed when its task is cancelled, and when the run ends", function()
        local task = kubelua.spawn(kubelua.exec, { "sleep", "1000" })
        kubelua.step(0.01)
        task:cancel()
        assert.equal("canceled", select(3, task:wait(20)))
        task = kubelua.spawn(kubelua.exec, { "sleep", "1000" })
        kubelua.spawn(kubelua.stop)
        kubelua.run(20)
        assert.equal("canceled", select(3, task:wait(0)))
        kubelua.spawn(kubelua.stop)
        local began = core.now()
        assert.equal("canceled", select(3, kubelua.exec { "sleep", "1000" }))
        assert.is_true(core.now() - began < 20)
        kubelua.run()
        assert.is_true(scheduler.is_idle())
    end)

    it("that writes endlessly is killed", function()
        assert.equal("too_large", select(3, kubelua.exec { "cat", "/dev/zero" }))
    end)

    it("with wrong arguments or options raises", function()
        assert.has_error(function() kubelua.exec() end)
        assert.has_error(function() kubelua.exec {} end)
        assert.has_error(function() kubelua.exec("ls") end)
        assert.has_error(function() kubelua.exec { "ls", 5 } end)
        assert.has_error(function() kubelua.exec({ "ls" }, { stdn = "x" }) end)
        assert.has_error(function() kubelua.exec({ "ls" }, { env = { "A=b" } }) end)
        assert.has_error(function() kubelua.exec({ "ls" }, { timeout = -1 }) end)
        assert.has_error(function() kubelua.exec({ "ls" }, { grace = -1 }) end)
    end)
end)
