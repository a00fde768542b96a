-- The listeners of one Gateway: what each serves, and why it does not. Protocols are HTTP and HTTPS
-- (TLS that ends here); listeners of one port that cannot be told apart are all refused, as Gateway
-- API says ("MUST NOT pick one conflicting Listener as the winner"). Pure.
local hostnames = require "resty.kubelua.gateway.compile.hostnames"
local references = require "resty.kubelua.gateway.compile.references"

local listeners = {}

local GROUP = "gateway.networking.k8s.io"
local ROUTES = { "HTTPRoute", "GRPCRoute" }
local SERVED = { HTTPRoute = true, GRPCRoute = true }

---@class resty.kubelua.gateway.Failure
---@field reason string
---@field message string

---@class resty.kubelua.gateway.Listener
---@field name string
---@field port integer
---@field protocol string
---@field hostname string "*" for all
---@field tls boolean
---@field kinds table<string, true> of routes
---@field lacks_h2c boolean on HTTP this nginx speaks no HTTP/2
---@field namespaces table allowedRoutes.namespaces
---@field certificates string[] "namespace/name"
---@field refused resty.kubelua.gateway.Failure? Accepted is False
---@field conflict resty.kubelua.gateway.Failure? Conflicted is True
---@field unresolved resty.kubelua.gateway.Failure? ResolvedRefs is False
---@field idle resty.kubelua.gateway.Failure? Programmed is False though it is accepted
---@field overlap string? the message of OverlappingTLSConfig

local function failure(reason, message, ...)
    return { reason = reason, message = message:format(...) }
end

-- GRPCRoutes need HTTP/2; on HTTP that is h2c beside HTTP/1.1, which nginx has since 1.25.1.
local function can_serve(listener, kind, options)
    return SERVED[kind] and (kind ~= "GRPCRoute" or listener.protocol == "HTTPS"
        or options.h2c ~= false)
end

local function read_kinds(listener, allowed, options)
    if not allowed or #allowed == 0 then
        for _, kind in ipairs(ROUTES) do
            listener.kinds[kind] = can_serve(listener, kind, options) or nil
        end
        return
    end
    for _, kind in ipairs(allowed) do
        if (kind.group or GROUP) == GROUP and can_serve(listener, kind.kind, options) then
            listener.kinds[kind.kind] = true
        else
            listener.unresolved = failure("InvalidRouteKinds", "routes of the kind %s are not"
                .. " served here", tostring(kind.kind))
        end
    end
    if not next(listener.kinds) then
        listener.idle = failure("Invalid", "no kind of route can be attached")
    end
end

local function check_certificate(context, ref)
    local namespace = ref.namespace or context.namespace
    if (ref.group or "") ~= "" or (ref.kind or "Secret") ~= "Secret" then
        return failure("InvalidCertificateRef", "the certificate %s is not a Secret",
            tostring(ref.name))
    end
    context.reads[references.key("Secret", namespace, ref.name)] = true
    if not references.permitted(context.grants[namespace], { kind = "Gateway",
        namespace = context.namespace, to_group = "", to_kind = "Secret",
        to_namespace = namespace, to_name = ref.name }) then
        return failure("RefNotPermitted", "no ReferenceGrant in %s lets a Gateway of %s refer to"
            .. " the Secret %s", namespace, context.namespace, ref.name)
    end
    local check = context.options.certificate
    local valid, message = true, nil
    if check then
        valid, message = check(namespace, ref.name)
    end
    if not valid then
        return failure("InvalidCertificateRef", "the Secret %s/%s has no certificate that can be"
            .. " used: %s", namespace, ref.name, message or "it is not there")
    end
    return nil, namespace .. "/" .. ref.name
end

-- Of several certificates the valid ones are served; one that is not is said.
local function read_certificates(context, listener, tls)
    if (tls.mode or "Terminate") ~= "Terminate" then
        listener.refused = failure("UnsupportedValue", "TLS of the mode %s is not served on HTTPS",
            tls.mode)
        return
    end
    for _, ref in ipairs(tls.certificateRefs or {}) do
        local failed, name = check_certificate(context, ref)
        listener.unresolved = failed or listener.unresolved
        listener.certificates[#listener.certificates + 1] = name
    end
    if #listener.certificates == 0 then
        listener.unresolved = listener.unresolved
            or failure("InvalidCertificateRef", "no certificate is named")
        listener.idle = failure("Invalid", "there is no certificate: %s",
            listener.unresolved.message)
    end
end

-- Clients that must show a certificate are not supported: better no listener than one that lets
-- everybody in.
local function asks_for_client_certificates(frontend, port)
    for _, entry in ipairs(frontend.perPort or {}) do
        if entry.port == port then
            return entry.tls and entry.tls.validation ~= nil
        end
    end
    return frontend.default ~= nil and frontend.default.validation ~= nil
end

local function read_tls(context, listener, spec)
    if listener.protocol ~= "HTTPS" then
        return
    end
    listener.tls = true
    read_certificates(context, listener, spec.tls or {})
    if context.frontend and asks_for_client_certificates(context.frontend, spec.port) then
        listener.refused = failure("UnsupportedValue",
            "certificates of clients (tls.frontend) are not checked by this gateway")
    end
end

local function compile_one(context, spec)
    if type(spec.name) ~= "string" or type(spec.port) ~= "number" or spec.port % 1 ~= 0 then
        error("a listener has no name, or no port", 0)
    end
    local allowed = spec.allowedRoutes or {}
    local listener = { name = spec.name, port = spec.port, protocol = spec.protocol,
        hostname = hostnames.of(spec.hostname), tls = false, kinds = {}, certificates = {},
        lacks_h2c = spec.protocol == "HTTP" and context.options.h2c == false,
        namespaces = allowed.namespaces or {} }
    local ports = context.options.ports
    if spec.protocol ~= "HTTP" and spec.protocol ~= "HTTPS" then
        listener.refused = failure("UnsupportedProtocol", "the protocol %s is not served",
            tostring(spec.protocol))
        return listener
    end
    read_kinds(listener, allowed.kinds, context.options)
    read_tls(context, listener, spec)
    if ports and not ports[spec.port] then
        listener.refused = failure("PortUnavailable", "nginx does not listen on port %s",
            tostring(spec.port))
    end
    return listener
end

-- What is wrong between two listeners, or nil.
local function conflict_between(a, b)
    if a.port ~= b.port then
        return nil
    elseif a.protocol ~= b.protocol then
        return failure("ProtocolConflict", "the listeners %s and %s have the port %d and different"
            .. " protocols", a.name, b.name, a.port)
    elseif a.hostname == b.hostname then
        return failure("HostnameConflict", "the listeners %s and %s have the port %d and the same"
            .. " hostname", a.name, b.name, a.port)
    end
end

local function overlap_between(a, b)
    return a.tls and b.tls and a.port == b.port and a.hostname ~= b.hostname
        and hostnames.intersect(a.hostname, b.hostname) ~= nil
end

-- A listener of an unknown protocol is refused anyway, and keeps none from being served.
local function known(listener)
    return not (listener.refused and listener.refused.reason == "UnsupportedProtocol")
end

-- At most 64 listeners: each pair is looked at.
local function compare(list)
    for i, a in ipairs(list) do
        for j = i + 1, #list do
            local b = list[j]
            local conflict = known(a) and known(b) and conflict_between(a, b)
            if conflict then
                a.conflict, b.conflict = a.conflict or conflict, b.conflict or conflict
            elseif overlap_between(a, b) then
                a.overlap = a.overlap or ("its hostnames overlap those of " .. b.name)
                b.overlap = b.overlap or ("its hostnames overlap those of " .. a.name)
            end
        end
    end
    for _, listener in ipairs(list) do
        listener.refused = listener.conflict or listener.refused
    end
end

---@class resty.kubelua.gateway.ListenerContext
---@field namespace string of the Gateway
---@field reads table<string, true> keys of Secrets
---@field grants table<string, table<string, table>>
---@field options table
---@field frontend table? spec.tls.frontend

---@param context resty.kubelua.gateway.ListenerContext
---@param specs table[]? spec.listeners
---@return resty.kubelua.gateway.Listener[]
function listeners.compile(context, specs)
    local list = {}
    for i, spec in ipairs(specs or {}) do
        list[i] = compile_one(context, spec)
    end
    compare(list)
    return list
end

---True if requests reach the listener.
---@param listener resty.kubelua.gateway.Listener
---@return boolean
function listeners.programmed(listener)
    return not listener.refused and not listener.idle
end

return listeners
