-- The owner of each part, by what members announce. The results are kept as long as they are asked
-- for: most members announce the same, and few texts are there at a time.
local core = require "kubelua.core"
local sorted_keys = require "kubelua.sorted_keys"

---@class kubelua.shards.Owners
---@field kept table<string, table<integer, string>> by what was announced
---@field used table<string, true> asked for since the last call of forget_unused
local Owners = {}
Owners.__index = Owners

---@return kubelua.shards.Owners
function Owners.new()
    return setmetatable({ kept = {}, used = {} }, Owners)
end

---The tokens of a text as in Facts.claims, sorted, each once.
---@param claims string
---@return string[]
function Owners.tokens(claims)
    local tokens = {}
    for token in claims:gmatch("[^,]+") do
        tokens[token] = true
    end
    return sorted_keys(tokens)
end

---The token of the owner of each part; empty without tokens.
---@param claims string
---@return table<integer, string>
function Owners:of(claims)
    local owners = self.kept[claims]
    if not owners then
        owners = core.shard_owners(Owners.tokens(claims))
        self.kept[claims] = owners
    end
    self.used[claims] = true
    return owners
end

---Forgets what was not asked for since the last call.
function Owners:forget_unused()
    for claims in pairs(self.kept) do
        if not self.used[claims] then
            self.kept[claims] = nil
        end
    end
    self.used = {}
end

return Owners
