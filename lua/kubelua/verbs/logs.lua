-- client:logs: reads the log of a container, line by line as it arrives.
local core = require "kubelua.core"
local kinds = require "kubelua.kinds"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local ports = require "kubelua.verbs.ports"
local requests = require "kubelua.requests"
local targets = require "kubelua.verbs.targets"

local logs = {}

---What client:logs takes.
---@class kubelua.LogOptions
---@field container? string needed if the pod has several
---@field follow? boolean also return what is written from now on; default: false
---@field tail? integer only so many lines at the end
---@field since? number only what was written in the last so many seconds
---@field previous? boolean of the container before its last restart
---@field timestamps? boolean begin each line with its time
---@field timeout? number seconds until the log begins; default: 30

local LOGS = { container = "string", follow = "boolean", tail = "number", since = "number",
    previous = "boolean", timestamps = "boolean", timeout = "number" }

-- Bytes: a longer line is cut here.
local LONGEST = 1024 * 1024

---What client:logs returns.
---@class kubelua.LogStream
---@field private stream kubelua.Stream
---@field private pieces string[] of a line whose end has not arrived
---@field private size integer how many bytes they have
---@field private rest string bytes after the last returned line
---@field private problem { message: string, code: string }? why the stream broke
---@field private is_over boolean
local LogStream = {}
LogStream.__index = LogStream

-- Takes the pieces of the current line.
local function take_line(self)
    local line = table.concat(self.pieces)
    self.pieces, self.size = {}, 0
    return line
end

local function keep_piece(self, text)
    if text ~= "" then
        self.pieces[#self.pieces + 1] = text
        self.size = self.size + #text
    end
end

-- Reads the next bytes; false if there are none any more.
local function read_more(self)
    if self.is_over then
        return false
    end
    local text, message, code = self.stream:read()
    if self.is_over then
        return false -- it was closed meanwhile
    elseif text then
        self.rest = text
        return true
    end
    self.is_over = true
    if code then
        self.problem = { message = message, code = code }
    end
    self.stream:close()
    return false
end

local function next_line(self)
    while true do
        local at = self.rest:find("\n", 1, true)
        if at then
            keep_piece(self, self.rest:sub(1, at - 1))
            self.rest = self.rest:sub(at + 1)
            return take_line(self)
        end
        keep_piece(self, self.rest)
        self.rest = ""
        if self.size >= LONGEST then
            return take_line(self)
        elseif not read_more(self) then
            return self.size > 0 and take_line(self) or nil
        end
    end
end

---For a loop: `for line in stream:lines() do ... end` waits for each line. It ends with the log, or
---when the stream breaks. A second loop goes on where the first one stopped.
---@return fun(): string?
function LogStream:lines()
    return function()
        return next_line(self)
    end
end

---Why the stream broke: a message and a code; nil if the log has ended normally.
---@return string? message, string? code
function LogStream:error()
    if self.problem then
        return self.problem.message, self.problem.code
    end
end

---Ends the stream early. A loop over its lines then ends.
function LogStream:close()
    self.is_over, self.rest, self.pieces, self.size = true, "", {}, 0
    self.stream:close()
end

local function check_options(given)
    if given.tail and (given.tail < 0 or given.tail % 1 ~= 0) then
        misuse("logs: 'tail' is a whole number of lines, from 0")
    elseif given.since and given.since <= 0 then
        misuse("logs: 'since' is a number of seconds above 0")
    end
end

---@param client kubelua.Client
---@param port kubelua.Port
---@param pod string|table
---@param given kubelua.LogOptions?
---@return kubelua.LogStream?, string?, string?
function logs.open(client, port, pod, given)
    local is_key = type(pod) == "string"
    local named = targets.arguments("logs", is_key and "pods" or pod, is_key and pod or nil)
    given = options.optional("logs", given, LOGS)
    check_options(given)
    port = ports.bounded(port, given.timeout)
    local target, message, code = targets.find(port, "logs", named)
    if not target then
        return nil, message, code
    elseif target.kind.plural ~= "pods" then
        misuse("logs: a pod expected, not a %s", target.kind.kind)
    elseif port.is_closed() then
        return nil, "the client is closed", "closed"
    end
    local stream
    stream, message, code = requests.stream(client, {
        method = "GET", path = kinds.path(target.kind, target.namespace, target.name, "log"),
        headers = { Accept = "application/json, */*" },
        timeout = port.till and math.max(0, port.till - core.now()) or given.timeout,
        query = {
            container = given.container, follow = given.follow, previous = given.previous,
            timestamps = given.timestamps, tailLines = given.tail,
            sinceSeconds = given.since and math.ceil(given.since),
        },
    }, "client:logs")
    if not stream then
        return nil, (message:gsub("^HTTP 4%d%d: ", "")), code
    end
    return setmetatable({ stream = stream, pieces = {}, size = 0, rest = "", is_over = false },
        LogStream)
end

return logs
