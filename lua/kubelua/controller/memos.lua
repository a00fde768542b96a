-- What a controller remembers about a key between runs. A record is made when it is first needed:
-- there may be very many keys, and most scripts use no memo.

---@class kubelua.controller.Kept
---@field uid string? of the key's object
---@field memo table? run.memo, which belongs to the script
---@field statuses table<string, { wanted: string, got: string }>? by UID; see status.lua

local memos = {}

---The record of a key; makes it if there is none.
---@param state kubelua.controller.State
---@param key string
---@param object kubelua.Object? the object with that key
---@return kubelua.controller.Kept
function memos.keep(state, key, object)
    local kept = state.memos[key]
    if not kept then
        kept = { uid = object and object.uid or nil }
        state.memos[key] = kept
    end
    return kept
end

---The table run.memo. A run that began before the lease was lost and gained again gets another,
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

---A new term as the leader begins: empties every memo.
---@param state kubelua.controller.State
function memos.begin_term(state)
    state.terms = state.terms + 1
    for _, kept in pairs(state.memos) do
        kept.memo = nil
    end
end

return memos
