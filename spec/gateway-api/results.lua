-- Reads what the suite's program (go test -v) prints: the outcome of each test of the suite, and
-- why a part of it has failed. run.lua makes TAP of it, table.lua the table of docs/GATEWAY.md.
local results = {}

local KEPT = 4 -- last lines of a part that fails
local LONGEST = 400

-- What says nothing about a failure.
local NOISE = { "Deleting ", "Creating ", "Applying ", "matched expectations", "Error Trace:",
    "Test:  ", "^%s*/", "Sending RPC$",
    "Running .* features: " }

---@class gateway.Result
---@field name string
---@field outcome "PASS"|"FAIL"|"SKIP"
---@field seconds number
---@field reasons string[] of its parts that failed: the part, and its last lines

---@class gateway.Reader
---@field list gateway.Result[] in the order in which they ended
---@field said table<string, string[]> the last lines of each part, by its name
---@field reasons table<string, string[]> by the test's name
---@field part string? the part that prints now
local Reader = {}
Reader.__index = Reader

---@return gateway.Reader
function results.reader()
    return setmetatable({ list = {}, said = {}, reasons = {} }, Reader)
end

local function is_noise(line)
    for _, pattern in ipairs(NOISE) do
        if line:find(pattern) then
            return true
        end
    end
    return not line:find("%S")
end

local function keep(self, line)
    local said = self.said[self.part] or {}
    self.said[self.part] = said
    said[#said + 1] = line:gsub("^%s+", ""):sub(1, LONGEST)
    if #said > KEPT then
        table.remove(said, 1)
    end
end

local function add_reason(self, test, part)
    local reasons = self.reasons[test] or {}
    self.reasons[test] = reasons
    reasons[#reasons + 1] = part:match("/(.*)") or part
    for _, line in ipairs(self.said[part] or {}) do
        reasons[#reasons + 1] = "    " .. line
    end
end

-- The name of a part is TestGateway/TEST/PART/...
local function end_part(self, outcome, name, seconds)
    local path = name:match("^[^/]+/(.+)$")
    if not path then
        return
    end
    local test, inner = path:match("^([^/]+)(.*)$")
    if outcome == "FAIL" then
        add_reason(self, test, name)
    end
    if inner == "" then
        self.list[#self.list + 1] = { name = test, outcome = outcome,
            seconds = tonumber(seconds), reasons = {} }
    end
end

---@param line string
function Reader:read(line)
    local part = line:match("^=== %u+ +(%S+)")
    local outcome, name, seconds = line:match("^ *%-%-%- (%u+): (%S+) %(([%d.]+)s%)")
    if part then
        self.part = part
    elseif outcome then
        end_part(self, outcome, name, seconds)
    elseif self.part and not is_noise(line) then
        keep(self, line)
    end
end

---The tests that ran, with the reasons of those that failed. Go prints the end of a test before
---the ends of its parts.
---@return gateway.Result[]
function Reader:results()
    local ran = {}
    for _, result in ipairs(self.list) do
        result.reasons = self.reasons[result.name] or {}
        if result.outcome ~= "SKIP" then
            ran[#ran + 1] = result
        end
    end
    return ran
end

return results
