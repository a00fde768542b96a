-- Sends traffic to an nginx of a spec, which routes it to backends, with a static upstream as the
-- control.
local copies = require "nginx_copies"
local eventually = require "eventually"
local nginx = require "nginx"

local traffic = {}

---@class spec.Tally what was counted for one target
---@field requests integer
---@field refused integer no connection
---@field broken integer an answer cut short
---@field raced integer no answer on a connection that has carried answers before
---@field late integer no answer in time
---@field failed integer answers that are not 2xx
---@field status table<integer, integer>
---@field body table<string, integer> by the first line of the answer

---@class spec.Traffic
local Traffic = {}
Traffic.__index = Traffic

---Starts an nginx that listens at one port of 127.0.0.1 to 127.0.0.N, and answers with the address
---at which it was asked.
---@param count integer
---@return spec.Nginx, string[] addresses
function traffic.backends(count)
    local port = copies.free_ports(1)[1]
    local addresses, listens = {}, {}
    for i = 1, count do
        addresses[i] = "127.0.0." .. i
        listens[i] = string.format("listen %s:%d;", addresses[i], port)
    end
    local one = nginx.start {
        workers = 1, lua = false,
        http = string.format("server { %s location / { return 200 \"$server_addr\\n\"; } }",
            table.concat(listens, " ")),
        server = "location / { return 200 \"backends\\n\"; }",
    }
    one.backend_port, one.addresses = port, addresses
    return one, addresses
end

---The directives of the control: upstream `static` of these backends, for `location /static`.
---@param backends spec.Nginx
---@return string http, string server
function traffic.control(backends)
    local lines = {}
    for i, address in ipairs(backends.addresses) do
        lines[i] = string.format("server %s:%d;", address, backends.backend_port)
    end
    return "upstream static { " .. table.concat(lines, " ") .. " keepalive 16; }",
        "location /static { proxy_pass http://static; proxy_http_version 1.1; "
        .. "proxy_set_header Connection \"\"; }"
end

local function read_file(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

local function read_tally(line)
    local tally = { failed = 0, status = {}, body = {} }
    for name, value in line:gmatch("(%S+)=(%d+)") do
        local status, body = name:match("^status%.(%d+)$"), name:match("^body%.(.*)$")
        if status then
            tally.status[tonumber(status)] = tonumber(value)
            if not status:match("^2") then
                tally.failed = tally.failed + tonumber(value)
            end
        elseif body then
            tally.body[body] = tonumber(value)
        else
            tally[name] = tonumber(value)
        end
    end
    tally.line = line
    return tally
end

-- The counts by the targets' names, out of what the program has printed.
local function read_tallies(text)
    local tallies = {}
    for line in text:gmatch("[^\n]+") do
        local name = line:match("^(%S+) requests=")
        if name then
            tallies[name] = read_tally(line)
        end
    end
    return tallies
end

---@class spec.TrafficOptions
---@field connections integer? default: 32
---@field rate integer? requests a second; 0: as many as are answered; default: 2000
---@field seconds number? default: 600

-- The command line of the program that sends requests to the targets in turn.
local function command(one, targets, options)
    local words = {}
    for name, path in pairs(targets) do
        words[#words + 1] = name .. "=" .. path
    end
    table.sort(words)
    return string.format("%s/spec/nginx_load -c %d -r %d -s %g 127.0.0.1 %d %s", copies.build,
        options.connections or 32, options.rate or 2000, options.seconds or 600, one.port,
        table.concat(words, " "))
end

---Sends requests to the targets in turn until `stop`.
---@param one spec.Nginx
---@param targets table<string, string> path by name
---@param options spec.TrafficOptions?
---@return spec.Traffic
function traffic.start(one, targets, options)
    local self = setmetatable({ log = os.tmpname() }, Traffic)
    self.pid = copies.shell(string.format("%s >%s 2>&1 & echo $!",
        command(one, targets, options or {}), self.log)):match("%d+")
    eventually(function()
        return read_file(self.log):find("flowing", 1, true)
    end, "traffic flows", 30)
    return self
end

---Sends requests to the targets in turn for `options.seconds`, and waits for the end without
---dispatching events.
---@param one spec.Nginx
---@param targets table<string, string> path by name
---@param options spec.TrafficOptions
---@return table<string, spec.Tally>
function traffic.run(one, targets, options)
    return read_tallies((copies.shell(command(one, targets, options))))
end

---Stops the traffic; returns the counts by the targets' names.
---@return table<string, spec.Tally>
function Traffic:stop()
    copies.shell("kill -TERM " .. self.pid)
    eventually(function()
        return read_file("/dev/null") and select(2, copies.shell("kill -0 " .. self.pid)) ~= 0
    end, "traffic ends", 30)
    local tallies = read_tallies(read_file(self.log))
    os.remove(self.log)
    return tallies
end

local function broken_of(tally)
    return tally.refused + tally.broken + tally.raced + tally.late
end

---Fails unless the subject answered as well as the control: only 2xx, and not more broken
---connections. Both share connections and take turns on them, so a broken connection hits either
---with equal chance. A difference of more than four standard deviations is a fault of the subject.
---@param tallies table<string, spec.Tally>
---@param subject string
---@param control string? default: "static"
function traffic.compare(tallies, subject, control)
    local ours, theirs = tallies[subject], tallies[control or "static"]
    local lines = ours.line .. "\n" .. theirs.line
    assert(ours.requests > 100 and theirs.requests > 100, "hardly any traffic:\n" .. lines)
    assert(ours.failed == 0, "answers that are not 2xx:\n" .. lines)
    assert(theirs.failed == 0, "the control has answers that are not 2xx:\n" .. lines)
    local excess = broken_of(ours) - broken_of(theirs)
    assert(excess <= 4 * math.sqrt(broken_of(ours) + broken_of(theirs)),
        "more broken connections than the control:\n" .. lines)
end

return traffic
