-- A member without a ring: it works on all parts, and nothing is sent. For --dry-run.
local PARTS = require("kubelua.shards.parts").COUNT

local function allow()
    return true
end

local function ignore() end

---@param options table of shards.join
---@param user kubelua.shards.User
---@return kubelua.shards.Membership
return function(options, user)
    local all = {}
    for part = 1, PARTS do
        all[part] = true
    end
    user.share(all)
    user.changed(all)
    return { options = options, may_work = allow, is_at_work = allow, is_member = allow,
        leave = allow, has_share = allow, check = ignore, work_ended = ignore, look = ignore,
        guard = function() return allow end,
        status = function()
            return { ring = options.namespace .. "/" .. options.name, identity = options.identity,
                by = options.by, working = true, members = { options.identity }, parts = PARTS }
        end }
end
