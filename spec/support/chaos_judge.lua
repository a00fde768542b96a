-- Drives nginx_chaos (spec/nginx/chaos): requests to the gateway whose answers are judged while the
-- cluster changes. `change` is how a spec makes a change: the new answer is allowed before it, and
-- the old one is banned once the new one was seen.
local copies = require "nginx_copies"
local kubelua = require "kubelua"

local chaos_judge = {}

---@class spec.ChaosJudge
---@field ruled integer lines that the program has followed
---@field sent integer
---@field seen table<string, integer> how often each line "NAME IDENTITY", "failing NAME" came
---@field now table<string, integer> the identity that each subject has
---@field is_upgrading boolean two nginx masters serve, each with a map of its own
---@field upgrades integer
---@field holds integer how many tasks let no upgrade begin
local Judge = {}
Judge.__index = Judge

local PATIENCE = 30 -- seconds until a change must have been seen

---@param groups string[] as nginx_chaos takes them
---@param options { connections: integer?, rate: integer? }?
---@return spec.ChaosJudge
function chaos_judge.start(groups, options)
    options = options or {}
    local self = setmetatable({ ruled = 0, sent = 0, seen = {}, now = {}, told = {},
        log = os.tmpname(), at = 0, is_upgrading = false, upgrades = 0, holds = 0 },
        Judge)
    self.input = assert(io.popen(("%s/spec/nginx_chaos -c %d -r %d %s >%s 2>&1"):format(
        copies.build, options.connections or 6, options.rate or 200,
        "'" .. table.concat(groups, "' '") .. "'", self.log), "w"))
    return self
end

-- Reads the lines that the program has written since the last call.
local function read_lines(self)
    local file = assert(io.open(self.log))
    file:seek("set", self.at)
    local text = file:read("*a")
    file:close()
    local whole = text:match("^.*\n") or ""
    self.at = self.at + #whole
    for line in whole:gmatch("[^\n]+") do
        local seen = line:match("^seen (.*)$") or line:match("^failing .*$")
        if line == "ruled" then
            self.ruled = self.ruled + 1
        elseif seen then
            self.seen[seen] = (self.seen[seen] or 0) + 1
        else
            self.told[#self.told + 1] = line
        end
    end
end

---Waits in a task until a condition holds.
---@param condition fun(): any
---@param what string
---@param seconds number?
---@return any
function chaos_judge.await(condition, what, seconds)
    local deadline = kubelua.now() + (seconds or PATIENCE)
    while true do
        local result = condition()
        if result then
            return result
        elseif kubelua.now() > deadline then
            error(("not within %d s: %s"):format(seconds or PATIENCE, what), 2)
        end
        kubelua.sleep(0.005)
    end
end

---Sends rules, and waits until they hold.
---@param ... string "allow NAME IDENTITY", "ban NAME IDENTITY", "loose NAME", "strict NAME"
function Judge:rule(...)
    for _, line in ipairs { ... } do
        self.input:write(line, "\n")
        self.sent = self.sent + 1
    end
    self.input:flush()
    local wanted = self.sent
    chaos_judge.await(function()
        read_lines(self)
        return self.ruled >= wanted
    end, "nginx_chaos follows: " .. table.concat({ ... }, ", "))
end

---Allows what a subject answers from the start.
---@param name string
---@param identity integer
function Judge:begin(name, identity)
    self.now[name] = identity
    self:rule("allow " .. name .. " " .. identity)
end

---Begins with the requests.
function Judge:go()
    self.input:write("go\n")
    self.input:flush()
end

-- Waits until a subject answers with an identity, in every map that there is.
local function await_seen(self, name, identity)
    local upgrades
    repeat
        chaos_judge.await(function() return not self.is_upgrading end, "an upgrade ends", 60)
        upgrades = self.upgrades
        local line = name .. " " .. identity
        local before = self.seen[line] or 0
        self:rule("allow " .. line)
        chaos_judge.await(function()
            read_lines(self)
            return (self.seen[line] or 0) > before or self.is_upgrading
        end, line .. " is seen")
    until upgrades == self.upgrades and not self.is_upgrading
end

---Waits until there is no binary upgrade, and lets none begin until the result is called.
---@return fun()
function Judge:hold_upgrades()
    chaos_judge.await(function() return not self.is_upgrading end, "an upgrade ends", 60)
    self.holds = self.holds + 1
    return function()
        self.holds = self.holds - 1
    end
end

---Calls a function that makes a binary upgrade.
---@param upgrade fun()
function Judge:during_upgrade(upgrade)
    chaos_judge.await(function() return self.holds == 0 end, "an upgrade may begin", 60)
    self.is_upgrading = true
    upgrade()
    self.upgrades = self.upgrades + 1
    self.is_upgrading = false
end

---Makes a change after which subjects answer with an identity. Returns once the old ones are
---banned.
---@param names string[]
---@param identity integer
---@param apply fun()
function Judge:change(names, identity, apply)
    for _, name in ipairs(names) do
        self:rule("allow " .. name .. " " .. identity)
    end
    apply()
    for _, name in ipairs(names) do
        await_seen(self, name, identity)
        local old = self.now[name]
        self.now[name] = identity
        if old and old ~= identity then
            self:rule("ban " .. name .. " " .. old)
        end
    end
end

---Waits until requests of a subject fail, which "loose" allows.
---@param name string
function Judge:await_failure(name)
    local line = "failing " .. name
    local before = self.seen[line] or 0
    self:rule("loose " .. name)
    return function()
        chaos_judge.await(function()
            read_lines(self)
            return (self.seen[line] or 0) > before
        end, name .. " fails")
    end
end

local function broken_of(tally)
    return tally.refused + tally.broken + tally.raced + tally.late
end

---Ends the requests. Returns the counts of each subject by its name.
---@return table<string, table<string, integer>>
function Judge:stop()
    self.input:close()
    read_lines(self)
    os.remove(self.log)
    local tallies, is_over = {}, false
    for _, line in ipairs(self.told) do
        local name = line:match("^(%S+) requests=")
        if name then
            tallies[name] = {}
            for key, value in line:gmatch("(%a+)=(%d+)") do
                tallies[name][key] = tonumber(value)
            end
        end
        is_over = is_over or line == "over"
    end
    assert(is_over, "nginx_chaos has ended:\n" .. self:report())
    return tallies
end

---What the program has said: the first answers that were wrong, and the counts.
---@return string
function Judge:report()
    return table.concat(self.told, "\n")
end

---Fails unless all subjects were answered as well as a static upstream.
---@param tallies table<string, table<string, integer>>
---@param controls table<string, string> the control of each subject
function Judge:compare(tallies, controls)
    for name, control in pairs(controls) do
        local ours, theirs = tallies[name], tallies[control]
        local say = name .. "\n" .. self:report()
        assert(ours.requests > 100 and theirs.requests > 100, "hardly any traffic: " .. say)
        assert(ours.failed == 0, "answers that are not 2xx: " .. say)
        assert(ours.wrong == 0, "an old answer after a new one was seen: " .. say)
        assert(ours.expired == 0, "an expired certificate: " .. say)
        local chance = 4 * math.sqrt(broken_of(ours) + broken_of(theirs))
        assert(broken_of(ours) - broken_of(theirs) <= chance,
            "more broken connections than the static upstream: " .. say)
    end
end

return chaos_judge
