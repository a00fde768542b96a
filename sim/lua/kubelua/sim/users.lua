-- The users of a simulated cluster: their tokens, groups and kubeconfigs.
local simcore = require "kubelua.simcore"
local users = {}

---@class kubelua.Sim.User
---@field name string as in a binding's subject of kind User
---@field token string? a bearer token; without one, a client certificate is made
---@field groups string[]|string|nil the groups; a string with several has commas

local MEMBERS = { name = true, token = true, groups = true }

-- A user in the form that the core takes.
local function to_plain(user, level)
    if type(user) ~= "table" or type(user.name) ~= "string" then
        error("sim: a user is { name = \"jane\", token = \"secret\", groups = { \"dev\" } }", level)
    end
    for key in pairs(user) do
        if not MEMBERS[key] then
            error("sim: a user has a name, a token and groups, not \"" .. tostring(key) .. "\"",
                level)
        end
    end
    local groups = user.groups
    if type(groups) == "table" then
        for _, group in ipairs(groups) do
            if type(group) ~= "string" then
                error("sim: a group of user \"" .. user.name .. "\" is a text, not a "
                    .. type(group), level)
            end
        end
        groups = table.concat(groups, ",")
    end
    return { name = user.name, token = user.token, groups = groups }
end

---The users in the form that the core takes; each needs a token.
---@param given kubelua.Sim.User[]?
---@return table[]?
function users.plain(given)
    local all = {}
    for i, user in ipairs(given or {}) do
        all[i] = to_plain(user, 4)
        if not all[i].token then
            error("sim: the user \"" .. user.name .. "\" needs a token", 4)
        end
    end
    return given and all
end

---The token of a user; raises if there is no such user.
---@param given kubelua.Sim.User[]?
---@param name string
---@return string
function users.token(given, name)
    for _, user in ipairs(given or {}) do
        if user.name == name then
            return user.token
        end
    end
    error("sim: there is no user \"" .. tostring(name) .. "\"; name it in users = { { name = \""
        .. tostring(name) .. "\", token = ... } }", 3)
end

---@class kubelua.Sim
local methods = {}
users.methods = methods

---A kubeconfig for this cluster, once it listens: for the administrator, or for a user, with their
---token or (over TLS, if they have none) with a client certificate that is made for them.
---@param user kubelua.Sim.User?
---@return string?, string?, string?
function methods:kubeconfig(user)
    return simcore.kubeconfig(self, user and to_plain(user, 3))
end

return users
