-- Bodies that are no JSON or no YAML, and values of other types than the fields: each refusal in
-- the words of Go's decoders.
local objects = require "objects"

local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local PODS = "/api/v1/namespaces/{ns}/pods"
local APPS = "/apis/apps/v1/namespaces/{ns}/deployments"
local requests = {}

local function ask(sentence, target, body, more)
    local request = { sentence, target, body }
    for key, value in pairs(more or {}) do
        request[key] = value
    end
    requests[#requests + 1] = request
end

local HEAD = '"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}'
local NO_JSON = {
    " ", "x", "[,", "[1,]", "{", '{"a"', '{"a" 1', '{"a":', '{"a":1 2', '{"a":1,}', "[1 2]",
    '{"a":1]',
    '"a\nb"', '"\\x"', '"\\u12g4"', "-x", "1.x", "1ex", "01", "nul", "nul]", "trie", "fx", "'a'",
    "\239\187\191{}", "\128", "\1", "\127", "{} 1", "1.", "NaN", "{a: 1}", "\\", "// a\n{}", '"\\',
    "<a/>", "a=b", '{"kind":"ConfigMap"', '{"kind":"ConfigMap"}}', '{"a":tru}', '{"a":"\t"}',
}
for i, text in ipairs(NO_JSON) do
    ask(("no JSON, %d"):format(i), "POST " .. MAPS, text)
end
for _, i in ipairs { 2, 5, 9, 29 } do
    ask(("no merge patch, %d"):format(i), "PATCH " .. MAPS .. "/kept", NO_JSON[i])
end
for _, i in ipairs { 2, 9 } do
    ask(("no JSON patch, %d"):format(i), "PATCH " .. MAPS .. "/kept", NO_JSON[i], {
        type = "application/json-patch+json",
    })
    ask(("no strategic patch, %d"):format(i), "PATCH " .. MAPS .. "/kept", NO_JSON[i], {
        type = "application/strategic-merge-patch+json",
    })
end
ask("made", "POST " .. MAPS, objects.configmap("kept", { data = { a = "1" } }))
for _, i in ipairs { 2, 5, 9, 29 } do
    ask(("no merge patch of what is there, %d"):format(i), "PATCH " .. MAPS .. "/kept", NO_JSON[i])
end
for _, i in ipairs { 2, 9 } do
    ask(("no JSON patch of what is there, %d"):format(i), "PATCH " .. MAPS .. "/kept",
        NO_JSON[i], { type = "application/json-patch+json" })
    ask(("no strategic patch of what is there, %d"):format(i), "PATCH " .. MAPS .. "/kept",
        NO_JSON[i], { type = "application/strategic-merge-patch+json" })
end
for _, patch in ipairs { "[]", '"a"', "1", "true", "null", "" } do
    for _, kind in ipairs { "merge-patch", "json-patch", "strategic-merge-patch" } do
        ask(("%s as %s"):format(patch, kind), "PATCH " .. MAPS .. "/kept", patch, {
            type = "application/" .. kind .. "+json",
        })
    end
end
for i, patch in ipairs {
    '["a"]', "[[]]", '[{"op":1}]', '[{"op":"add","path":[]}]', "[null]", "[{}]",
    '[{"op":"add"}]', '[{"op":"add","path":"/data/a"}]', '[{"op":"nix","path":"/data/a"}]',
} do
    ask(("no operation, %d"):format(i), "PATCH " .. MAPS .. "/kept", patch, {
        type = "application/json-patch+json",
    })
end

-- What a body is.
for i, body in ipairs {
    "[]", "[{}]", '"a"', "1", "true", "null", '{"kind":[]}', '{"kind":{}}', '{"kind":true}',
    '{"apiVersion":1}', '{"apiVersion":"a/b/c"}', '{"apiVersion":"v1","kind":""}',
    '{"apiVersion":"","kind":"ConfigMap"}', '{"apiVersion":null,"kind":null}',
    '{"kind":"Pod"}', '{"apiVersion":"v2"}', '{"apiVersion":"apps/v1","kind":"ConfigMap"}',
    '{"apiVersion":"/v1","kind":"ConfigMap"}', '{"kind":"ConfigMap ","apiVersion":"v1"}',
} do
    ask(("what it is, %d"):format(i), "POST " .. MAPS, body)
    ask(("what it is by PUT, %d"):format(i), "PUT " .. MAPS .. "/kept", body)
end

-- Values of other types.
local function values(kind, target, format, list)
    for i, value in ipairs(list) do
        ask(("%s: %d"):format(kind, i), "POST " .. target, (format:gsub("VALUE", function()
            return value
        end)))
    end
end

values("a value of a map of texts", MAPS, "{" .. HEAD .. ',"data":{"a":VALUE}}', {
    "1", "1.5", "true", "[]", "{}", "-1", "1e400",
})
values("a bool", MAPS, "{" .. HEAD .. ',"immutable":VALUE}', { '"true"', "1", "0", "[]", "{}" })
values("bytes", MAPS, "{" .. HEAD .. ',"binaryData":{"a":VALUE}}', {
    "1", '"%"', "[300]", "{}", '"YQ="',
})
local MAP = '{"apiVersion":"v1","kind":"ConfigMap","metadata":'
values("labels", MAPS, MAP .. '{"name":"x","labels":VALUE}}', {
    "[]", '"a"', "1", '{"a":1}', '{"a":[]}',
})
values("metadata", MAPS, MAP .. "VALUE}", {
    "[]", '"a"', "1", "null", "true", '{"name":1}', '{"name":null}', '{"name":["a"]}',
    '{"name":"x","generation":"1"}', '{"name":"x","finalizers":"a"}',
    '{"name":"x","finalizers":[1]}',
    '{"name":"x","ownerReferences":{}}', '{"name":"x","ownerReferences":[{"controller":"yes"}]}',
    '{"name":"x","creationTimestamp":1}', '{"name":"x","creationTimestamp":"now"}',
    '{"name":"x","deletionGracePeriodSeconds":1.5}', '{"name":"x","annotations":{"a":null}}',
})
local SPEC = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":'
values("containers", PODS, SPEC .. "VALUE}}", {
    "null", "{}", '"a"', "1", '["a"]', "[[]]", "[null]", '[{"name":1}]',
    '[{"name":"a","image":[]}]',
    '[{"name":"a","image":"a","ports":[{"containerPort":"80"}]}]',
    '[{"name":"a","image":"a","ports":[{"containerPort":80.5}]}]',
    '[{"name":"a","image":"a","ports":[{"containerPort":99999999999}]}]',
    '[{"name":"a","image":"a","ports":[{"containerPort":99999999999999999999999}]}]',
    '[{"name":"a","image":"a","ports":[{"containerPort":1e2}]}]',
    '[{"name":"a","image":"a","env":{"A":"b"}}]',
    '[{"name":"a","image":"a","env":[{"name":"A","value":1}]}]',
    '[{"name":"a","image":"a","env":[{"name":"A","value":true}]}]',
    '[{"name":"a","image":"a","command":"sh"}]', '[{"name":"a","image":"a","args":[1]}]',
    '[{"name":"a","image":"a","resources":{"limits":{"cpu":true}}}]',
    '[{"name":"a","image":"a","resources":{"limits":{"cpu":"x"}}}]',
    '[{"name":"a","image":"a","resources":{"limits":{"cpu":[]}}}]',
    '[{"name":"a","image":"a","resources":{"limits":[]}}]',
    '[{"name":"a","image":"a","livenessProbe":{"httpGet":{"port":true}}}]',
    '[{"name":"a","image":"a","livenessProbe":{"httpGet":{"port":1.5}}}]',
    '[{"name":"a","image":"a","livenessProbe":[]}]',
    '[{"name":"a","image":"a","tty":"yes"}]', '[{"name":"a","image":"a","stdin":1}]',
})
local DEPLOYMENT = '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":'
values("a deployment", APPS, DEPLOYMENT .. "VALUE}", {
    "null", "[]", '"a"', "1", '{"replicas":"3"}', '{"replicas":1.0}', '{"replicas":1.5}',
    '{"replicas":3000000000}', '{"replicas":1e3}', '{"replicas":true}', '{"replicas":null}',
    '{"replicas":-1}', '{"paused":"no"}', '{"paused":0}', '{"selector":[]}',
    '{"selector":{"matchLabels":[]}}', '{"template":[]}', '{"strategy":"Recreate"}',
    '{"strategy":{"rollingUpdate":{"maxSurge":true}}}', '{"minReadySeconds":"1"}',
})
values("an event", "/api/v1/namespaces/{ns}/events",
    '{"apiVersion":"v1","kind":"Event","metadata":{"name":"x"},"involvedObject":{"namespace":"'
        .. '{ns}"},VALUE}', {
        '"count":"1"', '"firstTimestamp":"x"', '"firstTimestamp":1', '"eventTime":"x"',
        '"source":"a"',
    })

-- The same by patches.
for i, patch in ipairs {
    '{"data":1}', '{"data":[]}', '{"data":{"a":1}}', '{"immutable":"yes"}', '{"metadata":1}',
    '{"metadata":{"labels":{"a":1}}}', '{"kind":1}', '{"kind":null}', '{"apiVersion":"a/b/c"}',
    '{"metadata":null}', '{"metadata":{"name":null}}', '{"metadata":{"name":"other"}}',
} do
    ask(("merged: %d"):format(i), "PATCH " .. MAPS .. "/kept?dryRun=All", patch)
    ask(("merged strategically: %d"):format(i), "PATCH " .. MAPS .. "/kept?dryRun=All", patch, {
        type = "application/strategic-merge-patch+json",
    })
end

return requests
