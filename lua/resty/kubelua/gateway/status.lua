-- Writes the status of objects, and Events about their problems; only in the owner. One write at a
-- time, at most 100 a second; of several for one object, the last. A conflict means that the object
-- has changed: the compiler makes its status anew.
local kinds = require "resty.kubelua.gateway.kinds"

local status = {}

local PAUSE = 0.01 -- seconds between two writes

---@class resty.kubelua.gateway.Statuses
---@field waiting table<string, resty.kubelua.gateway.StatusToWrite> by kind and name
---@field order string[]
---@field is_writing boolean
---@field refused table<string, true> kinds whose status may not be written
local Statuses = {}
Statuses.__index = Statuses

---@param client kubelua.Client
---@param kubelua table
---@param options resty.kubelua.GatewayOptions
---@param informers table<string, kubelua.Informer>
---@param again fun(status: resty.kubelua.gateway.StatusToWrite) makes the status anew
---@return resty.kubelua.gateway.Statuses
function status.new(client, kubelua, options, informers, again)
    return setmetatable({ client = client, kubelua = kubelua, informers = informers, again = again,
        is_off = options.status == false, waiting = {}, order = {}, is_writing = false,
        refused = {} }, Statuses)
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

function Statuses:write_next()
    local key = table.remove(self.order, 1)
    local item = self.waiting[key]
    self.waiting[key] = nil
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
        local key = key_of(item)
        if not self.waiting[key] then
            table.insert(self.order, key)
        end
        self.waiting[key] = item
    end
    if self.is_writing or not self.order[1] then
        return
    end
    self.is_writing = true
    self.kubelua.spawn(function()
        local ok, problem = pcall(function()
            while self.order[1] do
                self:write_next()
                self.kubelua.sleep(PAUSE)
            end
        end)
        self.is_writing = false
        if not ok then
            error(problem, 0)
        end
    end)
end

---Says problems: in the log, and as Events of their objects.
---@param list resty.kubelua.gateway.Problem[]
function Statuses:tell(list)
    for _, problem in ipairs(list) do
        self.kubelua.log("warn", "gateway: %s: %s", key_of(problem), problem.message)
        local informer = not self.is_off and self.informers[problem.kind]
        local key = problem.namespace and problem.namespace .. "/" .. problem.name or problem.name
        local object = informer and informer:get(key)
        if object then
            self.client:event(object, "Warning", problem.reason, problem.message)
        end
    end
end

return status
