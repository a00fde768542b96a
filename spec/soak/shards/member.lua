-- A member of the ring in the soak of shards: of a controller's ring, or of a fleet's. Its runs
-- write each of their steps into the object, with a token of the run; so the order of writes tells
-- which runs worked on an object, and when. A token is "IDENTITY.PROCESS-LIFE-RUN".
--   kubelua run member.lua IDENTITY key|uid|namespace
--   kubelua run member.lua IDENTITY fleet FOLDER      of the kubeconfigs of all clusters
local core = require "kubelua.core"

local identity, by, folder = arg[1], arg[2], arg[3]

-- Objects made by the soak; "kube-root-ca.crt" is not.
local labels = "soak=shards"
local FINALIZER = "soak.kubelua.dev/child"
-- Another process may have the same identity later.
local process = core.random(4)
local runs, lives = 0, 0

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

local function child_of(object, token)
    return { apiVersion = "v1", kind = "Secret", stringData = { n = object.data.n },
        metadata = { name = object.name, namespace = object.namespace,
            labels = { soak = "shards" }, annotations = { token = token } } }
end

-- A life is what has one share of the objects from its beginning to its end.
local function new_life()
    lives = lives + 1
    return identity .. "." .. process .. "-" .. lives
end

-- The options of a controller of the soak.
local function work(life, namespace)
    return { "configmaps", labels = labels, name = "soak", workers = 16, namespace = namespace,
        owns = { { "secrets", labels = labels, namespace = namespace } },
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
            runs = runs + 1
            local token = life .. "-" .. runs
            mark(run, token, { step = "begin" })
            pause()
            local applied, message, code = run:apply(child_of(object, token))
            if not applied then
                return nil, message, code
            end
            pause()
            mark(run, token, { step = "end", seen = object.data.n })
        end }
end

-- Writes to the cluster as long as it has a turn, in no run of a controller.
local function beat(life, cluster)
    local count = 0
    while true do
        count = count + 1
        cluster.client:apply { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "beat", namespace = cluster.name,
                annotations = { token = life .. "-beat", step = tostring(count) } } }
        kubelua.sleep(0.5)
    end
end

local ring = { name = "soak", identity = identity, lease = 6, renew = 4, retry = 1 }
if by == "fleet" then
    kubelua.fleet { source = { folder = folder }, shards = ring, function(cluster)
        local life = new_life()
        kubelua.spawn(beat, life, cluster)
        kubelua.controller(work(life, cluster.name))
        pause()
        if math.random(10) == 1 then
            error("no luck", 0) -- what it has made ends, and it is called again
        end
    end }
else
    local options = work(new_life())
    ring.by, ring.caches, options.shards = by, os.getenv "CACHES", ring
    kubelua.controller(options)
end
