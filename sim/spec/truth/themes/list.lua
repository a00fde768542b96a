-- The matrix of a list's parameters: resourceVersion, resourceVersionMatch, limit, continue.
local objects = require "objects"

local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local requests = {}

local function ask(sentence, request, ...)
    requests[#requests + 1] = { sentence, request, ... }
    return requests[#requests]
end

for i = 1, 5 do
    ask("made: map " .. i, "POST " .. MAPS, objects.configmap("map-" .. i)).save = {
        rv = "metadata.resourceVersion", ["rv" .. i] = "metadata.resourceVersion",
    }
end

local VERSIONS = {
    "", "resourceVersion=&", "resourceVersion=0&", "resourceVersion={rv}&",
    "resourceVersion=999999999&", "resourceVersion=abc&", "resourceVersion=-1&",
    "resourceVersion=1&", "resourceVersion=00&",
}
local MATCHES = {
    "", "resourceVersionMatch=Exact&", "resourceVersionMatch=NotOlderThan&",
    "resourceVersionMatch=Nonsense&",
}
local LIMITS = { "", "limit=2&" }

for _, version in ipairs(VERSIONS) do
    for _, match in ipairs(MATCHES) do
        for _, limit in ipairs(LIMITS) do
            local query = version .. match .. limit
            ask("?" .. query, "GET " .. MAPS .. "?" .. query).seconds = 10
        end
    end
end

ask("page 1 of 3", "GET " .. MAPS .. "?limit=2").save = {
    continue = "metadata.continue", page_rv = "metadata.resourceVersion",
}
ask("made: another", "POST " .. MAPS, objects.configmap("map-6"))
ask(
    "page 2 of 3 is of the version of page 1", "GET " .. MAPS .. "?limit=2&continue={continue}"
).save = { continue3 = "metadata.continue" }
ask("page 3 of 3", "GET " .. MAPS .. "?limit=2&continue={continue3}")
ask("the rest at once", "GET " .. MAPS .. "?continue={continue}")
ask(
    "a page with resourceVersion 0",
    "GET " .. MAPS .. "?limit=2&continue={continue}&resourceVersion=0"
)
ask(
    "a page with a resourceVersion",
    "GET " .. MAPS .. "?limit=2&continue={continue}&resourceVersion={rv}"
)
ask(
    "a page with a match",
    "GET " .. MAPS .. "?limit=2&continue={continue}&resourceVersionMatch=Exact"
)
ask("a page of rubbish", "GET " .. MAPS .. "?limit=2&continue=rubbish")
ask("a page of base64 of rubbish", "GET " .. MAPS .. "?limit=2&continue=eyJhIjoxfQ")
ask(
    "a page of an unknown kind of token",
    "GET " .. MAPS .. "?limit=2&continue=eyJ2IjoidjkiLCJydiI6MSwic3RhcnQiOiJhIn0"
)
ask(
    "a page of a token without version",
    "GET " .. MAPS .. "?limit=2&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0"
)
ask(
    "a page of a token that leaves its folder",
    "GET " .. MAPS .. "?limit=2&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiI"
        .. "uLi8uLi9hIn0"
)
ask("limit 0", "GET " .. MAPS .. "?limit=0")
ask("a negative limit", "GET " .. MAPS .. "?limit=-1")
ask("a limit that is no number", "GET " .. MAPS .. "?limit=x")
ask("a limit that is too large for an integer", "GET " .. MAPS .. "?limit=99999999999999999999")
ask("a limit as large as the list", "GET " .. MAPS .. "?limit=6")
ask(
    "pages of what a selector finds", "GET " .. MAPS .. "?limit=1&fieldSelector=metadata.name=map-3"
)
ask(
    "pages with labels", "GET " .. MAPS .. "?limit=1&labelSelector=!none"
).save = { continue = "metadata.continue" }
ask("the next one", "GET " .. MAPS .. "?limit=1&labelSelector=!none&continue={continue}")
ask("a timeout", "GET " .. MAPS .. "?timeoutSeconds=5")
ask("a timeout that is no number", "GET " .. MAPS .. "?timeoutSeconds=x")
ask("a negative timeout", "GET " .. MAPS .. "?timeoutSeconds=-5")
ask("a bool that is none", "GET " .. MAPS .. "?watch=maybe&timeoutSeconds=1").only = "status"
ask("a watch that is none", "GET " .. MAPS .. "?watch=false")
ask(
    "initial events without a watch",
    "GET " .. MAPS .. "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
)
ask("bookmarks without a watch", "GET " .. MAPS .. "?allowWatchBookmarks=true")
ask("a parameter that nobody knows", "GET " .. MAPS .. "?nothing=1")
ask("a parameter twice", "GET " .. MAPS .. "?limit=1&limit=2")
ask("a request timeout", "GET " .. MAPS .. "?timeout=10s")
ask("a request timeout that is none", "GET " .. MAPS .. "?timeout=abc")
ask("a semicolon in the query", "GET " .. MAPS .. "?limit=1;a=b").only = "status"
ask("an escape that is none", "GET " .. MAPS .. "?labelSelector=%zz").only = "status"

return requests
