-- Prints the table of docs/GATEWAY.md: each feature of the profiles, whether its tests have passed,
-- and why a feature is not claimed. After a whole run of gateway.sh:
--     lua5.4 spec/gateway-api/table.lua
package.path = "spec/gateway-api/?.lua;" .. package.path
local results = require "results"
local unclaimed = require "unclaimed"

local build = (os.getenv("KUBELUA_BUILD") or "build") .. "/gateway-api"
local CORE = { Gateway = true, HTTPRoute = true, GRPCRoute = true, ReferenceGrant = true }

local function read_outcomes()
    local reader = results.reader()
    for line in io.lines(build .. "/log") do
        reader:read(line)
    end
    local outcomes = {}
    for _, result in ipairs(reader:results()) do
        outcomes[result.name] = result.outcome
    end
    return outcomes
end

-- Rows in the order of their first test: { title =, tests = { name, ... }, why = }.
local function read_rows()
    local rows, by_title = {}, {}
    local function add(title, test, why)
        local row = by_title[title]
        if not row then
            row = { title = title, tests = {}, seen = {}, why = why }
            by_title[title], rows[#rows + 1] = row, row
        end
        if not row.seen[test] then
            row.seen[test] = true
            table.insert(row.tests, test)
        end
    end
    local list = assert(io.popen(build .. "/suite tests"))
    for line in list:lines() do
        local profile, level, test, features = line:match("^(%S+) (%S+) (%S+) (.+)$")
        if level == "core" then
            add("core of " .. profile, test)
        end
        for feature in (level == "extended" and features or ""):gmatch("%S+") do
            if not CORE[feature] then
                add("`" .. feature .. "`", test, unclaimed[feature])
            end
        end
    end
    list:close()
    return rows
end

local function judge(row, outcomes)
    local passed, failed = 0, {}
    for _, test in ipairs(row.tests) do
        if outcomes[test] == "PASS" then
            passed = passed + 1
        elseif outcomes[test] == "FAIL" then
            failed[#failed + 1] = test
        end
    end
    if #failed > 0 then
        return "**failed**: " .. table.concat(failed, ", ")
    elseif passed == #row.tests then
        return "passed"
    elseif passed > 0 then
        return ("passed %d, the others need what is not claimed"):format(passed)
    end
    return "no: " .. (row.why or "not claimed")
end

local outcomes = read_outcomes()
print("| feature | tests | result |\n|---|---|---|")
for _, row in ipairs(read_rows()) do
    print(("| %s | %d | %s |"):format(row.title, #row.tests, judge(row, outcomes)))
end
