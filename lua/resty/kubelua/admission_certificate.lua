-- kube.admit_certificate and kube.admit_handshake: the certificate of the server that answers
-- AdmissionReviews. The owner makes, renews and registers it (kubelua.admission.own_certificate),
-- and puts it into the shared map, where each worker finds it for a handshake.
local admission = require "resty.kubelua.admission"
local key_pair = require "resty.kubelua.key_pair"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"
local owner = require "resty.kubelua.owner"
local trace = require "kubelua.trace"
local writes = require "resty.kubelua.writes"

local certificate = {}

local WHAT = "kube.admit_certificate"
local TABLE, PAIR = "admission.certificate", "pair"
local TYPES = { service = "string", url = "string" }
local RETRY = 2 -- seconds until the Secret is tried again

-- The run of each map: when this worker becomes the owner again, the one before ends.
local current = {} ---@type table<resty.kubelua.Map, table>

-- Calls f(...) in the owner's task; nil, message: it failed, or raised an error.
local function try(f, ...)
    local called, result, message = pcall(f, ...)
    if called then
        return result, message
    elseif result == trace.CANCELED then
        error(result, 0)
    end
    return nil, tostring(result)
end

local function publish(map, cert, key)
    local ok, message = writes.put(map, TABLE, PAIR, { certificate = cert, key = key })
    return ok and writes.complete(map, TABLE), message
end

-- What keeps the certificate; it is tried for as long as this run is the current one.
local function open_source(run, open)
    local told
    while current[run.map] == run do
        local source, message = try(open, run.client, run.reached,
            function() return admission.list_ready(run.map) end, run.use, WHAT)
        if source then
            return source
        elseif message ~= told then
            log("error", "%s: no handshake goes well yet: %s", WHAT, message)
            told = message
        end
        run.kubelua.sleep(RETRY)
    end
end

local function follow(run)
    local source = open_source(run, require "kubelua.admission.own_certificate")
    while source and current[run.map] == run do
        if owner.is_owner(run.map) then
            local _, message = try(source.look, source, run.use)
            if message then
                log("error", "%s: the certificate before stays in use: %s", WHAT, message)
            end
        end
        run.kubelua.sleep(source.pause)
    end
end

-- A script of kube.owner.
local function run_script(map, kubelua, reached)
    local run = { map = map, kubelua = kubelua, reached = reached }
    current[map] = run
    function run.use(cert, key)
        return publish(map, cert, key)
    end
    run.client = assert(kubelua.connect())
    follow(run)
end

---kube.admit_certificate: lets the owner make and renew the certificate of the server that answers,
---in a Secret that all replicas share, and register the webhooks of kube.admit. Call it in
---init_by_lua.
---@param map resty.kubelua.Map
---@param reached kubelua.AdmitReached
function certificate.keep(map, reached)
    map:check_open(WHAT)
    options_of.check(WHAT, reached, TYPES)
    if (reached.service == nil) == (reached.url == nil) then
        misuse("%s: give service = \"NAMESPACE/NAME\" or url = \"https://HOST:PORT\"", WHAT)
    end
    local loaded, message = pcall(require, "kubelua.serve")
    if not loaded then
        misuse("%s: the module kubelua.serve makes certificates, and is missing here (%s). It is "
            .. "in Debian's package kubelua, and in builds with libmicrohttpd and GnuTLS", WHAT,
            tostring(message):match("^[^\n]*"))
    end
    owner.add(map, function(kubelua)
        run_script(map, kubelua, reached)
    end)
    local awaited = { TABLE }
    for _, name in ipairs(map.options.tables or {}) do
        awaited[#awaited + 1] = name
    end
    map.options.tables = awaited
end

---kube.admit_handshake: sets the certificate, in ssl_certificate_by_lua. Until the owner has one
---the handshake fails.
---@param map resty.kubelua.Map
function certificate.handshake(map)
    map:check_open("kube.admit_handshake")
    assert(require("ngx.ssl").clear_certs())
    if not key_pair.set(map, TABLE, PAIR) then
        ngx.log(ngx.WARN, WHAT, ": there is no certificate yet")
        return ngx.exit(ngx.ERROR)
    end
end

return certificate
