-- kubelua.cron: the schedules of CronJobs. The rules are those of ParseStandard and
-- SpecSchedule.Next in github.com/robfig/cron/v3, which the CronJob controller uses
-- (docs/KUBERNETES.md#cron-schedules).
local durations = require "kubelua.duration"
local misuse = require "kubelua.misuse"
local zones = require "kubelua.zone"

---A schedule, which never changes.
---@class kubelua.Schedule
local methods = {}

local Schedule = { __name = "kubelua.Schedule", __index = methods }

-- The key of the fields that are not for the script.
local INSIDE = {}

---@class kubelua.cron.Field what a field allows: the set of numbers
---@field has_star boolean? it was "*" or "?", so it allows all

local MONTHS = { jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9,
    oct = 10, nov = 11, dec = 12 }
local WEEKDAYS = { sun = 0, mon = 1, tue = 2, wed = 3, thu = 4, fri = 5, sat = 6 }

local FIELDS = {
    { name = "minute", least = 0, most = 59 },
    { name = "hour", least = 0, most = 23 },
    { name = "day", label = "day of the month", least = 1, most = 31 },
    { name = "month", least = 1, most = 12, names = MONTHS },
    { name = "weekday", label = "day of the week", least = 0, most = 6, names = WEEKDAYS },
}

local DESCRIPTORS = {
    ["@yearly"] = "0 0 1 1 *", ["@annually"] = "0 0 1 1 *", ["@monthly"] = "0 0 1 * *",
    ["@weekly"] = "0 0 * * 0", ["@daily"] = "0 0 * * *", ["@midnight"] = "0 0 * * *",
    ["@hourly"] = "0 * * * *",
}

-- A number as Go's strconv.Atoi reads it, or a name; nil: it is neither.
local function read_number(text, names)
    local named = names and names[text:lower()]
    if named then
        return named
    end
    local digits = text:match("^%+?(%d+)$")
    return digits and #digits:match("^0*(.*)$") < 19 and tonumber(digits) or nil
end

local function split(text, separator)
    local parts = {}
    for part in (text .. separator):gmatch("([^" .. separator .. "]*)" .. separator) do
        parts[#parts + 1] = part
    end
    return parts
end

-- The first and last number of a range without its step, and true if it is a star.
local function read_bounds(text, field)
    local ends = split(text, "-")
    if ends[1] == "*" or ends[1] == "?" then
        return field.least, field.most, true
    elseif #ends > 2 then
        return nil, "it has too many hyphens"
    end
    local first = read_number(ends[1], field.names)
    local last = ends[2] and read_number(ends[2], field.names) or first
    if not first or (ends[2] and not read_number(ends[2], field.names)) then
        return nil, "it is not a number" .. (field.names and " or a name" or "")
    end
    return first, last, false
end

-- Adds the numbers of one range, "FIRST-LAST/STEP", to what the field allows. Returns what is
-- wrong.
local function add_range(allowed, text, field)
    local parts = split(text, "/")
    local first, last, is_star = read_bounds(parts[1], field)
    if not first then
        return last
    elseif #parts > 2 then
        return "it has too many slashes"
    end
    local step = parts[2] and read_number(parts[2]) or 1
    if parts[2] and not read_number(parts[2]) then
        return "the step is not a number"
    elseif parts[2] and not parts[1]:find("-", 1, true) then
        last = field.most
    end
    if first < field.least or last > field.most then
        return "it is beyond " .. field.least .. "-" .. field.most
    elseif first > last then
        return "it ends before it begins"
    elseif step == 0 then
        return "the step is 0"
    end
    for number = first, last, step do
        allowed[number] = true
    end
    allowed.has_star = allowed.has_star or (is_star and step == 1)
    return nil
end

local function read_field(text, field)
    local allowed = {}
    for range in text:gmatch("[^,]+") do
        local problem = add_range(allowed, range, field)
        if problem then
            return nil, string.format("the %s '%s': %s", field.label or field.name,
                range:sub(1, 100), problem)
        end
    end
    return allowed
end

local function read_fields(text)
    local texts, result = {}, {}
    for each in text:gmatch("%S+") do
        texts[#texts + 1] = each
    end
    if #texts ~= #FIELDS then
        return nil, "write five fields (minute, hour, day of the month, month, day of the week), "
            .. "not " .. #texts
    end
    for i, field in ipairs(FIELDS) do
        local problem
        result[field.name], problem = read_field(texts[i], field)
        if problem then
            return nil, problem
        end
    end
    return result
end

local function read_every(text)
    local duration, problem = durations(text)
    if not duration then
        return nil, problem
    end
    return { every = math.max(math.floor(duration:seconds()), 1) }
end

local function parse(text)
    if text:find("^TZ=") or text:find("^CRON_TZ=") then
        return nil, "a CronJob's schedule has no time zone: give it as the second argument of next"
    elseif text:find("^@every ") then
        return read_every(text:sub(8))
    elseif text:find("^@") then
        if not DESCRIPTORS[text] then
            return nil, "there is no such name: use @yearly, @annually, @monthly, @weekly, @daily, "
                .. "@midnight, @hourly, or @every and a duration"
        end
        text = DESCRIPTORS[text]
    end
    return read_fields(text)
end

-- If one of the two days is a star, both must match; else one of them is enough.
local function day_matches(fields, date)
    local of_month, of_week = fields.day[date.day], fields.weekday[date.weekday]
    if fields.day.has_star or fields.weekday.has_star then
        return of_month and of_week
    end
    return of_month or of_week
end

-- The search goes from the largest field to the smallest, as that of robfig/cron: a field that does
-- not match is advanced until it does. If it comes round to its first number, the larger fields are
-- looked at again. The first advance sets the smaller fields to their first number.
---@class kubelua.cron.Search
---@field zone kubelua.Zone
---@field unix number
---@field date kubelua.zone.Date of unix
---@field is_advanced boolean

local function move(search, unix)
    search.unix = unix
    search.date = search.zone:date(unix)
end

-- Before a first advance: sets the clock to the beginning of what is advanced.
local function begin_advance(search, unix)
    if not search.is_advanced then
        search.is_advanced = true
        move(search, unix())
    end
end

local function second_of_day(date)
    return date.hour * 3600 + date.minute * 60 + date.second
end

-- False: the search came round.
local function find_month(search, fields)
    while not fields.month[search.date.month] do
        begin_advance(search, function()
            return search.zone:unix(search.date.year, search.date.month, 1, 0)
        end)
        local date = search.date
        move(search, search.zone:unix(date.year, date.month + 1, date.day, second_of_day(date)))
        if search.date.month == 1 then
            return false
        end
    end
    return true
end

local function find_day(search, fields)
    while not day_matches(fields, search.date) do
        begin_advance(search, function()
            return search.zone:unix(search.date.year, search.date.month, search.date.day, 0)
        end)
        local date, before = search.date, search.unix
        move(search, search.zone:unix(date.year, date.month, date.day + 1, second_of_day(date)))
        -- Where midnight does not exist, the day begins at another hour.
        local hour = search.date.hour
        if hour ~= 0 then
            move(search, search.unix + (hour > 12 and 24 - hour or -hour) * 3600)
        end
        -- Where a whole day does not exist (Pacific/Apia, 2011-12-30), robfig/cron hangs here.
        if search.unix <= before then
            move(search, before + 86400)
        end
        if search.date.day == 1 then
            return false
        end
    end
    return true
end

local function find_hour(search, fields)
    while not fields.hour[search.date.hour] do
        begin_advance(search, function()
            local date = search.date
            return search.zone:unix(date.year, date.month, date.day, date.hour * 3600)
        end)
        move(search, search.unix + 3600)
        if search.date.hour == 0 then
            return false
        end
    end
    return true
end

local function find_minute(search, fields)
    while not fields.minute[search.date.minute] do
        begin_advance(search, function()
            return search.unix - search.unix % 60
        end)
        move(search, search.unix + 60)
        if search.date.minute == 0 then
            return false
        end
    end
    return true
end

-- The second is 0, as in every schedule of five fields.
local function find_second(search)
    while search.date.second ~= 0 do
        begin_advance(search, function() return search.unix end)
        move(search, search.unix + 1)
        if search.date.second == 0 then
            return false
        end
    end
    return true
end

-- The next time after `unix`; nil: there is none within five years.
local function find_next(fields, zone, unix)
    if not next(fields.minute) or not next(fields.hour) then -- "," has no number
        return nil
    end
    local search = { zone = zone, is_advanced = false }
    move(search, unix + 1)
    local last_year = search.date.year + 5
    while search.date.year <= last_year do
        if find_month(search, fields) and find_day(search, fields) and find_hour(search, fields)
            and find_minute(search, fields) and find_second(search) then
            return search.unix
        end
    end
    return nil
end

local MOST = 1e13 -- seconds: far beyond the year 9999

---The first time of the schedule after `after`, as Unix time, in whole seconds; nil if there is
---none within five years. Where daylight saving time begins, a time that the clock skips is left
---out on that day; where it ends, a time that the clock shows twice comes twice.
---@param after number? Unix time; default: now
---@param zone string? the name of a time zone, such as "Europe/Berlin", as a CronJob's timeZone;
---default: "UTC"
---@return number?, string?, string? code "not_found": there is no such zone
function methods:next(after, zone)
    local fields = rawget(self, INSIDE)
    after = after == nil and require("kubelua").now() or after
    if type(after) ~= "number" or after ~= after or math.abs(after) > MOST then
        misuse("schedule:next: a Unix time expected, not %s",
            type(after) == "number" and tostring(after) or "a " .. type(after))
    elseif zone ~= nil and type(zone) ~= "string" then
        misuse("schedule:next: the name of a time zone expected, such as \"Europe/Berlin\", not a "
            .. "%s", type(zone))
    end
    local found, message, code = zones.find(zone or "UTC")
    if not found then
        return nil, "schedule:next: " .. message, code
    end
    after = math.floor(after)
    if fields.every then
        return after + fields.every
    end
    return find_next(fields, found, after)
end

function Schedule.__tostring(self)
    return rawget(self, INSIDE).text
end

---Reads a schedule of a CronJob; or nil, message, "parse".
---@param text string such as "*/5 * * * *", "@daily" or "@every 1h30m"
---@return kubelua.Schedule?, string?, string?
return function(text)
    if type(text) ~= "string" then
        misuse("kubelua.cron: a text such as \"*/5 * * * *\" expected, not a %s", type(text))
    end
    local fields, problem = parse(text)
    if not fields then
        return nil, string.format("'%s' is not a schedule: %s", text:sub(1, 100),
            problem), "parse"
    end
    fields.text = text
    return setmetatable({ [INSIDE] = fields }, Schedule)
end
