-- kubelua gateway routes: prints what the page /kubelua of a gateway shows, as kubectl prints
-- tables. The page comes from nginx, since only its processes can read the shared map.
local complain = require "kubelua.cli.complaint"
local core = require "kubelua.core"
local kubelua = require "kubelua"
local values = require "kubelua.values"

local DONE, FAILED = 0, 1

local HEADS = { "HOST", "PORT", "PATH", "TYPE", "METHOD", "SOURCE", "BACKENDS", "READY", "REASON" }
local WIDE = { "HOST", "LISTENER", "PATH", "TYPE", "METHOD", "MATCHES", "SOURCE", "FILTERS",
    "BACKENDS", "READY", "REASON" }

local function escape(text)
    return (text:gsub("[^%w%-._~]", function(c)
        return ("%%%02X"):format(c:byte())
    end))
end

local function url_of(options)
    local words = { "show=routes,refused" }
    for _, name in ipairs { "namespace", "host", "service" } do
        if options[name] then
            words[#words + 1] = name .. "=" .. escape(options[name])
        end
    end
    return options.url .. (options.url:find("?", 1, true) and "&" or "?")
        .. table.concat(words, "&")
end

local function first_line(text)
    return text:match("^%s*([^\r\n]*)"):sub(1, 200)
end

-- Why there is no page, for people.
local function explain(options, message, code, refused)
    if not refused then
        return ("%s; is nginx running, with the nginx.conf of `kubelua gateway init`? --url "
            .. "names another page"):format(tostring(message))
    elseif refused.status == 404 then
        return ("%s: there is no such page; `kubelua gateway init` prints a location "
            .. "/kubelua"):format(options.url)
    elseif refused.status == 400 then
        return ("%s: %s"):format(options.url, first_line(refused.body))
    end
    return ("%s answers with status %s: %s"):format(options.url, tostring(refused.status or code),
        first_line(refused.body or ""))
end

-- The page as text and as a table; nil and why not.
local function fetch(options)
    local reply, message, code, refused = kubelua.http(url_of(options), { timeout = 60 })
    if not reply then
        return nil, explain(options, message, code, refused)
    end
    local page = values.decode(reply.body)
    if type(page) ~= "table" or type(page.routes) ~= "table" or type(page.refused) ~= "table" then
        return nil, ("%s is not the page of a gateway, or it was cut off: it begins with \"%s\"")
            :format(options.url, first_line(reply.body))
    end
    return reply.body, page
end

local function join(list, separator, describe)
    local words = {}
    for i, item in ipairs(list or {}) do
        words[i] = describe(item)
    end
    return words[1] and table.concat(words, separator) or nil
end

local function describe_backend(backend, is_wide)
    local name = backend.service or "status " .. tostring(backend.status)
    local weight = backend.weight ~= 1 and "=" .. ("%g"):format(backend.weight) or ""
    return name .. weight .. (is_wide and (backend.canary and " (canary)" or "")
        .. (backend.balance and " (" .. backend.balance .. ")" or "") or "")
end

local function describe_ready(backend)
    return backend.endpoints and ("%d/%d"):format(backend.ready, backend.endpoints)
        or backend.service and "?" or "-"
end

local function describe_condition(condition)
    return ("%s%s%s"):format(condition.name, condition.regex and "~" or "=",
        condition.value or "(hidden)")
end

-- Why requests of a route are not answered by its backends, or not all of it is served.
local function reason_of(route, reasons, is_wide)
    local words = {}
    if route.denied then
        words[1] = "Denied" .. (is_wide and ": " .. route.denied or "")
    end
    for _, backend in ipairs(route.backends) do
        if backend.why then
            words[#words + 1] = "NoService"
        elseif backend.ready == 0 then
            words[#words + 1] = "NoEndpoints"
        end
    end
    for _, reason in ipairs(reasons or {}) do
        words[#words + 1] = reason.reason .. (is_wide and ": " .. reason.message or "")
    end
    local list, seen = {}, {}
    for _, word in ipairs(words) do
        if not seen[word] then
            seen[word], list[#list + 1] = true, word
        end
    end
    return table.concat(list, is_wide and "; " or ",")
end

local function source_of(route)
    local rule = type(route.rule) == "number" and ("%g"):format(route.rule) or route.rule
    return rule ~= "" and route.object .. " " .. rule or route.object
end

local function row_of(route, reasons, is_wide)
    local matches = join(route.headers, " ", describe_condition)
    local queries = join(route.queries, " ", function(query)
        return "?" .. describe_condition(query)
    end)
    return {
        HOST = route.host, PORT = ("%g"):format(route.port),
        LISTENER = ("%s:%g%s"):format(route.address, route.port,
            route.tls and " TLS" or ""),
        PATH = route.path, TYPE = route.type, METHOD = route.method,
        MATCHES = matches and queries and matches .. " " .. queries or matches or queries,
        SOURCE = source_of(route),
        FILTERS = join(route.filters, ",", tostring),
        BACKENDS = join(route.backends, ",", function(backend)
            return describe_backend(backend, is_wide)
        end),
        READY = join(route.backends, ",", describe_ready),
        REASON = reason_of(route, reasons, is_wide),
    }
end

local SORTED = { "HOST", "PATH", "METHOD", "SOURCE", "PORT", "LISTENER", "MATCHES" }

local function comes_before(a, b)
    for _, name in ipairs(SORTED) do
        local one, other = a[name] or "", b[name] or ""
        if one ~= other then
            return one < other
        end
    end
    return false
end

-- Rows that differ only in the port are one.
local function merge_ports(rows)
    local merged, by_text = {}, {}
    for _, row in ipairs(rows) do
        local words = {}
        for i, head in ipairs(HEADS) do
            words[i] = head ~= "PORT" and row[head] or ""
        end
        words[#words + 1] = row.MATCHES or ""
        local text = table.concat(words, "\0")
        local first = by_text[text]
        if first and not ("," .. first.PORT .. ","):find("," .. row.PORT .. ",", 1, true) then
            first.PORT = first.PORT .. "," .. row.PORT
        elseif not first then
            by_text[text], merged[#merged + 1] = row, row
        end
    end
    return merged
end

-- The rows of routes by host, then those of objects that have no route.
local function make_rows(page, is_wide)
    local reasons, served, rows, others = {}, {}, {}, {}
    for _, item in ipairs(page.refused) do
        reasons[item.object] = item.reasons
    end
    for i, route in ipairs(page.routes) do
        served[route.object] = true
        rows[i] = row_of(route, reasons[route.object], is_wide)
    end
    for object, list in pairs(reasons) do
        if not served[object] then
            others[#others + 1] = { SOURCE = object, REASON = join(list, "; ", function(reason)
                return reason.reason .. ": " .. reason.message
            end) }
        end
    end
    table.sort(rows, comes_before)
    rows = is_wide and rows or merge_ports(rows)
    table.sort(others, comes_before)
    for _, row in ipairs(others) do
        rows[#rows + 1] = row
    end
    return rows
end

local function print_table(heads, rows)
    local widths, texts = {}, {}
    for i, head in ipairs(heads) do
        widths[i] = #head
        for k, row in ipairs(rows) do
            texts[k] = texts[k] or {}
            texts[k][i] = core.escape(row[head] and row[head] ~= "" and row[head] or "-")
            widths[i] = math.max(widths[i], #texts[k][i])
        end
    end
    local function print_row(words)
        local line = {}
        for i, word in ipairs(words) do
            line[i] = i < #words and word .. (" "):rep(widths[i] - #word) or word
        end
        io.stdout:write(table.concat(line, "   "), "\n")
    end
    print_row(heads)
    for _, words in ipairs(texts) do
        print_row(words)
    end
end

---Runs the command; returns the exit status.
---@param options table of the command line
---@return integer
return function(options)
    local body, page = fetch(options)
    if not body then
        complain(page)
        return FAILED
    elseif options.output == "json" then
        io.stdout:write(body)
        return DONE
    end
    local is_wide = options.output == "wide"
    local rows = make_rows(page, is_wide)
    if rows[1] then
        print_table(is_wide and WIDE or HEADS, rows)
    else
        io.stderr:write("No routes found.\n")
    end
    return DONE
end
