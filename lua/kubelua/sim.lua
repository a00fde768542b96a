-- The simulated API server: a cluster in this process, to try a script and to test one.
local Client = require "kubelua.client"
local core = require "kubelua.core"

---@class kubelua.Sim
local Sim = {}
Sim.__index = Sim

local function read_file(path)
    local file, message = io.open(path, "rb")
    if not file then
        return nil, message, "io"
    end
    local text = file:read("*a")
    file:close()
    if not text then
        return nil, path .. ": is a folder, or cannot be read", "io"
    end
    return text
end

---Starts a cluster. `load`: the path of a manifest, or an array of them.
---@param options { load: string|string[]?, bookmark: number?, history: integer?, token: string? }?
---@return kubelua.Sim?, string?, string?
function Sim.new(options)
    local core_options, paths = {}, {}
    for key, value in pairs(options or {}) do
        if key == "load" then
            paths = type(value) == "table" and value or { value }
        else
            core_options[key] = value
        end
    end
    local box, message, code = core.sim(core_options)
    if not box then
        return nil, message, code
    end
    local self = setmetatable({ box = box }, Sim)
    for _, path in ipairs(paths) do
        local text, ok
        text, message, code = read_file(path)
        if not text then
            return nil, message, code
        end
        ok, message, code = self:load(text)
        if not ok then
            return nil, path .. ": " .. message, code
        end
    end
    return self
end

---A client of it, in-process.
---@return kubelua.Client?, string?, string?
function Sim:connect()
    return Client.connect { sim = self }
end

---Creates or replaces the objects of a text of YAML or JSON documents.
---@param text string
---@return true?, string?, string?
function Sim:load(text)
    return self.box:load(text)
end

---Creates or replaces objects: a table, a view, or a text of YAML or JSON.
---@param object any
---@return true?, string?, string?
function Sim:apply(object)
    if type(object) ~= "string" then
        object = core.encode(object)
    end
    return self.box:load(object)
end

---One raw request: status, body, content type.
---@param request { method: string?, target: string, body: string?, type: string? }
---@return integer?, string?, string?
function Sim:call(request)
    return self.box:call(request)
end

---What was asked so far: { method =, target =, status = }, oldest first.
---@return table[]
function Sim:requests()
    return core.decode(self.box:requests())
end

---Forgets what was asked.
function Sim:requests_clear()
    self.box:requests_clear()
end

---Serves it on a port: its URL.
---@param options { address: string?, port: integer?, tls: boolean? }?
---@return string?, string?, string?
function Sim:listen(options)
    return self.box:listen(options or {})
end

function Sim:unlisten()
    self.box:unlisten()
end

---A kubeconfig that leads to it, once it listens.
---@return string?, string?, string?
function Sim:kubeconfig()
    return self.box:kubeconfig()
end

---Breaks every open watch now.
function Sim:cut()
    self.box:cut()
end

---Refuses connections, or accepts them again.
---@param on boolean?
function Sim:refuse(on)
    self.box:refuse(on ~= false)
end

---Keeps streams open and silent, or lets them flow again.
---@param on boolean?
function Sim:freeze(on)
    self.box:freeze(on ~= false)
end

---Forgets the history, as etcd compaction does.
function Sim:compact()
    self.box:compact()
end

---Answers the next requests of a verb with an error.
---@param options table verb, count (1), status, retry_after (seconds), body
---@return true?, string?, string?
function Sim:fail(options)
    return self.box:fail(options)
end

function Sim:close()
    self.box:close()
end

return Sim
