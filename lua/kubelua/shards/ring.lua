-- A member's view of its ring as a state machine: which parts of the keys it may work on now, and
-- what to announce next. It sends nothing: Leases and times come in; member.lua does the rest.
--
-- Each member has a Lease, whose annotations announce the members between which it shares out the
-- parts. A member works on a part only if it has it by all that it announced, and no other member
-- has it by what that one announced. Why no two ever work on one part:
--   1. A member counts its announcement only once its own watch of the ring has brought it back.
--      By then that watch has brought every announcement that was written before. So of two that
--      announce the same part, the later one sees the other's, and leaves the part alone.
--   2. Before a member announces that it gives up a part, it has ended its work on it.
--   3. A Lease runs out for others later than for its own member: see leader/election.lua. And
--      another member counts as dead only once an announcement that was written after its Lease ran
--      out has come back: a renewal that this member's watch had not brought yet would come first.
--   4. A member whose Lease was deleted, or that others still name, may be at work: it counts as
--      alive until a Lease would have run out.
--   5. A member that has lost its lease, and has it again, begins anew: with an announcement. Until
--      its work from before has ended, that is the same as before: see rule 2.
--   6. A Lease runs out only if this member's own renewals have come meanwhile. With a watch that
--      is silent, it would announce all parts, and all others would stop.
--   7. A watch that was opened anew may begin with an older state than the one before: this member
--      takes no part by it until an announcement that was written later has come back. What it has
--      it keeps: the others have seen its claims, and they stand.
-- As long as members announce different things, some parts rest; all see the same Leases, so all
-- announce the same soon.
local announcing = require "kubelua.shards.announcing"
local Owners = require "kubelua.shards.owners"
local taken = require "kubelua.shards.taken"

local PARTS = require("kubelua.shards.parts").COUNT

---What a Lease of the ring says.
---@class kubelua.shards.Facts
---@field token string names the member
---@field holder string its identity; "": it has left
---@field record string differs between two renewals
---@field duration number seconds
---@field acquired string when it became a member; of RFC 3339
---@field claims string the members that it has announced, as in "a,b"; "": it works on nothing
---@field by string how it shares out
---@field number string of its announcement, as in "9f3a.4"

---@class kubelua.shards.Other what is known of another member
---@field facts kubelua.shards.Facts? nil: its Lease has never been seen
---@field seen_at number when its Lease has changed last
---@field dead_after integer? its Lease has run out: it counts as dead once the announcement with
---this number has come back
---@field is_missing boolean? its Lease was deleted

---@class kubelua.shards.Announcement
---@field number integer
---@field text string as in Facts.claims

---@class kubelua.shards.Ring
---@field token string of this member
---@field by string
---@field lease number seconds
---@field others table<string, kubelua.shards.Other> by token
---@field said kubelua.shards.Announcement[] those that may be in the Lease, in order
---@field pending string? what is to be announced once the work on the parts that leave has ended
---@field counter integer the number of the last announcement
---@field first integer? of this membership: its first announcement; nil: this process is no member
---@field confirmed integer the last announcement that the watch has brought back
---@field registry table<string, true>? the members that may be at work, by the ring's own Lease
---@field stands_by string? the token of the older member that shares out otherwise
---@field allowed table<integer, true> the parts that this member may work on
---@field record string? of its own Lease
---@field renewed_at number when its watch has brought its own renewal last
---@field anew integer? the watch was opened anew: the first announcement after that
---@field limit table<integer, true>? until that one has come back, this member has no other parts
---@field resigns boolean? it gives its Lease back: no work begins
local Ring = {}
Ring.__index = Ring

---@param options { token: string, by: string, lease: number, prefix: string } prefix: random, tells
---the announcements of this process from those of another one with the same identity
---@return kubelua.shards.Ring
function Ring.new(options)
    return setmetatable({ token = options.token, by = options.by, lease = options.lease,
        prefix = options.prefix, others = {}, said = {}, counter = 0, confirmed = 0,
        owners = Owners.new(), allowed = {}, acquired = "", renewed_at = -math.huge }, Ring)
end

-- A member that others name, but whose Lease is not there, may be at work.
local function suspect_missing(self, tokens, now)
    for _, token in ipairs(tokens) do
        if token ~= self.token and not self.others[token] then
            self.others[token] = { seen_at = now }
        end
    end
end

local function see_own(self, facts, now)
    if self.record ~= facts.record then
        self.record, self.renewed_at = facts.record, now
    end
    self.acquired = facts.acquired
    local prefix, number = facts.number:match("^(.*)%.(%d+)$")
    number = tonumber(number)
    if prefix ~= self.prefix or number <= self.confirmed then
        return
    end
    self.confirmed = number
    while self.said[1] and self.said[1].number < number do
        table.remove(self.said, 1)
    end
end

---Takes in a Lease of the ring, in the order of the watch.
---@param facts kubelua.shards.Facts
---@param now number
function Ring:see(facts, now)
    if facts.token == self.token then
        return see_own(self, facts, now)
    end
    local other = self.others[facts.token]
    if not other then
        other = {}
        self.others[facts.token] = other
    end
    local is_told = other.facts ~= nil and other.facts.claims == facts.claims
        and other.facts.holder ~= "" and not other.dead_after and not other.is_missing
    if not other.facts or other.facts.record ~= facts.record or other.is_missing then
        other.seen_at, other.dead_after, other.is_missing = now, nil, nil
    end
    other.facts = facts
    if not is_told then
        suspect_missing(self, Owners.tokens(facts.claims), now)
    end
end

---A member's Lease has changed, and cannot be read: its member may be at work, until a Lease would
---have run out.
---@param token string
---@param now number
function Ring:suspect(token, now)
    local other = self.others[token]
    if token ~= self.token and (not other or other.dead_after or Ring.has_left(other)) then
        self.others[token] = { seen_at = now }
    end
end

---A member's Lease was deleted.
---@param token string
function Ring:lose(token)
    local other = self.others[token]
    if other and other.facts and other.facts.holder == "" then
        self.others[token] = nil
    elseif other then
        other.is_missing = true
    end
end

---Takes in the members that may be at work, by the ring's own Lease.
---@param tokens string[]
---@param now number
function Ring:register(tokens, now)
    self.registry = {}
    for _, token in ipairs(tokens) do
        self.registry[token] = true
    end
    suspect_missing(self, tokens, now)
end

---The ring's own Lease was deleted.
function Ring:unregister()
    self.registry = nil
end

---This process has gained its Lease.
function Ring:begin()
    self.first, self.pending, self.resigns = self.counter + 1, nil, nil
end

---The watch is opened anew: see rule 7.
function Ring:reopen()
    self.anew, self.limit = self.counter + 1, self.allowed
end

---This process is about to give its Lease back, or not any more. No work begins meanwhile; what it
---claims stands.
---@param resigns boolean
function Ring:resign(resigns)
    self.resigns, self.pending = resigns or nil, nil
    self.allowed = resigns and {} or self.allowed
end

---This process has lost its Lease. What it has announced stays until `rest`.
function Ring:stop()
    self.first, self.pending, self.allowed = nil, nil, {}
end

---Work from before the Lease was lost has ended.
function Ring:rest()
    self.said = {}
end

---True once the first announcement has come back.
---@return boolean
function Ring:is_at_work()
    return self.first ~= nil and self.confirmed >= self.first
end

---True once this member has its place in the ring, with any number of parts.
---@return boolean
function Ring:has_place()
    return self:is_at_work() and self.said[1].text ~= ""
end

---True if a member's Lease has run out, and this member's watch had not missed a renewal.
---@param other kubelua.shards.Other
---@return boolean
function Ring:is_dead(other)
    return other.dead_after ~= nil and self:is_at_work() and self.confirmed >= other.dead_after
end

---True if a member has given its Lease back.
---@param other kubelua.shards.Other
---@return boolean
function Ring.has_left(other)
    return other.facts ~= nil and other.facts.holder == ""
end

local has_left = Ring.has_left

local function duration_of(self, other)
    return other.facts and other.facts.duration or self.lease
end

-- True if this member's watch has brought its own renewal in the later half of a Lease.
local function has_heard(self, other, seconds)
    return self.renewed_at >= other.seen_at + seconds / 2
end

-- Marks those whose Lease has run out; returns when the next one does.
local function mark_dead(self, now)
    local next_at
    for _, other in pairs(self.others) do
        if not has_left(other) and not other.dead_after then
            local seconds = duration_of(self, other)
            local ends_at = other.seen_at + seconds
            if now >= ends_at then
                other.dead_after = has_heard(self, other, seconds) and self.counter + 1 or nil
            elseif not next_at or ends_at < next_at then
                next_at = ends_at
            end
        end
    end
    return next_at
end

local function is_named(self, token)
    if self.registry and self.registry[token] then
        return true
    end
    for _, other in pairs(self.others) do
        if other.facts and not other.dead_after and not has_left(other)
            and ("," .. other.facts.claims .. ","):find("," .. token .. ",", 1, true) then
            return true
        end
    end
    return false
end

-- The dead whose Lease is not there are forgotten once nothing names them.
local function forget_dead(self)
    for token, other in pairs(self.others) do
        if (other.is_missing or not other.facts) and self:is_dead(other)
            and not is_named(self, token) then
            self.others[token] = nil
        end
    end
end

---True if a member is there, by its Lease.
---@param other kubelua.shards.Other
---@return boolean
function Ring.is_present(other)
    return other.facts ~= nil and not has_left(other) and not other.dead_after
end

---True if this member may work on all that it has announced. That may be no part, if there are very
---many members.
---@return boolean
function Ring:has_share()
    if not self:has_place() or self.pending or #self.said > 1 then
        return false
    end
    local owners = self.owners:of(self.said[1].text)
    for part = 1, PARTS do
        if owners[part] == self.token and not self.allowed[part] then
            return false
        end
    end
    return true
end

---The parts that this member has by what it announced, or will have by what it announces next.
---@return table<integer, true>
function Ring:share()
    local texts, parts = { self.pending or "" }, {}
    for _, said in ipairs(self.said) do
        texts[#texts + 1] = said.text
    end
    if not self.first or not self.said[1] then -- it is about to
        texts[#texts + 1] = announcing.members(self)
    end
    for _, text in ipairs(texts) do
        local owners = self.owners:of(text)
        for part = 1, PARTS do
            parts[part] = parts[part] or owners[part] == self.token or nil
        end
    end
    return parts
end

---True if this member has a part by all that it has announced: it may end its work on it.
---@param part integer
---@return boolean
function Ring:holds(part)
    for _, said in ipairs(self.said) do
        if self.owners:of(said.text)[part] ~= self.token then
            return false
        end
    end
    return self:is_at_work()
end

---True if the work on a part must end, so that what is pending can be announced.
---@param part integer
---@return boolean
function Ring:leaves(part)
    return self.pending ~= nil and self.owners:of(self.pending)[part] ~= self.token
        and self:holds(part)
end

local function find_allowed(self)
    local parts = {}
    if not self:is_at_work() or self.resigns then
        return parts
    elseif self.anew and self.confirmed >= self.anew then
        self.anew, self.limit = nil, nil
    end
    local limit = self.limit
    for part = 1, PARTS do
        parts[part] = self:holds(part) and (not limit or limit[part]) and (not self.pending
            or self.owners:of(self.pending)[part] == self.token) or nil
    end
    return taken.remove(self, parts)
end

---Looks at the clock, and at what has come in. Then `pending`, `allowed` and `stands_by` are new.
---@param now number
---@return number? at when to look again, at the latest
function Ring:look(now)
    local next_at = mark_dead(self, now)
    self.pending = nil
    if self.first and not self.resigns and self.acquired ~= ""
        and self.registry and self.registry[self.token] then
        self.stands_by = announcing.find_older(self)
        local text = announcing.text(self)
        self.pending = announcing.is_outdated(self, text) and text or nil
    end
    forget_dead(self)
    self.allowed = find_allowed(self)
    self.limit = self.limit and self.allowed -- a part that it has lost does not come back by it
    self.owners:forget_unused()
    return next_at
end

---Announces what is pending: the work on the parts that leave has ended. The next write of the
---Lease has it. Call look afterwards.
function Ring:announce()
    self.counter = self.counter + 1
    table.insert(self.said, { number = self.counter, text = self.pending })
    self.pending = nil
end

---What this member announces now, for its Lease.
---@return { claims: string, by: string, number: string }
function Ring:announcement()
    local last = self.said[#self.said]
    return { claims = last and last.text or "", by = self.by,
        number = self.prefix .. "." .. (last and last.number or 0) }
end

return Ring
