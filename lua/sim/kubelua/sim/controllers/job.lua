-- Jobs: pods until enough of them have succeeded.
local owned = require "kubelua.sim.controllers.owned"

local function count(world, job)
    local counts = { active = {}, succeeded = 0, failed = 0, ready = 0 }
    for _, pod in ipairs(world.pods:by("owner", job.uid)) do
        local phase = pod:get("status.phase")
        if phase == "Succeeded" then
            counts.succeeded = counts.succeeded + 1
        elseif phase == "Failed" then
            counts.failed = counts.failed + 1
        elseif world:lives(pod) then
            counts.active[#counts.active + 1] = pod
            counts.ready = counts.ready + (owned.is_ready(pod) and 1 or 0)
        end
    end
    return counts
end

local function conditions_of(world, type, reason)
    local now = world:time()
    local first = type == "Complete" and "SuccessCriteriaMet" or "FailureTarget"
    local function condition(name)
        return { type = name, status = "True", reason = reason, lastProbeTime = now,
            lastTransitionTime = now }
    end
    return { condition(first), condition(type) }
end

return function(world)
    local function tell(job, counts, outcome)
        local status = {
            active = outcome and 0 or #counts.active,
            ready = outcome and 0 or counts.ready,
            succeeded = counts.succeeded,
            failed = counts.failed,
        }
        if not job:get("status.startTime") then
            status.startTime = world:time()
        end
        if outcome == "Complete" then
            status.conditions = conditions_of(world, "Complete", "CompletionsReached")
            status.completionTime = world:time()
        elseif outcome then
            status.conditions = conditions_of(world, "Failed", "BackoffLimitExceeded")
        end
        return owned.says(job.status, status) or world:status(job, status)
    end

    local enqueue = world:queue("job", function(key)
        local job = world.jobs:get(key)
        if not job or not world:lives(job) or job:get("status.completionTime")
            or job:get("spec.suspend") then
            return true
        end
        local counts = count(world, job)
        local wanted = job:get("spec.completions") or 1
        if counts.succeeded >= wanted then
            return tell(job, counts, "Complete")
        elseif counts.failed > (job:get("spec.backoffLimit") or 6) then
            return tell(job, counts, "Failed")
        end
        local missing = math.min(job:get("spec.parallelism") or 1, wanted - counts.succeeded)
            - #counts.active
        local ok, message = owned.create(world, job, missing, {
            ["batch.kubernetes.io/job-name"] = job.name, ["job-name"] = job.name,
            ["batch.kubernetes.io/controller-uid"] = job.uid, ["controller-uid"] = job.uid,
        })
        if not ok then
            return nil, message
        end
        return tell(job, counts)
    end)

    owned.watch(world.jobs, world.pods, "Job", enqueue)
end
