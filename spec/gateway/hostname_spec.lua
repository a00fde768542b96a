-- resty.kubelua.gateway.hostname: what a Host header names, and which names fit it.
local hostname = require "resty.kubelua.gateway.hostname"

describe("a host name", function()
    for given, name in pairs {
        ["a.com"] = "a.com", ["A.COM"] = "a.com", ["a.com."] = "a.com", ["a.com:8080"] = "a.com",
        ["a.com.:80"] = "a.com", ["a.com:"] = "a.com", ["[::1]"] = "[::1]", [""] = "",
        ["[FD00::1]:443"] = "[fd00::1]", ["10.0.0.1:80"] = "10.0.0.1", ["a_b-c.com"] = "a_b-c.com",
    } do
        it(("of %q is %q"):format(given, name), function()
            assert.equal(name, hostname.normalise(given))
        end)
    end

    it("widens label by label", function()
        local names, name = {}, "a.b.com"
        while name do
            names[#names + 1] = name
            name = hostname.widen(name)
        end
        assert.same({ "a.b.com", "*.b.com", "*.com", "*" }, names)
        assert.equal("*", hostname.widen("[fd00::1.2.3.4]"))
        assert.equal("*", hostname.widen("localhost"))
    end)
end)
