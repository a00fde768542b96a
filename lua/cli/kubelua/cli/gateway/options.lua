-- The options of kubelua gateway and of what follows it, for usage.lua.
local values = require "kubelua.cli.option_values"

local options = {}

local function to_port(text)
    local listened, named = text:match("^(%d+)=?(%d*)$")
    listened = tonumber(listened)
    named = tonumber(named) or listened
    if listened and listened > 0 and listened <= 65535 and named > 0 and named <= 65535 then
        return { listened = math.floor(listened), named = math.floor(named) }
    end
    return nil, "'" .. text .. "' is no port: write 80, or 8080=80 if nginx listens on 8080 for "
        .. "the Gateways' port 80"
end

local function add_init(gateway)
    local init = gateway:command("init", "Print an nginx.conf for this installation.")
    init:usage("Usage: kubelua gateway init [OPTIONS] > nginx.conf")
    init:epilog("For example: kubelua gateway init > /etc/nginx/nginx.conf\n"
        .. "             kubelua gateway init --port 8080=80 --tls-port 8443=443 > gateway.conf")
    init:option("-p --port", "A port without TLS; 8080=80 if the Gateways' port is another one. "
        .. "May be repeated. Default: 80."):argname("PORT"):count("*"):convert(to_port)
    init:option("-t --tls-port", "The same with TLS; 0: none. Default: 443."):argname("PORT")
        :count("*"):convert(function(text)
            return text == "0" and { listened = 0 } or to_port(text)
        end)
    init:option("-a --address", "Where clients reach this nginx, for the status of objects. May be "
        .. "repeated."):argname("ADDRESS"):count("*")
    init:option("--pool", "Addresses, such as 10.43.0.0/24: each Gateway gets one of its own. May "
        .. "be repeated."):argname("ADDRESSES"):count("*")
    init:option("--admin", "The address and port of /readyz, /metrics and /kubelua.")
        :argname("ADDRESS:PORT"):default("127.0.0.1:8181")
    init:flag("--ingress-nginx", "Also take the Ingresses of ingress-nginx's classes.")
    init:option("--nginx", "The program. Default: openresty if it is there, else nginx.")
        :argname("PROGRAM")
end

local function to_url(text)
    local url, problem = require("kubelua.url").parse(text)
    if not url then
        return nil, ("'%s' is no URL: %s"):format(text, problem)
    end
    return text
end

local function add_routes(gateway)
    local routes = gateway:command("routes", "Print the routes that a running gateway serves, and "
        .. "why objects are not served as they are written.")
    routes:usage("Usage: kubelua gateway routes [OPTIONS]")
    routes:epilog("For example: kubelua gateway routes --host shop.example.com\n"
        .. "             kubectl exec POD -- kubelua gateway routes -o wide")
    routes:option("-u --url", "The page of the gateway."):argname("URL")
        :default("http://127.0.0.1:8181/kubelua"):convert(to_url)
    routes:option("-n --namespace", "Only objects of this namespace."):argname("NS")
        :convert(values.to_namespace)
    routes:option("--host", "Only routes that a request for this host may meet."):argname("HOST")
    routes:option("--service", "Only routes to this Service, such as web/shop."):argname("NAME")
    routes:option("-o --output", "\"wide\": with listeners, matches, filters and messages; "
        .. "\"json\": the page as it is."):argname("FORMAT"):choices { "wide", "json" }
end

---Adds the command to the parser of the command line.
---@param parser table of argparse
function options.add(parser)
    local gateway = parser:command("gateway", "Work on the gateway: Ingresses and Gateways that "
        .. "nginx serves.")
    gateway:command_target("action"):require_command(true)
    add_init(gateway)
    add_routes(gateway)
    local check = gateway:command("check", "Say what differs if KubeLua's gateway serves these "
        .. "Ingresses in place of ingress-nginx: each annotation, path and host. Exit status: 0 "
        .. "nothing, 2 something, 1 a file that cannot be read.")
    check:usage("Usage: kubelua gateway check [OPTIONS] FILE|FOLDER...")
    check:epilog("For example: kubelua gateway check manifests/\n"
        .. "             helm template my-chart | kubelua gateway check -\n"
        .. "             kubelua gateway check --cluster --context production")
    check:argument("files", "Manifests (YAML or JSON); of a folder all files *.yaml, *.yml and "
        .. "*.json, also in folders below; \"-\" is standard input."):args("*")
    check:flag("--cluster", "Read the objects of a cluster: Ingresses, Services, Gateways, "
        .. "routes and, if it is allowed, Secrets.")
    check:option("--kubeconfig", "The kubeconfig to use, instead of KUBECONFIG or "
        .. "~/.kube/config."):argname("FILE")
    check:option("--context", "The context of the kubeconfig to use."):argname("NAME")
    check:option("-n --namespace", "The namespace of objects that have none in their file; with "
        .. "--cluster: read only this one."):argname("NS"):convert(values.to_namespace)
    check:option("--controller", "Also check Ingresses of this controller, such as "
        .. "k8s.io/internal-nginx."):argname("NAME")
    check:flag("-q --quiet", "Print only what differs.")
end

---Returns a message if options exclude each other, or if one is missing; else nil.
---@param given table
---@return string?
function options.find_contradiction(given)
    if given.action ~= "check" then
        return nil
    elseif given.cluster and #given.files > 0 then
        return "--cluster and files: choose one of them"
    elseif not given.cluster and #given.files == 0 then
        return "missing argument 'files': name manifests, or give --cluster"
    elseif not given.cluster and (given.kubeconfig or given.context) then
        return "--kubeconfig and --context need --cluster"
    end
    return nil
end

return options
