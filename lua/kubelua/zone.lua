-- Time zones by name ("Europe/Berlin"), from the files of /usr/share/zoneinfo (TZif, RFC 9636), and
-- calendar dates in them. For cron.lua. Where a local time does not exist, or exists twice, the
-- result is that of Go's time.Date (docs/KUBERNETES.md#cron-schedules).
local posix_rule = require "kubelua.posix_rule"

---@class kubelua.Zone
---@field changes number[] Unix times at which the offset changes, in order
---@field offsets number[] the offset in seconds after each of them
---@field first number the offset before all of them
---@field rule kubelua.posix_rule.Rule? for the time after the last change
local Zone = {}
Zone.__index = Zone

local zone = {}

local DAY = 86400

-- As Go's time.LoadLocation.
local FOLDERS = { "/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ",
    "/etc/zoneinfo" }

---The number of days from 1970-01-01 to a date of the Gregorian calendar.
---@param year number
---@param month number may be outside of 1 to 12
---@param day number may be outside of the month
---@return number
local function to_days(year, month, day)
    year, month = year + math.floor((month - 1) / 12), (month - 1) % 12 + 1
    -- Years that begin in March: so a leap day is the last day of its year.
    local shifted = month <= 2 and year - 1 or year
    local era = math.floor(shifted / 400)
    local of_era = shifted - era * 400
    local of_year = math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
    return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100)
        + of_year - 719468
end

local function to_date(days)
    days = days + 719468
    local era = math.floor(days / 146097)
    local of_era = days - era * 146097
    local years = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524)
        - math.floor(of_era / 146096)) / 365)
    local of_year = of_era - (365 * years + math.floor(years / 4) - math.floor(years / 100))
    local shifted = math.floor((5 * of_year + 2) / 153)
    local day = of_year - math.floor((153 * shifted + 2) / 5) + 1
    local month = shifted < 10 and shifted + 3 or shifted - 9
    return years + era * 400 + (month <= 2 and 1 or 0), month, day
end

local function read_32(text, at)
    local a, b, c, d = text:byte(at, at + 3)
    local number = ((a * 256 + b) * 256 + c) * 256 + d
    return number >= 2147483648 and number - 4294967296 or number
end

-- Times beyond 2^53 stand for "always": it does not matter that they are rounded.
local function read_64(text, at)
    return read_32(text, at) * 4294967296.0 + read_32(text, at + 4) % 4294967296
end

-- The counts of a header: of UTC marks, standard marks, leap seconds, changes, types, and letters.
local function read_counts(text, at)
    local counts = {}
    for i = 1, 6 do
        counts[i] = read_32(text, at + 16 + 4 * i)
    end
    return counts
end

-- The bytes of a block behind its header. A time has `size` bytes.
local function block_size(counts, size)
    return counts[4] * (size + 1) + counts[5] * 6 + counts[6] + counts[3] * (size + 4)
        + counts[2] + counts[1]
end

-- The offset before the first change, as Go chooses it: that of type 0 if no change leads to it;
-- else that of the standard time before the first change, or of the first standard time.
local function find_first(types, indexes)
    local is_used = false
    for _, index in ipairs(indexes) do
        is_used = is_used or index == 1
    end
    if is_used then
        for i = types[indexes[1]].is_summer and indexes[1] - 1 or 0, 1, -1 do
            if not types[i].is_summer then
                return types[i].offset
            end
        end
        for _, each in ipairs(types) do
            if not each.is_summer then
                return each.offset
            end
        end
    end
    return types[1].offset
end

-- Reads the block of a TZif file that begins at `at`; nil: it is broken.
local function read_block(text, at, size, read_time)
    local counts = read_counts(text, at)
    local times = at + 44
    local kinds = times + counts[4] * size
    local offsets = kinds + counts[4]
    local self = { changes = {}, offsets = {} }
    local types, indexes = {}, {}
    for i = 1, counts[5] do
        local from = offsets + 6 * (i - 1)
        types[i] = { offset = read_32(text, from), is_summer = text:byte(from + 4) ~= 0 }
    end
    for i = 1, counts[4] do
        indexes[i] = text:byte(kinds + i - 1) + 1
        self.changes[i] = read_time(text, times + size * (i - 1))
        self.offsets[i] = types[indexes[i]].offset
    end
    self.first = find_first(types, indexes)
    return self, at + 44 + block_size(counts, size)
end

local function read_zone(text)
    local version = text:sub(5, 5)
    if text:sub(1, 4) ~= "TZif" then
        return nil
    elseif version == "\0" then
        return (read_block(text, 1, 4, read_32))
    elseif not version:find("^[234]$") then
        return nil
    end
    local self, after = read_block(text, 45 + block_size(read_counts(text, 1), 4), 8, read_64)
    local rule = text:match("^\n([^\n]*)\n", after)
    if rule and rule ~= "" then
        self.rule = posix_rule.parse(rule, to_days)
    end
    return self
end

---@type table<string, kubelua.Zone>
local known = { UTC = setmetatable({ changes = {}, offsets = {}, first = 0 }, Zone) }
known[""] = known.UTC

-- The text of the first file of that name; nil: there is none.
local function read_file(name)
    local own = os.getenv("ZONEINFO")
    local folders = { own ~= "" and own or nil }
    for _, folder in ipairs(FOLDERS) do
        folders[#folders + 1] = folder
    end
    for _, folder in ipairs(folders) do
        local file = io.open(folder .. "/" .. name, "rb")
        local text = file and file:read("*a") -- nil: a folder
        if file then
            file:close()
        end
        if text then
            return text
        end
    end
    return nil
end

---The zone of a name, which "UTC" and "" are without any file; or nil, message, "not_found".
---@param name string
---@return kubelua.Zone?, string?, string?
function zone.find(name)
    if known[name] then
        return known[name]
    elseif name:find("^[/\\]") or name:find("..", 1, true)
        or name:find("//", 1, true) or not name:find("^[%w_%+%-/]+$") then
        return nil, string.format("'%s' is not the name of a time zone, such as "
            .. "Europe/Berlin or UTC", name:sub(1, 100)), "not_found"
    end
    local text = read_file(name)
    if not text then
        return nil, read_file("Etc/UTC") and "there is no time zone '" .. name .. "'"
            or "there are no files of time zones here, so only UTC is known: install the package "
            .. "tzdata", "not_found"
    end
    local ok, self = pcall(read_zone, text)
    if not ok or not self then
        return nil, "the file of the time zone '" .. name .. "' cannot be read", "not_found"
    end
    known[name] = setmetatable(self, Zone)
    return known[name]
end

---The offset at a Unix time, and the time span in which it holds: from `start` to before `ends`.
---@param unix number
---@return number offset seconds, which are added to UTC
---@return number start
---@return number ends
function Zone:lookup(unix)
    local changes = self.changes
    local count = #changes
    if count == 0 or unix < changes[1] then
        if count == 0 and self.rule then
            return self.rule:lookup(unix, -math.huge)
        end
        return self.first, -math.huge, changes[1] or math.huge
    end
    local low, high = 1, count + 1
    while high - low > 1 do
        local middle = math.floor((low + high) / 2)
        if unix < changes[middle] then
            high = middle
        else
            low = middle
        end
    end
    if low == count and self.rule then
        return self.rule:lookup(unix, changes[low])
    end
    return self.offsets[low], changes[low], changes[high] or math.huge
end

---@class kubelua.zone.Date
---@field year number
---@field month number
---@field day number
---@field weekday number 0: Sunday
---@field hour number
---@field minute number
---@field second number

---The local date and time of a Unix time.
---@param unix number a whole number
---@return kubelua.zone.Date
function Zone:date(unix)
    local here = unix + self:lookup(unix)
    local days = math.floor(here / DAY)
    local second = here - days * DAY
    local year, month, day = to_date(days)
    return { year = year, month = month, day = day, weekday = (days + 4) % 7,
        hour = math.floor(second / 3600), minute = math.floor(second / 60) % 60,
        second = second % 60 }
end

---The Unix time of a local date and time, as Go's time.Date: a time that does not exist is one hour
---earlier or later, one that exists twice is either of them.
---@param year number
---@param month number
---@param day number
---@param second number of the day
---@return number
function Zone:unix(year, month, day, second)
    local unix = to_days(year, month, day) * DAY + second
    local offset, start, ends = self:lookup(unix)
    if offset ~= 0 then
        local utc = unix - offset
        if utc < start or utc >= ends then
            offset = self:lookup(utc)
        end
    end
    return unix - offset
end

return zone
