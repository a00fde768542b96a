-- Watches: where they begin, what they send, what they refuse.
local objects = require "objects"

local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local WATCH = "WATCH " .. MAPS .. "?watch=true&timeoutSeconds=1&"
local requests = {}

local function ask(sentence, request, ...)
    requests[#requests + 1] = { sentence, request, ... }
    return requests[#requests]
end

ask("made", "POST " .. MAPS, objects.configmap("a", {
    metadata = { labels = { app = "shop" } },
})).save = { rv = "metadata.resourceVersion" }
ask("changed", "PATCH " .. MAPS .. "/a", {
    data = { x = "1" },
}).save = { rv2 = "metadata.resourceVersion" }
ask("changed out of a selector", "PATCH " .. MAPS .. "/a", {
    metadata = { labels = { app = "mail" } },
})
ask("changed back into it", "PATCH " .. MAPS .. "/a", { metadata = { labels = { app = "shop" } } })
ask("changed by nothing", "PATCH " .. MAPS .. "/a", { metadata = { labels = { app = "shop" } } })
ask("another made", "POST " .. MAPS, objects.configmap("b"))
ask("the first deleted", "DELETE " .. MAPS .. "/a").save = { rv9 = "metadata.resourceVersion" }

ask("all events from a version on", WATCH .. "resourceVersion={rv}").events = 5
ask(
    "events of a selector by labels", WATCH .. "resourceVersion={rv}&labelSelector=app=shop"
).events = 4
ask(
    "events of a selector by name", WATCH .. "resourceVersion={rv}&fieldSelector=metadata.name=b"
).events = 1
ask(
    "events of what leaves a selector", WATCH .. "resourceVersion={rv2}&labelSelector=app=mail"
).events = 2
ask("from now on, without a version", WATCH).events = 1
ask(
    "version 0 sends what there is", WATCH .. "resourceVersion=0&fieldSelector=metadata.name=b"
).events = 1
ask(
    "one object is no stream",
    "WATCH " .. MAPS .. "/b?watch=true&timeoutSeconds=1&resourceVersion=0"
)
ask(
    "the old path of watches",
    "WATCH /api/v1/watch/namespaces/{ns}/configmaps?timeoutSeconds=1&resourceVersion={rv}"
).events = 5
ask(
    "the old path of a watch of one object",
    "WATCH /api/v1/watch/namespaces/{ns}/configmaps/b?timeoutSeconds=1&resourceVersion={rv}"
).events = 1
ask(
    "the old path of watches of all namespaces",
    "WATCH /api/v1/watch/configmaps?timeoutSeconds=1&resourceVersion={rv}"
).events = 5
ask("it ends after its seconds", WATCH .. "resourceVersion={rv}").events = true
ask(
    "as a bool of another spelling",
    "WATCH " .. MAPS .. "?watch=1&timeoutSeconds=1&resourceVersion={rv}"
).events = true
ask(
    "without a value", "WATCH " .. MAPS .. "?watch&timeoutSeconds=1&resourceVersion={rv}"
).events = true
ask("with a limit", WATCH .. "resourceVersion={rv}&limit=1").events = 5
ask("a version to come", WATCH .. "resourceVersion=999999999").events = true
ask("a version that is none", WATCH .. "resourceVersion=abc")
ask("a negative version", WATCH .. "resourceVersion=-1")
-- Of a kind with few events, so that the real server has not forgotten the first.
ask("a secret made", "POST /api/v1/namespaces/{ns}/secrets", objects.of("v1", "Secret", "s"))
ask(
    "a version of long ago",
    "WATCH /api/v1/namespaces/{ns}/secrets?watch=true&timeoutSeconds=1&resourceVersion=1"
).events = true
ask(
    "a match without initial events",
    WATCH .. "resourceVersionMatch=NotOlderThan&resourceVersion={rv}"
)
ask("an exact match", WATCH .. "resourceVersionMatch=Exact&resourceVersion={rv}")
ask("a match that is none", WATCH .. "resourceVersionMatch=Nonsense&resourceVersion={rv}")
ask("a token", WATCH .. "continue=abc").events = true

local INITIAL = WATCH .. "sendInitialEvents=true&fieldSelector=metadata.namespace={ns}&"
ask("initial events without a match", INITIAL)
ask("initial events, exact", INITIAL .. "resourceVersionMatch=Exact")
ask(
    "initial events without bookmarks", INITIAL .. "resourceVersionMatch=NotOlderThan"
).events = true
ask(
    "initial events", INITIAL .. "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
).events = 2
ask(
    "initial events at version 0",
    INITIAL .. "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0"
).events = 2
ask(
    "initial events at a version",
    INITIAL .. "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={rv}"
).events = 2
ask(
    "initial events at a version to come",
    INITIAL .. "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=9"
        .. "99999999"
).events = true
ask(
    "initial events at a version that is none",
    INITIAL .. "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=abc"
)
ask("initial events that are none", WATCH .. "sendInitialEvents=false")
ask(
    "no initial events",
    WATCH .. "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks="
        .. "true&resourceVersion={rv}"
).events = 5
ask(
    "no initial events, without bookmarks",
    WATCH .. "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion={rv}"
).events = 5
ask(
    "initial events with a bool that is none",
    WATCH .. "sendInitialEvents=maybe&resourceVersionMatch=NotOlderThan"
)
ask(
    "initial events with a token", INITIAL .. "resourceVersionMatch=NotOlderThan&continue=abc"
).events = true
ask("bookmarks", WATCH .. "resourceVersion={rv}&allowWatchBookmarks=true").events = 5
ask("a timeout that is none", "WATCH " .. MAPS .. "?watch=true&timeoutSeconds=x")
ask("a selector that is none", WATCH .. "labelSelector=a%20like%20b")
ask("fields that it does not know", WATCH .. "fieldSelector=data.a=1")
ask("of a resource that is not there", "WATCH /api/v1/namespaces/{ns}/nothings?watch=true")
ask(
    "of a namespace that is not there",
    "WATCH /api/v1/namespaces/none-{ns}/configmaps?watch=true&timeoutSeconds=1"
).events = true
ask(
    "of kinds that cannot be watched", "WATCH /api/v1/componentstatuses?watch=true&timeoutSeconds=1"
).only = "status"

local TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
local PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
ask("as a table", WATCH .. "resourceVersion={rv}").events = 5
requests[#requests].headers = { Accept = TABLE }
ask("as tables without objects", WATCH .. "resourceVersion={rv}&includeObject=None").events = 5
requests[#requests].headers = { Accept = TABLE }
ask("as metadata", WATCH .. "resourceVersion={rv}").events = 5
requests[#requests].headers = { Accept = PARTIAL }
ask("as a list of metadata", WATCH .. "resourceVersion={rv}").events = true
requests[#requests].headers = {
    Accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
}
ask("as a stream by name", WATCH .. "resourceVersion={rv}").events = 5
requests[#requests].headers = { Accept = "application/json;stream=watch" }
ask("as YAML", WATCH .. "resourceVersion={rv}").only = "status"
requests[#requests].headers = { Accept = "application/yaml" }
ask("as text", WATCH .. "resourceVersion={rv}")
requests[#requests].headers = { Accept = "text/plain" }
ask("pretty", WATCH .. "resourceVersion={rv}&pretty=true").events = true

return requests
