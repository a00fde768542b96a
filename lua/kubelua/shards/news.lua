-- What a member of a ring logs of its share, each change once.
local log = require "kubelua.log"

---@class kubelua.shards.News
---@field options table
---@field teller kubelua.leader.Teller
---@field count integer? how many parts were logged last
---@field older string? the token of the older member that was named last
local News = {}
News.__index = News

local PARTS = require("kubelua.shards.parts").COUNT

---@param options table
---@param teller kubelua.leader.Teller
---@return kubelua.shards.News
function News.new(options, teller)
    return setmetatable({ options = options, teller = teller }, News)
end

---Tells what this member has, once nothing is about to change.
---@param ring kubelua.shards.Ring
---@param members integer
function News:tell_share(ring, members)
    local count = 0
    for _ in pairs(ring.allowed) do
        count = count + 1
    end
    if count ~= self.count and ring:has_place() and not ring.pending
        and (count > 0 or members > 1) then
        self.count = count
        log("info", "%s: %s has %d of %d parts, beside %d other member%s", self.teller.what,
            self.options.identity, count, PARTS, members - 1, members == 2 and "" or "s")
    end
end

---Tells that an older member shares out otherwise.
---@param older string? its token
---@param facts kubelua.shards.Facts?
function News:tell_older(older, facts)
    if older ~= self.older then
        self.older = older
        if facts then
            self.teller:say("older", "warn", "%s shares out by %s, and this process by %s: it "
                .. "works on nothing until all members of before have left", facts.holder,
                facts.by, self.options.by)
        end
    end
end

return News
