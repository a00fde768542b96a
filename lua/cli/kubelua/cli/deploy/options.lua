-- The options of kubelua deploy, for usage.lua.
local values = require "kubelua.cli.option_values"

local options = {}

---Adds the command to the parser of the command line.
---@param parser table of argparse
function options.add(parser)
    local deploy = parser:command("deploy", "Print the manifests that run Lua scripts in a "
        .. "cluster: Namespace, ServiceAccount, the smallest RBAC (see kubelua plan), a ConfigMap "
        .. "with the script and its modules, and a Deployment.")
    deploy:usage("Usage: kubelua deploy [OPTIONS] SCRIPT... [-- ARGS]")
    deploy:epilog("For example: kubelua deploy -n shop shop.lua | kubectl apply -f -\n"
        .. "             kubelua deploy --sim=cluster.yaml --helm chart shop.lua -- --flag\n"
        .. "After a change of the script, do it again: its ConfigMap has a new name, so the "
        .. "Deployment rolls out; kubectl rollout undo goes back.")
    deploy:argument("scripts", "Lua scripts: a Deployment for each. What follows -- are arguments "
        .. "of the script."):args("+")
    deploy:option("-n --namespace", "Where they run. (default: the name of the first script)")
        :argname("NS"):convert(values.to_namespace)
    deploy:option("--name", "The name of the Deployment and of what belongs to it. (default: that "
        .. "of the script's file)"):argname("NAME"):convert(values.to_name)
    deploy:option("--image", "The image of kubelua. (default: ghcr.io/kubelua/kubelua:VERSION)")
        :argname("IMAGE")
    deploy:option("--replicas", "How many copies run. (default: 2 if each controller of the "
        .. "script has `leader`, else 1)"):argname("NUMBER"):convert(values.to_count)
    deploy:flag("--sim", "--sim=FILE loads the objects of a manifest (YAML or JSON) into the "
        .. "simulated cluster, in which the script shows what it asks for. It may be given "
        .. "several times.")
    deploy:option("--sim-load"):argname("FILE"):count("*"):hidden(true)
    deploy:option("--replay", "The same with a recording (see kubelua record)."):argname("FILE")
    values.add_real(deploy)
    deploy:option("--rbac", "Take the Roles and ClusterRoles of this file, not computed ones.")
        :argname("FILE")
    deploy:option("--grace", "As for kubelua run; the pod gets 5 seconds more. (default: 25)")
        :argname("SECONDS"):convert(values.to_seconds)
    deploy:option("--log", "The format of the log in the cluster.")
        :argname("FORMAT"):choices { "text", "json" }:default("json")
    deploy:flag("--pod-monitor", "Also print a PodMonitor, for the operator of Prometheus.")
    deploy:option("--file", "Also put this file, which the script reads, into the ConfigMap. The "
        .. "script runs in its own folder there. It may be given several times.")
        :argname("PATH"):count("*")
    deploy:option("--kustomize", "Write a base of kustomize into this new folder.")
        :argname("DIR")
    deploy:option("--helm", "Write a Helm chart into this new folder, with values for image, "
        .. "replicas, resources and namespace."):argname("DIR")
end

---The arguments before "--" and those behind it: SCRIPT... would take both.
---@param arguments string[]
---@return string[] before, string[] behind
function options.split(arguments)
    local lists, at = { {}, {} }, 1
    for _, argument in ipairs(arguments) do
        if argument == "--" and at == 1 then
            at = 2
        else
            table.insert(lists[at], argument)
        end
    end
    return lists[1], lists[2]
end

---Returns a message if options exclude each other; else nil.
---@param given table
---@return string?
function options.find_contradiction(given)
    local alone = given.name and "--name" or given.rbac and "--rbac"
        or given.file and #given.file > 0 and "--file" or #given.args > 0 and "arguments behind --"
    if given.kustomize and given.helm then
        return "--kustomize and --helm: choose one of them"
    elseif #given.scripts > 1 and alone then
        return alone .. ": for one script only; call kubelua deploy for each"
    end
    return nil
end

return options
