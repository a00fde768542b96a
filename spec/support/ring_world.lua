-- Members of a ring, in the world of controllers' specs: controllers that share out their keys, and
-- whose runs may not meet.
local cjson = require "cjson"
local controller_world = require "controller_world"
local eventually = require "eventually"

local ring_world = {}

-- Starts a member. Its runs are noted as "MEMBER KEY"; it is an error if two work on one key.
local function start_member(w, working, identity, options)
    options = options or {}
    options.name = identity
    options.client = assert(w.cluster:connect())
    local shards = options.shards or {}
    shards.name, shards.identity = "spec", identity
    options.shards = shards
    local reconcile = options.reconcile
    options.reconcile = function(object, run)
        local key = type(object) == "string" and object or object.key
        assert(working[key] == nil, "two members work on " .. key)
        working[key] = identity
        w:note(identity .. " " .. key)
        local result = reconcile and { pcall(reconcile, object, run) } or { true }
        working[key] = nil
        assert(result[1], result[2])
        return result[2]
    end
    return w:controller(options)
end

local function has_all_parts(members)
    local parts = 0
    for _, member in ipairs(members) do
        local status = member:status().shards
        if #status.members ~= #members or status.parts == 0 then
            return false
        end
        parts = parts + status.parts
    end
    return parts == 256
end

local function describe_all(w, members)
    local texts = {}
    for _, member in ipairs(members) do
        texts[#texts + 1] = cjson.encode(member:status().shards)
    end
    return table.concat(texts, "\n") .. "\n" .. table.concat(w.lines, "\n")
end

---A simulated cluster in which members start, for one case.
---@return table world of controller_world
---@return function start
---@return function until_true
---@return function until_shared lets time pass until the members have shared out all parts
function ring_world.open()
    local w = controller_world.new { now = "2026-01-01T00:00:00Z" }
    local working = {}
    local function start(identity, options)
        return start_member(w, working, identity, options)
    end
    local function until_true(f, what)
        eventually(function()
            w.cluster:advance(0.5)
            return f()
        end, what)
    end
    local function until_shared(...)
        local members = { ... }
        until_true(function() return has_all_parts(members) end,
            function() return describe_all(w, members) end)
    end
    return w, start, until_true, until_shared
end

---Closes it, whatever faults it has.
---@param w table of controller_world
function ring_world.close(w)
    w.cluster:heal()
    w:close()
end

---The member of each key of the notes; fails if a key has two.
function ring_world.owners_of(notes)
    local owners = {}
    for _, note in ipairs(notes) do
        local member, key = note:match("^(%S+) (%S+)$")
        assert(owners[key] == nil or owners[key] == member, key)
        owners[key] = member
    end
    return owners
end

---How many keys a member has.
function ring_world.count(owners, member)
    local found = 0
    for _, owner in pairs(owners) do
        found = found + (owner == member and 1 or 0)
    end
    return found
end

return ring_world
