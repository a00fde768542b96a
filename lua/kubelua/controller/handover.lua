-- Queues the keys of the parts that have come to this process. That is done in slices: of 100,000
-- objects, a fourth may come at once, and the loop has other work meanwhile.
local core = require "kubelua.core"
local informer_parts = require "kubelua.informer.parts"
local lines = require "kubelua.log_lines"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

---@class kubelua.controller.Handover
---@field sharding kubelua.controller.Sharding
---@field parts table<integer, true> those whose keys are still to be queued
---@field failing table<integer, true> those that are being queued
---@field task kubelua.Task? that does it
local Handover = {}
Handover.__index = Handover

local SLICE = 0.005 -- seconds
local PAUSE = 1 -- seconds after a failure

---@param sharding kubelua.controller.Sharding
---@return kubelua.controller.Handover
function Handover.new(sharding)
    return setmetatable({ sharding = sharding, parts = {}, failing = {} }, Handover)
end

local function must(result, message)
    return result or error(message, 0)
end

local function take_turns(self)
    if core.now() >= self.until_time then
        waiting.sleep(0)
        self.until_time = core.now() + SLICE
    end
end

-- The keys of the objects in some parts, by a function of the script.
local function keys_by_function(self, informer, parts)
    local keys = {}
    for _, object in ipairs(must(informer:list())) do
        keys[#keys + 1] = parts[self.sharding:part_of_object(object)] and object.key or nil
        take_turns(self)
    end
    return keys
end

local function keys_of_objects(self, parts)
    local keys, options = {}, self.sharding.options
    for _, informer in ipairs(informer_parts.informers(self.sharding.state.main.informer)) do
        local found = options.function_of and keys_by_function(self, informer, parts)
            or must(core.shard_keys(informer, options.by, parts))
        for _, key in ipairs(found) do
            keys[#keys + 1] = key
        end
    end
    return keys
end

-- A key whose part has gone again meanwhile is not queued: see State:add.
local function queue_objects(self, parts)
    local state = self.sharding.state
    for _, key in ipairs(keys_of_objects(self, parts)) do
        if state.main.informer:get(key) then -- else its deletion has queued it meanwhile
            must(state:add(key, true))
        end
        take_turns(self)
    end
end

-- What has no object: keys that were deleted, or those of a controller without a resource.
local function queue_others(self, parts)
    local sharding, keys = self.sharding, {}
    for key, part in pairs(sharding.deleted:all()) do
        keys[#keys + 1] = parts[part] and key or nil
    end
    for key in pairs(sharding.seen) do
        keys[#keys + 1] = parts[core.shard_part(key)] and key or nil
    end
    for _, key in ipairs(keys) do
        must(sharding.state:add(key, true))
        take_turns(self)
    end
end

local function queue_all(self)
    while next(self.parts) and not self.sharding.state.is_stopped do
        local parts = self.parts
        self.parts, self.failing, self.until_time = {}, parts, core.now() + SLICE
        if self.sharding.state.main then
            queue_objects(self, parts)
        end
        queue_others(self, parts)
        self.failing = {}
    end
end

-- A failure is a lack of memory: all is tried again.
local function run(self)
    local state = self.sharding.state
    local ok, problem = trace.call(queue_all, self)
    while not ok and problem ~= trace.CANCELED and not state.is_stopped do
        lines.of_controller("error", state, nil, "the keys that came were not queued, and are "
            .. "tried again: %s", tostring(problem))
        for part in pairs(self.failing) do
            self.parts[part] = true
        end
        waiting.sleep(PAUSE)
        ok, problem = trace.call(queue_all, self)
    end
    self.task = nil
    self.sharding:check_share()
    state.wake()
end

---Queues the keys of more parts.
---@param parts table<integer, true>
function Handover:begin(parts)
    for part in pairs(parts) do
        self.parts[part] = true
    end
    if not self.task and next(self.parts) then
        self.task = tasks.task(self.sharding.state.what .. ": keys that come", run, self)
        tasks.leave_scope(self.task)
        tasks.leave_script(self.task)
    end
end

---True if all keys of the parts that came are queued.
---@return boolean
function Handover:is_over()
    return self.task == nil
end

return Handover
