-- What a controller with the option `shards` does: it works on the keys that the ring gives this
-- process, and on no others. All events are watched; a key of another member is dropped, and queued
-- when this process gets its part.
local call_script = require "kubelua.controller.call_script"
local core = require "kubelua.core"
local DeletedKeys = require "kubelua.controller.deleted_keys"
local dropped = require "kubelua.controller.dropped"
local Handover = require "kubelua.controller.handover"
local lines = require "kubelua.log_lines"
local parts_of = require "kubelua.shards.parts"
local Share = require "kubelua.controller.share"
local shards = require "kubelua.shards"
local source = require "kubelua.controller.source"
local worker = require "kubelua.controller.worker"

---@class kubelua.controller.Sharding
---@field state kubelua.controller.State
---@field options table of shards.options
---@field membership kubelua.shards.Membership? nil: this process has not joined yet, or has left
---@field parts table<integer, true> those that this process may work on
---@field came table<integer, integer> by part: the number of the change with which it came
---@field changes integer
---@field allowed table<integer, true> those that the ring gives this process
---@field share kubelua.controller.Share
---@field handover kubelua.controller.Handover
---@field running table<integer, integer> by part: runs that have not ended
---@field deleted kubelua.controller.DeletedKeys
---@field has_share boolean this process has had its whole share, and has queued its keys
---@field seen table<string, true> the keys of a controller without a resource
local Sharding = {}
Sharding.__index = Sharding

---@param state kubelua.controller.State
---@return kubelua.controller.Sharding
function Sharding.new(state)
    local self = setmetatable({ state = state, options = state.options.shards, parts = {},
        running = {}, seen = {}, has_share = false, came = {}, changes = 0 }, Sharding)
    self.handover, self.allowed = Handover.new(self), {}
    self.share = Share.new(state, self.options, function()
        self:update()
        self:note_listed()
    end)
    self.deleted = DeletedKeys.new(state.clock, 2 * self.options.lease, function(part)
        return self.parts[part] == true
    end)
    return self
end

-- The part of a key, if it alone decides.
local function part_by_key(self, key)
    if self.options.by == "key" then
        return core.shard_part(key)
    elseif self.options.by == "namespace" then
        return core.shard_part(key:match("^(.*)/") or "")
    end
end

---The part of an object: by its key, its UID or what the function of the script returns. If that
---fails, by its key: all members do so.
---@param object kubelua.Object
---@return integer
function Sharding:part_of_object(object)
    local options, what = self.options, "by of " .. self.state.what
    local part = part_by_key(self, object.key)
    if part then
        return part
    elseif options.by == "uid" then
        return core.shard_part_of_uid(object.uid)
    end
    local ok, result = pcall(call_script, what, options.function_of, object)
    if ok and type(result) == "string" then
        return core.shard_part(result)
    elseif not self.is_told then
        self.is_told = true
        lines.of_controller("error", self.state, object.key, "%s must return a text for each "
            .. "object; objects for which it does not are shared out by key: %s", what, ok
            and "it returned a " .. type(result) or tostring(result))
    end
    return core.shard_part(object.key)
end

---The part of a key; nil: it is that of a UID which is in no cache, and so another member's.
---@param key string
---@return integer?
function Sharding:part_of(key)
    local part = part_by_key(self, key)
    if part then
        return part
    end
    local state = self.state
    local object = state.main.informer:get(key)
        or state.unselected and state.unselected:get(key)
    if object then
        return self:part_of_object(object)
    end
    return self.deleted:part_of(key) or not self.share.is_partial and core.shard_part(key) or nil
end

local function forget_key(state, key)
    if not state.runs[key] then
        state.memos[key] = nil
        state.writes.own:forget(key)
        dropped.forget(state, key)
    end
end

---Notes an object that was deleted: its key is worked on by the member that had the object, or by
---the next one that has its part. What this process remembers of a key of others is forgotten.
---@param object kubelua.Object
function Sharding:note_deleted(object)
    local key, part = object.key, self:part_of_object(object)
    self.deleted:note(key, part)
    if not self.parts[part] then
        forget_key(self.state, key)
    end
end

---Notes an object that is in the cache no more, as another member has it.
---@param object kubelua.Object
function Sharding:note_left(object)
    forget_key(self.state, object.key)
end

---Notes a key of a controller without a resource: it is queued when its part comes.
---@param key string
function Sharding:note_key(key)
    if not self.state.main then
        self.seen[key] = true
    end
end

---True if a key is to be queued here.
---@param key string
---@return boolean
function Sharding:takes(key)
    self:note_key(key)
    return self.parts[self:part_of(key)] == true
end

---True if a run of a key may begin.
---@param key string
---@return boolean
function Sharding:may_run(key)
    local part = self:part_of(key)
    return self.membership ~= nil and self.parts[part] == true and self.membership:may_work(part)
end

---When the part of a key came to this process: a number that rises.
---@param key string
---@return integer?
function Sharding:came_at(key)
    return self.came[self:part_of(key)]
end

---The fence for the writes of a run.
---@param record kubelua.controller.Record
---@return fun(write: kubelua.Write): true?, string?, string?
function Sharding:fence(record)
    record.part = self:part_of(record.key)
    local kept = self.state.memos[record.key]
    if kept and kept.came ~= self.came[record.part] then
        kept.memo, kept.came = nil, self.came[record.part] -- it was another member's meanwhile
    end
    record.is_of_deleted = self.deleted:part_of(record.key) ~= nil
    return self.membership:guard(record.part)
end

---A run begins.
---@param record kubelua.controller.Record
function Sharding:begin_run(record)
    self.running[record.part] = (self.running[record.part] or 0) + 1
end

---A run has ended.
---@param record kubelua.controller.Record
function Sharding:end_run(record)
    local part = record.part
    if part then
        local count = self.running[part] - 1
        self.running[part] = count > 0 and count or nil
        if record.is_of_deleted and record.result and record.result.result == "done"
            and not record.reason then
            self.deleted:forget(record.key) -- unless it is to run again
        end
        if self.membership then
            self.membership:work_ended()
        end
    end
end

local function cancel_runs(self, part)
    for _, record in pairs(self.state.runs) do
        if not part or record.part == part then
            worker.cancel(record, "not_leader")
        end
    end
end

-- The failures of keys that are another member's now are no news any more.
local function forget_failures(self)
    for key in pairs(self.state.failing) do
        if not self.parts[self:part_of(key)] then
            self.state.failing[key] = nil
        end
    end
end

---Looks if this process has its whole share by now, which may be no part at all.
---@return boolean
function Sharding:check_share()
    self.has_share = self.has_share or (self.membership ~= nil and self.membership:has_share()
        and self.share:is_held() and self.handover:is_over())
    return self.has_share
end

-- Queues the keys of the parts that came.
local function change(self, parts)
    local before, came = self.parts, {}
    self.parts, self.changes = parts, self.changes + 1
    for part in pairs(parts) do
        if not before[part] then
            came[part], self.came[part] = true, self.changes
        end
    end
    forget_failures(self)
    if not self.state.main or self.state.main.informer then
        self.handover:begin(came)
    end
end

---The ring gives this process other parts, or its caches hold others.
function Sharding:update()
    local parts = self.share:limit(self.allowed)
    if self.changes == 0 or not parts_of.are_equal(parts, self.parts) then
        change(self, parts)
    end
end

-- Why the caches of the controller do not work, if so; and true if they were listed.
local function find_problem(self)
    local state = self.state
    for _, one in ipairs(state.in_order) do
        local status = source.status(one)
        if status.error then
            return ("%s cannot be listed or watched: %s"):format(one.name, status.error),
                status.code, state.is_listed
        end
    end
    if not state.is_listed then
        return "the caches of " .. state.what .. " are not listed yet", nil, false
    elseif not self.share:is_held() and not (self.membership and self.membership:is_member()) then
        return "the share of " .. state.what .. " is not listed yet", nil, false
    end
end

---The first lists of all sources are there, and were mapped to keys.
function Sharding:note_listed()
    if self.membership then
        self.membership:check()
    end
end

---Joins the ring.
---@return true?, string?, string?
function Sharding:join()
    local message, code
    self.user = {
        client = self.state.client,
        share = function(parts) self.share:want(parts) end,
        changed = function(parts)
            self.allowed = parts
            self:update()
        end,
        lost = function()
            self.state:begin_term()
            cancel_runs(self)
        end,
        is_busy = function(part) return self.running[part] ~= nil end,
        cancel = function(part) cancel_runs(self, part) end,
        problem = function() return find_problem(self) end,
    }
    self.membership, message, code = shards.join(self.state.client, self.options, self.user)
    return self.membership and true, message, code
end

---Leaves the ring, once no run is left.
function Sharding:leave()
    if self.membership then
        shards.leave(self.membership, self.user)
        self.membership, self.parts, self.allowed = nil, {}, {}
    end
end

---True once this process has a place in the ring.
---@return boolean
function Sharding:is_at_work()
    return self.membership ~= nil and self.membership:is_at_work()
end

return Sharding
