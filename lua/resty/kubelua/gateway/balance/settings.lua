-- How a Service is balanced: reads annotations into the settings of a pick. Pure; it runs where
-- objects are compiled, and in `kubelua gateway check`.
local template = require "resty.kubelua.gateway.template"

local settings = {}

---@class resty.kubelua.gateway.BalanceSettings every key is optional
---@field by "round_robin"|"hash"|"sticky"|"least_conn"|"ewma"|nil
---@field hash_by string|kubelua.gateway.TemplatePart[]|nil what a request is hashed by
---@field bound number? of the mean of requests in flight; 0: no bound
---@field cookie resty.kubelua.gateway.SessionCookie?
---@field slow_start number? seconds
---@field max_fails integer?
---@field fail_timeout number? seconds
---@field retry resty.kubelua.gateway.Retry?

---@class resty.kubelua.gateway.SessionCookie every key is optional
---@field name string?
---@field path string?
---@field domain string?
---@field max_age integer? seconds
---@field same_site "Lax"|"Strict"|"None"|nil
---@field secure boolean? nil: where the request came by TLS
---@field change_on_failure boolean?

---@class resty.kubelua.gateway.Retry every key is optional
---@field tries integer? after the first one
---@field on table<string, true>? "error", "timeout", "invalid_header", and statuses as texts: "502"
---@field non_idempotent boolean?
---@field timeout number? seconds

local PREFIX = "kubelua.dev/"

local function choice_of(words)
    local set = {}
    for word in words:gmatch("%S+") do
        set[word:lower()] = word
    end
    return function(value)
        return set[value:lower()], "one of " .. words
    end
end

local function number_of(least, most, is_whole)
    return function(value)
        local number = tonumber(value)
        local fits = number and number >= least and number <= most
            and not (is_whole and number % 1 ~= 0)
        return fits and number or nil, string.format("a%s number from %g to %g",
            is_whole and " whole" or "", least, most)
    end
end

local function text_of(pattern, what)
    return function(value)
        return value:find(pattern) and value or nil, what
    end
end

local function flag_of(value)
    if value == "true" then
        return true
    end
    return value == "false" and false or nil, "\"true\" or \"false\""
end

local function hash_key_of(value)
    local parts = #value <= 1000 and template.parse(value)
    local has_variable = false
    for _, part in ipairs(parts or {}) do
        has_variable = has_variable or type(part) == "table"
    end
    return has_variable and value or nil,
        "a text with variables of nginx, such as $remote_addr, $request_uri or $http_x_user"
end

-- A bound below 1.05 would pass over nearly every endpoint.
local function bound_of(value)
    local number = tonumber(value)
    return number and (number == 0 or number >= 1.05 and number <= 100) and number or nil,
        "0 (no bound), or a number from 1.05 to 100"
end

local FIELDS = {
    by = choice_of("round_robin hash sticky least_conn ewma"),
    hash_by = hash_key_of, bound = bound_of,
    slow_start = number_of(0, 3600), max_fails = number_of(0, 1000, true),
    fail_timeout = number_of(0.1, 86400),
}
local COOKIE_FIELDS = {
    name = text_of("^[%w%-%._~]+$", "the name of a cookie"),
    path = text_of("^/[%w%-%._~/:,%?&=%%]*$", "a path"),
    domain = text_of("^[%w%-%.]+$", "a host name"),
    max_age = number_of(-1, 2147483647, true),
    same_site = choice_of("Lax Strict None"), secure = flag_of,
}

-- The names of annotations without their prefix, and where their values go.
local NAMES = {
    ["balance"] = { "by" }, ["balance-hash-by"] = { "hash_by" }, ["balance-bound"] = { "bound" },
    ["balance-slow-start"] = { "slow_start" }, ["balance-max-fails"] = { "max_fails" },
    ["balance-fail-timeout"] = { "fail_timeout" },
    ["balance-cookie-name"] = { "cookie", "name" }, ["balance-cookie-path"] = { "cookie", "path" },
    ["balance-cookie-domain"] = { "cookie", "domain" },
    ["balance-cookie-max-age"] = { "cookie", "max_age" },
    ["balance-cookie-samesite"] = { "cookie", "same_site" },
    ["balance-cookie-secure"] = { "cookie", "secure" },
    ["retries"] = { "retry", "tries" }, ["retry-on"] = { "retry", "on" },
}

-- Reasons to try again, as proxy_next_upstream names them.
local REASONS = {}
for word in ("error timeout invalid_header non_idempotent off http_500 http_502 http_503 http_504")
    :gmatch("%S+") do
    REASONS[word] = word:match("^http_(%d+)$") or word -- texts, as JSON has no other keys
end

local WORDS_WANTED = "words of: error timeout invalid_header http_500 http_502 http_503 http_504 "
    .. "non_idempotent off"

local function read_reasons(text)
    local retry = { on = {} }
    for word in text:gmatch("[^%s,]+") do
        local reason = REASONS[word]
        if not reason then
            return nil
        elseif reason == "off" then
            return { tries = 0, on = {} }
        elseif reason == "non_idempotent" then
            retry.non_idempotent = true
        else
            retry.on[reason] = true
        end
    end
    return retry
end

local MOST_TRIES = 10
local read_tries = number_of(0, MOST_TRIES, true)

local function read_retry(found, problem)
    local retry
    if found.on then
        retry = read_reasons(found.on)
        if not retry then
            problem("retry-on", found.on, WORDS_WANTED)
        end
    end
    if found.tries then
        local tries, wanted = read_tries(found.tries)
        if tries then
            retry = retry or {}
            retry.tries = retry.tries or tries
        else
            problem("retries", found.tries, wanted)
        end
    end
    return retry
end

-- Names every annotation that looks like one of a balancer, and is none.
local function find_unknown(annotations, problems)
    for key in pairs(annotations or {}) do
        local name = type(key) == "string" and key:sub(1, #PREFIX) == PREFIX
            and key:sub(#PREFIX + 1)
        if name and not NAMES[name] and (name:find("^balance") or name:find("^retr")) then
            problems[#problems + 1] = ("annotation %s: there is none of this name"):format(key)
        end
    end
end

---Reads the annotations of a Service or an Ingress. Those that are wrong are left out.
---@param annotations table<string, string>? the object's
---@return resty.kubelua.gateway.BalanceSettings? settings nil: it has none
---@return string[] problems a text for each that is wrong
function settings.read(annotations)
    local read, problems, found_retry = {}, {}, {}
    local function problem(name, value, wanted)
        problems[#problems + 1] = string.format("annotation %s%s: \"%s\" is not %s", PREFIX, name,
            value:sub(1, 60), wanted)
    end
    for name, place in pairs(NAMES) do
        local value = annotations and annotations[PREFIX .. name]
        if value ~= nil and type(value) ~= "string" then
            problem(name, tostring(value), "a text")
        elseif place[1] == "retry" then
            found_retry[place[2]] = value
        elseif value then
            local fields = place[2] and COOKIE_FIELDS or FIELDS
            local taken, wanted = fields[place[2] or place[1]](value)
            if taken == nil then
                problem(name, value, wanted)
            elseif place[2] then
                read.cookie = read.cookie or {}
                read.cookie[place[2]] = taken
            else
                read[place[1]] = taken
            end
        end
    end
    read.retry = read_retry(found_retry, problem)
    find_unknown(annotations, problems)
    table.sort(problems)
    return next(read) and read or nil, problems
end

-- Takes the fields that are right from a table of the caller; names the others.
local function take_fields(given, fields, where, problems)
    local taken = {}
    for name, check in pairs(fields) do
        local value = given[name]
        if value ~= nil then
            local right, wanted = check(tostring(value))
            if right == nil then
                problems[#problems + 1] = string.format("%s%s: \"%s\" is not %s", where, name,
                    tostring(value):sub(1, 60), wanted)
            end
            taken[name] = right
        end
    end
    return taken
end

---The retries of a rule of a HTTPRoute: errors and timeouts, and the statuses that it names.
---@param retry { attempts: integer?, codes: integer[]? }?
---@return resty.kubelua.gateway.Retry?
function settings.of_route(retry)
    if not retry then
        return nil
    end
    local on = { error = true, timeout = true }
    for _, code in ipairs(retry.codes or {}) do
        on[tostring(code)] = true
    end
    return { tries = math.min(retry.attempts or 1, MOST_TRIES), on = on }
end

---Checks settings that come from elsewhere, such as annotations of another controller.
---@param given table
---@return resty.kubelua.gateway.BalanceSettings settings a new table, with what is right
---@return string[] problems
function settings.normalise(given)
    local problems = {}
    local taken = take_fields(given, FIELDS, "", problems)
    if given.cookie then
        taken.cookie = take_fields(given.cookie, COOKIE_FIELDS, "cookie.", problems)
        taken.cookie.change_on_failure = given.cookie.change_on_failure or nil
    end
    taken.retry = given.retry
    table.sort(problems)
    return taken, problems
end

return settings
