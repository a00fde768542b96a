-- The repeats that PCRE counts in patterns of tenants.
local counted = require "resty.kubelua.gateway.counted"

local MARK = "(?=\\x00?+)"

-- What comes out, with "#" for each mark.
local function check(list)
    for text, expected in pairs(list) do
        local made, message = counted.pattern(text)
        local found, from = made, 1
        while made and made:find(MARK, from, true) do
            from = made:find(MARK, from, true)
            made = made:sub(1, from - 1) .. "#" .. made:sub(from + #MARK)
        end
        assert.equal(expected, made or message, text .. ": " .. tostring(found))
    end
end

describe("a pattern whose steps are counted", function()
    it("has a repeat of nothing in each group and alternative", function()
        check {
            ["^(?s:/a/(b|c)*)\\z"] = "^(?s:#/a/(#b|#c)*)\\z",
            ["(?is)^/v1(/|$)(.*)"] = "(?is)^/v1(#/|#$)(#.*)",
            ["^((?:a)(?=b)(?!c)(?<=d)(?<!e)(?>f)(?i-s:g)(?|h))"] =
                "^(#(?:#a)(?=#b)(?!#c)(?<=#d)(?<!#e)(?>#f)(?i-s:#g)(?|#h))",
            ["^(?<n>a)(?P<m>b)(?'o'c)(?P=m)\\k<n>\\g{1}\\g1"] =
                "^(?<n>#a)(?P<m>#b)(?'o'#c)(?P=m)\\k<n>\\g{1}\\g1",
            ["^a(?i)b(?#|()c"] = "^a(?i)b(?#|()c",
        }
    end)

    it("has none in classes and after a backslash", function()
        check {
            ["^[(|]\\(\\|\\\\(a)[^](|][[:alpha:](][\\](]"] =
                "^[(|]\\(\\|\\\\(#a)[^](|][[:alpha:](][\\](]",
        }
    end)

    it("is tied to the beginning, also where one alternative is not", function()
        check {
            ["a(b|c)"] = "^(?s:.*?)(?:#a(#b|#c))",
            ["(?is)^/a|b"] = "(?is)^(?s:.*?)(?:#^/a|#b)",
        }
    end)

    it("is refused if it has what cannot be counted", function()
        local function refusal(part)
            return ("has %s, which cannot be bounded"):format(part)
        end
        check {
            ["^(?R)"] = refusal "(?R", ["^(a)(?1)"] = refusal "(?1", ["^(?&n)"] = refusal "(?&n",
            ["^(?P>n)"] = refusal "(?P>", ["^(?(1)a)"] = refusal "(?(1", ["^(*F)"] = refusal "(*F",
            ["^(?x)a"] = refusal "(?x", ["^(?C1)"] = refusal "(?C1", ["^\\Q(\\E"] = refusal "\\Q",
            ["^\\X"] = refusal "\\X", ["^\\c("] = refusal "\\c", ["^\\g<1>"] = refusal "\\g",
            ["^\\g'1'"] = refusal "\\g",
            ["^" .. ("|"):rep(1001)] = "has more than 1000 groups and alternatives",
        }
    end)
end)
