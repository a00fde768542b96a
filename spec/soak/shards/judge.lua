-- Judges what etcd has recorded of the soak of shards: each write of a run has its token. In the
-- order of versions, no run may write to an object after another run has; and in a cluster of a
-- fleet, nothing that one life of it has made may write after something of another life has. Reads
-- what `cluster.sh record-etcd` has written; exit status 1 on a breach.
--   kubelua run judge.lua FILE [fleet]
local is_fleet = arg[2] == "fleet"

local last, past = {}, {} -- by UID or namespace: the last writer; those before it
local states = {} -- by key: the token and the step that the object has
local runs, handed, lives, breaches = 0, 0, 0, 0

local function breach(format, ...)
    breaches = breaches + 1
    if breaches <= 20 then
        print("BREACH  " .. format:format(...))
    end
end

-- Returns the writer before, if this is another one.
local function judge(id, writer, what, version)
    local before = last[id]
    if writer == before then
        return nil
    end
    past[id] = past[id] or {}
    if past[id][writer] then
        breach("%s: %s writes again after %s (version %s)", what, writer, before, version)
    end
    if before then
        past[id][before] = true
    end
    last[id] = writer
    return before or ""
end

local function judge_write(key, token, object, version)
    local before = judge(object.metadata.uid, token, key, version)
    if before and token:find("%-%d+$") and object.kind == "ConfigMap" then
        runs = runs + 1
        local member = before:match("^[^-]*%-")
        handed = handed + (member and member ~= token:match("^[^-]*%-") and 1 or 0)
    end
    if is_fleet and judge(object.metadata.namespace, token:match("^(.*)%-"), key, version) then
        lives = lives + 1
    end
end

local function take(event)
    local key = kubelua.unbase64(event.kv.key)
    if not (key:find("^/registry/configmaps/") or key:find("^/registry/secrets/")) then
        return
    elseif event.type == "DELETE" then
        states[key] = nil
        return
    end
    local object = assert(kubelua.decode(kubelua.unbase64(event.kv.value)))
    local annotations = object.metadata.annotations or {}
    local state = (annotations.token or "") .. " " .. (annotations.step or "")
    if annotations.token and state ~= states[key] then -- else the write is none of a run
        judge_write(key, annotations.token, object, event.kv.mod_revision)
    end
    states[key] = state
end

local is_cut = false
for line in io.lines(arg[1]) do
    local answer = kubelua.decode(line)
    local result = answer and answer.result or {}
    if result.canceled or is_cut then
        breach("the record has a gap before %s", line:sub(1, 200))
    end
    is_cut = answer == nil -- as the last line may be
    for _, event in ipairs(result.events or {}) do
        take(event)
    end
end
print(("%d runs, %d of them after one of another member; %s%d breaches"):format(runs, handed,
    is_fleet and lives .. " lives of clusters; " or "", breaches))
os.exit(runs > 0 and breaches == 0 and 0 or 1)
