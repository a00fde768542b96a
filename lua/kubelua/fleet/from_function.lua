-- The clusters of a fleet from a function of the script: it returns the options of connect by name.
local connect_options = require "kubelua.connect_options"
local fleet_options = require "kubelua.fleet.options"
local running = require "kubelua.running"
local sorted_keys = require "kubelua.sorted_keys"
local trace = require "kubelua.trace"

---@class kubelua.fleet.FromFunction: kubelua.fleet.Source
---@field call fun(): table<string, kubelua.ConnectOptions>
local FromFunction = {}
FromFunction.__index = FromFunction

function FromFunction.open()
    return true
end

function FromFunction.close()
end

local function bare(problem)
    return (tostring(problem):gsub("^[^\n]-:%d+: ", ""))
end

-- What is wrong with an entry; nil: nothing.
local function problem_of(name, given)
    if not fleet_options.is_name(name) then
        return fleet_options.tell_name(name)
    elseif type(given) ~= "table" then
        return "a table of options of connect expected, such as { kubeconfig = \"eu.yaml\" }, not "
            .. "a " .. type(given)
    end
    local ok, problem = pcall(connect_options.check, given)
    return not ok and bare(problem) or nil
end

local function copy(given)
    local own = {}
    for name, value in pairs(given) do
        own[name] = value
    end
    return own
end

---Calls the function.
---@return kubelua.fleet.Entry[]?, string?, string?
function FromFunction:read()
    local ok, found, message, code = trace.call(self.call)
    if not ok then
        return nil, found == trace.CANCELED and "it was cancelled" or tostring(found), "error"
    elseif found == nil then
        return nil, message and tostring(message) or "it has returned nothing",
            code and tostring(code) or "error"
    elseif type(found) ~= "table" then
        return nil, "it must return the options of connect by name of cluster, such as { eu = "
            .. "{ kubeconfig = \"eu.yaml\" } }, not a " .. type(found), "error"
    end
    local texts = {}
    for name, given in pairs(found) do
        texts[tostring(name)] = { name = name, given = given }
    end
    local entries = {}
    for _, text in ipairs(sorted_keys(texts)) do
        local one = texts[text]
        local problem = problem_of(one.name, one.given)
        entries[#entries + 1] = { name = text, origin = text .. " of " .. self.what,
            problem = problem, options = not problem and copy(one.given) or nil }
    end
    return entries
end

---@param given fun(): table<string, kubelua.ConnectOptions>
---@param named { interval: number }
---@return kubelua.fleet.Source
return function(given, named)
    return setmetatable({ call = given, interval = named.interval,
        what = running.name("source", given) }, FromFunction)
end
