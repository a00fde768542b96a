-- Parses the command line: the options of kubelua run, sim, test, ..., and their help.
local argparse = require "argparse"
local deploy_options = require "kubelua.cli.deploy.options"
local gateway_options = require "kubelua.cli.gateway.options"
local values = require "kubelua.cli.option_values"

local usage = {}

local to_seconds = values.to_seconds
local to_seed = values.to_seed
local to_tags = values.to_tags
local to_factor = values.to_factor
local to_offset = values.to_offset
local to_address = values.to_address
local to_served = values.to_served
local to_admitted = values.to_admitted
local to_namespace = values.to_namespace
local to_role = values.to_role
local to_token = values.to_token
local to_user = values.to_user
local to_token_of_file = values.to_token_of_file
local to_users_of_file = values.to_users_of_file
local to_config_map = values.to_config_map

local function add_run(parser)
    local run = parser:command("run", "Run a Lua script and its handlers, until Ctrl-C or until "
        .. "there is nothing left to wait for.")
    run:usage("Usage: kubelua run [OPTIONS] SCRIPT [ARGS]")
    run:epilog("For example: kubelua run --sim=cluster.yaml watch.lua\n"
        .. "             kubelua run --context staging watch.lua -- --its-own-flag")
    run:argument("script", "A Lua script; \"-\" reads it from standard input."):args("?")
    run:argument("args", "Arguments for the script: arg[1], arg[2], ... and `...`. "
        .. "Put -- before arguments that begin with a dash."):args("*")
    run:option("--kubeconfig", "The kubeconfig to use, instead of KUBECONFIG or ~/.kube/config.")
        :argname("FILE")
    run:option("--context", "The context of the kubeconfig to use."):argname("NAME")
    run:option("--server", "The URL of the API server, such as https://10.0.0.1:6443.")
        :argname("URL")
    run:option("-n --namespace", "The namespace to use where the script names none. "
        .. "Without it, informers have all namespaces."):argname("NS"):convert(to_namespace)
    run:flag("--sim", "Start a simulated API server in this process, and connect the script "
        .. "to it. --sim=FILE also loads the objects of a manifest (YAML or JSON); it may be "
        .. "given several times.")
    run:option("--sim-load"):argname("FILE"):count("*"):hidden(true)
    run:option("--record", "Write every event of the script's informers to FILE; "
        .. "kubelua sim --replay FILE plays them again.")
        :argname("FILE")
    run:option("--log", "The format of the log on standard error: text, or json, one record a "
        .. "line. (default: KUBELUA_LOG_FORMAT, or text)"):argname("FORMAT")
        :choices { "text", "json" }
    run:option("--log-level", "The lowest level that is written: debug, info, warn, error or off. "
        .. "(default: KUBELUA_LOG_LEVEL, KUBELUA_LOG, or info)"):argname("LEVEL")
        :choices { "debug", "info", "warn", "error", "off" }
    run:option("--for", "Stop after this many seconds. The exit status is 1 if no informer had its "
        .. "first list by then, or if a controller lacks one.")
        :argname("SECONDS"):target("duration"):convert(to_seconds)
    run:flag("--dry-run", "Write nothing: the server checks each write (dryRun=All), and what it "
        .. "changes is shown as a diff. Ends after one pass: 0 without changes, 2 with changes, 1 "
        .. "after a failure.")
    run:flag("--once", "Handle and reconcile what is there, and what that causes, and end: 0, or 1 "
        .. "if a key or a handler still fails.")
    run:option("--serve", "Serve /metrics (Prometheus), /healthz, /readyz and /status (JSON) on "
        .. "this address; :8080 is port 8080 of all addresses, port 0 a free one.")
        :argname("ADDRESS:PORT"):convert(to_served)
    run:option("--admit", "Serve the webhooks of kubelua.admit, by HTTPS, at /admit/NAME on this "
        .. "address; with --admit-service, --admit-url, or --admit-cert and --admit-key.")
        :argname("ADDRESS:PORT"):convert(to_admitted)
    run:option("--admit-service", "The Service that leads to --admit: makes a certificate for it, "
        .. "which is kept in the Secret NAME-admit and renewed, and registers the webhooks.")
        :argname("[NAMESPACE/]NAME[:PORT]")
    run:option("--admit-url", "The same for a URL without a path, at which the API server reaches "
        .. "--admit."):argname("https://HOST:PORT")
    run:option("--admit-cert", "The certificate of --admit, and those that it depends on (PEM). "
        .. "The file is read again when it changes."):argname("FILE")
    run:option("--admit-key", "The private key of that certificate (PEM)."):argname("FILE")
    run:flag("--reload", "Replace the script when it or one of its modules is saved, or after "
        .. "SIGHUP, over the same caches and connections. A new one that fails leaves the old one "
        .. "running. --reload=configmap/NAME[:KEY] or configmap/NAMESPACE/NAME[:KEY]: the script "
        .. "comes from that ConfigMap; without :KEY, SCRIPT names the key.")
    run:option("--reload-from"):argname("CONFIGMAP"):convert(to_config_map):hidden(true)
    run:option("--grace", "How long runs of controllers may go on after SIGTERM or Ctrl-C, which a "
        .. "second signal ends. Kubernetes kills a pod after 30 seconds. (default: 25)")
        :argname("SECONDS"):convert(to_seconds)
end

local function add_record(parser)
    local record = parser:command("record", "Record the changes of resources in a cluster: one "
        .. "line of JSON for each change.")
    record:epilog("For example: kubelua record --output shop.ndjson pods deployments\n"
        .. "             kubelua sim --replay shop.ndjson --write-kubeconfig sim.yaml")
    record:argument("resources", "What to record, named as for kubectl: pods, "
        .. "deployments.apps, ..."):args("+")
    record:option("--kubeconfig", "The kubeconfig to use, instead of KUBECONFIG or "
        .. "~/.kube/config."):argname("FILE")
    record:option("--context", "The context of the kubeconfig to use."):argname("NAME")
    record:option("--server", "The URL of the API server, such as https://10.0.0.1:6443.")
        :argname("URL")
    record:option("-n --namespace", "Record only this namespace."):argname("NS")
        :convert(to_namespace)
    record:option("-l --labels", "Record only objects with these labels, such as app=shop.")
        :argname("SELECTOR")
    record:option("-o --output", "The file to write. Default: standard output.")
        :argname("FILE")
    record:option("--for", "Stop after this many seconds. Default: run until Ctrl-C.")
        :argname("SECONDS"):target("duration"):convert(to_seconds)
end

local function add_sim(parser)
    local sim = parser:command("sim", "Run a simulated API server on a port, for kubectl and any "
        .. "other client.")
    sim:epilog("For example: kubelua sim --tls --load cluster.yaml --write-kubeconfig sim.yaml")
    sim:option("--listen", "The address and port to listen on; port 0 chooses a free one.")
        :argname("ADDRESS:PORT"):default("127.0.0.1:0"):convert(to_address)
    sim:option("--load", "Load the objects of these manifests (YAML or JSON).")
        :argname("FILE"):args("+"):count("*")
    sim:option("--replay", "Start with the first objects of a recording (see kubelua record). "
        .. "Repeat its changes as soon as a client watches."):argname("FILE")
    sim:option("--speed", "With --replay: repeat the changes this many times as fast as they "
        .. "happened; 0: without pauses. (default: 1)"):argname("FACTOR"):convert(to_factor)
    sim:flag("--tls", "Serve HTTPS with a new certificate, which the kubeconfig of "
        .. "--write-kubeconfig trusts.")
    sim:flag("--controllers", "Also simulate nodes, a scheduler, a kubelet, and the controllers "
        .. "of Deployments, ReplicaSets, Jobs and EndpointSlices, so that pods run.")
    sim:option("--token", "Require this bearer token from clients; turns on --tls.")
        :argname("TOKEN"):convert(to_token)
    sim:option("--user", "Add a user, who logs in with this bearer token. Repeat the option for "
        .. "more users. Turns on --tls.")
        :argname("NAME:TOKEN[:GROUP,...]"):count("*"):target("users"):convert(to_user)
    sim:option("--token-file", "The same as --token, with the token in a file: every user of the "
        .. "machine can read arguments."):argname("FILE"):convert(to_token_of_file)
    sim:option("--user-file", "The same as --user, for each line of a file.")
        :argname("FILE"):count("*"):target("user_files"):convert(to_users_of_file)
    sim:flag("--rbac", "Let a user do only what Roles and their bindings allow (RBAC); turns on "
        .. "--tls. Try: kubectl --as NAME --as-group GROUP.")
    sim:option("--clock-offset", "Set the server's clock ahead of this machine's; a number below "
        .. "0 sets it behind.")
        :argname("SECONDS"):convert(to_offset)
    sim:option("--write-kubeconfig", "Write a kubeconfig for this server, to use as "
        .. "kubectl --kubeconfig FILE.")
        :argname("FILE")
    sim:option("--for", "Stop after this many seconds. Default: run until Ctrl-C.")
        :argname("SECONDS"):target("duration"):convert(to_seconds)
end

local function add_tags(result, target, tags)
    result[target] = result[target] or {}
    for _, tag in ipairs(tags) do
        table.insert(result[target], tag)
    end
end

local function add_test(parser)
    local test = parser:command("test", "Run Lua specs in the style of busted (describe, it, "
        .. "assert), such as tests of a script against a simulated cluster.")
    test:usage("Usage: kubelua test [OPTIONS] SPEC...")
    test:epilog("For example: kubelua test watch_spec.lua\n"
        .. "             kubelua test -o tap --filter 'deletes' specs/")
    test:argument("specs", "Spec files; of a folder all files *_spec.lua, also in folders below.")
        :args("+")
    test:option("-o --output", "What to print: plain (what fails, and a line for each file) or "
        .. "tap (Test Anything Protocol)."):argname("FORMAT"):default("plain")
        :choices { "plain", "tap", "TAP" }:convert(string.lower)
    test:flag("-v --verbose", "With plain output: print a line for each case.")
    test:option("--filter", "Run only cases whose full name this Lua pattern finds; may be given "
        .. "several times."):argname("PATTERN"):count("*")
    test:option("--filter-out", "Leave out cases whose full name this Lua pattern finds.")
        :argname("PATTERN"):count("*")
    test:option("-t --tags", "Run only cases with one of these tags: #slow in the name of a case "
        .. "or of a describe is the tag slow."):argname("TAGS"):count("*"):convert(to_tags)
        :action(add_tags)
    test:option("--exclude-tags", "Leave out cases with one of these tags."):argname("TAGS")
        :count("*"):convert(to_tags):action(add_tags)
    test:option("--exclude-pattern", "Leave out files whose name this Lua pattern finds.")
        :argname("PATTERN"):count("*")
    test:flag("--shuffle", "Run the cases of each describe in random order.")
    test:option("--seed", "Shuffle as this seed does, which --shuffle has printed.")
        :argname("NUMBER"):convert(to_seed)
end

local function add_plan(parser)
    local plan = parser:command("plan", "Run a Lua script against a simulated cluster, and print "
        .. "what it asks for and the smallest RBAC role for that.")
    plan:usage("Usage: kubelua plan [OPTIONS] SCRIPT [ARGS]")
    plan:epilog("HTTP calls, programs and written files of the script are refused, but for --real. "
        .. "Objects of the manifests are also changed and deleted, to see what the script "
        .. "does then. Each part that did not run is named; exit status 1 with --strict.\n"
        .. "For example: kubelua plan --sim=cluster.yaml shop.lua\n"
        .. "             kubelua plan -o yaml --sim=cluster.yaml shop.lua | kubectl apply -f -")
    plan:argument("script", "A Lua script.")
    plan:argument("args", "Arguments for the script, as in kubelua run."):args("*")
    plan:flag("--sim", "--sim=FILE loads the objects of a manifest (YAML or JSON) into the "
        .. "cluster; it may be given several times. Default: an empty cluster.")
    plan:option("--sim-load"):argname("FILE"):count("*"):hidden(true)
    plan:option("--replay", "Play a recording (see kubelua record) in the cluster.")
        :argname("FILE")
    plan:option("-n --namespace", "The namespace of the script's client, and of informers that "
        .. "name none."):argname("NS"):convert(to_namespace)
    plan:option("--for", "Stop after this many seconds of the cluster's time, which jumps from "
        .. "timer to timer. Default: until nothing new happens.")
        :argname("SECONDS"):target("duration"):convert(to_seconds)
    plan:option("--name", "The name of the roles. Default: that of the script's file.")
        :argname("NAME"):convert(to_role)
    plan:option("-o --output", "text, or yaml: only the roles. (default: text)")
        :argname("FORMAT"):target("format"):choices { "text", "yaml" }
    plan:flag("--strict", "Exit with status 1 if a part of the script was not reached, or if a "
        .. "controller fails.")
    values.add_real(plan)
    plan:option("--log-level", "As in kubelua run. (default: KUBELUA_LOG_LEVEL, or error)")
        :argname("LEVEL"):choices { "debug", "info", "warn", "error", "off" }
end

local function add_completion(parser)
    local completion = parser:command("completion", "Print the completion of a shell: commands, "
        .. "options and files after Tab.")
    completion:epilog("For example: source <(kubelua completion bash)\n"
        .. "             kubelua completion zsh > ~/.zfunc/_kubelua\n"
        .. "             kubelua completion fish > ~/.config/fish/completions/kubelua.fish")
    completion:argument("shell", "The shell."):choices { "bash", "zsh", "fish" }
end

-- The last one: its choices are the other commands.
local function add_man(parser)
    local names = {}
    for _, command in ipairs(parser._commands) do
        names[#names + 1] = not command._is_help_command and command._name or nil
    end
    names[#names + 1] = "man"
    local man = parser:command("man", "Print a man page, as man reads it.")
    man:epilog("For example: kubelua man run | man -l -")
    man:argument("page", "The command that it is about. (default: kubelua itself)"):args("?")
        :choices(names)
end

---Makes the parser of the command line.
---@return table parser of argparse
function usage.parser()
    local parser = argparse("kubelua", "React to a Kubernetes cluster from a Lua script.")
    parser:epilog("Try it without a cluster: kubelua run --sim script.lua\n"
        .. "Log: KUBELUA_LOG_LEVEL=debug|info|warn|error|off, KUBELUA_LOG_FORMAT=text|json")
    parser:help_max_width(80)
    parser:add_help_command():command_target("command")
    parser:flag("-v --version", "Print the version and exit.")
    parser:require_command(true)
    add_run(parser)
    add_plan(parser)
    add_sim(parser)
    add_record(parser)
    add_test(parser)
    deploy_options.add(parser)
    gateway_options.add(parser)
    add_completion(parser)
    parser:command("version", "Print the version and exit.")
    add_man(parser)
    return parser
end

local NUMBERS = { ["--for"] = true, ["--grace"] = true,
    ["--speed"] = true, ["--clock-offset"] = true, ["--replicas"] = true }

-- Rewrites "--sim=FILE" as "--sim" and "--sim-load FILE": argparse cannot have an optional value
-- without taking the next argument for it. Also, argparse takes a negative number for an option,
-- but not in "--for=-1".
local function expand_arguments(arguments)
    local expanded = {}
    for i, argument in ipairs(arguments) do
        if argument == "--" then
            for j = i, #arguments do
                expanded[#expanded + 1] = arguments[j]
            end
            break
        end
        local manifest = argument:match("^%-%-sim=(.*)$")
        local config_map = argument:match("^%-%-reload=(.*)$")
            or (expanded[#expanded] == "--reload" and argument:match("^configmap/.*$"))
        if manifest then
            expanded[#expanded + 1] = "--sim"
            expanded[#expanded + 1] = "--sim-load"
            expanded[#expanded + 1] = manifest
        elseif config_map then
            expanded[#expanded + 1] = "--reload-from=" .. config_map
        elseif NUMBERS[expanded[#expanded]] and argument:find("^%-[%d%.]") then
            expanded[#expanded] = expanded[#expanded] .. "=" .. argument
        else
            expanded[#expanded + 1] = argument
        end
    end
    return expanded
end

-- The script of --reload configmap/NAME comes from there. SCRIPT is its key, or, if the key was
-- given already, the first argument.
local function place_script(options)
    local from = options.reload_from
    if not from then
        return
    elseif from.key then
        table.insert(options.args, 1, options.script)
    end
    from.key = from.key or options.script
    options.reload, options.script = from, "configmap/" .. from.name
end

local function find_reload_problem(options)
    if not options.script then
        return "missing argument 'script'"
    elseif options.reload and options.script == "-" then
        return "--reload needs a file: standard input cannot be read again"
    end
    for _, other in ipairs { "record", "once", "dry_run" } do
        if options.reload and options[other] then
            return "--reload and --" .. other:gsub("_", "-") .. ": choose one of them"
        end
    end
end

-- A message if options exclude each other, or if an option lacks one that it needs; else nil.
local function find_contradiction(options)
    if options.token and options.token_file then
        return "--token and --token-file: choose one of them"
    end
    if options.speed and not options.replay then
        return "--speed needs --replay FILE: without it there is no recording to play"
    elseif options.command == "deploy" then
        return deploy_options.find_contradiction(options)
    elseif options.command == "gateway" then
        return gateway_options.find_contradiction(options)
    elseif options.command ~= "run" and options.command ~= "plan" then
        return nil
    end
    place_script(options)
    local problem = find_reload_problem(options)
    if problem or not options.sim then
        return problem
    end
    for _, name in ipairs { "server", "kubeconfig", "context" } do
        if options[name] then
            return "--sim and --" .. name .. ": choose one of them"
        end
    end
    for _, path in ipairs(options.sim_load) do
        if path == "" then
            return "--sim= needs a file name; --sim alone starts an empty cluster"
        end
    end
    return nil
end

---Reads the arguments. Prints the help, and exits, if they ask for it.
---@param arguments string[]
---@return table? options `command`, and the options of that command
---@return string? problem
function usage.parse(arguments)
    if arguments[1] == "-v" or arguments[1] == "--version" then
        return { command = "version" }
    elseif arguments[1] == "help" then -- argparse would exit by itself
        arguments = { arguments[2] or "--help", arguments[2] and "--help" }
    end
    local of_scripts
    if arguments[1] == "deploy" then
        arguments, of_scripts = deploy_options.split(arguments)
    end
    local ok, options = usage.parser():pparse(expand_arguments(arguments))
    if ok and of_scripts then
        options.args = of_scripts
    end
    local problem = not ok and options or find_contradiction(options)
    if problem then
        return nil, problem
    elseif options.version then
        return { command = "version" }
    end
    options.token = options.token or options.token_file
    for _, users in ipairs(options.user_files or {}) do
        for _, user in ipairs(users) do
            options.users[#options.users + 1] = user
        end
    end
    return options
end

return usage
