-- The metric of a member of a ring: on how many parts it may work.
local core = require "kubelua.core"

---@class kubelua.shards.Figures
---@field metric kubelua.Metric?
---@field labels string[] ring, identity
local Figures = {}
Figures.__index = Figures

local HELP = "How many of the 256 parts of a ring its member here may work on."

---@param options table name, namespace, identity
---@return kubelua.shards.Figures
function Figures.new(options)
    local self = setmetatable({ labels = { options.namespace .. "/" .. options.name,
        options.identity } }, Figures)
    self.metric = core.metric("gauge", "kubelua_ring_parts", HELP, { "ring", "member" }, nil, 10000)
    self:show({})
    return self
end

---@param parts table<integer, true>
function Figures:show(parts)
    local count = 0
    for _ in pairs(parts) do
        count = count + 1
    end
    if self.metric then -- else memory was short
        self.metric:set(count, self.labels[1], self.labels[2])
    end
end

---This process is no member any more.
function Figures:remove()
    if self.metric then
        self.metric:remove(self.labels[1], self.labels[2])
    end
end

return Figures
