-- The rule at the end of a TZif file, such as "CET-1CEST,M3.5.0,M10.5.0/3": how offsets change
-- after the last change in the file. For zone.lua. As tzset in Go's package time.
local posix_rule = {}

---@class kubelua.posix_rule.Rule
---@field standard number the offset of the standard time
---@field summer number? that of the daylight saving time
---@field begins table the day and time at which daylight saving time begins
---@field stops table
---@field to_days fun(year: number, month: number, day: number): number
local Rule = {}
Rule.__index = Rule

local DAY = 86400

local function read_name(text)
    local name, rest = text:match("^<([^>]*)>(.*)$")
    if not name then
        name, rest = text:match("^([^%d,%-%+]+)(.*)$")
    end
    return name and rest
end

local function read_time(text)
    local sign, hours, minutes, seconds, rest = text:match("^([+-]?)(%d+):(%d+):(%d+)(.*)$")
    if not sign then
        sign, hours, minutes, rest = text:match("^([+-]?)(%d+):(%d+)(.*)$")
    end
    if not sign then
        sign, hours, rest = text:match("^([+-]?)(%d+)(.*)$")
    end
    hours, minutes, seconds = tonumber(hours), tonumber(minutes) or 0, tonumber(seconds) or 0
    if not sign or hours > 168 or minutes > 59 or seconds > 59 then
        return nil
    end
    local time = hours * 3600 + minutes * 60 + seconds
    return sign == "-" and -time or time, rest
end

-- One of the two days: "M3.5.0" (the last Sunday in March), "J60" (without leap days), "59".
local function read_day(text)
    local day, rest
    local month, week, weekday, after = text:match("^M(%d+)%.(%d)%.(%d)(.*)$")
    if month then
        if tonumber(month) < 1 or tonumber(month) > 12 or not week:find("[1-5]")
            or not weekday:find("[0-6]") then
            return nil
        end
        day = { month = tonumber(month), week = tonumber(week), weekday = tonumber(weekday) }
        rest = after
    else
        local is_julian, number
        is_julian, number, rest = text:match("^(J?)(%d+)(.*)$")
        if not number or tonumber(number) > 365 then
            return nil
        end
        day = { number = tonumber(number), is_julian = is_julian == "J" }
    end
    day.time = 2 * 3600
    if rest:sub(1, 1) == "/" then
        day.time, rest = read_time(rest:sub(2))
    end
    return day.time and day, rest
end

---@param text string
---@param to_days fun(year: number, month: number, day: number): number
---@return kubelua.posix_rule.Rule? nil: it does not parse
function posix_rule.parse(text, to_days)
    local rest = read_name(text)
    local self = { to_days = to_days }
    if rest then
        self.standard, rest = read_time(rest)
    end
    if not rest then
        return nil
    end
    self.standard = -self.standard -- POSIX counts to the west
    if rest == "" then
        return setmetatable(self, Rule)
    end
    rest = read_name(rest)
    if not rest then
        return nil
    end
    self.summer = self.standard + 3600
    if rest:find("^[^,;]") then
        self.summer, rest = read_time(rest)
        if not rest then
            return nil
        end
        self.summer = -self.summer
    end
    rest = rest == "" and ",M3.2.0,M11.1.0" or rest
    self.begins, rest = read_day(rest:sub(2))
    if self.begins and rest:sub(1, 1) == "," then
        self.stops, rest = read_day(rest:sub(2))
    end
    return self.stops and rest == "" and setmetatable(self, Rule) or nil
end

-- The second of the year, in UTC, at which the day and time of a rule is.
local function second_of_year(self, year, day, offset)
    local first = self.to_days(year, 1, 1)
    local number
    if day.month then
        local of_month = self.to_days(year, day.month, 1)
        number = of_month + (day.weekday - (of_month + 4)) % 7 + 7 * (day.week - 1)
        while number >= self.to_days(year, day.month + 1, 1) do
            number = number - 7
        end
        number = number - first
    elseif day.is_julian then
        local has_leap_day = self.to_days(year, 3, 1) - first == 60
        number = day.number - 1 + (has_leap_day and day.number >= 60 and 1 or 0)
    else
        number = day.number
    end
    return number * DAY + day.time - offset
end

---The offset at a Unix time, and from when to before when it holds. As in Go, these two are right
---near a change; elsewhere they are the ends of the year, in UTC.
---@param unix number
---@param last number the last change in the file
---@return number offset
---@return number start
---@return number ends
function Rule:lookup(unix, last)
    if not self.summer then
        return self.standard, last, math.huge
    end
    local year = 1970 + math.floor(unix / DAY / 365.2425)
    while self.to_days(year, 1, 1) * DAY > unix do
        year = year - 1
    end
    while self.to_days(year + 1, 1, 1) * DAY <= unix do
        year = year + 1
    end
    local new_year = self.to_days(year, 1, 1) * DAY
    local from = new_year + second_of_year(self, year, self.begins, self.standard)
    local till = new_year + second_of_year(self, year, self.stops, self.summer)
    local outside, within = self.standard, self.summer
    if till < from then -- in the south
        from, till, outside, within = till, from, within, outside
    end
    if unix < from then
        return outside, new_year, from
    elseif unix >= till then
        return outside, till, new_year + 365 * DAY
    end
    return within, from, till
end

return posix_rule
