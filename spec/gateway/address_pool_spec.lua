-- The option `pool` of the gateway: addresses and ranges become one list.
local address_pool = require "resty.kubelua.gateway.address_pool"

describe("a pool of addresses", function()
    it("has addresses as they are written", function()
        assert.same({ "10.0.0.9", "fd00::1" }, address_pool.expand { "10.0.0.9", "fd00::1" })
    end)

    it("has the addresses of a range but the first and the last", function()
        assert.same({ "10.0.0.5", "10.0.0.6" }, address_pool.expand { "10.0.0.7/30" })
    end)

    it("has at most 1,024 addresses", function()
        local list = address_pool.expand { "10.43.0.0/16" }
        assert.equal(1024, #list)
        assert.equal("10.43.4.0", list[1024])
    end)
end)
