-- Shards: all replicas of a controller work, and each key is worked on by exactly one of them.
-- shards/ring.lua has the rules, shards/membership.lua carries them out. docs/CONTROLLERS.md says
-- what Kubernetes cannot fence.
local alone = require "kubelua.shards.alone"
local copy_table = require "kubelua.copy_table"
local core = require "kubelua.core"
local leader = require "kubelua.leader"
local Membership = require "kubelua.shards.membership"
local misuse = require "kubelua.misuse"

---@class kubelua.ShardsOptions: kubelua.LeaderOptions name: of the ring
---@field by? "namespace"|"uid"|"key"|fun(object: kubelua.Object): string what is shared out: all
---objects of a namespace go to one member; or each by its UID, or by its key (the default), or all
---for which the function returns the same text
---@field caches? "all"|"share" what the caches of the reconciled objects, and of what these own,
---hold: all, or the share of this member; default: "all"

local shards = {}

-- The memberships in clusters over the network, by the URL of the server. Those in a simulated
-- cluster are in its state.
local by_server = {}

local BY = { namespace = true, uid = true, key = true }

-- The lines of a text from one number to another.
local function cut_lines(text, first, last)
    local lines, number = {}, 0
    for line in (text .. "\n"):gmatch("(.-)\n") do
        number = number + 1
        if number >= first and number <= last then
            lines[#lines + 1] = line
        end
    end
    return table.concat(lines, "\n")
end

-- The text of a function of the script; "" if its file is gone.
local function text_of(by)
    local info = debug.getinfo(by, "S")
    if info.what == "C" then
        misuse("shards: 'by' must be a function of the script, not one of C")
    end
    local path, text = info.source:match("^@(.*)"), info.source
    local file = path and io.open(path)
    if path then
        text = file and file:read("*a") or ""
    end
    if file then
        file:close()
    end
    return cut_lines(text, info.linedefined, info.lastlinedefined)
end

-- What members must have in common. Of a function, its lines: LuaJIT's bytecode of one function
-- differs from process to process.
local function describe_by(by)
    return type(by) == "function" and "function-" .. core.hash(text_of(by)) or by
end

---Checks options; returns them with their defaults. Raises if they are wrong.
---@param given string|kubelua.ShardsOptions
---@return table
function shards.options(given)
    given = type(given) == "string" and { name = given } or copy_table(given)
    local by, caches = given.by, given.caches
    given.by, given.caches = nil, nil
    local all = leader.options(given, "shards")
    if #all.name > 50 or all.name:find(".", 1, true) then
        misuse("shards: '%s' cannot be the name of a ring: use at most 50 lower-case letters, "
            .. "digits and '-'", all.name)
    elseif by ~= nil and not BY[by] and type(by) ~= "function" then
        misuse("shards: 'by' must be \"namespace\", \"uid\", \"key\" or a function(object), not %s",
            tostring(by))
    end
    if caches ~= nil and caches ~= "all" and caches ~= "share" then
        misuse("shards: 'caches' must be \"all\" or \"share\", not %s", tostring(caches))
    elseif caches == "share" and type(by) == "function" then
        misuse("shards: caches = \"share\" needs by = \"uid\", \"key\" or \"namespace\": a "
            .. "function is called with objects that are cached")
    end
    all.caches = caches or "all"
    all.by, all.function_of = describe_by(by or "key"), type(by) == "function" and by or nil
    return all
end

local function memberships_at(client)
    local sim = core.state(client, "kubelua.client").sim
    if sim then
        local state = package.loaded["kubelua.simcore"].state(sim)
        state.memberships = state.memberships or {}
        return state.memberships
    end
    local server = core.client_server(client)
    by_server[server] = by_server[server] or {}
    return by_server[server]
end

local function find_or_make(client, options)
    local all, key = memberships_at(client), table.concat({ options.namespace, options.name,
        options.identity }, "/")
    local found = all[key]
    for _, name in ipairs(found and { "by", "lease", "renew", "retry" } or {}) do
        if found.options[name] ~= options[name] then
            misuse("shards: another controller here is in the ring %s/%s with %s = %s; give both "
                .. "the same options", options.namespace, options.name, name,
                tostring(found.options[name]))
        end
    end
    if found then
        return found
    end
    local made = Membership.new(options)
    made.forget = function() all[key] = nil end
    all[key] = made
    return made
end

---Joins a ring, in the background. The result is this process's membership, which all its
---controllers in that ring share.
---@param client kubelua.Client
---@param options table from shards.options
---@param user kubelua.shards.User
---@return kubelua.shards.Membership?, string?, string?
function shards.join(client, options, user)
    local own = copy_table(options)
    own.namespace = options.namespace or client:namespace()
    own.identity = options.identity or leader.identity()
    if leader.without_lease then
        leader.without_lease(own.namespace .. "/" .. own.name, "works on all keys")
        return alone(own, user)
    end
    local found = find_or_make(client, own)
    local ok, message, code = found:join(user)
    if not ok and #found.users == 0 then
        found.forget()
    end
    return ok and found or nil, message, code
end

---Leaves a ring. This process leaves it with its last controller.
---@param membership kubelua.shards.Membership
---@param user kubelua.shards.User
function shards.leave(membership, user)
    if membership:leave(user) and membership.forget then
        membership.forget()
    end
end

return shards
