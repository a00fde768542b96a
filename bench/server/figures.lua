-- What is measured of one server: lists of values, one a round, by the name of the figure.
local json = require "cjson"

---@class bench.Figures
---@field program string bench/server/load.c, built
---@field values table<string, number[]>
local Figures = {}
Figures.__index = Figures

local VERBS = { "create", "update", "delete" }

function Figures.new(program)
    return setmetatable({ program = program, values = {} }, Figures)
end

---What a command prints, as JSON.
---@param ... string|number its words
---@return table
function Figures.measure(...)
    local words = {}
    for i, word in ipairs { ... } do
        words[i] = "'" .. tostring(word) .. "'"
    end
    local command = table.concat(words, " ")
    local pipe = assert(io.popen(command))
    local text = pipe:read("a")
    assert(pipe:close(), "failed: " .. command)
    return json.decode(text)
end

---One more value of a figure.
function Figures:add(name, value)
    self.values[name] = self.values[name] or {}
    table.insert(self.values[name], value)
end

---Objects created, updated and deleted a second, and the CPU of one of these.
---@param suffix string of the figures' names
---@param took table what was printed
---@param cpu number seconds
function Figures:add_writes(suffix, took, cpu)
    for _, verb in ipairs(VERBS) do
        self:add(verb .. suffix, took.count / took[verb])
    end
    self:add("write_cpu" .. suffix, cpu / (#VERBS * took.count))
end

---@param it bench.Server
function Figures:writes(it, suffix, count, in_flight)
    local before = it:cpu()
    local took = Figures.measure(self.program, it.url, it.token, "write", count, in_flight)
    self:add_writes(suffix, took, it:cpu() - before)
end

---The same with the client and the server on one core: neither has to be woken from an idle one.
function Figures:writes_together(it, suffix, count)
    local before = it:cpu()
    it:keep_on_core(0)
    local took = Figures.measure("taskset", "-c", 0, self.program, it.url, it.token, "write", count,
        1)
    it:keep_on_core(nil)
    self:add_writes(suffix, took, it:cpu() - before)
end

function Figures:lists(it, path, times)
    local took = Figures.measure(self.program, it.url, it.token, "list", path, times)
    self:add("list_rate", took.bytes / took.seconds / 1e6)
end

function Figures:watches(it, watchers, updates)
    local took = Figures.measure(self.program, it.url, it.token, "watch", watchers, updates, it.pid)
    local events = watchers * updates
    self:add("watch_seconds", took.seconds)
    self:add("watch_rate", events / took.seconds)
    self:add("watch_cpu", took.server_cpu / events)
    self:add("watch_open_cpu", took.opening_cpu / watchers)
    self:add("watch_idle", took.idle_bytes / watchers)
    self:add("watch_busy", took.busy_bytes / watchers)
end

local function median(values)
    local sorted = {}
    for i, value in ipairs(values) do
        sorted[i] = value
    end
    table.sort(sorted)
    return sorted[(#sorted + 1) // 2]
end

---The median of each.
---@return table<string, number>
function Figures:medians()
    local medians = {}
    for name, values in pairs(self.values) do
        medians[name] = median(values)
    end
    return medians
end

return Figures
