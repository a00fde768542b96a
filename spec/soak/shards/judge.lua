-- Judges a recording of the soak of shards: each write of a run has its token. In the order of
-- versions, no run may write to an object after another run has. Reads what `kubelua record` has
-- written; exit status 1 on a breach.
--   lua5.4 spec/soak/shards/judge.lua FILE
local cjson = require "cjson"

local last, past = {}, {} -- by UID: the token of the last run; those of runs before it
local runs, handed, breaches = 0, 0, 0

local function breach(format, ...)
    breaches = breaches + 1
    if breaches <= 20 then
        print("BREACH  " .. format:format(...))
    end
end

local function member_of(token)
    return token:match("^(.*)%.")
end

-- Judges the state of an object after a write.
local function judge(object)
    local id, token = object.metadata.uid, (object.metadata.annotations or {}).token
    local before = last[id]
    if not token or token == before then
        return
    end
    past[id] = past[id] or {}
    if past[id][token] then
        breach("%s: %s writes again after %s (version %s)", object.metadata.name, token, before,
            object.metadata.resourceVersion)
    end
    if before then
        past[id][before] = true
        handed = handed + (member_of(before) ~= member_of(token) and 1 or 0)
    end
    last[id], runs = token, runs + 1
end

for line in io.lines(arg[1]) do
    local object = cjson.decode(line).object
    if object and object.kind == "ConfigMap" and object.metadata then
        judge(object)
    end
end
print(("%d runs, %d of them after one of another member; %d breaches"):format(runs, handed,
    breaches))
os.exit(runs > 0 and breaches == 0)
