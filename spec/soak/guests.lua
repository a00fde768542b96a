-- The guests of a soak of a lua_State, which come and go: clients, informers of all kinds, handlers
-- and indexes; and the faults: cuts, compactions, failures.
local kubelua = require "kubelua"
local world = require "world"

local GUESTS = 4

local guests = {
    counts = { cuts = 0, compactions = 0, failures = 0, guests = 0, queries = 0 },
}

local all = {}

local function read(object)
    return object.data.node
end

local function arrive()
    local labels = { nil, "app=a3", "app in (a1,a2)" }
    local shares = world.draw(3) == 0
    local guest = { owns = not shares }
    guest.client = shares and world.client or assert(kubelua.connect { server = world.url })
    guest.informer = assert(guest.client:informer {
        world.draw(2) == 0 and "configmaps" or "cm",
        namespace = world.draw(2) == 0 and "default" or nil,
        labels = labels[1 + world.draw(3)], resync = world.draw(3) == 0 and 0.05 or nil })
    guest.has_indexes = world.draw(2) == 0 and not shares
    if guest.has_indexes then
        assert(guest.informer:index("node", "data.node"))
        assert(guest.informer:index("app", function(object)
            return object.metadata.labels.app
        end))
    end
    guest.handler = guest.informer:on { add = read, update = function(_, new)
        read(new)
    end, delete = read, backlog = 50 + world.draw(500) }
    guests.counts.guests = guests.counts.guests + 1
    return guest
end

local function leave(guest)
    if world.draw(2) == 0 then
        guest.handler:remove()
    end
    guest.informer:stop()
    if guest.owns then
        guest.client:close()
    end
end

local function query(guest)
    local one = guest and guest.informer or world.informer
    guests.counts.queries = guests.counts.queries + 1
    one:get("default/c7")
    one:list { labels = "app!=a1" }
    if guest and guest.has_indexes then
        one:by("node", "n3")
        one:values("app")
    end
end

---Does one thing at random: a guest comes, acts or leaves, or there is a fault.
function guests.act()
    local place, dice = 1 + world.draw(GUESTS), world.draw(100)
    if dice < 12 then
        guests.counts.cuts = guests.counts.cuts + 1
        world.sim:cut()
    elseif dice < 16 then
        guests.counts.compactions = guests.counts.compactions + 1
        world.sim:compact()
        world.sim:cut()
    elseif dice < 20 then
        guests.counts.failures = guests.counts.failures + 1
        world.sim:fail { verb = world.draw(2) == 0 and "watch" or "list", count = 1,
            status = 500 + 3 * world.draw(2) }
    elseif dice < 50 then
        query(all[place])
    elseif all[place] then
        leave(all[place])
        all[place] = nil
    else
        all[place] = arrive()
    end
end

---Makes all guests leave.
function guests.leave()
    for place, guest in pairs(all) do
        leave(guest)
        all[place] = nil
    end
end

return guests
