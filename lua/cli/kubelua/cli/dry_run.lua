-- kubelua run --dry-run: sends every request that may write with dryRun=All, so that the server
-- checks it and stores nothing, and shows the change as a diff. A request that has no dry run is
-- refused, not sent. requests.lua calls handle_request for each request; and as a last check,
-- guard() stands before core.request_send, which sends all requests of Lua.
local Aggregated = require "kubelua.cli.dry_run.aggregated"
local api_path = require "kubelua.cli.dry_run.api_path"
local complain = require "kubelua.cli.complaint"
local copy_table = require "kubelua.copy_table"
local core = require "kubelua.core"
local dry_mark = require "kubelua.cli.dry_run.mark"
local leader = require "kubelua.leader"
local live_state = require "kubelua.cli.dry_run.live_state"
local object_diff = require "kubelua.cli.dry_run.object_diff"
local requests = require "kubelua.requests"
local scopes = require "kubelua.scope"
local Unwritten = require "kubelua.cli.dry_run.unwritten"

local dry_run = {}

local VERBS = { POST = "create", PUT = "update", PATCH = "patch", DELETE = "delete" }

-- Groups whose objects are questions: the server stores none of them.
local QUESTIONS = { ["authentication.k8s.io"] = true, ["authorization.k8s.io"] = true }

-- Refusals that no script expects as an answer, so they count as failures of the dry run. A 404, a
-- 409 or a 429 is for the script to judge.
local COUNTED = { [400] = true, [401] = true, [403] = true, [405] = true, [413] = true,
    [415] = true, [422] = true }

local APPLY = "application/apply-patch"

---What a dry run has found.
---@class kubelua.DryRun
---@field show fun(text: string) receives the diffs, and the lines about Events
---@field warn fun(text: string) receives what cannot be tried, or is refused
---@field changes integer how many different changes were shown
---@field refusals integer requests that were not sent, or that the server would refuse
---@field shown table<string, true>
---@field unwritten kubelua.Unwritten
---@field aggregated kubelua.Aggregated
---@field undo fun()

---A request that may write.
---@class kubelua.DryRun.Trial
---@field client kubelua.Client
---@field call table of core.request_send
---@field name string of the call that waits, for messages
---@field exchange fun(client, call, name): kubelua.Reply?, string?, string?
---@field path kubelua.ApiPath
---@field method string
---@field verb string
---@field line string

local current ---@type kubelua.DryRun? # nil: this process is in no dry run

local function refuse(what, why)
    local message = what .. " was not sent, because of --dry-run: " .. why
    current.refusals = current.refusals + 1
    current.warn(scopes.script_line() .. message)
    return nil, message, "dry_run"
end

-- Sends the request as a dry run.
local function send_marked(trial)
    local call, problem = dry_mark.mark(trial.call, trial.method)
    if not call then
        return refuse(trial.method .. " " .. trial.call.target, problem)
    end
    return trial.exchange(trial.client, call, trial.name)
end

local function is_of_secrets(path)
    return path.group == "" and path.plural == "secrets"
end

-- Shows a change once: a run that is repeated shows nothing new.
local function show_change(trial, before, after, verb, remark, is_unwritten)
    local line = trial.line ~= "" and ", " .. trial.line:gsub(": $", "") or ""
    local text = object_diff.text(before, after, verb .. line .. (remark or ""),
        is_unwritten and "dry-run" or "live", is_of_secrets(trial.path))
    if text and not current.shown[text] then
        current.shown[text] = true
        current.changes = current.changes + 1
        current.show(text)
    end
end

-- An Event is for people, and no change: one line.
local function show_event(event)
    local about = live_state.part(event, event.regarding and "regarding" or "involvedObject")
    local text = ("# Event: %s %s: %s %s%s: %s"):format(tostring(event.type),
        tostring(event.reason), tostring(about.kind),
        about.namespace and tostring(about.namespace) .. "/" or "", tostring(about.name),
        tostring(event.note or event.message or ""))
    text = core.escape(text) .. "\n"
    if not current.shown[text] then
        current.shown[text] = true
        current.show(text)
    end
end

local function is_event(path)
    return path.plural == "events" and (path.group == "" or path.group == "events.k8s.io")
end

local function is_question(path)
    return QUESTIONS[path.group] or path.subresource == "token"
end

-- The reply to a binding of a pod is a Status: what would change is the node.
local function try_binding(trial)
    local body = live_state.decode(trial.call.body) or {}
    local name = trial.path.name or live_state.part(body, "metadata").name
    local target = type(name) == "string" and trial.path.below(name):gsub("/bindings/", "/pods/")
    local read = target and live_state.read(trial, target)
    local before = read and read.status == 200 and live_state.decode(read.body)
    local reply, message, code = send_marked(trial)
    if before and reply and reply.status < 300 then
        local after = copy_table(before)
        after.spec = copy_table(before.spec)
        after.spec.nodeName = live_state.part(body, "target").name
        show_change(trial, before, after, "bind")
    end
    return reply, message, code
end

-- Shows what a deletion of a collection would delete: the reply names it.
local function show_collection(trial, reply)
    for _, object in ipairs(live_state.items(live_state.decode(reply.body) or {})) do
        show_change(trial, object, nil, trial.verb)
        current.unwritten:note_deleted(trial, object)
    end
end

local UNREADABLE = " cannot be read: allow the verb get"

local function name_only(path)
    return { apiVersion = (path.group ~= "" and path.group .. "/" or "") .. path.version,
        kind = path.plural, metadata = { name = path.name, namespace = path.namespace } }
end

-- Warns if the reply shows that the server has written: it does not know dryRun, or ignores it.
local function tell_betrayal(trial, is_new, before, after)
    local sign = current.aggregated:betrayal(trial, is_new, before, after)
    if sign then
        current.refusals = current.refusals + 1
        current.warn(("%s%s %s: has been written: its API server ignores dryRun, as %s"):format(
            trial.line, trial.verb, trial.path.object, sign))
    end
end

-- Shows what a write that the server has accepted would change.
local function show_success(trial, is_known, before, reply)
    local path, after = trial.path, live_state.decode(reply.body)
    local is_status = not after or after.kind == "Status" and after.apiVersion == "v1"
    local remark = not is_known and "; the state before" .. UNREADABLE or nil
    if trial.method == "DELETE" or path.subresource == "eviction" then
        if before or not is_known then
            show_change(trial, before or name_only(path), nil, path.subresource and "evict"
                or "delete", not is_known and "; its state" .. UNREADABLE or nil)
        end
        if is_status and not path.subresource then
            current.unwritten:note_deleted(trial, before)
        end
    elseif not is_status then
        tell_betrayal(trial, is_known and not before, before, after)
        show_change(trial, before, after, trial.verb, remark)
        if is_known and not before and not path.subresource then
            current.unwritten:note_created(trial, after)
        end
    end
end

-- The remedy for a refusal that only a dry run can meet.
local function add_remedy(reply)
    local status = reply.status == 400 and live_state.decode(reply.body)
    local message = status and type(status.message) == "string" and status.message or ""
    if message:find("does not support dry run", 1, true) then
        status.message = message .. "; if it has no side effects, or none in a dry run, its "
            .. "webhook configuration may say sideEffects: None or NoneOnDryRun"
        return { status = reply.status, headers = reply.headers, body = core.encode(status) }
    end
    return reply
end

-- Warns that the server refuses a write. Its message about a Secret may quote the Secret, so it is
-- not printed; the script gets it all the same.
local function tell_refusal(trial, reply, is_own)
    local is_hidden = is_of_secrets(trial.path) and not is_own
    current.refusals = current.refusals + 1
    current.warn(("%s%s %s: refused: %s"):format(trial.line, trial.verb, trial.path.object,
        is_hidden and "HTTP " .. reply.status .. " (the server's message is not shown: it may "
        .. "quote the Secret)" or core.status_error(reply.status, reply.body)))
end

-- Tries a write to an object that this dry run has neither created nor deleted.
local function try_write(trial)
    local is_known, before = true, nil
    if trial.method ~= "POST" or trial.path.name then
        local problem_code
        is_known, before, problem_code = live_state.before(trial)
        if is_known == nil then
            return nil, before, problem_code
        end
    end
    local reply, message, code = send_marked(trial)
    if not reply then
        return nil, message, code
    elseif reply.status < 300 then
        show_success(trial, is_known, before, reply)
    elseif COUNTED[reply.status] then
        reply = add_remedy(reply)
        tell_refusal(trial, reply)
    end
    return reply
end

-- Answers a write to an object that this dry run has created or deleted: the server cannot.
local function answer_write(trial)
    local reply, before, after = current.unwritten:answer(trial)
    if before or after then
        show_change(trial, before, after, trial.path.subresource == "eviction" and "evict"
            or trial.verb, "; not checked by the server: it does not have the object", true)
    elseif COUNTED[reply.status] then
        tell_refusal(trial, reply, true)
    end
    return reply
end

-- The patch of an Event of this dry run says how often it happened: nothing is shown for it.
local function try_event(trial)
    local is_new = trial.method == "POST"
    if not is_new and current.unwritten:concerns(trial) then
        return (current.unwritten:answer(trial))
    end
    local reply, message, code = send_marked(trial)
    local event = is_new and reply and reply.status < 300 and live_state.decode(reply.body)
    if event then
        show_event(event)
        current.unwritten:note_created(trial, event)
    end
    return reply, message, code
end

local function try_request(trial)
    local path = trial.path
    if is_question(path) then
        return send_marked(trial)
    elseif is_event(path) and trial.method ~= "DELETE" then
        return try_event(trial)
    elseif path.subresource == "binding" or path.plural == "bindings" and path.group == "" then
        return try_binding(trial)
    elseif not path.name and trial.method == "DELETE" then
        local reply, message, code = send_marked(trial)
        if reply and reply.status < 300 then
            show_collection(trial, reply)
        end
        return reply, message, code
    elseif current.unwritten:concerns(trial) then
        return answer_write(trial)
    end
    return try_write(trial)
end

-- Returns why a request cannot be tried, as far as the request itself shows it; nil: it can.
local function find_obstacle(call, method, path)
    return api_path.obstacle(method, path) or dry_mark.obstacle(call, method)
end

local function describe_service(path, service)
    return ("%s/%s is served by an API server of its own (Service %s), which may ignore dryRun")
        :format(path.group, path.version, service)
end

-- Every request of the process comes here before it is sent.
local function handle_request(client, call, name, exchange)
    local method = call.method:upper()
    local path = api_path.parse(call.target)
    local is_elsewhere = name == "kubelua.http"
    local problem = find_obstacle(call, method, not is_elsewhere and path or nil)
    if problem then
        return refuse(call.method .. " " .. (is_elsewhere and core.client_server(client) or "")
            .. call.target, problem)
    end
    local trial = { client = client, call = call, name = name, exchange = exchange, path = path,
        method = method, line = scopes.script_line(), verb = VERBS[method] }
    if api_path.READS[method] then
        return path and not is_elsewhere and current.unwritten:read(trial)
            or exchange(client, call, name)
    elseif (call.type or ""):find(APPLY, 1, true) then
        trial.verb = "apply"
    end
    local service, message, code = current.aggregated:service(trial, live_state.read)
    if service == false then
        return nil, message, code
    elseif service then
        return refuse(call.method .. " " .. call.target, describe_service(path, service))
    end
    return try_request(trial)
end

-- The last check: whatever calls it, core.request_send sends no write that is not a dry run.
local function guard(send)
    return function(client, call, ...)
        local method = tostring(call.method):upper()
        local path = api_path.parse(call.target)
        local problem = find_obstacle(call, method, path)
        if not problem and not api_path.READS[method] then
            local service = current.aggregated:known(client, path)
            problem = not dry_mark.is_marked(call, method) and "it lacks dryRun=All"
                or service and describe_service(path, service)
        end
        if problem then
            return refuse(call.method .. " " .. call.target, problem)
        end
        return send(client, call, ...)
    end
end

-- Says once for each Lease that it is not taken: that would be a write.
local function tell_lease(lease, role)
    if not current.shown[lease] then
        current.shown[lease] = true
        current.warn("the Lease " .. lease .. " is not taken, because of --dry-run: this run "
            .. role)
    end
end

---Begins the dry run of this process.
---@param show fun(text: string) receives diffs
---@param warn (fun(text: string))? receives lines about what is not sent; default: standard error
---@return kubelua.DryRun
function dry_run.begin(show, warn)
    local send, start = core.request_send, core.process_start
    warn = warn or complain
    current = { show = show, warn = warn, changes = 0, refusals = 0, shown = {},
        unwritten = Unwritten.new(), aggregated = Aggregated.new(warn) }
    requests.trial, leader.without_lease = handle_request, tell_lease
    core.request_send = guard(send)
    core.process_start = function(given)
        return refuse("the program " .. tostring(given.args[1]),
            "what a program does cannot be tried")
    end
    current.undo = function()
        requests.trial, leader.without_lease = nil, nil
        core.request_send, core.process_start = send, start
        current = nil
    end
    return current
end

return dry_run
