-- The rules of one host, a value of the table gateway.hosts, as match.lua asks them: exact paths
-- and prefixes by hash, regular expressions in order. So 1,000 paths cost a request what 10 do.
-- compile.lua has sorted the matches; the place in that order decides where the kind of the path
-- does not.
local rules = {}

local byte, sub = string.byte, string.sub
local SLASH = 47

-- One search may take 4 ms (searching.lua), and a host may have 1,000 patterns: so there is a
-- limit for all searches of one request. Most cost next to nothing in a short text, so the clock is
-- looked at less often there.
local SHORT, OF_SHORT, MOST_SECONDS = 100, 8, 0.003

---@class resty.kubelua.gateway.Match
---@field path string
---@field kind "exact"|"prefix"|"regex"
---@field method string?
---@field headers string[][]? { name in lower case, value[, "regex"] }
---@field queries string[][]? { name, value[, "regex"] }
---@field rule integer index of the rule

---@class resty.kubelua.gateway.Candidate one match, ready to be asked
---@field place integer # in the order of precedence
---@field match resty.kubelua.gateway.Match
---@field rule table
---@field method string?
---@field headers string[][]
---@field queries string[][]
---@field plain boolean only the path decides
---@field next resty.kubelua.gateway.Candidate? the next one with the same path
---@field plan resty.kubelua.gateway.Plan? of the rule, once a request was here

-- No field leads to the value that it was made of: match.lua keeps it in a weak table, whose key
-- is that value. A request of 10,000 routes that are in use finds next to nothing of them in the
-- processor's caches: so there are few tables here, and none that is empty.
---@class resty.kubelua.gateway.Rules
---@field exact table<string, resty.kubelua.gateway.Candidate>? the first one of each path
---@field prefixes table<string, resty.kubelua.gateway.Candidate>? without "/" at the end
---@field longest integer? length of the longest prefix
---@field lengths integer[]? of the others, the longest first
---@field regexes resty.kubelua.gateway.Candidate[]?

-- Of entries with one name only the first counts (HTTPHeaderMatch, HTTPQueryParamMatch).
local function first_of_each(conditions)
    local kept, seen = {}, {}
    for _, condition in ipairs(conditions or {}) do
        if not seen[condition[1]] then
            seen[condition[1]] = true
            kept[#kept + 1] = condition
        end
    end
    return kept
end

-- `last` has the last candidate of each key.
local function add_to(index, last, key, candidate)
    if last[key] then
        last[key].next = candidate
    else
        index[key] = candidate
    end
    last[key] = candidate
end

local function distinct_lengths(prefixes)
    local seen, lengths = {}, {}
    for prefix in pairs(prefixes) do
        if not seen[#prefix] then
            seen[#prefix] = true
            lengths[#lengths + 1] = #prefix
        end
    end
    table.sort(lengths, function(a, b) return a > b end)
    return lengths
end

local function nil_if_empty(list)
    return next(list) ~= nil and list or nil
end

---@param host { rules: table[], matches: resty.kubelua.gateway.Match[] } a value of gateway.hosts
---@return resty.kubelua.gateway.Rules
function rules.new(host)
    local exact, prefixes, regexes, last_exact, last_prefix = {}, {}, {}, {}, {}
    for place, match in ipairs(host.matches or {}) do
        local candidate = { place = place, match = match, rule = host.rules[match.rule],
            method = match.method, headers = first_of_each(match.headers),
            queries = first_of_each(match.queries) }
        candidate.plain = not candidate.method and #candidate.headers + #candidate.queries == 0
        if match.kind == "exact" then
            add_to(exact, last_exact, match.path, candidate)
        elseif match.kind == "prefix" then
            add_to(prefixes, last_prefix, (match.path:gsub("/+$", "")), candidate)
        else
            table.insert(regexes, candidate)
        end
    end
    local lengths = distinct_lengths(prefixes)
    return { longest = table.remove(lengths, 1), prefixes = nil_if_empty(prefixes),
        exact = nil_if_empty(exact), lengths = nil_if_empty(lengths),
        regexes = nil_if_empty(regexes) }
end

-- The lines of a header are one list, with commas between them (RFC 9110, 5.3).
local function value_of_header(value)
    return type(value) == "table" and table.concat(value, ", ") or value
end

-- Of several arguments with one name the first counts; one without "=" is empty.
local function value_of_argument(value)
    if type(value) == "table" then
        value = value[1]
    end
    return value == true and "" or value
end

---@class resty.kubelua.gateway.Search one request on its way through the rules
---@field request resty.kubelua.gateway.Request
---@field regex fun(text: string, pattern: string): any, any
---@field headers table<string, string|false>? what the request answered so far
---@field arguments table<string, string|false>?
---@field clock fun(): number seconds of CPU
---@field began number? when the clock was first looked at
---@field searches integer of patterns
---@field asked resty.kubelua.gateway.Candidate? whose pattern is searched
---@field failed any why the search of a pattern was given up

-- Reused: a search never waits, so a worker has one at a time.
---@type resty.kubelua.gateway.Search
local search = {}

-- A search that was given up (nil and why) ends the search for a rule: to go on would send a
-- request past the rule that should have taken it.
local function find_pattern(text, pattern)
    search.searches = search.searches + 1
    if #text > SHORT or search.searches % OF_SHORT == 0 then
        local now = search.clock()
        search.began = search.began or now
        if now - search.began > MOST_SECONDS then
            search.failed = "the patterns took too long"
            return nil
        end
    end
    local found, why = search.regex(text, pattern)
    search.failed = search.failed or why
    return found
end

local function has_value(wanted, value)
    if not value then
        return false
    elseif wanted[3] == "regex" then
        return find_pattern(value, wanted[2])
    end
    return value == wanted[2]
end

-- Asks for a header or an argument once for each name that conditions mention: names are those of
-- the rules, never those of the request, of which there may be 10,000.
local function all_fit(conditions, known, read, simplify)
    for i = 1, #conditions do
        local wanted = conditions[i]
        local name = wanted[1]
        local value = known[name]
        if value == nil then
            value = simplify(read(name)) or false
            known[name] = value
        end
        if not has_value(wanted, value) then
            return false
        end
    end
    return true
end

local function fits_conditions(candidate)
    local request = search.request
    search.asked = candidate
    if candidate.method and candidate.method ~= request.method then
        return false
    end
    if #candidate.headers > 0 then
        search.headers = search.headers or {}
        if not all_fit(candidate.headers, search.headers, request.header, value_of_header) then
            return false
        end
    end
    if #candidate.queries > 0 then
        search.arguments = search.arguments or {}
        return all_fit(candidate.queries, search.arguments, request.argument, value_of_argument)
    end
    return true
end

local function first_fit(candidate)
    if not candidate or candidate.plain then
        return candidate
    end
    while candidate do
        if candidate.plain or fits_conditions(candidate) then
            return candidate
        elseif search.failed then
            return nil
        end
        candidate = candidate.next
    end
end

-- The first regular expression that fits, of those that come before a place in the order.
local function first_regex(regexes, path, before)
    for i = 1, #regexes do
        local candidate = regexes[i]
        search.asked = candidate
        if candidate.place > before then
            return nil
        elseif (candidate.plain or fits_conditions(candidate))
            and find_pattern(path, candidate.match.path) then
            return candidate
        elseif search.failed then
            return nil
        end
    end
end

-- A prefix fits by whole elements: "/a" fits "/a", "/a/" and "/a/b", not "/ab".
local function prefix_of(self, path, wanted)
    if wanted == #path or wanted < #path and byte(path, wanted + 1) == SLASH then
        return first_fit(self.prefixes[sub(path, 1, wanted)])
    end
end

-- The longest prefix that fits. A path of 64 KB costs what a short one costs: only the lengths that
-- prefixes have are looked at.
local function longest_prefix(self, path)
    local found = self.longest and prefix_of(self, path, self.longest)
    local lengths = self.lengths
    if found or not lengths or search.failed then
        return found
    end
    for i = 1, #lengths do
        found = prefix_of(self, path, lengths[i])
        if found or search.failed then
            return found
        end
    end
end

local function find_candidate(self, path)
    local found = self.exact and first_fit(self.exact[path])
    if found or search.failed then
        return found
    end
    found = longest_prefix(self, path)
    if self.regexes and not search.failed then
        found = first_regex(self.regexes, path, found and found.place or math.huge) or found
    end
    return found
end

---The rule for a request, and what found it; nil: none fits.
---@param self resty.kubelua.gateway.Rules
---@param request resty.kubelua.gateway.Request
---@param regex fun(text: string, pattern: string): any, any
---@param clock (fun(): number)? seconds of CPU; default: os.clock
---@return table? rule
---@return resty.kubelua.gateway.Candidate|nil|"regex" found "regex": the search of a pattern failed
---@return { rule: table, why: string }? failed whose pattern, and why
function rules.find(self, request, regex, clock)
    search.request, search.regex = request, regex
    search.clock, search.began = clock or os.clock, nil
    search.headers, search.arguments, search.failed = nil, nil, nil
    search.searches = 0
    local found = find_candidate(self, request.path)
    if search.failed then
        return nil, "regex", { rule = search.asked.rule, why = tostring(search.failed) }
    elseif found then
        return found.rule, found
    end
end

return rules
