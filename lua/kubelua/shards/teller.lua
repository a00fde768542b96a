-- What a member of a ring logs.
local Teller = require "kubelua.leader.teller"

local WORDS = { gained = "%s is a member", lost = "%s is no member any more: %s",
    left = "%s has left, and releases its Lease",
    holder = "%s has the Lease of %s",
    refused = "this process is no member of the ring (%s); the write was not sent" }

---@param options kubelua.LeaderOptions
---@param ring string "namespace/name"
---@return kubelua.leader.Teller
return function(options, ring)
    return Teller.new(options, "ring " .. ring, WORDS)
end
