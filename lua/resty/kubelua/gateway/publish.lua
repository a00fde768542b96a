-- What the owner publishes for requests: the tables of the shared map, and how a result of
-- compile.lua gets into them.
local publish = {
    ENTRIES = "gateway.entries",
    HOSTS = "gateway.hosts",
    CERTIFICATES = "gateway.certificates", -- "ENTRY HOST" to a list of Secrets
    SECRETS = "gateway.secrets", -- "namespace/name" to { certificate =, key = }, as PEM
}

publish.TABLES = { publish.ENTRIES, publish.HOSTS, publish.CERTIFICATES, publish.SECRETS }

local function put_all(kube, log, table_name, changes)
    for key, value in pairs(changes) do
        local ok, message
        if #key > 511 then
            ok, message = nil, "the name is too long"
        else
            ok, message = kube.put(table_name, key, value or nil)
        end
        if not ok then
            log("error", "gateway: %s \"%s\": %s", table_name, key, message)
        end
    end
end

---Publishes what a run of the compiler has changed. Call it in one round of handlers, so that all
---of it appears together.
---@param kube resty.kubelua.Instance
---@param log fun(level: string, format: string, ...: any)
---@param result resty.kubelua.gateway.CompileResult
function publish.result(kube, log, result)
    put_all(kube, log, publish.HOSTS, result.hosts)
    put_all(kube, log, publish.CERTIFICATES, result.certificates)
    put_all(kube, log, publish.ENTRIES, result.entries)
end

---Says that all tables are complete.
---@param kube resty.kubelua.Instance
function publish.complete(kube)
    for _, name in ipairs(publish.TABLES) do
        kube.complete(name)
    end
end

return publish
