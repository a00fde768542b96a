-- What a controller keeps of a key between its runs. A record is made once something needs it:
-- there may be very many keys, and most scripts use no memo.

---@class kubelua.controller.Kept
---@field uid string? of the key's object
---@field memo table? the script's
---@field statuses table<string, { wanted: string, got: string }>? by UID; see status.lua

local memos = {}

---The record of a key, which is made if there is none.
---@param state kubelua.controller.State
---@param key string
---@param object kubelua.Object? the key's own
---@return kubelua.controller.Kept
function memos.keep(state, key, object)
    local kept = state.memos[key]
    if not kept then
        kept = { uid = object and object.uid or nil }
        state.memos[key] = kept
    end
    return kept
end

---The table that run.memo is. A run that began before the lease was lost and got again has another,
---empty table: what it knows may be outdated.
---@param own { state: kubelua.controller.State, key: string, object: kubelua.Object?,
---term: integer }
---@return table
function memos.of_run(own)
    if own.term ~= own.state.terms then
        return {}
    end
    local kept = memos.keep(own.state, own.key, own.object)
    kept.memo = kept.memo or {}
    return kept.memo
end

---A term as the leader begins: every memo is empty.
---@param state kubelua.controller.State
function memos.begin_term(state)
    state.terms = state.terms + 1
    for _, kept in pairs(state.memos) do
        kept.memo = nil
    end
end

return memos
