-- The gateway of the suite: an nginx with the nginx.conf that `kubelua gateway init` prints, on the
-- ports of the suite's Gateways, each of which gets an address of its own.
local conf = require "resty.kubelua.gateway.conf"
local features = require "resty.kubelua.gateway.features"
local nginx = require "nginx"

local plane = {}

local OPTIONS = [[connect = { kubeconfig = "%s" }, pool = { "10.43.0.0/24" }, features = { %s }]]

---True if nginx serves HTTP/1.1 and HTTP/2 without TLS on one port: since 1.25.1.
---@param copy table nginx_copies.find()
---@return boolean
function plane.has_both(copy)
    local major, minor, patch = copy.VERSION:match("^(%d+)%.(%d+)%.(%d+)")
    return major * 1000000 + minor * 1000 + patch >= 1025001
end

-- What the GatewayClass claims: as always, and KUBELUA_FEATURES.
local function features_of(copy)
    local list = features.list(plane.has_both(copy), true)
    for name in (os.getenv("KUBELUA_FEATURES") or ""):gmatch("%a+") do
        list[#list + 1] = name
    end
    return '"' .. table.concat(list, '", "') .. '"'
end

local function text_of(copy, folder, port)
    local options = nginx.surroundings(copy, folder)
    options.ports, options.tls_ports = { 80, 8080, 8090 }, { 443, 8443 }
    options.http2 = plane.has_both(copy) and "directive" or "listen"
    options.admin = "127.0.0.1:" .. port
    options.options = OPTIONS:format(os.getenv("KUBECONFIG"), features_of(copy))
    return (conf.text(options):gsub("worker_processes auto", "worker_processes 2"))
end

---@return spec.Nginx
function plane.start()
    return nginx.start { conf = text_of }
end

return plane
