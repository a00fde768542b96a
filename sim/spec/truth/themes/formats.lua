-- What an answer looks like by Accept: tables, metadata alone, YAML, gzip, pretty.
local objects = require "objects"

local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
local PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
local PARTIALS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
local requests = {}

local function ask(sentence, request, accept, more)
    local asked = more or {}
    asked[1], asked[2] = sentence, request
    asked.headers = asked.headers or accept and { Accept = accept } or nil
    requests[#requests + 1] = asked
end

requests[1] = {
    "made", "POST " .. MAPS,
    objects.configmap("one", {
        data = { a = "1", b = "2" }, metadata = { labels = { app = "shop" } },
    }),
}
ask("a table of one", "GET " .. MAPS .. "/one", TABLE)
ask("a table without objects", "GET " .. MAPS .. "?includeObject=None", TABLE)
ask("a table with whole objects", "GET " .. MAPS .. "?includeObject=Object", TABLE)
ask("a table with metadata", "GET " .. MAPS .. "?includeObject=Metadata", TABLE)
ask("a table with something that is none", "GET " .. MAPS .. "?includeObject=Nonsense", TABLE)
ask("a table of a page", "GET " .. MAPS .. "?limit=1", TABLE)
ask("a table of nothing", "GET " .. MAPS .. "?labelSelector=none", TABLE)
ask("a table of an error", "GET " .. MAPS .. "/none", TABLE)
ask(
    "a table of an older version", "GET " .. MAPS,
    "application/json;as=Table;g=meta.k8s.io;v=v1beta1", { only = "headers" }
)
ask("a table of no version", "GET " .. MAPS, "application/json;as=Table;g=meta.k8s.io;v=v9")
ask("a table, or JSON", "GET " .. MAPS .. "/one", TABLE .. ",application/json")
ask(
    "what nobody makes, or JSON", "GET " .. MAPS .. "/one",
    "application/json;as=Nothing;g=a;v=v1,application/json"
)
ask("metadata of one", "GET " .. MAPS .. "/one", PARTIAL)
ask("metadata of a list", "GET " .. MAPS, PARTIALS)
ask("metadata of one, as a list", "GET " .. MAPS .. "/one", PARTIALS)
ask("metadata of a list, as of one", "GET " .. MAPS, PARTIAL)
ask("metadata of what is made", "POST " .. MAPS, PARTIAL, {
    nil, nil, objects.configmap("partial"),
})
ask("a table of what is made", "POST " .. MAPS, TABLE, { nil, nil, objects.configmap("tabled") })
ask("a table of what is patched", "PATCH " .. MAPS .. "/one", TABLE, {
    nil, nil, { data = { c = "3" } },
})
ask("metadata of what is deleted", "DELETE " .. MAPS .. "/partial", PARTIAL)
ask("YAML", "GET " .. MAPS .. "/one", "application/yaml", { only = "headers" })
ask("YAML of a list", "GET " .. MAPS, "application/yaml", { only = "headers" })
ask("YAML of an error", "GET " .. MAPS .. "/none", "application/yaml")
ask("CBOR or JSON", "GET " .. MAPS .. "/one", "application/cbor,application/json", {
    only = "headers",
})
ask("CBOR alone", "GET " .. MAPS .. "/one", "application/cbor")
ask("anything", "GET " .. MAPS .. "/one", "*/*")
ask("anything of application", "GET " .. MAPS .. "/one", "application/*")
ask("text", "GET " .. MAPS .. "/one", "text/plain")
ask("HTML", "GET " .. MAPS .. "/one", "text/html")
ask("weights", "GET " .. MAPS .. "/one", "application/yaml;q=0.5,application/json;q=0.9", {
    only = "headers",
})
ask(
    "weights the other way", "GET " .. MAPS .. "/one",
    "application/yaml;q=0.9,application/json;q=0.5", { only = "headers" }
)
ask("a weight of nothing", "GET " .. MAPS .. "/one", "application/json;q=0", { only = "status" })
ask("rubbish as a media type", "GET " .. MAPS .. "/one", "rubbish", { only = "status" })
ask("an empty media type", "GET " .. MAPS .. "/one", "", { only = "headers" })
ask("a character set", "GET " .. MAPS .. "/one", "application/json; charset=utf-8")
ask("pretty", "GET " .. MAPS .. "/one?pretty=true", nil, { text = true })
ask("not pretty", "GET " .. MAPS .. "/one?pretty=false")
ask("pretty by a browser", "GET " .. MAPS .. "/one", nil, {
    headers = { ["User-Agent"] = "Mozilla/5.0" }, text = true,
})
ask("pretty by curl", "GET " .. MAPS .. "/one", nil, {
    headers = { ["User-Agent"] = "curl/8" }, text = true,
})
ask("a small list with gzip", "GET " .. MAPS, nil, {
    headers = { ["Accept-Encoding"] = "gzip" }, only = "headers",
})
for i = 1, 3 do
    requests[#requests + 1] = {
        "made: large " .. i, "POST " .. MAPS,
        objects.configmap("large-" .. i, { data = { a = ("x"):rep(60000) } }), only = "status",
    }
end
ask("a large list with gzip", "GET " .. MAPS, nil, { compressed = true })
ask("a large list with gzip refused", "GET " .. MAPS, nil, {
    headers = { ["Accept-Encoding"] = "gzip;q=0" }, only = "status",
})
ask("a large table with gzip", "GET " .. MAPS, TABLE, { compressed = true })
ask("a large list without", "GET " .. MAPS .. "?fieldSelector=metadata.name=large-1", nil, {
    only = "headers",
})

return requests
