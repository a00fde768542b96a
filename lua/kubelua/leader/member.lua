-- A member: the view that one controller has of the election; the result of leader.join.
local release = require "kubelua.leader.release"

local members = {}

local WRITE_TIMEOUT = 30 -- seconds, of a write without a timeout

---The state of the election, for people.
---@class kubelua.LeaderStatus
---@field lease string "namespace/name"
---@field identity string the identity of this process
---@field leading boolean
---@field holder string? as last read; "": none
---@field since number? Unix time since which this process leads
---@field problem string? the message of the last request, if it failed
---@field code string?

---@class kubelua.Leader
---@field is_leader fun(): boolean
---@field on_gain fun(f: fun())
---@field on_loss fun(f: fun())
---@field while_busy fun(f: fun(): boolean)
---@field before_write fun(write: kubelua.Write): true?, string?, string?
---@field guard fun(): fun(write: kubelua.Write): true?, string?, string?
---@field release fun()
---@field status fun(): kubelua.LeaderStatus

-- Called before each write. It looks at the clock, because the process may have been suspended
-- since the last look.
local function may_write(candidate, write, term)
    local election = candidate.election
    if not candidate:look() or (term and term ~= election.term) then
        return nil, string.format("%s: this process does not lead (%s); the write was not sent",
            candidate.teller.what, election.lost or "another one does"), "not_leader"
    end
    local now = candidate:now()
    write.timeout = math.min(write.timeout or WRITE_TIMEOUT, election:time_for_write(now))
    -- The process may also be suspended between now and the moment when the transport's thread
    -- sends the request.
    write.send_by = not candidate.clock.stands and election.renewed_at + election.renew or nil
    write.begun = function() release.begin_write(candidate, write) end
    write.answered = function() release.end_write(candidate, write) end
    return true
end

---@return kubelua.LeaderStatus
local function make_status(candidate)
    local election, options = candidate.election, candidate.options
    local leads = candidate:look()
    return { lease = options.namespace .. "/" .. options.name, identity = options.identity,
        leading = leads, holder = election.holder, since = leads and candidate.since or nil,
        problem = election.problem, code = election.code }
end

---@param candidate kubelua.Candidate
---@param member table
---@return kubelua.Leader
function members.new(candidate, member)
    return {
        is_leader = function() return not member.has_left and candidate:look() end,
        on_gain = function(f)
            member.on_gain = f
            if candidate:look() then
                f()
            end
        end,
        on_loss = function(f) member.on_loss = f end,
        while_busy = function(f) member.is_busy = f end,
        before_write = function(write) return may_write(candidate, write) end,
        guard = function()
            local term = candidate.election.term
            return function(write) return may_write(candidate, write, term) end
        end,
        release = function() candidate:leave(member) end,
        status = function() return make_status(candidate) end,
    }
end

return members
