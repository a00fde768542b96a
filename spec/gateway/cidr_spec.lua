-- Ranges of addresses: what is one, and which addresses are in it.
local cidr = require "resty.kubelua.gateway.cidr"

describe("a client is counted", function()
    it("by its address of IPv4, and by its network of IPv6", function()
        local function client(text)
            return cidr.client(cidr.address(text))
        end
        assert.equal("\10\0\0\1", client("10.0.0.1"))
        assert.equal("\10\0\0\1", cidr.client(("\0"):rep(10) .. "\255\255\10\0\0\1"))
        assert.equal(client("2001:db8::1"), client("2001:db8::ffff:1"))
        assert.not_equal(client("2001:db8::1"), client("2001:db8:0:1::1"))
    end)
end)

describe("an address", function()
    it("has 4 or 16 bytes", function()
        assert.equal("\10\0\0\255", cidr.address("10.0.0.255"))
        assert.equal(("\0"):rep(15) .. "\1", cidr.address("::1"))
        assert.equal(("\0"):rep(16), cidr.address("::"))
        assert.equal("\32\1\13\184" .. ("\0"):rep(10) .. "\255\255", cidr.address("2001:DB8::ffff"))
        assert.equal(("\0\1"):rep(8), cidr.address("1:1:1:1:1:1:1:1"))
        assert.equal(("\0\1"):rep(7) .. "\0\0", cidr.address("1:1:1:1:1:1:1::"))
    end)

    it("of IPv4 in IPv6 form is the IPv4 one", function()
        assert.equal("\1\2\3\4", cidr.address("::ffff:1.2.3.4"))
        assert.equal("\1\2\3\4", cidr.address("::ffff:102:304"))
        assert.equal(16, #cidr.address("64:ff9b::1.2.3.4"))
    end)

    it("is not any of these", function()
        for _, text in ipairs { "", " ", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4",
            "1.2.3.4 ", "1..3.4", "-1.2.3.4", "0x1.2.3.4", "1.2.3.4\n", "1.2.3.4\0", ":", ":::",
            "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8", "12345::", "g::",
            "fe80::1%eth0", "[::1]", "::1.2.3", "::1.2.3.4.5", "1.2.3.4::", "::256.1.1.1", "unix:",
            "::ffff:1.2.3.4:5", ("1"):rep(100000), (":"):rep(100000), ("1:"):rep(50000) } do
            assert.is_nil(cidr.address(text), text)
        end
        assert.is_nil(cidr.address(nil))
        assert.is_nil(cidr.address({}))
    end)
end)

describe("a range", function()
    it("is not any of these", function()
        for _, text in ipairs { "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08",
            "10.0.0.0/8/8", "10.0.0/8", "::/129", "::/1000", "10.0.0.0/ 8", "10.0.0.0/1.5", "all",
            "::ffff:10.0.0.0/95", "10.0.0.0/255.0.0.0" } do
            assert.is_nil(cidr.parse(text), text)
        end
    end)

    it("is in a list with commas; the first wrong one is named", function()
        assert.same({ "10.0.0.0/8", "::1" }, cidr.list(" 10.0.0.0/8 ,::1"))
        assert.same({ [2] = "x" }, { cidr.list("10.0.0.0/8, x, y") })
        assert.same({ [2] = "" }, { cidr.list("10.0.0.0/8,") })
    end)
end)

describe("a set of ranges", function()
    it("has the addresses whose first bits fit", function()
        local set = cidr.set { "10.1.2.3/9", "192.168.4.0/22", "1.2.3.4", "2001:db8::/33", "junk" }
        for text, expected in pairs { ["10.127.255.255"] = true, ["10.128.0.0"] = false,
            ["192.168.7.255"] = true, ["192.168.8.0"] = false, ["192.168.3.255"] = false,
            ["1.2.3.4"] = true, ["1.2.3.5"] = false, ["::ffff:10.0.0.1"] = true,
            ["2001:db8:7fff::1"] = true, ["2001:db8:8000::1"] = false, ["junk"] = false,
            [""] = false } do
            assert.equal(expected, set:has(text), text)
        end
    end)

    it("of all has all of its family only", function()
        local set = cidr.set { "0.0.0.0/0" }
        assert.is_true(set:has("255.1.2.3"))
        assert.is_false(set:has("::1"))
        assert.is_true(cidr.set({ "::/0" }):has("ffff::1"))
        assert.is_false(cidr.set({}):has("10.0.0.1"))
        assert.is_true(cidr.set({ "::ffff:10.0.0.0/104" }):has("10.9.9.9"))
    end)

    it("agrees with a comparison of bits, for ranges and addresses by chance", function()
        math.randomseed(7)
        local function random_address()
            return ("%d.%d.%d.%d"):format(math.random(0, 3), math.random(0, 3), math.random(0, 255),
                math.random(0, 255))
        end
        local function number(text)
            local a, b, c, d = text:match("(%d+)%.(%d+)%.(%d+)%.(%d+)")
            return ((a * 256 + b) * 256 + c) * 256 + d
        end
        for _ = 1, 5000 do
            local network, bits, address = random_address(), math.random(0, 32), random_address()
            local size = 2 ^ (32 - bits)
            assert.equal(math.floor(number(network) / size) == math.floor(number(address) / size),
                cidr.set({ network .. "/" .. bits }):has(address))
        end
    end)
end)
