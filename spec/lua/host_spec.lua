-- core.hostname and core.random identify a process; core.boottime also counts during a suspension.
local core = require "kubelua.core"

describe("core.hostname", function()
    it("is the kernel's", function()
        local file = assert(io.open("/proc/sys/kernel/hostname"))
        assert.equal(file:read("*l"), core.hostname())
        file:close()
    end)
end)

describe("core.random", function()
    it("returns so many bytes in hexadecimal digits, different each time", function()
        local first = core.random(16)
        assert.truthy(first:match("^%x+$"))
        assert.equal(32, #first)
        assert.not_equal(first, core.random(16))
        assert.has_error(function() core.random(0) end)
        assert.has_error(function() core.random(33) end)
    end)
end)

describe("core.boottime", function()
    it("runs like core.now, but counts the time of suspensions too", function()
        local now, boottime = core.now(), core.boottime()
        assert.is_true(boottime >= now - 0.001)
        local ahead = boottime - now
        assert.is_true(math.abs((core.boottime() - core.now()) - ahead) < 1)
    end)
end)
