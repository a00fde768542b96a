-- The requests of sim/spec/truth/themes: a file for each theme, which is a text (a request on each
-- line, as README.md says), or in Lua where requests are made by loops.
local core = require "kubelua.core"
local objects = require "objects"

local themes = {}

local FOLDER = "sim/spec/truth/themes/"

local TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"

-- What is asked of every built-in kind by its smallest object: its defaults, its table, its status.
-- kinds: { version of the API, plural, object, cluster = without a namespace }
local function ask_kinds(kinds)
    local requests = {}

    for _, kind in ipairs(kinds) do
        local version, plural, object = kind[1], kind[2], kind[3]
        local path = (version == "v1" and "/api/" or "/apis/") .. version
            .. (kind.cluster and "/" or "/namespaces/{ns}/") .. plural
        local name = version .. " " .. plural
        local selected = path .. "?fieldSelector=metadata.name=" .. object.metadata.name
        local function ask(sentence, request, body)
            requests[#requests + 1] = { sentence:format(name), request, body, only = kind.only }
            return requests[#requests]
        end
        ask(
            "made, strictly: %s", "POST " .. path .. "?fieldValidation=Strict", object
        ).save = { rv = "metadata.resourceVersion" }
        ask("got: %s", "GET " .. path .. "/" .. object.metadata.name)
        ask("listed: %s", "GET " .. selected)
        ask("as a table: %s", "GET " .. selected).headers = { Accept = TABLE }
        ask("status: %s", "GET " .. path .. "/" .. object.metadata.name .. "/status")
        ask("written back: %s", "PATCH " .. path .. "/" .. object.metadata.name, {
            metadata = { labels = { x = "y" } },
        })
        ask("deleted: %s", "DELETE " .. path .. "/" .. object.metadata.name)
    end

    return requests
end

local VERSIONS = {
    ConfigMap = "v1", Event = "v1", Namespace = "v1", PersistentVolumeClaim = "v1", Pod = "v1",
    Secret = "v1", Service = "v1", ServiceAccount = "v1", Deployment = "apps/v1",
    ReplicaSet = "apps/v1", StatefulSet = "apps/v1", Job = "batch/v1", CronJob = "batch/v1",
    Ingress = "networking.k8s.io/v1", Lease = "coordination.k8s.io/v1",
    Role = "rbac.authorization.k8s.io/v1", RoleBinding = "rbac.authorization.k8s.io/v1",
}

-- A value in YAML.
local function read_yaml(text)
    return core.decode(core.manifest("value: " .. text))[1].value
end

-- "ConfigMap a", "example.com/v1/Foo a"; in small letters, one that has all it needs: "pod a".
local function make_object(kind, name, more)
    if kind:find "^%l+$" then
        return objects[kind](name, more)
    end
    local version, bare = kind:match("^(.*)/(.-)$")
    return objects.of(version or assert(VERSIONS[kind], kind), bare or kind, name, more)
end

local function read_body(text)
    if text == "" then
        return nil
    elseif text:sub(1, 1) == "=" then
        return text:sub(2)
    end
    local kind, name, more = text:match("^([%w./{}-]+) (%S+) ?(.*)$")
    if kind then
        return make_object(kind, name, more ~= "" and read_yaml(more) or nil)
    end
    return read_yaml(text)
end

local function read_option(request, option)
    local header, value = option:match("^(%u[%w-]*): (.*)$")
    if header then
        request.headers = request.headers or {}
        request.headers[header] = value
        return
    end
    local name, rest = option:match("^(%l+) ?(.*)$")
    if name == "save" then
        request.save = {}
        for variable, path in rest:gmatch("(%S+)=(%S+)") do
            request.save[variable] = path
        end
    elseif name == "type" or name == "only" then
        request[name] = rest
    else
        request[name] = rest == "" and true or tonumber(rest)
    end
end

-- "a sentence: METHOD target body @ option @ option"
local function read_request(line)
    local sentence, method, rest = line:match("^(.-): (%u+) ([/].*)$")
    assert(sentence, "not a request: " .. line)
    local options = rest:match(" @ (.*)$")
    local asked = rest:match("^(.-) @ ") or rest
    local target, body = asked:match("^(%S+) ?(.*)$")
    local request = { sentence, method .. " " .. target, read_body(body) }
    for option in ((options or "") .. " @ "):gmatch("(.-) @ ") do
        if option ~= "" then
            read_option(request, option)
        end
    end
    return request
end

-- "kind apps/v1/deployments: body"; with a slash before the group, it is of no namespace.
local function add_kind(requests, line)
    local slash, version, plural, rest = line:match("^kind (/?)(%S+)/(%l+): (.*)$")
    local object, only = rest:match("^(.*) @ only (%l+)$")
    local row = { version, plural, read_body(object or rest), only = only }
    row.cluster = slash ~= "" or nil
    for _, request in ipairs(ask_kinds { row }) do
        requests[#requests + 1] = request
    end
end

-- $name as it was given, and <a*3> as aaa.
local function expand(line, names)
    line = line:gsub("%$(%l+)", names)
    return (line:gsub("<([^<>]-)%*(%d+)>", function(text, count)
        return text:rep(tonumber(count))
    end))
end

-- The requests of a text.
local function read_lines(path)
    local requests, names, whole = {}, {}, {}
    for line in io.lines(path) do
        if line:find "^ " and #whole > 0 then
            whole[#whole] = whole[#whole] .. " " .. line:match("^ +(.*)$")
        elseif line ~= "" and not line:find "^#" then
            whole[#whole + 1] = line
        end
    end
    for _, line in ipairs(whole) do
        local name, value = line:match("^%$(%l+) = (.*)$")
        if name then
            names[name] = expand(value, names)
        elseif line:find "^kind " then
            add_kind(requests, expand(line, names))
        else
            requests[#requests + 1] = read_request(expand(line, names))
        end
    end
    return requests
end

---Sorted.
function themes.names()
    local names = {}
    local pipe = assert(io.popen("ls " .. FOLDER))
    for file in pipe:lines() do
        names[#names + 1] = file:match("^(.*)%.%l+$")
    end
    pipe:close()
    table.sort(names)
    return names
end

---Its requests; each has a sentence of its own.
function themes.load(name)
    local made_by = loadfile(FOLDER .. name .. ".lua")
    local requests, seen = made_by and made_by() or read_lines(FOLDER .. name .. ".txt"), {}
    for _, request in ipairs(requests) do
        local sentence = request[1]
        assert(not seen[sentence], name .. ": two requests are called " .. sentence)
        seen[sentence] = true
    end
    return requests
end

return themes
