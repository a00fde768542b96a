-- The controller of Jobs: creates pods until enough of them have succeeded.
local owned = require "kubelua.sim.controllers.owned"

local function count_pods(run)
    local counts = { active = 0, succeeded = 0, failed = 0, ready = 0 }
    for _, pod in ipairs(run:owned("pods")) do
        local phase = pod:get("status.phase")
        if phase == "Succeeded" then
            counts.succeeded = counts.succeeded + 1
        elseif phase == "Failed" then
            counts.failed = counts.failed + 1
        elseif not owned.is_deleted(pod) then
            counts.active = counts.active + 1
            counts.ready = counts.ready + (owned.is_ready(pod) and 1 or 0)
        end
    end
    return counts
end

local function conditions_of(now, type, reason)
    local first = type == "Complete" and "SuccessCriteriaMet" or "FailureTarget"
    local function condition(name)
        return { type = name, status = "True", reason = reason, lastProbeTime = now,
            lastTransitionTime = now }
    end
    return { condition(first), condition(type) }
end

return function(life)
    local function report_status(job, run, counts, outcome)
        local now = life.time()
        local status = {
            active = outcome and 0 or counts.active,
            ready = outcome and 0 or counts.ready,
            succeeded = counts.succeeded,
            failed = counts.failed,
            startTime = job:get("status.startTime") or now,
        }
        if outcome == "Complete" then
            status.conditions = conditions_of(now, "Complete", "CompletionsReached")
            status.completionTime = now
        elseif outcome then
            status.conditions = conditions_of(now, "Failed", "BackoffLimitExceeded")
        end
        return run:status(status)
    end

    local function reconcile(job, run)
        if job:get("status.completionTime") or job:get("spec.suspend") then
            return
        end
        local counts = count_pods(run)
        local wanted = job:get("spec.completions") or 1
        if counts.succeeded >= wanted then
            return report_status(job, run, counts, "Complete")
        elseif counts.failed > (job:get("spec.backoffLimit") or 6) then
            return report_status(job, run, counts, "Failed")
        end
        local missing = math.min(job:get("spec.parallelism") or 1, wanted - counts.succeeded)
            - counts.active
        assert(owned.create(run, job, missing, {
            ["batch.kubernetes.io/job-name"] = job.name, ["job-name"] = job.name,
            ["batch.kubernetes.io/controller-uid"] = job.uid, ["controller-uid"] = job.uid,
        }))
        return report_status(job, run, counts)
    end

    return { { "jobs.batch", name = "job", owns = { "pods" }, reconcile = reconcile } }
end
