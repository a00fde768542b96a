-- Ranges of addresses, as allow and deny lists have them: "10.0.0.0/8", "2001:db8::/32",
-- "10.1.2.3". Pure Lua. An address is a string of 4 or 16 bytes; an IPv4 address in IPv6 form is
-- an IPv4 one.
local cidr = {}

local MAPPED = ("\0"):rep(10) .. "\255\255" -- ::ffff:a.b.c.d

---Ranges with a quick answer.
---@class kubelua.gateway.AddressSet
---@field families table<integer, { bits: integer, prefixes: table<string, true> }[]> by bytes
local AddressSet = {}
AddressSet.__index = AddressSet

-- The four bytes of "10.1.2.3"; nil if it is none. Leading zeros are refused, as in Go: other
-- programs read them as octal.
local function read_ipv4(text)
    local bytes = {}
    for part in (text .. "."):gmatch("(.-)%.") do
        local number = part:find("^%d%d?%d?$") and tonumber(part)
        if not number or number > 255 or #part > 1 and part:sub(1, 1) == "0" then
            return nil
        end
        bytes[#bytes + 1] = string.char(number)
    end
    return #bytes == 4 and table.concat(bytes) or nil
end

-- The bytes of groups such as "2001:db8"; nil if they are none.
local function read_groups(text)
    local bytes = {}
    if text == "" then
        return ""
    end
    for group in (text .. ":"):gmatch("(.-):") do
        if not group:find("^%x%x?%x?%x?$") then
            return nil
        end
        local number = tonumber(group, 16)
        bytes[#bytes + 1] = string.char(math.floor(number / 256), number % 256)
    end
    return table.concat(bytes)
end

-- The last 32 bits may be written as an IPv4 address: then as two groups.
local function expand_ipv4(text)
    local head, tail = text:match("^(.*:)(%d+%.%d+%.%d+%.%d+)$")
    local bytes = tail and read_ipv4(tail)
    if not tail then
        return text
    elseif not bytes then
        return nil
    end
    local a, b, c, d = bytes:byte(1, 4)
    return ("%s%x:%x"):format(head, a * 256 + b, c * 256 + d)
end

local function read_ipv6(text)
    local groups = #text <= 45 and expand_ipv4(text)
    if not groups then
        return nil
    end
    local front, back = groups:match("^(.-)::(.*)$")
    if not front then
        local bytes = groups ~= "" and read_groups(groups)
        return bytes and #bytes == 16 and bytes or nil
    end
    local first, last = read_groups(front), read_groups(back)
    if not first or not last or #first + #last > 14 then
        return nil -- "::" is at least one group
    end
    return first .. ("\0"):rep(16 - #first - #last) .. last
end

---The bytes of an address: 4 or 16; nil if the text is none.
---@param text string
---@return string?
function cidr.address(text)
    if type(text) ~= "string" then
        return nil
    elseif not text:find(":", 1, true) then
        return read_ipv4(text)
    end
    local bytes = read_ipv6(text)
    if bytes and bytes:sub(1, 12) == MAPPED then
        return bytes:sub(13)
    end
    return bytes
end

-- The first bits of an address; the others are 0.
local function mask(bytes, bits)
    local whole, rest = math.floor(bits / 8), bits % 8
    local kept = bytes:sub(1, whole)
    if rest > 0 then
        local unit = 2 ^ (8 - rest)
        kept = kept .. string.char(math.floor(bytes:byte(whole + 1) / unit) * unit)
    end
    return kept
end

---The bytes by which a client is counted: a client of IPv6 has a network of 64 bits.
---@param bytes string of its address: 4 or 16
---@return string
function cidr.client(bytes)
    if #bytes == 16 and bytes:sub(1, 12) == MAPPED then
        return bytes:sub(13)
    end
    return bytes:sub(1, 8)
end

---Reads a range or an address. nil: it is none.
---@param text string
---@return string? bytes
---@return integer? bits of the network
function cidr.parse(text)
    if type(text) ~= "string" then
        return nil
    end
    local address, length = text:match("^([^/]*)/(%d%d?%d?)$")
    local bytes = cidr.address(address or text)
    if not bytes then
        return nil
    end
    local most = #bytes * 8
    local bits = length and tonumber(length) or most
    if length and #bytes == 4 and address:find(":", 1, true) then
        bits = bits - 96 -- ::ffff:10.0.0.0/104 is 10.0.0.0/8
    end
    if bits < 0 or bits > most or length and #length > 1 and length:sub(1, 1) == "0" then
        return nil
    end
    return bytes, bits
end

---The ranges of a comma-separated list, without blanks. nil and the first wrong one.
---@param text string
---@return string[]? ranges, string? wrong
function cidr.list(text)
    local ranges = {}
    for part in (text .. ","):gmatch("%s*(.-)%s*,") do
        if not cidr.parse(part) then
            return nil, part
        end
        ranges[#ranges + 1] = part
    end
    return ranges
end

local function add_range(families, bytes, bits)
    local family = families[#bytes]
    local level
    for _, each in ipairs(family) do
        level = each.bits == bits and each or level
    end
    if not level then
        level = { bits = bits, prefixes = {} }
        family[#family + 1] = level
    end
    level.prefixes[mask(bytes, bits)] = true
end

---Makes a set of ranges; those that cannot be read are left out.
---@param ranges string[]
---@return kubelua.gateway.AddressSet
function cidr.set(ranges)
    local families = { [4] = {}, [16] = {} }
    for _, text in ipairs(ranges) do
        local bytes, bits = cidr.parse(text)
        if bytes then
            add_range(families, bytes, bits)
        end
    end
    return setmetatable({ families = families }, AddressSet)
end

---True if the address is in one of the ranges. A text that is no address is in none.
---@param text string
---@return boolean
function AddressSet:has(text)
    local bytes = cidr.address(text)
    for _, level in ipairs(bytes and self.families[#bytes] or {}) do
        if level.prefixes[mask(bytes, level.bits)] then
            return true
        end
    end
    return false
end

return cidr
