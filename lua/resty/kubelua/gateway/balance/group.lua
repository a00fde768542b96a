-- The endpoints that a pick chooses from, as arrays: made once for each change of a service. Pure.
local group = {}

---What a `load` knows of an endpoint in use; load.lua has it in shared memory.
---@class resty.kubelua.gateway.Load
---@field in_flight fun(row: integer): integer requests at the endpoint, of all workers
---@field latency fun(row: integer, now: number): number seconds; below 0: unknown
---@field is_out fun(row: integer, max_fails: integer, out_ms: number, now: number): boolean
---@field age fun(row: integer, now: number): number milliseconds; below 0: it was always there
---@field total fun(group: resty.kubelua.gateway.Group, now: number): number requests at all of them
---@field hash fun(text: string): number a whole number below 2^53
---@field winner fun(group: resty.kubelua.gateway.Group, part: integer): integer its index

---@class resty.kubelua.gateway.Group
---@field count integer endpoints to choose from: the first ones of the arrays
---@field list resty.kubelua.Endpoint[] then come others that still serve, for their sessions
---@field hosts string[]
---@field ports integer[]
---@field names string[] "host:port"
---@field rows integer[] where a load knows them
---@field weights integer[]? nil: all have the same
---@field weight number the sum of the weights
---@field sums number[]? of the weights up to each one
---@field chances number[]? by which a draw by weights takes this one, and not the next field's
---@field others integer[]?
---@field place number where the round robin stands
---@field mean number? how long answers take, as seen by the last picks
---@field by_id table<string, integer>? for sessions: the name of a cookie's value to its index
---@field ids string[]?

local function is_in_zone(endpoint, zone)
    local zones = endpoint.zone
    if not zones or zones == zone then
        return zones ~= nil
    end
    return ("," .. zones .. ","):find("," .. zone .. ",", 1, true) ~= nil
end

local function select(list, fits)
    local found = {}
    for _, endpoint in ipairs(list) do
        if fits(endpoint) then
            found[#found + 1] = endpoint
        end
    end
    return found
end

-- Those of the node, else those for the zone, else all.
local function nearest(list, zone, node)
    local near = node and select(list, function(endpoint) return endpoint.node == node end) or {}
    if #near == 0 and zone then
        near = select(list, function(endpoint) return is_in_zone(endpoint, zone) end)
    end
    return #near > 0 and near or list
end

local function append_rest(chosen, serving)
    local is_chosen, all = {}, {}
    for i, endpoint in ipairs(chosen) do
        is_chosen[endpoint] = true
        all[i] = endpoint
    end
    for _, endpoint in ipairs(serving) do
        if not is_chosen[endpoint] then
            all[#all + 1] = endpoint
        end
    end
    return all
end

-- Tables for draws by weights at a constant cost (Walker's alias method): each endpoint has an
-- equal place, and shares it with another one if its own weight does not fill it.
local function add_chances(self)
    local chances, others, low, high = {}, {}, {}, {}
    for i = 1, self.count do
        chances[i], others[i] = self.weights[i] * self.count / self.weight, i
        table.insert(chances[i] < 1 and low or high, i)
    end
    while #low > 0 and #high > 0 do
        local small, large = table.remove(low), high[#high]
        others[small] = large
        chances[large] = chances[large] - (1 - chances[small])
        if chances[large] < 1 then
            low[#low + 1] = table.remove(high)
        end
    end
    self.chances, self.others = chances, others
end

local function add_weights(self)
    local weights, sums, sum, is_even = {}, {}, 0, true
    for i = 1, self.count do
        weights[i] = self.list[i].weight
        sum = sum + weights[i]
        sums[i] = sum
        is_even = is_even and weights[i] == weights[1]
    end
    self.weight = is_even and self.count or sum
    if not is_even then
        self.weights, self.sums = weights, sums
        add_chances(self)
    end
end

---@param endpoints resty.kubelua.Endpoint[] all of a service, as service:endpoints gives them
---@param zone string? endpoints for this zone are chosen if there are any; first those of the node
---@param node string?
---@param place number? where the round robin begins
---@return resty.kubelua.gateway.Group
function group.new(endpoints, zone, node, place)
    local serving = select(endpoints, function(endpoint)
        return endpoint.weight > 0 and (endpoint.ready or endpoint.serving)
    end)
    local ready = select(serving, function(endpoint) return endpoint.ready end)
    local chosen = nearest(#ready > 0 and ready or serving, zone, node)
    local self = { count = #chosen, list = append_rest(chosen, serving), hosts = {}, ports = {},
        names = {}, rows = {}, place = place or 0 }
    for i, endpoint in ipairs(self.list) do
        self.hosts[i], self.ports[i] = endpoint.host, endpoint.port
        self.names[i] = endpoint.host .. ":" .. endpoint.port
    end
    add_weights(self)
    return self
end

---The endpoint that has this share of all weights.
---@param self resty.kubelua.gateway.Group
---@param share number at least 0, less than 1
---@return integer index
function group.at_share(self, share)
    local sums = self.sums
    if not sums then
        local index = share * self.count
        return index - index % 1 + 1
    end
    local wanted, low, high = share * self.weight, 1, self.count
    while low < high do
        local middle = (low + high) / 2
        middle = middle - middle % 1
        if sums[middle] > wanted then
            high = middle
        else
            low = middle + 1
        end
    end
    return low
end

---Draws an endpoint by weights.
---@param self resty.kubelua.gateway.Group
---@param random number at least 0, less than 1
---@return integer index
function group.draw(self, random)
    local place = random * self.count
    local index = place - place % 1 + 1
    if self.chances and place % 1 >= self.chances[index] then
        return self.others[index]
    end
    return index
end

---The ids of the endpoints for cookies: of their pods, so that an id outlives a changed address.
---@param self resty.kubelua.gateway.Group
---@param hash fun(text: string): number
function group.add_ids(self, hash)
    self.by_id, self.ids = {}, {}
    for i, endpoint in ipairs(self.list) do
        local id = string.format("%014x", hash("session " .. (endpoint.pod or self.names[i])))
        self.ids[i] = id
        self.by_id[id] = self.by_id[id] or i
    end
end

return group
