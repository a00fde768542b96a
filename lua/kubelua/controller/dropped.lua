-- The failed writes of a run that ends without a failure: it has dropped their results, so nothing
-- else would tell. Each is warned of once per key and code, and status() counts them.
local failures = require "kubelua.failures"
local lines = require "kubelua.log_lines"

local dropped = {}

local WRITES = { create = true, update = true, apply = true, patch = true, scale = true,
    delete = true, delete_all = true, evict = true, status = true, request = true }

-- Then the run is at its end anyway.
local OF_THE_END = { canceled = true, not_leader = true, closed = true }

-- What has these results is no failure: the object is gone, as the script wants it to be.
local DELETES = { delete = true, evict = true }

local function is_counted(failure)
    local verb = failure.call:match(":(.*)$")
    return WRITES[verb] and not failure.is_trial and not OF_THE_END[failure.code]
        and not (DELETES[verb] and failure.code == "not_found")
end

-- A run that comes again after so many seconds has judged the reply of a budget.
local function is_told(result, failure)
    return result.result == "after" and failure.call:find(":evict", 1, true) ~= nil
        and failure.code == "too_many_requests"
end

local function warn_of(state, key, failure)
    local codes = state.dropped.warned[key] or {}
    state.dropped.warned[key] = codes
    local code = failure.code or "error"
    if codes[code] then
        return
    end
    codes[code] = true
    local line = failure.line:gsub(": $", "")
    lines.of_controller("warn", state, key, "%s: the run ended without a failure, although %s%s "
        .. "failed with \"%s\": %s; its result was dropped: write assert(%s ...), or return nil, "
        .. "message, code", state:describe(key), failure.target
        and failure.verb .. " " .. failure.target or failure.call,
        line ~= "" and " (" .. line .. ")" or "", code, failure.message, failure.call)
end

local function report_failure(state, key, failure)
    state.dropped.count = state.dropped.count + 1
    warn_of(state, key, failure)
end

-- The script has tried again, and succeeded.
local function forget_target(list, target)
    for i = #list, 1, -1 do
        if list[i].target == target then
            table.remove(list, i)
        end
    end
end

---What a controller counts.
---@return { count: integer, warned: table<string, table<string, true>> }
function dropped.new()
    return { count = 0, warned = {} }
end

---Notes a failed call in the scope of a run. Those of tasks that outlive the run are reported at
---once: nothing can hand them on.
---@param record kubelua.controller.Record
---@param failure kubelua.Failure
function dropped.note_failure(record, failure)
    if not is_counted(failure) then
        return
    elseif record.is_over then
        report_failure(record.state, record.key, failure)
    else
        record.failed = record.failed or {}
        table.insert(record.failed, failure)
    end
end

---Notes a write in the scope of a run.
---@param record kubelua.controller.Record
---@param write kubelua.Write
function dropped.note_write(record, write)
    if record.failed and not write.code then
        forget_target(record.failed, failures.target_of(write))
    end
end

---Reports the failed writes of a run that has ended, if its outcome does not tell of them.
---@param state kubelua.controller.State
---@param record kubelua.controller.Record
---@param result kubelua.controller.Outcome
function dropped.report(state, record, result)
    if result.message or result.result ~= "done" and result.result ~= "after" then
        return
    end
    for _, failure in ipairs(record.failed or {}) do
        if not is_told(result, failure) then
            report_failure(state, record.key, failure)
        end
    end
end

---Forgets a key whose object is gone.
---@param state kubelua.controller.State
---@param key string
function dropped.forget(state, key)
    state.dropped.warned[key] = nil
end

return dropped
