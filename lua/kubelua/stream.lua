-- An answer that is read as it arrives, such as the log of a container. requests.stream makes it.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"

---@class kubelua.Stream
---@field flight kubelua.Flight
---@field is_reading boolean
---@field is_closed boolean
local Stream = {}
Stream.__index = Stream

---@param flight kubelua.Flight the head of its answer has arrived
---@return kubelua.Stream
function Stream.new(flight)
    sources.add(flight.id, flight.wake, true)
    return setmetatable({ flight = flight, is_reading = false, is_closed = false }, Stream)
end

-- Waits until there are bytes, or the end. The condition is asked more than once, so it keeps what
-- it has read.
local function read_more(self)
    local text, message, code = "", nil, nil
    local flight = self.flight
    self.is_reading = true
    flight:wait(function()
        if text == "" then
            text, message, code = flight:outcome(core.request_read(flight.request))
        end
        return text ~= ""
    end)
    self.is_reading = false
    if self.is_closed then
        flight:close()
    else
        sources.add(flight.id, flight.wake, true)
    end
    tasks.end_if_cancelled()
    return text, message, code
end

---The next bytes, as they arrive; nil at the end; nil, message, code if the stream broke.
---@return string?, string?, string?
function Stream:read()
    if self.is_reading then
        misuse("another task is reading this stream already")
    elseif self.is_closed or self.flight.is_closed then
        return nil, "the stream was closed", "closed"
    end
    local text, message, code = core.request_read(self.flight.request)
    if text == "" then
        return read_more(self)
    end
    return text, message, code
end

---Ends the stream. If another task is reading it, that read returns nil, message, "canceled".
function Stream:close()
    if self.is_closed then
        return
    end
    self.is_closed = true
    if self.is_reading then
        core.request_cancel(self.flight.request)
    else
        sources.remove(self.flight.id)
        self.flight:close()
    end
end

return Stream
