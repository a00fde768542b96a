-- The files of a Helm chart with the objects of kubelua deploy: templates with values for the
-- image, the replicas, the resources and the namespace. The scripts lie in files/, as they are:
-- another text of one gives its ConfigMap another name, so the Deployment rolls out.
local copy_table = require "kubelua.copy_table"
local core = require "kubelua.core"
local objects = require "kubelua.cli.deploy.objects"
local yaml = require "kubelua.cli.yaml"

local NAMESPACE = ".Values.namespace | default .Release.Namespace"

-- A copy in which a text that looks like a template is printed as it is.
local function escape_calls(value)
    if type(value) == "string" then
        return value:find("{{", 1, true)
            and yaml.raw("{{ " .. core.encode(value) .. " | toJson }}") or value
    elseif type(value) ~= "table" or yaml.is_raw(value) then
        return value
    end
    local copy = {}
    for key, member in pairs(value) do
        copy[key] = escape_calls(member)
    end
    return copy
end

-- A role in the script's namespace follows it; others have the namespace in their names.
local function template_role(role, app)
    local copy = escape_calls(role)
    if role.metadata.namespace == app.namespace then
        copy.metadata.namespace = yaml.raw("{{ " .. NAMESPACE .. " | quote }}")
    elseif role.metadata.name:sub(1, #app.namespace + 1) == app.namespace .. ":" then
        copy.metadata.name = yaml.raw(('"{{ %s }}:%s"'):format(NAMESPACE,
            role.metadata.name:sub(#app.namespace + 2)))
    end
    return copy
end

local function path_of(app, file)
    return "files/" .. app.name .. "/" .. file.name
end

-- The name of the ConfigMap: with a digest of the names and texts of the files.
local function config_name(app)
    local parts = {}
    for i, file in ipairs(app.files) do
        local path = core.encode(path_of(app, file))
        parts[i] = ("%s (.Files.Get %s | b64enc)"):format(path, path)
    end
    return yaml.raw(('"%s-{{ list %s | toJson | sha256sum | trunc 14 }}"'):format(app.name,
        table.concat(parts, " ")))
end

-- The files with calls that read them. Texts are printed as JSON, which is YAML too.
local function template_files(app)
    local files = {}
    for i, file in ipairs(app.files) do
        files[i] = { name = escape_calls(file.name), key = file.key, is_text = file.is_text,
            value = yaml.raw(("{{ .Files.Get %s | %s }}"):format(core.encode(path_of(app, file)),
                file.is_text and "toJson" or "b64enc")) }
    end
    return files
end

-- What is deployed of one script, with calls where the chart has values.
local function template_app(app, is_only)
    local values = is_only and ".Values"
        or ("(index .Values.controllers %s)"):format(core.encode(app.name))
    local copy = copy_table(app)
    copy.namespace = yaml.raw("{{ " .. NAMESPACE .. " | quote }}")
    copy.image = yaml.raw("{{ .Values.image | quote }}")
    copy.replicas = yaml.raw("{{ " .. values .. ".replicas }}")
    copy.resources = yaml.raw("{{- toYaml " .. values .. ".resources | nindent 10 }}")
    copy.config = config_name(app)
    copy.files = template_files(app)
    copy.arguments = escape_calls(app.arguments)
    copy.roles = {}
    for i, role in ipairs(app.roles) do
        copy.roles[i] = template_role(role, app)
    end
    return copy
end

local function write_values(apps, namespace)
    local lines = {
        "# The image of kubelua that runs " .. (#apps == 1 and "the script." or "the scripts."),
        yaml.encode { image = apps[1].image },
        "# Where it runs. Empty: in the namespace of the release (helm install --namespace).",
        yaml.encode { namespace = namespace or "" },
    }
    local controllers = {}
    for _, app in ipairs(apps) do
        controllers[app.name] = { replicas = app.replicas, resources = app.resources }
        lines[#lines + 1] = app.comment
            and yaml.comment((#apps > 1 and app.name .. ": " or "") .. app.comment) or nil
    end
    lines[#lines + 1] = yaml.encode(#apps == 1 and controllers[apps[1].name]
        or { controllers = controllers })
    return (table.concat(lines, "\n"):gsub("\n\n", "\n"))
end

-- The templates of a script, and the script. Helm would delete the ConfigMap of the version before:
-- its pods that still run need it, should they start again.
local function add_app(files, app, is_only)
    local prefix = is_only and "" or app.name .. "-"
    for _, part in ipairs(objects.of(template_app(app, is_only))) do
        if part.file == "configmap" then
            part.objects[1].metadata.annotations = { ["helm.sh/resource-policy"] = "keep" }
        end
        files[#files + 1] = { name = "templates/" .. prefix .. part.file .. ".yaml",
            text = yaml.stream(part.objects) }
    end
    for _, file in ipairs(app.files) do
        files[#files + 1] = { name = path_of(app, file), text = file.text }
    end
end

---@param apps kubelua.Deployed[]
---@param namespace string for which they were computed
---@param chosen string? the same, if the user named it: the chart does too
---@return { name: string, text: string }[]
return function(apps, namespace, chosen)
    local files = {
        { name = "Chart.yaml", text = yaml.encode { apiVersion = "v2", type = "application",
            name = #apps == 1 and apps[1].name or namespace, version = "0.1.0",
            description = "Made by kubelua deploy", appVersion = core.version } },
        { name = "values.yaml", text = write_values(apps, chosen) },
    }
    for _, app in ipairs(apps) do
        add_app(files, app, #apps == 1)
    end
    return files
end
