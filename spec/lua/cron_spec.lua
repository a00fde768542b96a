-- kubelua.cron: as robfig/cron, which CronJobs use. spec/values compares random ones with it.
local kubelua = require "kubelua"

-- The next `count` times after one, all as texts in UTC.
local function times(text, after, zone, count)
    local schedule, found = assert(kubelua.cron(text)), {}
    local unix = kubelua.time(after)
    for _ = 1, count or 1 do
        unix = assert(schedule:next(unix, zone))
        found[#found + 1] = kubelua.timestamp(unix)
    end
    return found
end

describe("a schedule", function()
    it("gives the next time after one", function()
        for text, expected in pairs {
            ["*/5 * * * *"] = "2026-11-26T22:20:00Z", ["* * * * *"] = "2026-11-26T22:17:00Z",
            ["0 0 * * *"] = "2026-11-27T00:00:00Z", ["30 4 1,15 * *"] = "2026-12-01T04:30:00Z",
            ["0 0 29 2 *"] = "2028-02-29T00:00:00Z", ["0 9-17/4 * * MON-fri"] =
            "2026-11-27T09:00:00Z", ["5/20 * * * *"] = "2026-11-26T22:25:00Z",
            ["0 12 ? jan,Jul ?"] = "2027-01-01T12:00:00Z",
            -- Both days are named: one of them is enough.
            ["0 0 13 * 5"] = "2026-11-27T00:00:00Z", ["0 0 13 * *"] = "2026-12-13T00:00:00Z",
            ["@yearly"] = "2027-01-01T00:00:00Z", ["@annually"] = "2027-01-01T00:00:00Z",
            ["@monthly"] = "2026-12-01T00:00:00Z", ["@weekly"] = "2026-11-29T00:00:00Z",
            ["@daily"] = "2026-11-27T00:00:00Z", ["@midnight"] = "2026-11-27T00:00:00Z",
            ["@hourly"] = "2026-11-26T23:00:00Z", ["@every 1h30m"] = "2026-11-26T23:46:04Z",
            ["@every 1ms"] = "2026-11-26T22:16:05Z", ["@every 1.9s"] = "2026-11-26T22:16:05Z",
        } do
            assert.equal(expected, times(text, "2026-11-26T22:16:04.5Z")[1], text)
        end
    end)

    it("is never due on a day that does not exist", function()
        local schedule = assert(kubelua.cron("0 0 30 2 *"))
        assert.is_nil(schedule:next(0))
        assert.is_nil(assert(kubelua.cron(", * * * *")):next(0))
    end)

    it("leaves out what daylight saving time skips", function()
        assert.same({ "2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z" },
            times("30 2 * * *", "2026-03-27T12:00:00Z", "Europe/Berlin", 2))
        assert.same({ "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z" },
            times("30 * * * *", "2026-03-29T00:00:00Z", "Europe/Berlin", 2))
    end)

    it("comes twice where the clock is set back", function()
        assert.same({ "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z" },
            times("30 2 * * *", "2026-10-24T12:00:00Z", "Europe/Berlin", 3))
    end)

    it("finds midnight where the day begins at one o'clock", function()
        -- Sao Paulo, 2018-11-04: 00:00 does not exist.
        assert.same({ "2018-11-03T03:00:00Z", "2018-11-05T02:00:00Z" },
            times("0 0 * * *", "2018-11-02T12:00:00Z", "America/Sao_Paulo", 2))
    end)

    it("goes on where a whole day does not exist, and robfig/cron hangs", function()
        -- Apia, 2011: 12-30 does not exist.
        assert.same({ "2011-12-31T10:00:00Z" },
            times("0 0 1 * *", "2011-12-29T20:00:00Z", "Pacific/Apia"))
    end)

    it("has the rule of a zone in years that its file does not list", function()
        assert.same({ "2080-07-01T07:00:00Z" },
            times("0 9 1 7 *", "2080-01-01T00:00:00Z", "Europe/Berlin"))
        assert.same({ "2081-01-01T08:00:00Z" },
            times("0 9 1 1 *", "2080-07-01T00:00:00Z", "Europe/Berlin"))
    end)

    it("needs no file for UTC", function()
        local utc = times("0 9 * * *", "2026-11-26T00:00:00Z")
        assert.same(utc, times("0 9 * * *", "2026-11-26T00:00:00Z", "UTC"))
        assert.same(utc, times("0 9 * * *", "2026-11-26T00:00:00Z", ""))
    end)

    it("says that a zone is not known", function()
        local daily = assert(kubelua.cron("@daily"))
        for zone, why in pairs { ["Europe/Nowhere"] = "no time zone 'Europe/Nowhere'",
            ["../../etc/passwd"] = "not the name of a time zone", ["/etc/passwd"] =
            "not the name of a time zone", ["America"] = "no time zone 'America'",
            ["tzdata.zi"] = "not the name", ["leapseconds"] = "cannot be read" } do
            local unix, message, code = daily:next(0, zone)
            assert.is_nil(unix, zone)
            assert.matches(why, message, 1, true)
            assert.equal("not_found", code)
        end
    end)

    it("says that there are no files of zones", function()
        local open = io.open
        io.open = function() return nil end -- luacheck: ignore 122
        local ok, unix, message, code =
            pcall(function() return assert(kubelua.cron("@daily")):next(0, "Asia/Tokyo") end)
        io.open = open -- luacheck: ignore 122
        assert.is_true(ok)
        assert.is_nil(unix)
        assert.matches("only UTC is known: install the package tzdata", message, 1, true)
        assert.equal("not_found", code)
    end)

    it("begins now if no time is given", function()
        local due = assert(kubelua.cron("* * * * *")):next()
        assert.is_true(due > kubelua.now() and due <= kubelua.now() + 60)
    end)

    it("of a text that is none is nil, a message and \"parse\"", function()
        for text, why in pairs { [""] = "five fields", ["* * * *"] = "not 4",
            ["* * * * * *"] = "not 6", ["60 * * * *"] = "the minute '60': it is beyond 0-59",
            ["* 24 * * *"] = "the hour", ["* * 0 * *"] = "the day of the month '0'",
            ["* * * 13 *"] = "the month '13'", ["* * * * 7"] = "the day of the week '7'",
            ["*/0 * * * *"] = "the step is 0", ["*/x * * * *"] = "the step is not a number",
            ["5-1 * * * *"] = "it ends before it begins", ["1-2-3 * * * *"] = "too many hyphens",
            ["1/2/3 * * * *"] = "too many slashes", ["x * * * *"] = "not a number",
            ["* * * jann *"] = "not a number or a name", ["@never"] = "there is no such name",
            ["@every x"] = "is not a duration", ["TZ=UTC @daily"] = "the second argument of next",
            ["CRON_TZ=UTC 0 0 * * *"] = "the second argument of next" } do
            local schedule, message, code = kubelua.cron(text)
            assert.is_nil(schedule, text)
            assert.matches(why, message, 1, true)
            assert.equal("parse", code)
        end
    end)

    it("tells a mistake at the line of the script", function()
        for _, call in ipairs {
            function() return kubelua.cron(5) end,
            function() return kubelua.cron("@daily"):next("now") end,
            function() return kubelua.cron("@daily"):next(0 / 0) end,
            function() return kubelua.cron("@daily"):next(math.huge) end,
            function() return kubelua.cron("@daily"):next(0, 1) end,
        } do
            local ok, message = pcall(call)
            assert.is_false(ok)
            assert.matches("cron_spec.lua:%d+: ", message)
        end
        assert.equal("*/5 * * * *", tostring(kubelua.cron("*/5 * * * *")))
    end)
end)
