-- What tells one process from another, and the clock that no suspension stops.
local core = require "kubelua.core"

describe("core.hostname", function()
    it("is the kernel's", function()
        local file = assert(io.open("/proc/sys/kernel/hostname"))
        assert.equal(file:read("*l"), core.hostname())
        file:close()
    end)
end)

describe("core.random", function()
    it("is so many bytes in hexadecimal digits, different ones each time", function()
        local first = core.random(16)
        assert.truthy(first:match("^%x+$"))
        assert.equal(32, #first)
        assert.not_equal(first, core.random(16))
        assert.has_error(function() core.random(0) end)
        assert.has_error(function() core.random(33) end)
    end)
end)

describe("core.boottime", function()
    it("runs as core.now does, and is ahead of it by the time of suspensions", function()
        local now, boottime = core.now(), core.boottime()
        assert.is_true(boottime >= now - 0.001)
        local ahead = boottime - now
        assert.is_true(math.abs((core.boottime() - core.now()) - ahead) < 1)
    end)
end)
