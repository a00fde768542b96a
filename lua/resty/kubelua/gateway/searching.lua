-- Searches patterns of tenants in what clients send, so that no search keeps a worker for more than
-- some 4 ms: counted.lua lets PCRE count the steps, and the longer a text is, the fewer it has. A
-- pattern that needs more is not searched again in so long a text for a while: so one whose pattern
-- explodes costs its worker 4 ms each ten seconds, however often it is asked for.
local core = require "kubelua.core"
local counted = require "resty.kubelua.gateway.counted"

local searching = {}

local re_find, re_match = ngx.re.find, ngx.re.match
local clock, now = os.clock, ngx.now

-- Steps for texts of so many bytes. No header of a request, nor its path, is longer, unless
-- large_client_header_buffers of nginx.conf lets it.
local LIMITS = { { 300, 10000 }, { 1200, 2500 }, { 4096, 750 }, { 8192, 375 } }
-- PCRE 8 without its JIT would go so deep in a long text that the worker crashes; 0.6 KB each.
local DEPTH = "(*LIMIT_RECURSION=5000)"
local SHORT = 100 -- bytes: a search takes less than a look at the clock is worth
local SLOW_SECONDS, BREAK_SECONDS = 0.002, 10
local MOST_KEPT, MOST_BARRED = 20000, 1000

local texts = {} ---@type table<string, table<integer, string|false>> by pattern and limit
local kept = 0
local barred = {} ---@type table<string, { length: integer, till: number }>
local barred_count = 0
local told = {} ---@type table<string, number> when the next failure of a rule is told
local told_count = 0
local failures = {} ---@type table<string, string> by rule

---The pattern as PCRE gets it.
---@param pattern string
---@param limit integer?
---@return string?
---@return string? message
function searching.text(pattern, limit)
    local text, message = counted.pattern(pattern)
    return text and ("(*LIMIT_MATCH=%d)%s%s"):format(limit or LIMITS[1][2], DEPTH, text), message
end

-- Compiles it too: the first search of a pattern is not a slow one for that.
local function make_text(pattern, limit)
    local made = searching.text(pattern, limit) or false
    if kept >= MOST_KEPT then
        texts, kept = {}, 0
    end
    texts[pattern] = texts[pattern] or {}
    texts[pattern][limit], kept = made, kept + 1
    if made then
        re_find("", made, "jo")
    end
    return made
end

-- nil, message: there is none.
local function text_for(pattern, length)
    for i = 1, #LIMITS do
        if length <= LIMITS[i][1] then
            local limit = LIMITS[i][2]
            local own = texts[pattern]
            local text = own and own[limit]
            if text == nil then
                text = make_text(pattern, limit)
            end
            return text or nil, "the pattern cannot be bounded"
        end
    end
    return nil, ("a text of %d bytes is too long for a pattern"):format(length)
end

local function bar(text, length)
    if barred_count >= MOST_BARRED then
        barred, barred_count = {}, 0
    end
    barred_count = barred_count + (barred[text] and 0 or 1)
    barred[text] = { length = length, till = now() + BREAK_SECONDS }
end

local function is_barred(text, length)
    local found = barred[text]
    return found and length * 2 >= found.length and now() < found.till
end

---Searches a pattern. nil, message: the search was given up.
---@param subject string
---@param pattern string
---@return boolean?
---@return string? message
function searching.find(subject, pattern)
    local length = #subject
    local text, message = text_for(pattern, length)
    if not text then
        return nil, message
    elseif is_barred(text, length) then
        return nil, "the pattern took too long lately"
    end
    local began = length > SHORT and clock()
    local from, _, problem = re_find(subject, text, "jo")
    if problem or began and clock() - began > SLOW_SECONDS then
        bar(text, length)
    end
    if problem then
        return nil, problem
    end
    return from ~= nil
end

---The groups that a pattern, which `find` has found, catches in a text.
---@param subject string
---@param pattern string
---@return table?
function searching.capture(subject, pattern)
    local text = text_for(pattern, #subject)
    return text and re_match(subject, text, "jo") or nil
end

---Tells of a request that was answered 500: in the log, and for an Event. Once in 10 s for a rule.
---@param name string of the rule: "HTTPRoute web/shop 1"
---@param why string
function searching.report(name, why)
    local again = told[name]
    if again and now() < again then
        return
    elseif told_count >= MOST_BARRED then
        told, told_count, failures = {}, 0, {}
    end
    told_count = told_count + (again and 0 or 1)
    told[name] = now() + BREAK_SECONDS
    failures[name] = why
    ngx.log(ngx.WARN, core.escape(("gateway: %s: a search of its patterns was given up: %s")
        :format(name, why)))
end

---What was reported in this worker since the last call.
---@return resty.kubelua.gateway.Problem[]
function searching.take_problems()
    local list = {}
    for name, why in pairs(failures) do
        local kind, namespace, object, rule = name:match("^(%S+) ([^/]+)/(%S+) (%d+)$")
        list[#list + 1] = kind and { kind = kind, namespace = namespace, name = object,
            reason = "PatternTooSlow", message = ("requests get 500, because a search of the "
            .. "patterns of rule %s was given up: %s"):format(rule, why) }
    end
    failures = {}
    return list
end

return searching
