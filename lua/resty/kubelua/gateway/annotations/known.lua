-- The annotations of ingress-nginx, and what becomes of each: for annotations.lua, for
-- `kubelua gateway check`, and for the table in docs/GATEWAY.md, which a spec compares with this.
local known = {}

---@class kubelua.gateway.KnownAnnotation
---@field support "yes"|"differs"|"no"
---@field text string? what differs; with "no": what does not happen
---@field instead string? what to do instead
---@field by_value boolean? only some values differ, which their reader tells

known.PREFIX = "nginx.ingress.kubernetes.io/"

known.SCRIPT = "kubelua.dev/lua" -- names a ConfigMap with Lua for the paths

-- Those that work as ingress-nginx documents them.
local YES = [[rewrite-target use-regex ssl-redirect force-ssl-redirect preserve-trailing-slash
    app-root permanent-redirect permanent-redirect-code temporal-redirect temporal-redirect-code
    from-to-www-redirect server-alias backend-protocol upstream-vhost x-forwarded-prefix
    proxy-connect-timeout proxy-read-timeout proxy-send-timeout proxy-next-upstream-tries
    proxy-next-upstream-timeout canary canary-weight canary-weight-total canary-by-header
    canary-by-header-value canary-by-header-pattern canary-by-cookie affinity
    affinity-canary-behavior session-cookie-name session-cookie-path session-cookie-domain
    session-cookie-max-age session-cookie-samesite session-cookie-secure
    session-cookie-change-on-failure upstream-hash-by load-balance whitelist-source-range
    allowlist-source-range denylist-source-range enable-cors cors-allow-origin cors-allow-methods
    cors-allow-headers cors-allow-credentials cors-expose-headers cors-max-age auth-type
    auth-secret auth-secret-type auth-realm limit-rps limit-rpm limit-connections
    limit-burst-multiplier limit-whitelist limit-allowlist limit-rate limit-rate-after auth-url
    auth-method auth-signin auth-signin-redirect-param auth-response-headers auth-request-redirect
    auth-always-set-cookie satisfy
    default-backend proxy-ssl-name
    proxy-cookie-domain proxy-cookie-path proxy-redirect-from
    proxy-redirect-to]]

local SNIPPET = "write the same in Lua, in a ConfigMap that kubelua.dev/lua names"
local CONF = "set it in nginx.conf, where it holds for all routes"

-- name = { support, what differs, what to do instead }
local OTHERS = {
    ["affinity-mode"] = { "differs", "a session stays on its pod while the pod is there, as with "
        .. "\"persistent\"; \"balanced\" would move sessions to new pods", by_value = true },
    ["session-cookie-expires"] = { "differs", "is sent as Max-Age, without Expires" },
    ["session-cookie-conditional-samesite-none"] = { "no",
        "SameSite=None is also sent to browsers that misread it (those before 2020)" },
    ["proxy-body-size"] = { "differs", "a stream of gRPC has no limit, nor has a body over 4g "
        .. "whose length is not said before", by_value = true },
    ["proxy-next-upstream"] = { "differs", "of statuses only http_500, http_502, http_503 and "
        .. "http_504 make nginx ask another endpoint, and none of gRPC", by_value = true },
    ["service-upstream"] = { "differs", "requests go to the endpoints, not to the Service's IP" },
    ["proxy-buffering"] = { "differs", "it does not hold where proxy-next-upstream names a status",
        by_value = true },
    ["proxy-request-buffering"] = { "no", "request bodies are buffered as in nginx.conf", CONF },
    ["proxy-buffer-size"] = { "no", "the size of buffers is that of nginx.conf (8k); a larger "
        .. "response header is a 502", CONF, by_value = true },
    ["proxy-buffers-number"] = { "no", "buffers are those of nginx.conf", CONF },
    ["custom-http-errors"] = { "no", "errors of the backend reach the client as they are",
        "replace them in Lua (kubelua.dev/lua)" },
    ["custom-headers"] = { "no", "the headers of the ConfigMap are not added",
        "use an HTTPRoute with the filter ResponseHeaderModifier" },
    ["configuration-snippet"] = { "no", "text for nginx.conf is not taken from objects", SNIPPET },
    ["server-snippet"] = { "no", "text for nginx.conf is not taken from objects", SNIPPET },
    ["auth-snippet"] = { "no", "text for nginx.conf is not taken from objects", SNIPPET },
    ["stream-snippet"] = { "no", "there is no stream proxy", "use a Service of type LoadBalancer" },
    ["modsecurity-snippet"] = { "no", "there is no ModSecurity",
        "put a firewall for web applications in front" },
    ["ssl-passthrough"] = { "no", "TLS ends in nginx, so the backend gets no TLS handshake of the "
        .. "client", "use a Service of type LoadBalancer, or backend-protocol: HTTPS" },
    ["auth-tls-secret"] = { "no", "client certificates are not asked for: the paths are denied "
        .. "(503), not left unguarded", "check certificates in the backend, or in nginx.conf "
        .. "(ssl_verify_client) for all hosts" },
    ["mirror-target"] = { "no", "requests are not mirrored",
        "use an HTTPRoute with the filter RequestMirror" },
    ["proxy-ssl-verify"] = { "no", "the certificates of backends are not checked",
        "set proxy_ssl_verify and proxy_ssl_trusted_certificate in http of nginx.conf: one "
        .. "authority for all backends of HTTPS" },
    ["proxy-ssl-secret"] = { "no", "no client certificate is sent to the backend" },
    ["proxy-ssl-server-name"] = { "differs", "a name is always sent: that of proxy-ssl-name, or "
        .. "the Host", by_value = true },
    ["auth-cache-key"] = { "no", "each request asks the auth service" },
    ["auth-proxy-set-headers"] = { "no", "the headers of the ConfigMap are not sent to the auth "
        .. "service" },
    ["upstream-hash-by-subset"] = { "no", "a key has one pod, not a subset of them" },
    ["ssl-ciphers"] = { "no", "ciphers are those of nginx.conf", CONF },
    ["enable-access-log"] = { "no", "the access log is that of nginx.conf", CONF },
    ["enable-rewrite-log"] = { "no", "rewrites are not logged" },
    ["enable-opentelemetry"] = { "no", "there is no tracing by nginx" },
    ["enable-global-auth"] = { "no", "there is no auth service for all; each Ingress names one" },
    ["proxy-http-version"] = { "no", "backends get HTTP/1.1" },
    ["connection-proxy-header"] = { "no", "the header Connection to backends is that of "
        .. "nginx.conf" },
    ["http2-push-preload"] = { "no", "nothing is pushed; browsers have removed it" },
    ["use-port-in-redirects"] = { "no", "redirects to https name no port" },
    ["relative-redirects"] = { "no", "redirects have the whole URL" },
    ["secure-backends"] = { "no", "was removed from ingress-nginx in 0.24",
        "write backend-protocol: HTTPS" },
}

-- Names that share the words of another.
local SAME = {
    ["proxy-busy-buffers-size"] = "proxy-buffers-number",
    ["proxy-max-temp-file-size"] = "proxy-buffers-number",
    ["client-body-buffer-size"] = "proxy-request-buffering",
    ["enable-modsecurity"] = "modsecurity-snippet",
    ["enable-owasp-core-rules"] = "modsecurity-snippet",
    ["enable-owasp-modsecurity-crs"] = "modsecurity-snippet",
    ["modsecurity-transaction-id"] = "modsecurity-snippet",
    ["auth-tls-verify-depth"] = "auth-tls-secret", ["auth-tls-verify-client"] = "auth-tls-secret",
    ["auth-tls-error-page"] = "auth-tls-secret", ["auth-tls-match-cn"] = "auth-tls-secret",
    ["auth-tls-pass-certificate-to-upstream"] = "auth-tls-secret",
    ["mirror-request-body"] = "mirror-target", ["mirror-host"] = "mirror-target",
    ["proxy-ssl-verify-depth"] = "proxy-ssl-verify", ["proxy-ssl-ciphers"] = "ssl-ciphers",
    ["proxy-ssl-protocols"] = "ssl-ciphers", ["ssl-prefer-server-ciphers"] = "ssl-ciphers",
    ["auth-cache-duration"] = "auth-cache-key", ["auth-keepalive"] = "auth-cache-key",
    ["auth-keepalive-share-vars"] = "auth-cache-key",
    ["auth-keepalive-requests"] = "auth-cache-key",
    ["auth-keepalive-timeout"] = "auth-cache-key",
    ["upstream-hash-by-subset-size"] = "upstream-hash-by-subset",
    ["opentelemetry-trust-incoming-span"] = "enable-opentelemetry",
    ["opentelemetry-operation-name"] = "enable-opentelemetry",
    ["enable-opentracing"] = "enable-opentelemetry",
}

---Every annotation of ingress-nginx by its name without the prefix.
---@type table<string, kubelua.gateway.KnownAnnotation>
known.ALL = {}
for name in YES:gmatch("%S+") do
    known.ALL[name] = { support = "yes" }
end
for name, each in pairs(OTHERS) do
    known.ALL[name] = { support = each[1], text = each[2], instead = each[3],
        by_value = each.by_value }
end
for name, other in pairs(SAME) do
    known.ALL[name] = known.ALL[other]
end

-- Names that manifests often have although ingress-nginx never had them, or no longer has.
known.NEVER = {
    ["websocket-services"] = "WebSockets work without it",
    ["proxy-set-headers"] = "is a key of the controller's ConfigMap; set headers with an "
        .. "HTTPRoute's filter RequestHeaderModifier",
    ["add-base-url"] = "was removed in 0.22; let the backend know its base path",
    ["grpc-backend"] = "was removed; write backend-protocol: GRPC",
    ["ssl-proxy-headers"] = "X-Forwarded-Proto is sent without it",
    ["hsts"] = "is a key of the controller's ConfigMap; set the header in nginx.conf",
}

-- Annotations of other controllers for Ingresses, by what their names begin with.
local FOREIGN = { ["nginx.org/"] = "NGINX Ingress Controller of F5",
    ["nginx.com/"] = "NGINX Ingress Controller of F5",
    ["traefik.ingress.kubernetes.io/"] = "Traefik", ["haproxy.org/"] = "HAProxy",
    ["haproxy-ingress.github.io/"] = "HAProxy Ingress", ["konghq.com/"] = "Kong",
    ["alb.ingress.kubernetes.io/"] = "AWS Load Balancer Controller",
    ["appgw.ingress.kubernetes.io/"] = "Azure Application Gateway",
    ["ingress.cloud.google.com/"] = "GKE Ingress", ["projectcontour.io/"] = "Contour",
    ["ingress.kubernetes.io/"] = "old controllers",
}

---The controller that an annotation is for, if it is not ingress-nginx.
---@param key string
---@return string?
function known.foreign(key)
    for prefix, controller in pairs(FOREIGN) do
        if key:sub(1, #prefix) == prefix then
            return controller
        end
    end
end

---The annotation that is meant by a wrong name: one that differs in a letter or two.
---@param name string
---@return string?
function known.nearest(name)
    local plain = name:lower():gsub("[_%-]", "")
    for each in pairs(known.ALL) do
        local other = each:gsub("-", "")
        if other == plain or other == plain .. "s" or other .. "s" == plain then
            return each
        end
    end
end

return known
