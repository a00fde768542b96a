-- fieldValidation: unknown fields, refused, warned of, or ignored.
local objects = require "objects"

local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local APPS = "/apis/apps/v1/namespaces/{ns}/deployments"
local requests = {}

local BODIES = {
    {
        "an unknown field", MAPS, "POST",
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"},"nothing":1}',
    },
    {
        "an unknown field of the metadata", MAPS, "POST",
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME","nothing":1}}',
    },
    {
        "two unknown fields", MAPS, "POST",
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"},"no":1,"nix":{"a":1}}',
    },
    {
        "a field in another case", MAPS, "POST",
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"},"Data":{"a":"1"}}',
    },
    {
        "unknown fields deep inside", APPS, "POST",
        '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"NAME"},"spec":{"nix'
            .. '":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"'
                .. 'a":"b"}},"spec":{"containers":[{"name":"a","image":"a","imagePullPolice"'
                    .. ':"x","ports":[{"containerPort":1,"port":2}]}]}}}}',
    },
    {
        "an unknown field by PUT", MAPS .. "/put", "PUT",
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"put"},"nothing":1}',
    },
    {
        "an unknown field by merge patch", MAPS .. "/put", "PATCH",
        '{"nothing":1,"data":{"m":"1"}}',
    },
    {
        "an unknown field by strategic merge patch", MAPS .. "/put", "PATCH",
        '{"nothing":1,"data":{"s":"1"}}', "application/strategic-merge-patch+json",
    },
    {
        "an unknown field by JSON patch", MAPS .. "/put", "PATCH",
        '[{"op":"add","path":"/nothing","value":1}]', "application/json-patch+json",
    },
    {
        "an unknown key of a JSON patch", MAPS .. "/put", "PATCH",
        '[{"op":"add","path":"/data/j","value":"1","nix":1}]', "application/json-patch+json",
    },
    {
        "an unknown field by apply", MAPS .. "/put", "PATCH",
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"put"},"nothing":1}',
        "application/apply-patch+yaml", "fieldManager=a&force=true&",
    },
    {
        "an unknown field in YAML", MAPS, "POST",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\nnothing: 1\n",
        "application/yaml",
    },
}

requests[1] = { "made", "POST " .. MAPS, objects.configmap("put", { data = { a = "1" } }) }
for _, validation in ipairs { "Strict", "Warn", "Ignore", "" } do
    for i, body in ipairs(BODIES) do
        local name = ("%s-%d"):format(validation == "" and "default" or validation:lower(), i)
        requests[#requests + 1] = {
            validation .. ": " .. body[1],
            ("%s %s?%s%s"):format(
                body[3], body[2], body[6] or "",
                validation ~= "" and "fieldValidation=" .. validation or ""
            ),
            (body[4]:gsub("NAME", name)),
            type = body[5],
        }
    end
end

requests[#requests + 1] = {
    "a validation that is none", "POST " .. MAPS .. "?fieldValidation=Maybe",
    objects.configmap("x"),
}
requests[#requests + 1] = {
    "a validation that is none, of a patch", "PATCH " .. MAPS .. "/put?fieldValidation=Maybe", {},
}
local MANY = ""
for i = 1, 120 do
    MANY = MANY .. ',"unknown' .. i .. '":1'
end
requests[#requests + 1] = {
    "many unknown fields", "POST " .. MAPS .. "?fieldValidation=Warn",
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"many"}' .. MANY .. "}",
}
requests[#requests + 1] = {
    "strict and a dry run", "POST " .. MAPS .. "?fieldValidation=Strict&dryRun=All",
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"dry"},"nothing":1}',
}
requests[#requests + 1] = {
    "strict and right", "POST " .. MAPS .. "?fieldValidation=Strict", objects.configmap("right"),
}

return requests
