-- default-backend: the Service that answers where a path's own has no endpoint. As from
-- ingress-nginx, it gets headers that say of what: images for error pages choose the page by them.
local default_backend = {}

local set_header = ngx.req.set_header

---Sets these headers of the request.
---@param rule table
---@param backend table the one without an endpoint
function default_backend.tell(rule, backend)
    local namespace, name = rule.source:match("^Ingress ([^/]+)/(%S+)")
    local service, port = backend.service:match("/(.+):([^:]*)$")
    set_header("X-Code", "503")
    set_header("X-Format", ngx.var.http_accept)
    set_header("X-Namespace", namespace)
    set_header("X-Ingress-Name", name)
    set_header("X-Service-Name", service)
    set_header("X-Service-Port", port)
end

return default_backend
