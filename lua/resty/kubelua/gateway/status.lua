-- Writes the status of objects, and Events about their problems; only in the owner. One of each at
-- a time, at most 100 a second, the namespaces in turns; of several for one object, the last. A
-- conflict means that the object has changed: the compiler makes its status anew.
local fair_queue = require "resty.kubelua.gateway.fair_queue"
local kinds = require "resty.kubelua.gateway.kinds"
local write_limit = require "resty.kubelua.gateway.write_limit"

local status = {}

local PAUSE = 0.01 -- seconds between two writes
local MOST_PROBLEMS = 100 -- of a namespace that wait to be told

---@class resty.kubelua.gateway.Statuses
---@field waiting resty.kubelua.gateway.FairQueue statuses
---@field problems resty.kubelua.gateway.FairQueue
---@field is_busy table<resty.kubelua.gateway.FairQueue, true> a task takes from it
---@field refused table<string, true> kinds whose status may not be written
---@field limit resty.kubelua.gateway.WriteLimit
---@field held table<string, resty.kubelua.gateway.StatusToWrite> written later, by kind and name
local Statuses = {}
Statuses.__index = Statuses

---@param client kubelua.Client
---@param kubelua table
---@param options resty.kubelua.GatewayOptions
---@param informers table<string, kubelua.Informer>
---@param again fun(status: resty.kubelua.gateway.StatusToWrite) makes the status anew
---@param pace fun() called between two pieces of work
---@return resty.kubelua.gateway.Statuses
function status.new(client, kubelua, options, informers, again, pace)
    return setmetatable({ client = client, kubelua = kubelua, informers = informers, again = again,
        pace = pace, is_off = options.status == false, waiting = fair_queue.new(math.huge),
        problems = fair_queue.new(MOST_PROBLEMS), is_busy = {}, refused = {},
        limit = write_limit.new(), held = {} }, Statuses)
end

local function key_of(item)
    return item.kind .. " " .. (item.namespace and item.namespace .. "/" or "") .. item.name
end

-- The object with another status. Its resourceVersion makes the write a conflict if another object
-- of this name, or another version, is there by now.
local function with_status(item)
    local copy = {}
    for name, value in pairs(item.object) do
        copy[name] = value
    end
    copy.status = item.status
    return copy
end

function Statuses:fail(item, message, code)
    if code == "conflict" then
        self.again(item)
    elseif code == "forbidden" then
        if not self.refused[item.kind] then
            self.refused[item.kind] = true
            self.kubelua.log("error", "gateway: the status of %s is not written: %s",
                kinds.resource_of(item.kind), message)
        end
    elseif code ~= "not_found" and code ~= "closed" then
        self.kubelua.log("warn", "gateway: the status of %s: %s", key_of(item), message)
        self.kubelua.spawn(function()
            self.kubelua.sleep(1)
            self.again(item)
        end)
    end
end

-- Takes from a queue until it is empty, in a task.
function Statuses:start(queue, handle)
    if self.is_busy[queue] or queue:is_empty() then
        return
    end
    self.is_busy[queue] = true
    self.kubelua.spawn(function()
        local ok, problem = pcall(function()
            while not queue:is_empty() do
                handle(self, queue:take())
                self.kubelua.sleep(PAUSE)
            end
        end)
        self.is_busy[queue] = nil
        if not ok then
            error(problem, 0)
        end
    end)
end

-- Writes a status later; only the last one for an object.
function Statuses:hold(item, seconds)
    local key = key_of(item)
    local is_held = self.held[key]
    self.held[key] = item
    if is_held then
        return
    end
    self.kubelua.spawn(function()
        self.kubelua.sleep(seconds)
        local last = self.held[key]
        self.held[key] = nil
        self:update(last)
    end)
end

function Statuses:write_one(item)
    local wait, is_first = self.limit:spend(key_of(item), item.object.metadata.generation,
        self.kubelua.now())
    if wait == 0 then
        return self:update(item)
    end
    if is_first then
        self.kubelua.log("warn", "gateway: the status of %s changes again and again, and is "
            .. "written once a second now; does another gateway, with other addresses, write it, "
            .. "too?", key_of(item))
    end
    self:hold(item, wait)
end

function Statuses:update(item)
    local ok, message, code = self.client:update(with_status(item), { subresource = "status" })
    if ok then
        self.refused[item.kind] = nil
    else
        self:fail(item, message, code)
    end
end

---Writes statuses: returns at once.
---@param list resty.kubelua.gateway.StatusToWrite[]
function Statuses:write(list)
    for _, item in ipairs(self.is_off and {} or list) do
        self.waiting:add(item.namespace or "", key_of(item), item)
        self.pace()
    end
    self:start(self.waiting, self.write_one)
end

function Statuses:tell_one(problem, dropped)
    if dropped then
        self.kubelua.log("warn", "gateway: %d more problems of the namespace %s are not told",
            dropped, problem.namespace)
    end
    self.kubelua.log("warn", "gateway: %s: %s", key_of(problem), problem.message)
    local informer = not self.is_off and (self.informers[problem.kind]
        or self.informers[problem.kind .. " " .. (problem.namespace or "")])
    local key = problem.namespace and problem.namespace .. "/" .. problem.name or problem.name
    local object = informer and informer:get(key)
    if object then
        self.client:event(object, "Warning", problem.reason, problem.message)
    end
end

---Says problems: in the log, and as Events of their objects. Returns at once.
---@param list resty.kubelua.gateway.Problem[]
function Statuses:tell(list)
    for _, problem in ipairs(list) do
        self.problems:add(problem.namespace or "", key_of(problem) .. " " .. problem.message,
            problem)
        self.pace()
    end
    self:start(self.problems, self.tell_one)
end

return status
