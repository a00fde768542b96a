-- The addresses that Gateways get, one each: the option `pool` as a list, in which a range such as
-- "10.43.0.0/24" stands for its addresses. Pure.
local address_pool = {}

local MOST = 1024

local function read_range(text)
    local a, b, c, d, bits = text:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)/(%d+)$")
    bits = tonumber(bits)
    if not bits or bits < 8 or bits > 30 then
        return nil
    end
    local number = ((a * 256 + b) * 256 + c) * 256 + d
    local count = 2 ^ (32 - bits)
    local first = number - number % count
    return first + 1, first + count - 2 -- without those of the network and for broadcasts
end

local function write_address(number)
    local bytes = {}
    for i = 4, 1, -1 do
        bytes[i] = ("%d"):format(number % 256)
        number = (number - number % 256) / 256
    end
    return table.concat(bytes, ".")
end

---The addresses of a pool, at most 1,024.
---@param pool string[] addresses and ranges
---@return string[]
function address_pool.expand(pool)
    local list = {}
    for _, text in ipairs(pool) do
        local first, last = read_range(text)
        if first then
            for number = first, last do
                list[#list + 1] = #list < MOST and write_address(number) or nil
            end
        else
            list[#list + 1] = #list < MOST and text or nil
        end
    end
    return list
end

return address_pool
