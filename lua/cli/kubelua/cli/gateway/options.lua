-- The options of kubelua gateway and of what follows it, for usage.lua.
local values = require "kubelua.cli.option_values"

local options = {}

---Adds the command to the parser of the command line.
---@param parser table of argparse
function options.add(parser)
    local gateway = parser:command("gateway", "Work on the gateway: Ingresses and Gateways that "
        .. "nginx serves.")
    gateway:command_target("action"):require_command(true)
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
    if given.cluster and #given.files > 0 then
        return "--cluster and files: choose one of them"
    elseif not given.cluster and #given.files == 0 then
        return "missing argument 'files': name manifests, or give --cluster"
    elseif not given.cluster and (given.kubeconfig or given.context) then
        return "--kubeconfig and --context need --cluster"
    end
    return nil
end

return options
