-- kubelua deploy: prints what runs scripts in a cluster, or writes it as a base of kustomize or as
-- a Helm chart. The rights come from kubelua plan; deploy/objects.lua has the objects.
local complain = require "kubelua.cli.complaint"
local core = require "kubelua.core"
local documents = require "kubelua.verbs.documents"
local files = require "kubelua.cli.deploy.files"
local log_lines = require "kubelua.log_lines"
local objects = require "kubelua.cli.deploy.objects"
local plan = require "kubelua.cli.plan"
local reads = require "kubelua.cli.deploy.reads"
local whole_file = require "kubelua.cli.whole_file"
local write_folder = require "kubelua.cli.deploy.folder"
local yaml = require "kubelua.cli.yaml"

local STOPPED, FAILED = 0, 1

-- Stands for the plan of a script that cannot be planned: nothing is known of it.
local UNPLANNED = { unreached = {}, failures = {}, leases = {}, unled = {}, files = {},
    webhooks = {}, requests = {} }

-- True for the namespaces that every cluster has. The manifests do not contain these: kubectl
-- delete -f would delete them.
local function is_of_kubernetes(namespace)
    return namespace == "default" or namespace:find("^kube%-") ~= nil
end

-- Makes the name of the Deployment from the name of the script's file.
local function name_of_script(script)
    local name = script:match("[^/]*$"):gsub("%.lua$", ""):lower():gsub("[^a-z0-9]+", "-")
        :gsub("^%-+", ""):gsub("%-+$", "")
    if not pcall(core.check_namespace, "--name", name) then
        return nil, ("%s: '%s' cannot be the name of a Deployment; choose one by --name")
            :format(script, name)
    end
    return name
end

-- The name for each script. Two scripts must not have the same one.
local function choose_names(options)
    local names, taken = {}, {}
    for i, script in ipairs(options.scripts) do
        if script == "-" then
            return nil, "a script from standard input has no name, and no modules: write a file"
        end
        local name, message = options.name, nil
        if not name then
            name, message = name_of_script(script)
        end
        if not name then
            return nil, message
        elseif taken[name] then
            return nil, ("%s and %s would both be the Deployment %s: rename one of the files")
                :format(taken[name], script, name)
        end
        names[i], taken[name] = name, script
    end
    return names
end

-- The roles of a file, for --rbac.
local function read_roles(path, namespace)
    local text, message = whole_file.read(path)
    if not text then
        return nil, message
    end
    local all, problem = documents.all("deploy", text)
    if not all then
        return nil, path .. ": " .. problem
    end
    for _, role in ipairs(all) do
        local kind, metadata = role.kind, role.metadata
        if kind ~= "Role" and kind ~= "ClusterRole" or type(metadata) ~= "table"
            or type(metadata.name) ~= "string" or type(role.rules) ~= "table" then
            return nil, path .. ": only Roles and ClusterRoles with a name and rules expected, as "
                .. "kubelua plan prints them; the bindings are made by deploy"
        elseif kind == "Role" then
            metadata.namespace = metadata.namespace or namespace
        end
    end
    if #all == 0 then
        return nil, path .. ": has no Role and no ClusterRole"
    end
    return all
end

-- The roles that the plan has computed. A ClusterRole, and a Role in another namespace, get the
-- script's namespace into their names: so the same script can be deployed into two namespaces.
local function computed_roles(result, name, namespace)
    local roles = plan.manifests(result, name)
    for _, role in ipairs(roles) do
        if role.metadata.namespace ~= namespace then
            role.metadata.name = namespace .. ":" .. name
        end
    end
    return roles
end

-- Adds what the user should know of the rights and the replicas.
local function add_notes(notes, app, result)
    for _, part in ipairs(result.unreached) do
        notes[#notes + 1] = part.text
    end
    for _, text in ipairs(result.refused or {}) do
        notes[#notes + 1] = text
    end
    for _, failure in ipairs(result.failures) do
        notes[#notes + 1] = app.name .. ": failed in the simulated cluster: " .. failure
    end
    if result.elsewhere then
        notes[#notes + 1] = app.name .. ": asks another cluster too, for which there are no roles"
    end
    if #result.unreached + #result.failures > 0 then
        notes[#notes + 1] = app.name .. ": lead the script there with objects (--sim=FILE, "
            .. "--replay FILE), or write its roles yourself (--rbac FILE)"
    end
    for _, role in ipairs(app.roles) do
        local namespace = role.metadata.namespace
        if namespace and namespace ~= app.namespace and not is_of_kubernetes(namespace) then
            notes[#notes + 1] = ("%s: has a Role in the namespace %s, which must exist")
                :format(app.name, namespace)
        end
    end
    if not app.has_leader then
        notes[#notes + 1] = app.name .. ": " .. app.comment
    end
end

-- True if no request writes: then copies that only answer webhooks may run side by side.
local function only_reads(requests)
    for _, request in ipairs(requests) do
        if request.verb ~= "get" and request.verb ~= "list" and request.verb ~= "watch" then
            return false
        end
    end
    return true
end

-- Chooses the number of replicas. If the script has no leader, app.comment says why only one should
-- run.
local function choose_replicas(app, options, result)
    app.has_leader = #result.leases > 0 and #result.unled == 0
        or app.admits and only_reads(result.requests)
    app.replicas = options.replicas or app.has_leader and 2 or 1
    if not app.has_leader then
        app.comment = ("%d replica%s: %s has no `leader`, so two copies would both do its work")
            :format(app.replicas, app.replicas == 1 and "" or "s",
                #result.leases > 0 and "controller " .. result.unled[1] or "the script")
    end
end

-- Plans a script. With --rbac, a script whose plan fails is deployed all the same, if Lua can
-- compile it: as a script without leader, with the modules that its text requires.
local function plan_script(script, namespace, options)
    local result, message = plan.of { script = script, args = options.args,
        own_namespace = namespace, sim_load = options.sim_load, replay = options.replay,
        real = options.real }
    if result or not options.rbac then
        return result, message
    end
    local chunk, problem = loadfile(script)
    if not chunk then
        return nil, problem
    end
    return UNPLANNED, "there is no plan, and nothing is known of leaders: " .. message
end

local function roles_of(result, app, options)
    if options.rbac then
        return read_roles(options.rbac, app.namespace)
    end
    return computed_roles(result, app.name, app.namespace)
end

-- `needs` is the result of reads.start: what the script has opened and run.
local function find_files(script, result, needs, options)
    local sims = { script, options.replay }
    for _, path in ipairs(options.sim_load or {}) do
        sims[#sims + 1] = path
    end
    needs.loaded, needs.sims, needs.added = result.files, sims, options.file or {}
    return files.of(script, needs)
end

-- Computes what is deployed of one script. `notes` gets lines for the user.
local function describe_script(script, name, namespace, options, notes)
    local stop = reads.start(script)
    local result, message = plan_script(script, namespace, options)
    local needs = stop()
    if not result then
        return nil, message
    end
    local note = message and name .. ": " .. message
    local found
    found, message = find_files(script, result, needs, options)
    if not found then
        return nil, message
    end
    local app = { name = name, namespace = namespace, args = options.args, log = options.log,
        image = options.image or "ghcr.io/kubelua/kubelua:" .. core.version,
        grace = options.grace, pod_monitor = options.pod_monitor, resources = objects.RESOURCES,
        files = found.list, config = objects.config_name(name, found.list),
        admits = #result.webhooks > 0 or nil }
    app.arguments = objects.arguments(app)
    app.roles, message = roles_of(result, app, options)
    if not app.roles then
        return nil, message
    end
    for _, role in ipairs(app.admits and objects.admit_roles(name, namespace) or {}) do
        app.roles[#app.roles + 1] = role
    end
    choose_replicas(app, options, result)
    notes[#notes + 1] = note
    for _, line in ipairs(found.notes) do
        notes[#notes + 1] = name .. ": " .. line
    end
    add_notes(notes, app, options.rbac and UNPLANNED or result)
    return app
end

-- The files of a base of kustomize; printed one after the other, they are the manifests.
local function list_files(apps, namespace)
    local list = {}
    if not is_of_kubernetes(namespace) then
        list[1] = { name = "namespace.yaml", text = yaml.stream { objects.namespace(namespace) } }
    end
    for _, app in ipairs(apps) do
        local prefix = #apps > 1 and app.name .. "-" or ""
        for _, part in ipairs(objects.of(app)) do
            list[#list + 1] = { name = prefix .. part.file .. ".yaml",
                text = yaml.stream(part.objects, part.comment) }
        end
    end
    return list
end

local function add_kustomization(list)
    local names = {}
    for i, file in ipairs(list) do
        names[i] = file.name
    end
    list[#list + 1] = { name = "kustomization.yaml", text = yaml.encode {
        apiVersion = "kustomize.config.k8s.io/v1beta1", kind = "Kustomization",
        resources = names } }
    return list
end

-- Prints the manifests, or writes a folder.
local function deliver(apps, namespace, options)
    if options.helm then
        local chart = require "kubelua.cli.deploy.chart"
        return write_folder(options.helm, chart(apps, namespace, options.namespace))
    end
    local list = list_files(apps, namespace)
    if options.kustomize then
        return write_folder(options.kustomize, add_kustomization(list))
    end
    io.stdout:write("# Made by kubelua deploy, version ", core.version, "\n")
    for _, file in ipairs(list) do
        io.stdout:write(file.text)
    end
    return true
end

-- Deploys the scripts; true, or nil and a message.
local function deploy_scripts(options)
    local names, problem = choose_names(options)
    if not names then
        return nil, problem
    end
    local namespace = options.namespace or names[1]
    local apps, notes = {}, {}
    for i, script in ipairs(options.scripts) do
        apps[i], problem = describe_script(script, names[i], namespace, options, notes)
        if not apps[i] then
            return nil, problem
        end
    end
    for _, note in ipairs(notes) do
        complain(note)
    end
    return deliver(apps, namespace, options)
end

---Runs the command; returns the exit status.
---@param options table of the command line
---@param allow_all fun()? lets the scripts' modules come from every folder
---@return integer
return function(options, allow_all)
    if allow_all then
        allow_all()
    end
    -- The log of the run in the simulated cluster is of no interest, unless someone asks for it.
    if not (os.getenv("KUBELUA_LOG_LEVEL") or os.getenv("KUBELUA_LOG")) then
        log_lines.set("error")
    end
    local ok, message = deploy_scripts(options)
    if not ok then
        complain(message)
        return FAILED
    end
    return STOPPED
end
