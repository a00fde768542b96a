-- Consistent hashing with bounded loads: equal keys go to one endpoint, and only the keys of an
-- endpoint that went move; but an endpoint with more than its share of the requests in flight is
-- passed over. Then the key has a second endpoint, a third and so on, always the same ones. Pure.
local round_robin = require "resty.kubelua.gateway.balance.round_robin"
local template = require "resty.kubelua.gateway.template"
local usable = require "resty.kubelua.gateway.balance.usable"

local admits, is_early = usable.admits, usable.is_early

local PARTS = 65536 -- KL_HASH_PARTS
local TRIES = 32 -- of endpoints of a key; four in five of them may be at the bound
local DEFAULT_KEY, DEFAULT_BOUND = "$remote_addr", 1.25

local NO_PARTS = {}
local templates = {} -- texts with variables, taken apart
local known, KNOWN_MOST = 0, 1000

-- The parts of a text; none if it names a variable that is not at hand.
local function find_template(text)
    local parts = templates[text]
    if not parts then
        if known >= KNOWN_MOST then
            templates, known = {}, 0
        end
        parts = template.parse(text) or NO_PARTS
        templates[text], known = parts, known + 1
    end
    return parts
end

-- The key of a request; "" if all of its variables are empty.
local function render(parts, vars)
    if #parts == 1 then
        return parts[1].var and vars[parts[1].var] or ""
    end
    local texts, has_value = {}, false
    for i = 1, #parts do
        local part = parts[i]
        texts[i] = part.var and (vars[part.var] or "") or part
        has_value = has_value or part.var ~= nil and texts[i] ~= ""
    end
    return has_value and table.concat(texts) or ""
end

-- How many requests an endpoint may have in flight, for a weight of 1.
local function bound_of(ask)
    local bound = ask.settings.bound or DEFAULT_BOUND
    if bound == 0 then
        return math.huge
    end
    return bound * (ask.load.total(ask.group, ask.now) + 1) / ask.group.weight
end

local function fits(ask, index, bound)
    local weights = ask.group.weights
    -- at least one request fits, as with every endpoint idle the mean is below 1
    local most = math.ceil(weights and bound * weights[index] or bound)
    return ask.load.in_flight(ask.group.rows[index]) < most
end

-- The next endpoint of the list that is below the bound: there is one, as the bound is above the
-- mean, unless it is out or was tried.
local function find_fitting(ask, first, bound)
    local count = ask.group.count
    for i = 0, count - 1 do
        local index = (first + i) % count + 1
        if admits(ask, index) and fits(ask, index, bound) then
            return index
        end
    end
    return first
end

---@param ask resty.kubelua.gateway.Ask
---@return integer? index nil: all were tried
return function(ask)
    local hash_by = ask.settings.hash_by or DEFAULT_KEY
    local parts = type(hash_by) == "table" and hash_by or find_template(hash_by)
    local key = render(parts, ask.vars or NO_PARTS)
    if key == "" then
        return round_robin(ask)
    end
    local group, load = ask.group, ask.load
    local hash = load.hash(key)
    local part, high = hash % PARTS, (hash - hash % PARTS) / PARTS
    local step = high % PARTS
    step = step - step % 2 + 1 -- odd, so that it leads to all parts
    local bound, chance, over = bound_of(ask), high / 2 ^ 37, nil
    for _ = 1, TRIES do
        local index = load.winner(group, part)
        if admits(ask, index) and not is_early(ask, index, chance) then
            if bound == math.huge or fits(ask, index, bound) then
                return index
            end
            over = over or index
        end
        part = (part + step) % PARTS
    end
    return over and find_fitting(ask, over, bound) or usable.any(ask)
end
