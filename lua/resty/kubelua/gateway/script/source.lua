-- The scripts in the owner: ConfigMaps of the allowed namespaces, compiled when they change, and
-- published. A version that does not compile leaves the one before in its place.
local chunk = require "resty.kubelua.gateway.script.chunk"
local options = require "resty.kubelua.gateway.script.options"
local phases = require "resty.kubelua.gateway.script.phases"
local publish = require "resty.kubelua.gateway.publish"

local source = {}

local MOST_BYTES = 1024 * 1024 -- of the scripts of a namespace
local PAUSE = 1 -- seconds between Events about what requests show

---@class resty.kubelua.gateway.Scripts
---@field settings table? of options.read; nil: no namespace may use scripts
---@field known table<string, { good: string?, why: string? }> by "namespace/name"
---@field bytes table<string, integer> by namespace
---@field published table<string, string>
---@field fresh resty.kubelua.gateway.Problem[]
local Scripts = {}
Scripts.__index = Scripts

---@param kube resty.kubelua.Instance
---@param kubelua table
---@param given resty.kubelua.GatewayOptions
---@return resty.kubelua.gateway.Scripts
function source.new(kube, kubelua, given)
    return setmetatable({ kube = kube, kubelua = kubelua, settings = options.read(given.scripts),
        known = {}, bytes = {}, published = {}, fresh = {} }, Scripts)
end

---The namespaces whose ConfigMaps are watched: none if no namespace may use scripts.
---@return string[]
function Scripts:namespaces()
    if not self.settings then
        return {}
    elseif self.settings.is_all then
        return { "*" }
    end
    local list = {}
    for name in pairs(self.settings.namespaces) do
        list[#list + 1] = name
    end
    table.sort(list)
    return list
end

local function count_bytes(self, key, known, text)
    local namespace = key:match("^[^/]+")
    self.bytes[namespace] = (self.bytes[namespace] or 0) + #(text or "") - #(known.good or "")
    known.good = text
end

-- The text that an earlier owner has published.
local function inherited(self, key)
    local value = self.kube.lookup(publish.SCRIPTS, key)
    return value and chunk.compile(key, value.text, self.settings) and value.text or nil
end

local function check_text(self, key, known, text)
    local namespace = key:match("^[^/]+")
    local script, why = chunk.compile(key, text, self.settings)
    if script and (self.bytes[namespace] or 0) + #text - #(known.good or "") > MOST_BYTES then
        return nil, ("the scripts of the namespace have more than %d bytes"):format(MOST_BYTES)
    end
    return script, why
end

local function add_problem(self, view, reason, message)
    table.insert(self.fresh, { kind = "ConfigMap", namespace = view.namespace, name = view.name,
        reason = reason, message = message })
end

---A ConfigMap that is new or has changed. True if it has, or had, a script.
---@param view table
---@return boolean
function Scripts:set(view)
    local key, text = view.key, view:get('data["route.lua"]')
    local known = self.known[key]
    if not known then
        if type(text) ~= "string" then
            return false
        end
        known = {}
        self.known[key] = known
        count_bytes(self, key, known, inherited(self, key))
    end
    local is_good, why = check_text(self, key, known, text)
    if is_good then
        count_bytes(self, key, known, text)
        known.why = nil
    else
        known.why = why
        add_problem(self, view, "BadScript", why
            .. (known.good and "; the version before runs on" or ""))
    end
    return true
end

---@param view table
---@return boolean is_known
function Scripts:delete(view)
    local known = self.known[view.key]
    if known then
        count_bytes(self, view.key, known, nil)
        self.known[view.key] = nil
    end
    return known ~= nil
end

---Says if a route can use a script: for compile.lua and Ingresses.
---@param namespace string
---@param name string
---@return true?, string?, string? true; or nil, message, and the reason for a condition
function Scripts:check(namespace, name)
    local known = self.known[namespace .. "/" .. name]
    if not options.allows(self.settings, namespace) then
        return nil, options.refusal(self.settings, namespace), "RefNotPermitted"
    elseif not known then
        return nil, ("there is no ConfigMap %s/%s with the key %s"):format(namespace, name,
            chunk.KEY)
    elseif not known.good then
        return nil, ("the script %s/%s does not compile: %s"):format(namespace, name, known.why)
    end
    return true
end

local function keys_of(map)
    local keys = {}
    for key in pairs(map) do
        keys[#keys + 1] = key
    end
    return keys
end

---Publishes what has changed.
---@param writing resty.kubelua.gateway.Writing
function Scripts:publish(writing)
    for _, key in ipairs(keys_of(self.known)) do
        writing.pace()
        local good = (self.known[key] or {}).good
        if good and self.published[key] ~= good then
            local ok, message = writing.batch:put(publish.SCRIPTS, key, { text = good })
            self.published[key] = ok and good or nil
            if not ok then
                writing.log("error", "gateway: the script %s: %s", key, message)
            end
        end
    end
    for _, key in ipairs(keys_of(self.published)) do
        writing.pace()
        if not (self.known[key] or {}).good then
            writing.batch:put(publish.SCRIPTS, key, nil)
            self.published[key] = nil
        end
    end
end

---The problems that are new since the last call.
---@return resty.kubelua.gateway.Problem[]
function Scripts:problems()
    local list = self.fresh
    self.fresh = {}
    return list
end

---Tells, each second, which scripts have failed in requests of this worker.
---@param tell fun(problems: resty.kubelua.gateway.Problem[])
function Scripts:watch_failures(tell)
    self.kubelua.spawn(function()
        while true do
            self.kubelua.sleep(PAUSE)
            local list = {}
            for key, message in pairs(phases.take_failures()) do
                local namespace, name = key:match("^([^/]+)/(.+)$")
                list[#list + 1] = { kind = "ConfigMap", namespace = namespace, name = name,
                    reason = "ScriptFailed", message = message }
            end
            tell(list)
        end
    end)
end

return source
