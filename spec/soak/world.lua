-- The world of a soak of a lua_State: a simulated cluster that changes all the time, one informer
-- that must miss no change, and the witness that checks that.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local KEYS, PATIENCE = 300, 60
local CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
local PAYLOAD = ("x"):rep(3000)

local world = { changes = 0, lap = 0, calm = 0 }

-- What exists on the server, and what the witness knows.
local exists, known, leaked = {}, {}, {}
local seen, lap_seen, fault = 0, 0, nil
local leak_each = tonumber(os.getenv("KUBELUA_SOAK_LEAK") or 0)
local seed = tonumber(os.getenv("KUBELUA_SOAK_SEED") or 1)

---A number from 0 up to `sides`, the same for the same seed.
function world.draw(sides)
    seed = (seed * 16807) % 2147483647
    return seed % sides
end

-- ---- the cluster ----

local function ask(method, target, body)
    local status, answer = world.sim:call { method = method, target = target, body = body }
    if not status or status >= 300 then
        error(string.format("%s %s: %s %s", method, target, tostring(status), tostring(answer)))
    end
end

local function put(key, is_new)
    local body = string.format('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c%d",'
        .. '"namespace":"default","labels":{"app":"a%d"}},"data":{"node":"n%d","lap":"%08d",'
        .. '"change":"%012d","payload":"%s"}}', key, key % 7, world.draw(20), world.lap,
        world.changes, PAYLOAD)
    world.changes = world.changes + 1
    exists[key] = true
    if is_new then
        ask("POST", CONFIGMAPS, body)
    else
        ask("PUT", CONFIGMAPS .. "/c" .. key, body)
    end
end

---Makes one change: mostly an update; some objects are deleted, and some of these are created again
---at once.
function world.change()
    local key, dice = world.draw(KEYS), world.draw(100)
    if not exists[key] then
        return put(key, true)
    elseif dice < 85 then
        return put(key, false)
    end
    world.changes = world.changes + 1
    exists[key] = nil
    ask("DELETE", CONFIGMAPS .. "/c" .. key)
    if dice < 93 then
        put(key, true)
    end
end

---Creates all objects that do not exist, so that the cluster is as large as before.
function world.fill()
    for key = 0, KEYS - 1 do
        if not exists[key] then
            put(key, true)
        end
    end
end

-- ---- the witness ----

local function believe(object, is_add, is_delete)
    local key = tonumber(object.name:sub(2))
    seen = seen + 1
    if (known[key] == nil) ~= is_add then
        error(object.key .. ": " .. (is_add and "added twice" or "changed, but was not there"))
    elseif not is_add and known[key] ~= object.uid then
        error(object.key .. ": an event about another object")
    end
    known[key] = not is_delete and object.uid or nil
    if key == KEYS then
        lap_seen = tonumber(object.data.lap)
    end
    if leak_each > 0 and seen % leak_each == 0 then
        leaked[#leaked + 1] = object
    end
end

local function believing(is_add, is_delete)
    return function(a, b)
        local is_update = not is_add and not is_delete
        local ok, message = pcall(believe, is_update and b or a, is_add, is_delete)
        fault = fault or not ok and message or nil
    end
end

---Waits until the witness has seen every change, and compares its objects with the server's.
function world.settle()
    local deadline = core.now() + PATIENCE
    world.lap = world.lap + 1
    put(KEYS, not exists[KEYS])
    -- A list is reported whole, in the order of its keys: the object of the lap may not be its
    -- last.
    while lap_seen ~= world.lap or seen < world.changes and world.witness:backlog() > 0 do
        if core.now() > deadline or fault then
            error(fault or "lap " .. world.lap .. " was not seen: events were lost")
        end
        kubelua.sleep(0.001)
    end
    for key = 0, KEYS do
        if (known[key] ~= nil) ~= (exists[key] == true) then
            error("c" .. key .. ": the witness is wrong about it")
        end
    end
    local lists = world.informer:status().lists
    if lists == world.lists then
        world.calm = world.calm + 1
        if seen ~= world.changes then
            error(string.format("lap %d: %d changes, %d events", world.lap, world.changes, seen))
        end
    end
    world.lists = lists
    seen = world.changes
end

-- A page of the server's list, with names and versions of fifty objects. After a large block is
-- freed, glibc keeps twice as much memory in every arena: the soak would measure itself.
local function page(token)
    local _, body = world.sim:call {
        target = CONFIGMAPS .. "?limit=50" .. (token and "&continue=" .. token or ""),
        accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    }
    local list = core.decode(body)
    return list.items, list.metadata["continue"]
end

---Compares cache and server.
function world.compare()
    local list, at, token = world.informer:list(), 0, nil
    repeat
        local items
        items, token = page(token)
        for _, item in ipairs(items) do
            at = at + 1
            if not list[at] or item.metadata.resourceVersion ~= list[at].resource_version then
                error(item.metadata.name .. ": the cache differs from the server")
            end
        end
    until not token
    if at ~= #list then
        error("the cache has " .. #list .. " objects, the server " .. at)
    end
end

---Starts the world, and waits for the first list.
function world.begin()
    world.sim = assert(Sim.new { bookmark = 0.5, history = 3000 })
    world.url = assert(world.sim:listen())
    world.client = assert(kubelua.connect { server = world.url })
    world.informer = assert(world.client:informer { "configmaps", namespace = "default" })
    assert(world.informer:wait_synced(PATIENCE))
    world.witness = world.informer:on { add = believing(true, false),
        update = believing(false, false), delete = believing(false, true), coalesce = false,
        backlog = 200, name = "witness" }
    world.lists = world.informer:status().lists
end

---Stops the world.
function world.finish()
    world.client:close()
    world.sim:close()
    world.client, world.sim, world.informer, world.witness = nil, nil, nil, nil
end

return world
