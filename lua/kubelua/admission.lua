-- kubelua.admit: the webhooks of the scripts of this lua_State. kubelua run --admit serves them
-- (cli/admitting.lua); a test asks them with admission.ask. docs/ADMISSION.md describes their use.
local caches = require "kubelua.admission.caches"
local clients = require "kubelua.client"
local configuration = require "kubelua.admission.configuration"
local core = require "kubelua.core"
local hooks = require "kubelua.admission.hook"
local log = require "kubelua.log"
local loop = require "kubelua.loop"
local misuse = require "kubelua.misuse"
local requests = require "kubelua.requests"
local scripts = require "kubelua.script"
local sorted_keys = require "kubelua.sorted_keys"
local tasks = require "kubelua.tasks"
local trial = require "kubelua.admission.trial"
local waiting = require "kubelua.waiting"

local admission = {
    is_served = false, -- kubelua run --admit
}

---What kubelua.admit returns.
---@class kubelua.Admission
local Admission = {}
Admission.__index = Admission
Admission.__name = "kubelua.admit"

---@class kubelua.admission.Entry
---@field hook kubelua.admission.Hook
---@field cluster kubelua.AdmitCluster? nil: it reads no caches
---@field where string the line of the script
---@field script kubelua.Script?
---@field sim kubelua.Sim? the cluster of a test, whose writes are asked about
---@field is_stopped boolean?

-- name -> list of entries, the oldest first: while a script is replaced, both have one. Those of
-- simulated clusters stand before them, the newest first: a script may run in several.
local registered = {} ---@type table<string, kubelua.admission.Entry[]>

local entries = setmetatable({}, { __mode = "k" }) -- of each Admission

-- A script that was replaced, or could not start, answers no more; nor does a closed cluster's.
local function is_over(entry)
    local stage = entry.script and entry.script.stage
    if entry.sim and package.loaded["kubelua.simcore"].state(entry.sim).is_closed then
        return true
    end
    return entry.is_stopped or stage == "tells" or stage == "ends"
end

---@param name string
---@return kubelua.admission.Entry[]
local function forget_ended(name)
    local left = {}
    for _, entry in ipairs(registered[name] or {}) do
        if not is_over(entry) then
            left[#left + 1] = entry
        end
    end
    registered[name] = left[1] and left or nil
    return left
end

local function stop(entry)
    if entry.cluster and not entry.is_stopped then
        caches.close(entry.cluster)
    end
    entry.is_stopped = true
end

-- Raises if the script has one of that name, unless the same line was run again: a test loads a
-- script several times.
local function add(entry)
    local name = entry.hook.name
    for _, other in ipairs(forget_ended(name)) do
        if other.script == entry.script and other.sim == entry.sim then
            if other.where ~= entry.where then
                stop(entry)
                misuse("admit: there is one with the name '%s' already, at %sgive this one another "
                    .. "name", name, other.where)
            end
            stop(other)
        end
    end
    local list = forget_ended(name)
    table.insert(list, entry.sim and 1 or #list + 1, entry)
    registered[name] = list
end

local function tell(hook)
    if admission.is_served then
        log("info", "admit %s is served at /admit/%s", hook.name, hook.name)
    elseif waiting.ends_waits then
        log("warn", "admit %s is not served: start kubelua run with --admit ADDRESS:PORT",
            hook.name)
    end
end

-- The simulated cluster of a test that a webhook is for: that which runs the script, or that of the
-- client. kubelua run --sim and kubelua plan are no tests.
local function find_sim(given)
    local sim = tasks.clock_here().cluster
    if not sim and given.client and not clients.elsewhere then
        sim = core.state(given.client, "kubelua.client").sim
        sim = sim ~= clients.defaults.sim and sim or nil
    end
    if sim then
        requests.webhooks = require("kubelua.sim.webhooks").send_of
    end
    return sim
end

local function open_caches(given)
    if not given.reads then
        return nil
    end
    if given.client then
        return caches.open(given.client, given.reads)
    end
    local client, message, code = clients.connect()
    if not client then
        return nil, message, code
    end
    return caches.open(client, given.reads)
end

---Registers a webhook. Raises if an option is wrong. nil, message, code: the configuration is,
---which is logged too, and the run ends with a failure.
---@param given kubelua.AdmitOptions
---@return kubelua.Admission?, string?, string?
function admission.admit(given)
    local where = core.script_line()
    local hook = hooks.new(given)
    local cluster, message, code = open_caches(given)
    if message then
        loop.add_hopeless(where, "admit " .. hook.name, message)
        return nil, message, code
    end
    local entry = { hook = hook, cluster = cluster, where = where, script = scripts.here(),
        sim = find_sim(given) }
    add(entry)
    tell(hook)
    local self = setmetatable({}, Admission)
    entries[self] = entry
    return self
end

local function entry_of(self)
    return entries[self] or misuse("admit: call its methods with a colon, as in hook:stop()")
end

function Admission:__tostring()
    return "kubelua.admit: " .. entry_of(self).hook.name
end

---It answers no more. The API server asks until its configuration is deleted.
function Admission:stop()
    stop(entry_of(self))
    forget_ended(entry_of(self).hook.name)
end

---The objects that tell the API server of it, for client:apply: a MutatingWebhookConfiguration, a
---ValidatingWebhookConfiguration, or both.
---@param address kubelua.AdmitAddress
---@return table[]
function Admission:configuration(address)
    return configuration.make(entry_of(self).hook, address)
end

local function tell_names()
    local names = {}
    for name in pairs(registered) do
        names[#names + 1] = #forget_ended(name) > 0 and name or nil
    end
    table.sort(names)
    return #names > 0 and table.concat(names, ", ") or "none"
end

local told_at = -math.huge

-- The API server shows no text of a 404. Anyone can send such requests: one line a minute at most.
local function tell_missing(path)
    if core.now() >= told_at + 60 then
        told_at = core.now()
        log("warn", "admit: a webhook was asked for at %s, which no script has any more: delete "
            .. "its configuration (kubectl get validatingwebhookconfigurations,"
            .. "mutatingwebhookconfigurations -l app.kubernetes.io/managed-by=kubelua)",
            (path:sub(1, 200):gsub("[^%w/.-]", "?")))
    end
end

---The answer of one webhook: the results of Hook:answer.
---@param entry kubelua.admission.Entry
---@param text string
---@param phase "validate"|"mutate"|nil
---@return integer, string, string, kubelua.AdmissionRequest?
function admission.answer_entry(entry, text, phase)
    local cluster = entry.cluster
    return entry.hook:answer(text, phase, cluster, cluster and caches.missing(cluster))
end

---The answer to a request of HTTP. The function of the script may wait.
---@param path string "/admit/NAME", "/admit/NAME/validate", "/admit/NAME/mutate"
---@param text string its body
---@return integer status
---@return string body
---@return string content_type
---@return kubelua.AdmissionRequest? request its object is as mutate left it
function admission.answer(path, text)
    local name, phase = path:match("^/admit/([^/]+)$"), nil
    if not name then
        name, phase = path:match("^/admit/([^/]+)/(%a+)$")
    end
    local entry = name and forget_ended(name)[1]
    if not entry or phase and not (phase == "validate" or phase == "mutate")
        or phase and not entry.hook.given[phase] then
        tell_missing(path)
        return 404, string.format("kubelua.admit: nothing is at %s; there are: %s\n",
            path:sub(1, 200), tell_names()), "text/plain; charset=utf-8"
    end
    return admission.answer_entry(entry, text, phase)
end

---The webhooks of a simulated cluster, in the order of their names, as an API server asks them.
---@param sim kubelua.Sim
---@return kubelua.admission.Entry[]
function admission.entries_of(sim)
    local list = {}
    for _, name in ipairs(sorted_keys(registered)) do
        for _, entry in ipairs(forget_ended(name)) do
            list[#list + 1] = entry.sim == sim and entry or nil
        end
    end
    return list
end

---The webhooks that can decide by now: their caches are known.
---@return kubelua.ReadyHook[]
function admission.ready()
    local list = {}
    for _, name in ipairs(sorted_keys(registered)) do
        local entry = forget_ended(name)[1]
        if entry and not (entry.cluster and caches.missing(entry.cluster)) then
            list[#list + 1] = configuration.ready_hook(entry.hook)
        end
    end
    return list
end

---Stops all webhooks, and returns their names: for a script that was only rehearsed.
---@return string[]
function admission.take_all()
    local names = {}
    for _, name in ipairs(sorted_keys(registered)) do
        local list = forget_ended(name)
        names[#names + 1] = list[1] and name or nil
        for _, entry in ipairs(list) do
            stop(entry)
        end
        registered[name] = nil
    end
    return names
end

---Asks a webhook as an API server would: for tests. nil, message: it has failed.
---@param name string
---@param given kubelua.AdmissionTrial
---@return kubelua.AdmissionAnswer?, string?
function admission.ask(name, given)
    local path = "/admit/" .. name .. (given.phase and "/" .. given.phase or "")
    local status, body, _, request = admission.answer(path, trial.review(given))
    return trial.answer(status, body, request)
end

return admission
