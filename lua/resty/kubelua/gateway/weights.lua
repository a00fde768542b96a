-- Which backend of a rule takes a request: that of a canary's header or cookie (ingress-nginx),
-- else one by weight. The choice by weight walks along the golden ratio: each step adds it to a
-- number in [0, 1), and the backend is the one whose part of [0, 1) the number falls in. So after n
-- requests each backend is within a few requests of its share, at any n. It begins at a random
-- number: workers do not send the same requests to the same backend, and a rule that is replaced
-- often still gives a weight of 1 in 100 its share.
local cold = require "resty.kubelua.cold"

local weights = {}

local STEP = (math.sqrt(5) - 1) / 2

---@class resty.kubelua.gateway.Canary when a backend takes a request that its weight would not give
---@field header string?
---@field value string? of the header
---@field pattern string? of the header
---@field cookie string?

---@class resty.kubelua.gateway.Shares
---@field place number where the walk stands, in [0, 1)
---@field backends table[] those with a weight
---@field ends number[] where the part of each ends
---@field canary table? the backend with a canary
---@field others resty.kubelua.gateway.Shares? without the canary

---@class resty.kubelua.gateway.Weights
---@field random fun(): number
---@field regex (fun(text: string, pattern: string): any)?
local Weights = {}
Weights.__index = Weights

---@param random (fun(): number)? in [0, 1); default: math.random
---@param regex (fun(text: string, pattern: string): any)? for canaries with a pattern
---@return resty.kubelua.gateway.Weights
function weights.new(random, regex)
    return setmetatable({ random = random or math.random, regex = regex }, Weights)
end

local function weight_of(backend)
    return backend.weight or 1
end

local function share_out(self, backends)
    local shares = { place = self.random(), backends = {}, ends = {} }
    local total, sum = 0, 0
    for _, backend in ipairs(backends) do
        total = total + weight_of(backend)
    end
    for _, backend in ipairs(backends) do
        if weight_of(backend) > 0 then
            sum = sum + weight_of(backend)
            table.insert(shares.backends, backend)
            table.insert(shares.ends, sum / total)
        end
    end
    return shares
end

-- The others of a canary take what it must not, even where it has all of the weight.
local function add_canary(self, shares, backends)
    local others = {}
    for _, backend in ipairs(backends) do
        if backend.canary then
            shares.canary = shares.canary or backend
        else
            others[#others + 1] = backend
        end
    end
    if shares.canary then
        shares.others = share_out(self, others)
        if #shares.others.backends == 0 then
            shares.others.backends, shares.others.ends = { others[1] }, { 1 }
        end
    end
end

local shares_of = cold(function(self, backends)
    local shares = share_out(self, backends)
    add_canary(self, shares, backends)
    backends.shares = shares
    return shares
end)

local function walk(shares)
    local backends, ends = shares.backends, shares.ends
    local count = #backends
    if count < 2 then
        return backends[1]
    end
    local place = shares.place + STEP
    if place >= 1 then
        place = place - 1
    end
    shares.place = place
    for i = 1, count - 1 do
        if place < ends[i] then
            return backends[i]
        end
    end
    return backends[count]
end

-- True: the canary takes the request; false: another does; nil: the weights decide.
local function asks_canary(self, canary, request)
    local header = canary.header and request.header(canary.header)
    if type(header) == "table" then
        header = header[1]
    end
    if header and (canary.value or canary.pattern) then
        if header == canary.value or canary.pattern and self.regex(header, canary.pattern) then
            return true
        end
    elseif header == "always" or header == "never" then
        return header == "always"
    end
    local cookie = canary.cookie and request.cookie and request.cookie(canary.cookie)
    if cookie == "always" or cookie == "never" then
        return cookie == "always"
    end
end

---The backend that takes a request. A backend of a status takes its share as any other.
---@param backends table[] of a rule; it gets a field `shares`
---@param request resty.kubelua.gateway.Request
---@return table? backend nil: none has a weight
function Weights:pick(backends, request)
    local shares = backends.shares or shares_of(self, backends)
    if shares.canary then
        local asked = asks_canary(self, shares.canary.canary, request)
        if asked then
            return shares.canary
        elseif asked == false then
            return walk(shares.others)
        end
    end
    return walk(shares)
end

return weights
