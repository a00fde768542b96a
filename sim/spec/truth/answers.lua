-- Asks both servers one request of a theme after another, as data says (README.md), keeps what
-- later ones refer to, and says what differed.
local compare = require "compare"
local core = require "kubelua.core"
local eventually = require "eventually"
local http = require "http"

local PATIENCE = 10 -- seconds, for what a server does by and by

local answers = {}
answers.__index = answers

-- Names of this run: a real cluster that several runs share keeps their objects.
local run_name = ("%x"):format(os.time() % 0x1000000)

---@param pair table as servers.start makes it
function answers.new(pair, theme)
    local self = setmetatable({ pair = pair, names = { {}, {} } }, answers)
    for i = 1, 2 do
        self:remember(i, "run", "r" .. run_name)
        self:remember(i, "ns", "truth-" .. theme:gsub("_", "-") .. "-" .. run_name)
    end
    http.ask({ pair.real, pair.sim }, pair.folder, {
        self:fill(1, { "", "POST /api/v1/namespaces", { metadata = { name = "{ns}" } } }),
        self:fill(2, { "", "POST /api/v1/namespaces", { metadata = { name = "{ns}" } } }),
    })
    return self
end

function answers:remember(server, name, value)
    local names = self.names[server]
    for i = #names, 1, -1 do
        if names[i].name == name then
            table.remove(names, i)
        end
    end
    table.insert(names, 1, { name = name, value = value })
    table.sort(names, function(a, b) return #a.value > #b.value end)
end

-- The text with every {name} that was saved of this server.
local function substitute(text, names)
    return (text:gsub("{(%l[%w_]*)}", function(name)
        for _, entry in ipairs(names) do
            if entry.name == name then
                return entry.value
            end
        end
    end))
end

local function media_type(request, method)
    if request.type then
        return request.type
    end
    return method == "PATCH" and "application/merge-patch+json" or "application/json"
end

---The request as http.ask takes it, with the names of this server.
function answers:fill(server, request)
    local names = self.names[server]
    local method, target = request[2]:match("^(%u+) (.*)$")
    local body = request[3]
    if type(body) == "table" then
        body = core.encode(body)
    end
    local filled = {
        method = method == "WATCH" and "GET" or method,
        target = substitute(target, names),
        headers = {},
        body = body and substitute(body, names),
        lines = type(request.events) == "number" and request.events or nil,
        seconds = request.seconds,
        compressed = request.compressed,
    }
    if body and request.type ~= false then
        table.insert(filled.headers, { "Content-Type", media_type(request, method) })
    end
    for name, value in pairs(request.headers or {}) do
        table.insert(filled.headers, { name, substitute(value, names) })
    end
    return filled
end

local function at_path(value, path)
    for key in path:gmatch("[^.]+") do
        value = type(value) == "table" and value[tonumber(key) or key] or nil
    end
    return value
end

-- save = { name = "metadata.uid" }
function answers:save(paths, replies)
    for i, reply in ipairs(replies) do
        local ok, body = pcall(core.decode, reply.body)
        for name, path in pairs(paths) do
            local value = ok and at_path(body, path)
            self:remember(i, name, value and tostring(value) or "missing-" .. name)
        end
    end
end

---Asks it; the parts in which the answers differ. With `wait`, it is asked until both answer with
---that status.
---@return { where: string, what: string }[]
function answers:ask(request)
    local both, replies = { self.pair.real, self.pair.sim }, nil
    local function ask()
        replies = http.ask(both, self.pair.folder, { self:fill(1, request), self:fill(2, request) })
        return not request.wait
            or replies[1].status == request.wait and replies[2].status == request.wait
    end
    if not ask() then
        pcall(eventually, ask, request[1], PATIENCE)
    end
    self:save(request.save or {}, replies)
    return compare.replies(replies, self.names, request)
end

return answers
