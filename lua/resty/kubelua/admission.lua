-- kube.admit and kube.admission: admission webhooks in nginx. A location answers AdmissionReviews;
-- the functions run in each worker, and read what the owner has put into the shared map.
local copy_table = require "kubelua.copy_table"
local configuration = require "kubelua.admission.configuration"
local hooks = require "kubelua.admission.hook"
local misuse = require "kubelua.misuse"
local readiness = require "resty.kubelua.readiness"
local sorted_keys = require "kubelua.sorted_keys"
local writes = require "resty.kubelua.writes"

local admission = {}

---What kube.admit takes: the options of kubelua.admit but `reads` and `client`.
---@class resty.kubelua.AdmitOptions: kubelua.AdmitOptions
---@field tables? string[] that a script of kube.owner must have declared complete: see `unsynced`

---What the functions get as `cluster`.
---@class resty.kubelua.AdmitCluster
---@field lookup fun(table_name: string, key: string): any
---@field pick fun(name: string, options?: table): string?, any, integer?, boolean?

---What kube.admit returns.
---@class resty.kubelua.Admission
---@field configuration fun(self, address: kubelua.AdmitAddress): table[] see kubelua.Admission

-- Of each map: name -> { hook, tables, cluster }.
local registered = setmetatable({}, { __mode = "k" })

local function refuse_option(given, name, instead)
    if type(given) == "table" and given[name] ~= nil then
        misuse("kube.admit: there is no '%s' in nginx: %s", name, instead)
    end
end

---Registers a webhook; see kubelua.admit.
---@param map resty.kubelua.Map
---@param given resty.kubelua.AdmitOptions
---@param cluster resty.kubelua.AdmitCluster
---@return resty.kubelua.Admission
function admission.admit(map, given, cluster)
    refuse_option(given, "reads", "a script of kube.owner puts what a function needs into tables")
    refuse_option(given, "client", "the cluster is that of kube.init")
    local options = type(given) == "table" and copy_table(given) or given
    local tables = type(given) == "table" and given.tables or {}
    for _, name in ipairs(tables) do
        writes.check_table("kube.admit: tables", name)
    end
    if type(options) == "table" then
        options.tables = nil
    end
    local hook = hooks.new(options)
    registered[map] = registered[map] or {}
    if registered[map][hook.name] then
        misuse("kube.admit: there is one with the name '%s' already", hook.name)
    end
    registered[map][hook.name] = { hook = hook, tables = tables, cluster = cluster }
    return { configuration = function(_, address) return configuration.make(hook, address) end }
end

-- What is not known yet; nil: all is.
local function tell_missing(map, entry)
    local names = readiness.missing(map)
    for _, name in ipairs(entry.tables) do
        if not readiness.is_complete(map, name) then
            names[#names + 1] = name
        end
    end
    return names[1] and table.concat(names, ", ") .. " not complete" or nil
end

---The webhooks that can decide by now: what they read is complete.
---@param map resty.kubelua.Map
---@return kubelua.ReadyHook[]
function admission.list_ready(map)
    local list, all = {}, registered[map] or {}
    for _, name in ipairs(sorted_keys(all)) do
        local entry = all[name]
        if not tell_missing(map, entry) then
            list[#list + 1] = configuration.ready_hook(entry.hook)
        end
    end
    return list
end

-- The whole body; nginx has put a large one into a file.
local function read_body()
    ngx.req.read_body()
    local text = ngx.req.get_body_data()
    local path = not text and ngx.req.get_body_file()
    local file = path and io.open(path, "rb")
    if file then
        text = file:read("*a")
        file:close()
    end
    return text or ""
end

local function answer(map, uri)
    local path = uri:match("/admit/(.+)$") or ""
    local all = registered[map] or {}
    local entry, phase = all[path], nil
    if not entry then
        path, phase = path:match("^(.+)/(%a+)$")
        entry = path and all[path]
    end
    if not entry or phase and not (phase == "validate" or phase == "mutate")
        or phase and not entry.hook.given[phase] then
        return 404, "kube.admission: nothing is at " .. uri:sub(1, 200) .. "; there are: "
            .. table.concat(sorted_keys(all), ", ") .. "\n", "text/plain; charset=utf-8"
    elseif ngx.req.get_method() ~= "POST" then
        return 405, "only POST of an AdmissionReview\n", "text/plain; charset=utf-8"
    end
    return entry.hook:answer(read_body(), phase, entry.cluster, tell_missing(map, entry))
end

---Answers the request of this location: /admit/NAME, with /validate or /mutate behind it.
---@param map resty.kubelua.Map
function admission.serve(map)
    local status, body, content_type = answer(map, ngx.var.uri)
    ngx.status = status
    ngx.header["Content-Type"] = content_type
    ngx.header["Content-Length"] = #body
    ngx.print(body)
end

return admission
