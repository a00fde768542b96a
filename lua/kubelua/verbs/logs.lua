-- The log of a container, line by line as it comes.
local kinds = require "kubelua.kinds"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local requests = require "kubelua.requests"
local targets = require "kubelua.verbs.targets"

local logs = {}

---What client:logs takes.
---@class kubelua.LogOptions
---@field container? string needed where the pod has several
---@field follow? boolean go on with what is written from now on; default: false
---@field tail? integer only so many lines at the end of what there is
---@field since? number only what was written within so many seconds
---@field previous? boolean of the container as it was before it was restarted
---@field timestamps? boolean begin each line with its time
---@field timeout? number seconds until the log begins; default: 30
local LOGS = { container = "string", follow = "boolean", tail = "number", since = "number",
    previous = "boolean", timestamps = "boolean", timeout = "number" }

-- Bytes: what has no end of line by then is a line.
local LONGEST = 1024 * 1024

---What client:logs returns.
---@class kubelua.LogStream
---@field private stream kubelua.Stream
---@field private pieces string[] of the line that has not ended
---@field private size integer their bytes
---@field private rest string what came behind the line that was returned last
---@field private problem { message: string, code: string }? why it broke off
---@field private is_over boolean
local LogStream = {}
LogStream.__index = LogStream

-- Takes what is there of the line that has not ended.
local function take(self)
    local line = table.concat(self.pieces)
    self.pieces, self.size = {}, 0
    return line
end

local function keep(self, text)
    if text ~= "" then
        self.pieces[#self.pieces + 1] = text
        self.size = self.size + #text
    end
end

-- The next bytes; false once there are none.
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
            keep(self, self.rest:sub(1, at - 1))
            self.rest = self.rest:sub(at + 1)
            return take(self)
        end
        keep(self, self.rest)
        self.rest = ""
        if self.size >= LONGEST then
            return take(self)
        elseif not read_more(self) then
            return self.size > 0 and take(self) or nil
        end
    end
end

---For a loop: `for line in stream:lines() do ... end` waits for each line, and ends with the log,
---or where it breaks off. A later loop goes on where one was left.
---@return fun(): string?
function LogStream:lines()
    return function()
        return next_line(self)
    end
end

---Why the log broke off: a message and a code; nil where it ended as it should.
---@return string? message, string? code
function LogStream:error()
    if self.problem then
        return self.problem.message, self.problem.code
    end
end

---Ends it before its end. A loop over its lines ends then.
function LogStream:close()
    self.is_over, self.rest, self.pieces, self.size = true, "", {}, 0
    self.stream:close()
end

local function check(given)
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
    check(given)
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
        headers = { Accept = "application/json, */*" }, timeout = given.timeout,
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
