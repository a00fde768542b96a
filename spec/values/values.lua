-- Compares kubelua.quantity, duration and cron with what Go's libraries make of the same texts:
-- reads the lines of go/main.go. Prints TAP.
local kubelua = require "kubelua"

local failures, counts = {}, {}

local function expect(what, wanted, got, fields)
    if wanted ~= "*" and wanted ~= got then
        failures[#failures + 1] = string.format("%s: %s instead of %s: %s", what, tostring(got),
            wanted, table.concat(fields, " | "))
    end
end

-- The digits of a whole number.
local function digits(number)
    return (string.format("%.0f", number):gsub("^%-0$", "0"))
end

-- A number of Lua is the double that is nearest to the digits.
local function expect_number(what, wanted, got, fields)
    local exact = math.abs(tonumber(wanted)) <= 2 ^ 53
    expect(what, exact and wanted or digits(tonumber(wanted) + 0.0), digits(got + 0.0), fields)
end

local check = {}

function check.quantity(fields)
    local quantity, message = kubelua.quantity(fields[2])
    if fields[3] == "refused" or not quantity then
        expect("quantity", fields[3], quantity and tostring(quantity) or message and "refused",
            fields)
        return
    end
    expect("text", fields[3], tostring(quantity), fields)
    expect("format", fields[4], quantity:format(), fields)
    expect_number("value", fields[5], quantity:value(), fields)
    expect_number("milli", fields[6], quantity:milli(), fields)
    local again = kubelua.quantity(tostring(quantity))
    if not tostring(quantity):find("^%-?%d+Ei$") then
        expect("read again", "true", tostring(again == quantity), fields)
    end
end

function check.arithmetic(fields)
    local a, b = assert(kubelua.quantity(fields[2])), assert(kubelua.quantity(fields[3]))
    local order = a < b and -1 or a == b and 0 or 1
    expect("order", fields[4], digits(order), fields)
    expect("<=", tostring(order <= 0), tostring(a <= b), fields)
    expect("compare", fields[4], digits(a:compare(fields[3])), fields)
    expect("sum", fields[5], tostring(a + b), fields)
    expect("difference", fields[6], tostring(a - b), fields)
    expect("product", fields[8], tostring(a * tonumber(fields[7])), fields)
    expect("product", fields[8], tostring(tonumber(fields[7]) * a), fields)
    expect("negative", fields[9], tostring(-a), fields)
end

function check.duration(fields)
    local duration, message = kubelua.duration(fields[2])
    if fields[3] == "refused" or not duration then
        expect("duration", fields[3], duration and tostring(duration) or message and "refused",
            fields)
        return
    end
    expect("text", fields[3], tostring(duration), fields)
    local seconds = tonumber(fields[4])
    if math.abs(duration:seconds() - seconds) > math.abs(seconds) * 1e-15 then
        expect("seconds", fields[4], string.format("%.17g", duration:seconds()), fields)
    end
    local other = assert(kubelua.duration(fields[5]))
    expect("read again", fields[5], tostring(other), fields)
    if fields[6] ~= "*" then
        local sum = duration + other
        expect("sum", fields[6], tostring(sum), fields)
        expect("difference", tostring(duration), tostring(sum - other), fields)
        expect("order", tostring(other > kubelua.duration(0)), tostring(duration < sum),
            fields)
    end
end

function check.schedule(fields)
    local schedule, message = kubelua.cron(fields[2])
    if fields[3] == "refused" or not schedule then
        expect("schedule", fields[3], schedule and "read" or message and "refused", fields)
        return
    end
    for i = 4, #fields - 1 do
        if fields[i + 1] == "hangs" then
            assert(schedule:next(tonumber(fields[i]), fields[3]))
            return
        elseif fields[i + 1] == "never" then
            expect("next", "nil", tostring(schedule:next(tonumber(fields[i]), fields[3])), fields)
            return
        end
        local unix = schedule:next(tonumber(fields[i]), fields[3])
        expect("next", fields[i + 1], unix and digits(unix) or "nil", fields)
    end
end

for line in io.lines() do
    local fields = {}
    for field in (line .. "\t"):gmatch("([^\t]*)\t") do
        fields[#fields + 1] = field
    end
    counts[fields[1]] = (counts[fields[1]] or 0) + 1
    check[fields[1]](fields)
end

for _, kind in ipairs { "quantity", "arithmetic", "duration", "schedule" } do
    local is_right = (counts[kind] or 0) > 0 and #failures == 0
    print((is_right and "ok" or "not ok") .. " - " .. _VERSION .. ": " .. kind
        .. " as Go's, of " .. (counts[kind] or 0) .. " random ones")
end
for i = 1, math.min(#failures, 20) do
    print("# " .. failures[i])
end
os.exit(#failures == 0)
