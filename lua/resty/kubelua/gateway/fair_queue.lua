-- What waits to be written for tenants: each namespace in its turn has one, so that thousands of
-- one namespace delay the others by no more than one each. Of several with one key the last counts,
-- at the place of the first. Pure.
local FairQueue = {}
FairQueue.__index = FairQueue

local fair_queue = {}

---@class resty.kubelua.gateway.FairQueue
---@field most integer that a namespace may have waiting
---@field lines table<string, { keys: string[], first: integer, last: integer }> by namespace
---@field items table<string, any> by namespace and key
---@field turns string[] the namespaces with a line, from `first` to `last`
---@field first integer
---@field last integer
---@field dropped table<string, integer> those that found no place, by namespace

---@param most integer
---@return resty.kubelua.gateway.FairQueue
function fair_queue.new(most)
    return setmetatable({ most = most, lines = {}, items = {}, turns = {}, first = 1, last = 0,
        dropped = {} }, FairQueue)
end

local function add_turn(self, namespace)
    self.last = self.last + 1
    self.turns[self.last] = namespace
end

---@param namespace string
---@param key string
---@param item any
function FairQueue:add(namespace, key, item)
    local name = namespace .. "\n" .. key
    local line = self.lines[namespace]
    if self.items[name] ~= nil then
        self.items[name] = item
        return
    elseif line and line.last - line.first + 1 >= self.most then
        self.dropped[namespace] = (self.dropped[namespace] or 0) + 1
        return
    elseif not line then
        line = { keys = {}, first = 1, last = 0 }
        self.lines[namespace] = line
        add_turn(self, namespace)
    end
    line.last = line.last + 1
    line.keys[line.last], self.items[name] = name, item
end

---@return boolean
function FairQueue:is_empty()
    return self.first > self.last
end

---Takes the next one; nil: none waits.
---@return any item
---@return integer? dropped of its namespace since the last that was taken of it
function FairQueue:take()
    local namespace = self.turns[self.first]
    if not namespace then
        return nil
    end
    self.turns[self.first] = nil
    self.first = self.first + 1
    local line = self.lines[namespace]
    local name = line.keys[line.first]
    local item, dropped = self.items[name], self.dropped[namespace]
    line.keys[line.first], self.items[name], self.dropped[namespace] = nil, nil, nil
    line.first = line.first + 1
    if line.first <= line.last then
        add_turn(self, namespace)
    else
        self.lines[namespace] = nil
    end
    return item, dropped
end

return fair_queue
