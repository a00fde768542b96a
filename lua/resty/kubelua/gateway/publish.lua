-- What the owner publishes for requests: the tables of the shared map, and how a result of
-- compile.lua gets into them.
local publish = {
    ENTRIES = "gateway.entries",
    HOSTS = "gateway.hosts",
    CERTIFICATES = "gateway.certificates", -- "ENTRY HOST" to a list of Secrets
    SECRETS = "gateway.secrets", -- "namespace/name" to { certificate =, key = }, as PEM
    USERS = "gateway.users", -- "namespace/name" to the text of a htpasswd file
    SCRIPTS = "gateway.scripts", -- "namespace/name" of a ConfigMap to { text = }
    REFUSED = "gateway.refused", -- refused.lua
}

-- Those that one run of the compiler completes; users.lua completes its own.
local OF_RUN = { publish.ENTRIES, publish.HOSTS, publish.CERTIFICATES, publish.SECRETS,
    publish.SCRIPTS, publish.REFUSED }

publish.TABLES = { publish.ENTRIES, publish.HOSTS, publish.CERTIFICATES, publish.SECRETS,
    publish.SCRIPTS, publish.REFUSED, publish.USERS }

---@class resty.kubelua.gateway.Writing where results go
---@field batch resty.kubelua.Batch
---@field log fun(level: string, format: string, ...: any)
---@field pace fun() called between two pieces of work; it may wait

local function put_all(writing, table_name, changes)
    for key, value in pairs(changes) do
        local ok, message
        if #key > 511 then
            ok, message = nil, "the name is too long"
        else
            -- a value that is no JSON costs its own host only
            local called
            called, ok, message = pcall(writing.batch.put, writing.batch, table_name, key,
                value or nil)
            ok, message = called and ok, called and message or ok
        end
        if not ok then
            writing.log("error", "gateway: %s \"%s\": %s", table_name, key, message)
        end
        writing.pace()
    end
end

---Makes ready what a run of the compiler has changed; the batch's commit publishes it.
---@param writing resty.kubelua.gateway.Writing
---@param result resty.kubelua.gateway.CompileResult
function publish.result(writing, result)
    put_all(writing, publish.HOSTS, result.hosts)
    put_all(writing, publish.CERTIFICATES, result.certificates)
    put_all(writing, publish.ENTRIES, result.entries)
end

---Says that the tables of a run are complete.
---@param kube resty.kubelua.Instance
function publish.complete(kube)
    for _, name in ipairs(OF_RUN) do
        kube.complete(name)
    end
end

return publish
