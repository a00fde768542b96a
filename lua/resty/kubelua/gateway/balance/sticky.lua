-- Sessions: a cookie names the pod of the first request, by a hash. The pod keeps its sessions
-- while it serves, also while it terminates. Once it is gone, another one is picked by turns. Pure.
local groups = require "resty.kubelua.gateway.balance.group"
local round_robin = require "resty.kubelua.gateway.balance.round_robin"
local usable = require "resty.kubelua.gateway.balance.usable"

local DEFAULT = {}

-- The endpoint that the cookie of the request names.
local function find_session(ask, cookie)
    local value = ask.vars and ask.vars["cookie_" .. (cookie.name or "kubelua")]
    return value and ask.group.by_id[value]
end

---@param ask resty.kubelua.gateway.Ask
---@return integer? index nil: all were tried
---@return string? value of the cookie that the answer should set
return function(ask)
    local group, cookie = ask.group, ask.settings.cookie or DEFAULT
    if not group.ids then
        groups.add_ids(group, ask.load.hash)
    end
    local session = find_session(ask, cookie)
    if session and usable.admits(ask, session) then
        return session
    end
    local index = round_robin(ask)
    if not index or session and not cookie.change_on_failure then
        return index -- its pod is there, and will be used again
    end
    return index, group.ids[index]
end
