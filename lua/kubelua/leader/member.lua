-- A member: the view that one controller has of the election; the result of leader.join. And the
-- release of the Lease, so that other processes need not wait until it expires; but not while a
-- write that relied on it may still be carried out.
local core = require "kubelua.core"
local log = require "kubelua.log"
local tasks = require "kubelua.tasks"

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
---@field on_time fun(f: fun(seconds: number?)) # tells for how long it leads, unless it is renewed
---@field while_busy fun(f: fun(): boolean)
---@field before_write fun(write: kubelua.Write): true?, string?, string?
---@field guard fun(): fun(write: kubelua.Write): true?, string?, string?
---@field release fun()
---@field now fun(): number # by the clock of the Lease
---@field hurry fun() # renews the Lease now
---@field status fun(): kubelua.LeaderStatus

-- Replies after which a write may still be carried out: of a proxy that lost the server, and of a
-- server or proxy that gave up waiting.
local UNSURE = { [502] = true, [504] = true }

---True if a write may still be carried out although it has a result.
---@param write kubelua.Write with its code and status
---@return boolean
function members.is_unsure(write)
    return write.code == "unknown" or UNSURE[write.status] == true
end

---Notes that a write that relies on the Lease is about to be sent.
---@param candidate kubelua.Candidate
---@param write kubelua.Write
local function begin_write(candidate, write)
    candidate.writes[write] = true
end

---Notes the result of such a write.
---@param candidate kubelua.Candidate
---@param write kubelua.Write with its code and status
local function end_write(candidate, write)
    candidate.writes[write] = nil
    if members.is_unsure(write) then
        candidate.unsure_at = candidate:now()
    end
    for task in pairs(candidate.releasing) do
        tasks.wake(task)
    end
end

-- Waits until every write that was sent has its result. A run may be over before the writes of
-- tasks that it spawned.
local function await_writes(candidate)
    local task = tasks.task_here()
    candidate.releasing[task] = true
    while next(candidate.writes) do
        tasks.park()
    end
    candidate.releasing[task] = nil
end

-- True if, within the last `lease` seconds, a write was sent and its result is not known. An older
-- one does not matter any more: if this process had died then, another process could hold the Lease
-- by now, and the server could carry out the write just as late.
local function is_unsure(candidate)
    return candidate.unsure_at ~= nil
        and candidate:now() - candidate.unsure_at < candidate.options.lease
end

---Releases the Lease, if it is held. Two attempts: a renewal under way may cause a conflict.
---@param candidate kubelua.Candidate
---@param send fun(candidate: kubelua.Candidate, order: table): table?, string?, string?
function members.release(candidate, send)
    await_writes(candidate)
    if is_unsure(candidate) then
        log("info", "%s: not released, as the result of a write is not known: it expires by itself",
            candidate.teller.what)
        return
    elseif candidate.asks then
        send(candidate, { what = "read", timeout = candidate.options.renew / 2 })
    end
    for _ = 1, 2 do
        local order = candidate.election:release(candidate.clock:unix())
        local _, code
        if order then
            _, _, code = send(candidate, order)
        end
        if code ~= "conflict" then
            return
        end
        send(candidate, { what = "read", timeout = order.timeout })
    end
end

-- The fence: called before each write. It looks at the clock, because the process may have been
-- suspended since the last look.
local function may_write(candidate, write, term)
    local election = candidate.election
    if not candidate:look() or (term and term ~= election.term) then
        return nil, string.format("%s: " .. candidate.teller.words.refused,
            candidate.teller.what, election.lost or "another one does"), "not_leader"
    end
    local now = candidate:now()
    write.timeout = math.min(write.timeout or WRITE_TIMEOUT, election:time_for_write(now))
    -- The process may also be suspended between now and the moment when the transport's thread
    -- sends the request.
    write.send_by = not candidate.clock.stands and election.renewed_at + election.renew or nil
    write.begun = function() begin_write(candidate, write) end
    write.answered = function() end_write(candidate, write) end
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
        on_time = function(f)
            member.on_time = f
            f(candidate:left())
        end,
        while_busy = function(f) member.is_busy = f end,
        before_write = function(write) return may_write(candidate, write) end,
        guard = function()
            local term = candidate.election.term
            return function(write) return may_write(candidate, write, term) end
        end,
        release = function() candidate:leave(member) end,
        now = function() return candidate:now() end,
        hurry = function() candidate:hurry() end,
        status = function() return make_status(candidate) end,
    }
end

local function do_nothing() end

local function allow()
    return true
end

---A member without an election: it leads, and nothing is sent.
---@param options kubelua.LeaderOptions with its namespace
---@return kubelua.Leader
function members.without_lease(options)
    local status = { lease = options.namespace .. "/" .. options.name, leading = true,
        identity = options.identity or "", holder = options.identity or "" }
    return { is_leader = allow, on_gain = function(f) f() end, on_loss = do_nothing,
        on_time = do_nothing, while_busy = do_nothing, before_write = allow,
        guard = function() return allow end, release = do_nothing,
        now = core.boottime, hurry = do_nothing,
        status = function() return status end }
end

return members
