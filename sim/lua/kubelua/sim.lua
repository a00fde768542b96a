-- kubelua.sim: a simulated API server in this process, to try a script or to test one. The files in
-- sim/ add its methods.
require "kubelua.interpreter"
-- simcore is also installed if KubeLua was built without the simulator; then loading it fails.
local has_simcore, simcore = pcall(require, "kubelua.simcore")
if not has_simcore then
    -- If the module was found, but cannot be loaded, the loader's message says what is missing.
    local why = simcore
    if why:find("^module .- not found") then
        why = "KubeLua was built without the simulated API server: install libmicrohttpd, "
            .. "GnuTLS and PCRE2, and build with -DKUBELUA_SIM=ON"
    end
    ---@type kubelua.SimModule
    local missing = { new = function()
        return nil, why, "io"
    end }
    return missing
end

local core = require "kubelua.core"
local Clock = require "kubelua.sim.clock"
local faults = require "kubelua.sim.faults"
local objects = require "kubelua.sim.objects"
local options = require "kubelua.options"
local replay = require "kubelua.sim.replay"
local requests = require "kubelua.sim.requests"
local script = require "kubelua.sim.script"
local serve = require "kubelua.sim.serve"
local settle = require "kubelua.sim.settle"
local time = require "kubelua.sim.time"
local users = require "kubelua.sim.users"
local wait = require "kubelua.sim.wait"

---A simulated cluster: one userdata, whose methods are in Lua, over the functions of simcore.
---@class kubelua.Sim
local Sim = simcore.methods()

local PARTS = { faults, objects, replay.methods, requests, script, serve, time.methods,
    users.methods, wait, settle }

for _, part in ipairs(PARTS) do
    for name, method in pairs(part) do
        Sim[name] = method
    end
end

local OPTIONS = {
    load = "string|table", bookmark = "number", history = "number", token = "string",
    no_streaming_list = "boolean", clock = "string", now = "number|string", rbac = "boolean",
    users = "table", replay = "string", no_controllers = "boolean", compaction = "number",
}

local function read_file(path)
    local file, message = io.open(path, "rb")
    if not file then
        return nil, message, "io"
    end
    local text = file:read("*a")
    file:close()
    if not text then
        return nil, path .. ": is a folder, or cannot be read; name the files in it", "io"
    end
    return text
end

-- The options for the core, made of those of the script.
local function read_core_options(given)
    local now = given.now
    if type(now) == "string" then
        now = core.time(now)
        if not now then
            error("sim: now: write it as \"2026-01-01T00:00:00Z\", or in seconds since 1970", 3)
        end
    end
    if given.clock and given.clock ~= "fake" and given.clock ~= "real" then
        error("sim: the clock is \"real\" or \"fake\", not \"" .. given.clock .. "\"", 3)
    end
    return {
        bookmark = given.bookmark, compaction = given.compaction, history = given.history,
        token = given.token,
        no_streaming_list = given.no_streaming_list, now = now,
        clock_stands = given.clock == "fake", rbac = given.rbac, users = users.plain(given.users),
        no_controllers = given.no_controllers,
    }
end

local function load_files(self, paths)
    for _, path in ipairs(paths) do
        if type(path) ~= "string" then
            error("sim: load: the path of a manifest expected, not a " .. type(path), 3)
        end
        local text, message, code = read_file(path)
        if not text then
            return nil, message, code
        end
        local ok
        ok, message, code = self:load(text)
        if not ok then
            return nil, path .. ": " .. message, code
        end
    end
    return true
end

---@class kubelua.Sim.Options
---@field load string|string[]|nil the path of a manifest, or several
---@field clock "real"|"fake"|nil "fake": time stands still until cluster:advance(seconds)
---@field now number|string|nil its first time: seconds since 1970, or "2026-01-01T00:00:00Z"
---@field token string? the administrator's bearer token, which every client must then have
---@field users kubelua.Sim.User[]? other users, each with a token
---@field rbac boolean? Roles, ClusterRoles and their bindings decide what users may do
---@field bookmark number? seconds between bookmarks; default: 60
---@field compaction number? seconds between compactions; default: 300
---@field history integer? how many events of each kind are kept; default: 10,000
---@field replay string? the path of a recording; the cluster begins with its first objects
---@field no_streaming_list boolean? refuse streaming lists, as before Kubernetes 1.27
---@field no_controllers boolean? only an API server, without garbage collection

---What require "kubelua.sim" returns.
---@class kubelua.SimModule
local sims = {}

---Starts a cluster. It has the namespaces of a new cluster.
---@param given kubelua.Sim.Options?
---@return kubelua.Sim?, string?, string?
function sims.new(given)
    given = options.optional("sim", given, OPTIONS)
    local self, message, code = simcore.new(read_core_options(given))
    if not self then
        return nil, message, code
    end
    local state = simcore.state(self)
    state.users, state.token = given.users, given.token
    state.clock = (given.clock == "fake" and Clock.fake or Clock.running)(self)
    local paths = given.load or {}
    local ok
    ok, message, code = load_files(self, type(paths) == "table" and paths or { paths })
    if ok and given.replay then
        ok, message, code = replay.begin(self, given.replay)
    end
    if not ok then
        self:close()
        return nil, message, code
    end
    return self
end

---Opens an in-process client of the cluster: for the administrator, or for one of its users.
---@param given table? options of kubelua.connect; and user: the name of one of the users
---@return kubelua.Client?, string?, string?
function Sim:connect(given)
    local state = simcore.state(self)
    local merged = { sim = self, token = state.token }
    for name, value in pairs(given or {}) do
        merged[name] = value
    end
    if merged.user then
        merged.token, merged.user = users.token(state.users, merged.user), nil
    end
    return require("kubelua.client").connect(merged)
end

---Carries out one request, which is not recorded. Returns the status, the body, the content type,
---and warnings, one a line.
---@param request { method: string?, target: string, body: string?, type: string? }
---@return integer?, string?, string?, string?
function Sim:call(request)
    return simcore.call(self, request)
end

---Serves the cluster on a port; returns its URL.
---@param given { address: string?, port: integer?, tls: boolean? }?
---@return string?, string?, string?
function Sim:listen(given)
    return simcore.listen(self, options.optional("listen", given,
        { address = "string", port = "number", tls = "boolean" }))
end

---The bearer token that requests below /kubelua need on the port; nil: it does not listen.
---@return string?
function Sim:control_token()
    return simcore.control_token(self)
end

function Sim:unlisten()
    simcore.unlisten(self)
end

return sims
