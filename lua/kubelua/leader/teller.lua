-- Logs what happens to a Lease: each thing once, until something else is logged about the same
-- subject.
local log = require "kubelua.log"

---@class kubelua.leader.Words with string.format's directives, for the identity of a process
---@field gained string
---@field lost string also for the reason
---@field left string
---@field holder string for another process, and this one
---@field refused string why a write is not sent, for the reason

---@class kubelua.leader.Teller
---@field what string what the Lease is for
---@field words kubelua.leader.Words
---@field options kubelua.LeaderOptions
local Teller = {}
Teller.__index = Teller

---@param options kubelua.LeaderOptions with all defaults
---@param what string
---@param words kubelua.leader.Words
---@return kubelua.leader.Teller
function Teller.new(options, what, words)
    return setmetatable({ options = options, said = {}, what = what, words = words }, Teller)
end

---@param subject "leads"|"holder"|"problem"
---@param level string
---@param text string with string.format's directives
---@param ... any
function Teller:say(subject, level, text, ...)
    text = string.format(text, ...)
    -- A change of versions, times, or of the request that met the same failure is not logged again.
    local bare = text:gsub("%d+", "#"):gsub("^the Lease was not %l+: ", "")
    if bare ~= self.said[subject] then
        self.said[subject] = bare
        log(level, "%s: %s", self.what, text)
    end
end

---This process holds the Lease now.
function Teller:gained()
    self.said = {}
    self:say("leads", "info", self.words.gained, self.options.identity)
end

---@param level "info"|"warn"
---@param why string
function Teller:lost(level, why)
    self:say("leads", level, self.words.lost, self.options.identity, why)
end

---Nothing needs the Lease any more.
function Teller:left()
    self:say("leads", "info", self.words.left, self.options.identity)
end

local FAILED = { read = "the Lease was not read", create = "the Lease was not created",
    update = "the Lease was not renewed" }

---Logs what a reply has shown: an obstacle, or which process leads.
---@param election kubelua.Election
---@param order kubelua.Election.Order
---@param problem string? nil: the order was carried out
---@param code string?
function Teller:answered(election, order, problem, code)
    if code == "conflict" or code == "already_exists" or code == "closed"
        or order.what ~= "create" and code == "not_found" then
        return -- the next reply tells more
    elseif code == "forbidden" then
        self:say("problem", "warn", "%s: %s; this needs the verbs get, create and update on leases "
            .. "of the group coordination.k8s.io in the namespace %s", FAILED[order.what],
            problem, self.options.namespace)
    elseif code == "not_found" then
        self:say("problem", "warn", "the namespace %s of the Lease does not exist",
            self.options.namespace)
    elseif problem then
        self:say("problem", "warn", "%s: %s", FAILED[order.what], problem)
    elseif election:is_double() then
        self:say("problem", "warn", "another process, or an earlier one, holds the Lease with "
            .. "the identity of this process, %s; this process waits until that Lease expires. "
            .. "Each process needs an identity of its own",
            self.options.identity)
    elseif election.leading then
        self.said.problem = order.what == "read" and self.said.problem or nil
    elseif election.holder ~= "" and election.holder ~= self.options.identity then
        self:say("holder", "info", self.words.holder, election.holder, self.options.identity)
    end
end

return Teller
