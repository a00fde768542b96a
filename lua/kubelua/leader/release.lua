-- Releases the Lease of a candidate, so that other processes need not wait until it expires; but
-- not while a write that relied on it may still be carried out.
local log = require "kubelua.log"
local tasks = require "kubelua.tasks"

local release = {}

-- Answers after which a write may still be carried out: of a proxy that lost the server, and of a
-- server or proxy that gave up waiting.
local UNSURE = { [502] = true, [504] = true }

---Notes that a write that relies on the Lease is about to be sent.
---@param candidate kubelua.Candidate
---@param write kubelua.Write
function release.begin_write(candidate, write)
    candidate.writes[write] = true
end

---Notes the result of such a write.
---@param candidate kubelua.Candidate
---@param write kubelua.Write with its code and status
function release.end_write(candidate, write)
    candidate.writes[write] = nil
    if write.code == "unknown" or UNSURE[write.status] then
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
function release.run(candidate, send)
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

return release
