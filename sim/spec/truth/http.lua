-- One HTTP exchange by curl(1), with its headers: requests are files that curl reads, so that
-- nothing passes a shell. Both servers are asked at the same time.

local http = {}

local SECONDS = 40 -- for one answer

local function write_file(path, text)
    local file = assert(io.open(path, "wb"))
    assert(file:write(text))
    assert(file:close())
end

local function quote(text)
    return '"' .. text:gsub('[\\"]', "\\%0"):gsub("\r", "\\r"):gsub("\n", "\\n") .. '"'
end

-- request: { method, target, headers = { {name, value} }, body, compressed }
local function configure(server, folder, request)
    local path = folder .. "/" .. server.name
    local lines = {
        "silent", "show-error", "include", "no-buffer", "http1.1", "globoff", "path-as-is",
        "max-time = " .. (request.seconds or SECONDS),
        "url = " .. quote(server.url .. request.target),
        request.method == "HEAD" and "head" or "request = " .. quote(request.method),
        'header = "Expect:"', 'user-agent = "truth/1"', -- which is told JSON without blanks
    }
    for _, option in ipairs(server.options) do
        lines[#lines + 1] = option
    end
    for _, header in ipairs(request.headers or {}) do
        lines[#lines + 1] = "header = " .. quote(header[1] .. ": " .. header[2])
    end
    if request.compressed then
        lines[#lines + 1] = "compressed"
    end
    if request.body then
        write_file(path .. ".body", request.body)
        lines[#lines + 1] = "data-binary = " .. quote("@" .. path .. ".body")
    end
    write_file(path .. ".curl", table.concat(lines, "\n") .. "\n")
    return path .. ".curl"
end

-- Its first line is the process, so that it can be ended.
local function open(server, folder, request)
    local path = configure(server, folder, request)
    local pipe = assert(io.popen("echo $$; exec curl --config '" .. path .. "' 2>&1", "r"))
    return { pipe = pipe, process = pipe:read("l") }
end

local function read_head(exchange)
    local first = exchange.pipe:read("l") or ""
    local status = tonumber(first:match("^HTTP/[%d.]+ (%d+)"))
    local headers = {}
    local line = exchange.pipe:read("l")
    while status and line and line ~= "\r" do
        local name, value = line:match("^([^:]+):%s*(.-)\r?$")
        if name then
            name = name:lower()
            headers[name] = headers[name] and headers[name] .. ", " .. value or value
        end
        line = exchange.pipe:read("l")
    end
    return { status = status or first, headers = headers }
end

local function read_lines(pipe, count)
    local read = {}
    while #read < count do
        local line = pipe:read("l")
        if not line then
            break
        end
        read[#read + 1] = line
    end
    return table.concat(read, "\n")
end

-- So many lines of the body, then the end of the connection; all of it
-- without a number.
local function read_body(exchange, lines)
    if not lines then
        return exchange.pipe:read("a")
    end
    local body = read_lines(exchange.pipe, lines)
    os.execute("kill " .. exchange.process .. " 2>/dev/null")
    return body
end

---The answer to a request of each server: { status, headers, body }.
---@param requests table[] one for each server; `lines` of the body is all that is waited for
---@return table[]
function http.ask(all, folder, requests)
    local exchanges, replies = {}, {}
    for i, server in ipairs(all) do
        exchanges[i] = open(server, folder, requests[i])
    end
    for i, exchange in ipairs(exchanges) do
        local reply = read_head(exchange)
        reply.body = read_body(exchange, requests[i].lines)
        exchange.pipe:close()
        replies[i] = reply
    end
    return replies
end

return http
