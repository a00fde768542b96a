-- A member of the ring in the soak of shards. Its runs write each of their steps into the object,
-- with a token of the run: so the order of writes tells which runs worked on an object, and when.
local identity, by = arg[1], arg[2]

-- Objects made by the soak; "kube-root-ca.crt" is not.
local labels = "soak=shards"
local FINALIZER = "soak.kubelua.dev/child"
-- Another process may have the same identity later.
local process = require("kubelua.core").random(4)
local count = 0

local function pause()
    kubelua.sleep(math.random() * 0.05)
end

local function mark(run, token, fields)
    fields.token = token
    local object, message, code = run:patch { metadata = { annotations = fields } }
    if not object then
        error(message .. " (" .. tostring(code) .. ")", 0)
    end
end

local function child_of(object)
    return { apiVersion = "v1", kind = "Secret", stringData = { n = object.data.n },
        metadata = { name = object.name, namespace = object.namespace,
            labels = { soak = "shards" } } }
end

kubelua.controller { "configmaps", labels = labels, name = "soak", workers = 16,
    owns = { { "secrets", labels = labels } },
    shards = { name = "soak", identity = identity, by = by, lease = 6, renew = 4, retry = 1,
        caches = os.getenv "CACHES" },
    finalizer = FINALIZER,
    finalize = function(object, run)
        local ok, message, code = run:delete("secrets", object.key)
        if not ok then
            return nil, message, code
        end
    end,
    reconcile = function(object, run)
        local seen = object.metadata.annotations and object.metadata.annotations.seen
        local child = run:get("secrets", object.key)
        if seen == object.data.n and child then
            return
        end
        count = count + 1
        local token = identity .. "." .. process .. "-" .. count
        mark(run, token, { step = "begin" })
        pause()
        local applied, message, code = run:apply(child_of(object))
        if not applied then
            return nil, message, code
        end
        pause()
        mark(run, token, { step = "end", seen = object.data.n })
    end }
