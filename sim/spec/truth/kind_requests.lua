-- What is asked of every built-in kind by its smallest object: its defaults, its table, its
-- status.
local TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"

---@param kinds table[] { version of the API, plural, object, cluster = without a namespace }
---@return table[] requests
return function(kinds)
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
