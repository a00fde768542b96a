-- Releases the Lease of a candidate, so that other processes need not wait until it expires; but
-- not while a write that relied on it may still be carried out.
local log = require "kubelua.log"

local release = {}

---Records the result of a write that relied on the Lease.
---@param candidate kubelua.Candidate
---@param code string? nil: it was done
function release.note_write(candidate, code)
    if code == "unknown" then
        candidate.unsure_at = candidate:now()
    end
end

-- True if, within the last `lease` seconds, a write was sent and not answered. An older one does
-- not matter any more: if this process had died then, another process could hold the Lease by now,
-- and the server could carry out the write just as late.
local function is_unsure(candidate)
    return candidate.unsure_at ~= nil
        and candidate:now() - candidate.unsure_at < candidate.options.lease
end

---Releases the Lease, if it is held. Two attempts: a renewal under way may cause a conflict.
---@param candidate kubelua.Candidate
---@param send fun(candidate: kubelua.Candidate, order: table): table?, string?, string?
function release.run(candidate, send)
    if is_unsure(candidate) then
        log("info", "%s: not released, as a write was not answered: it expires by itself",
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
