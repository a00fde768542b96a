-- Finds a kind, and the path of its objects, by any name: "pods", "Pod", "po", "deployments.apps",
-- "apps/v1/Deployment", or the apiVersion and kind of an object. Built-in names need no request.
-- For other names the server's discovery is asked: once for all tasks that wait, and again for an
-- unknown name, because a custom resource may have been defined meanwhile.
local Catalogue = require "kubelua.verbs.catalogue"
local core = require "kubelua.core"
local discovery = require "kubelua.verbs.discovery"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

local kinds = {}

---@class kubelua.Kind a resource that the server serves
---@field api_version string "apps/v1"
---@field group string "" for the core group
---@field version string "v1"
---@field kind string "Deployment"
---@field plural string "deployments"
---@field namespaced boolean
---@field has_status boolean it has the subresource status
---@field subresources table<string, boolean>? nil if discovery was not asked

---What a port knows about its server's kinds.
---@class kubelua.Kinds
---@field builtin table<string, kubelua.Kind> by the name that was asked for
---@field all kubelua.Catalogue? nil before the first reply of discovery
---@field roots kubelua.Roots? the last question for the groups; nil: it does not count any more
---@field queue kubelua.Slot[] versions that have to be asked for their kinds, the next one last
---@field workers integer how many tasks ask for them

-- Discovery reads /api and /apis (the roots), then all groups and versions at the same time. Tasks
-- of discovery do that, not the task of the verb that needs a kind. So a verb waits only for the
-- groups that may have its kind, and a group that hangs delays only verbs of its own kinds.
--
-- How many groups and versions are asked at a time, and how many seconds each has.
local AT_ONCE, SHARE = 16, 5

---The question for the roots.
---@class kubelua.Roots
---@field is_over boolean?
---@field at number a time of core.now: when the server was asked
---@field task kubelua.Task?
---@field waiting integer how many calls wait for it
---@field message string? why it failed
---@field code string? nil: it has not failed

-- Runs a function in a task that belongs to no scope: what it learns is for all. A simulated
-- cluster answers at once, so it needs no task.
local function start_task(port, on_over, f)
    if not port.client then
        f()
        on_over()
        return nil
    end
    local task = tasks.task("discovery", f)
    tasks.leave_scope(task)
    tasks.leave_script(task)
    task.doing = function() return nil end -- it is no work of the script that a signal ends
    task.on_over = function()
        on_over()
        tasks.poller:wake()
    end
    return task
end

local function ask_slot(port, known, slot)
    slot.sent_at = core.now()
    local found, message, code, status = discovery.version(port.send, slot.group, slot.version,
        SHARE)
    if found then
        known.all:settle(slot, "answered", found)
    elseif status or code == "timeout" then
        known.all:settle(slot, "silent")
    else
        slot.message, slot.code = message, code
        known.all:settle(slot, "failed")
    end
    tasks.poller:wake()
end

-- The task of a question was cancelled: the slot is asked again by the next call that needs it.
local function fail_slot(known, slot)
    if slot and slot.state == "asked" then
        slot.message, slot.code = nil, "canceled"
        known.all:settle(slot, "failed")
    end
end

-- Asks for the slots in the queue, one after the other.
local function start_worker(port, known)
    local slot
    known.workers = known.workers + 1
    start_task(port, function()
        known.workers = known.workers - 1
        fail_slot(known, slot)
        if known.workers == 0 then
            for _, left in ipairs(known.queue) do
                fail_slot(known, left)
            end
            known.queue = {}
        end
    end, function()
        slot = table.remove(known.queue)
        while slot do
            ask_slot(port, known, slot)
            slot = table.remove(known.queue)
        end
    end)
end

---Puts the groups that a name may mean to the front of the queue. If all workers wait for groups
---that hang, it gets one more.
---@param port kubelua.Port
---@param known kubelua.Kinds
---@param name string
local function hurry_survey(port, known, name)
    local first, others = {}, {}
    for _, slot in ipairs(known.queue) do
        local list = Catalogue.is_named(slot, name) and first or others
        list[#list + 1] = slot
    end
    if #first == 0 then
        return
    end
    for _, slot in ipairs(first) do
        others[#others + 1] = slot
    end
    known.queue = others
    if known.workers >= AT_ONCE and known.workers < 2 * AT_ONCE then
        start_worker(port, known)
    end
end

-- The end of the queue is asked first: the server's first groups, and last those that were silent
-- before.
local function ask_all(port, known, unasked, name)
    for _, is_doubtful in ipairs { true, false } do
        for i = #unasked, 1, -1 do
            if (unasked[i].is_doubtful or false) == is_doubtful then
                known.queue[#known.queue + 1] = unasked[i]
            end
        end
    end
    hurry_survey(port, known, name)
    while known.workers < AT_ONCE and #known.queue > 0 do
        start_worker(port, known)
    end
end

local function rest_in_task()
    if tasks.task_here() then
        waiting.sleep(0)
    end
end

---Asks for the roots of discovery (/api and /apis), and then for all groups: those that the name
---may mean come first.
---@param port kubelua.Port
---@param known kubelua.Kinds
---@param name string
---@return kubelua.Roots
local function begin_survey(port, known, name)
    local roots = { is_over = false, at = core.now(), waiting = 0, code = "canceled" }
    known.roots = roots
    roots.task = start_task(port, function()
        roots.is_over, roots.at = true, core.now()
    end, function()
        local served, message, code = discovery.roots(port.send, rest_in_task)
        roots.message, roots.code = message, code
        if served then
            known.all = known.all or Catalogue.new()
            ask_all(port, known, known.all:replace(served), name)
        end
    end)
    return roots
end

---Nothing waits for the roots any more: the next call asks anew.
---@param known kubelua.Kinds
---@param roots kubelua.Roots
local function abandon_survey(known, roots)
    if not roots.is_over and known.roots == roots then
        known.roots = nil
        roots.task:cancel()
    end
end

-- Seconds: discovery is not asked again while its reply is younger than this.
local YOUNG = 1

local function known_to(port)
    local known = port.kinds
    if not known then
        known = { builtin = {}, queue = {}, workers = 0 }
        port.kinds = known
    end
    return known
end

-- Waits until the condition is true, or the time of the call is over; until `till`, if that comes
-- first.
local function wait_until(port, till, what, condition)
    local ends_at = math.min(port.till or math.huge, till or math.huge)
    local left = ends_at < math.huge and math.max(0, ends_at - core.now()) or nil
    local is_true, is_ended = waiting.wait("a verb", left, condition)
    if is_ended then
        return nil, waiting.CANCELED, "canceled"
    elseif not is_true and (port.till or math.huge) <= core.now() then
        return nil, "discovery: it was not complete in time: " .. what .. " has not answered",
            "timeout"
    end
    return true
end

local function wait_for_roots(port, known, roots)
    roots.waiting = roots.waiting + 1
    local ok, result, message, code = pcall(wait_until, port, nil, "the server", function()
        return roots.is_over
    end)
    roots.waiting = roots.waiting - 1
    if roots.waiting == 0 then
        abandon_survey(known, roots)
    end
    if not ok then
        error(result, 0)
    elseif not result then
        return nil, message, code
    end
    return roots.code == nil, roots.message, roots.code
end

-- Waits for the groups that a name may mean.
local function wait_for_slots(port, known, name, anew)
    local function awaited()
        local slot, till = known.all:awaited(name, anew)
        return slot and slot.state == "asked" and slot, till, slot
    end
    local slot, till, failed = awaited()
    while slot do
        local ok, message, code = wait_until(port, till,
            (slot.group == "" and "/api/" or "/apis/" .. slot.group .. "/") .. slot.version,
            function() return awaited() ~= slot end)
        if not ok then
            return nil, message, code
        end
        slot, till, failed = awaited()
    end
    if failed then
        return nil, failed.message, failed.code
    end
    return true
end

-- True if the last reply is so young that the server is not asked again (see YOUNG, port.young).
local function is_young(port, known, name, anew)
    local roots = known.roots
    if not roots or not roots.is_over then
        return roots ~= nil
    end
    local slot = known.all and known.all:awaited(name, anew)
    return roots.code == nil and core.now() - roots.at < (port.young or YOUNG)
        and not (slot and slot.state == "failed")
end

-- Waits until it is certain what a name means, as far as the server tells; asks it if need be.
local function learn(port, known, name, anew)
    local roots, base = known.roots, port.base or port -- it goes on when this call has ended
    local ok, message, code
    if is_young(port, known, name, anew) then
        hurry_survey(base, known, name)
    else
        roots = begin_survey(base, known, name)
    end
    ok, message, code = wait_for_roots(port, known, roots)
    if ok then
        ok, message, code = wait_for_slots(port, known, name, anew)
    end
    local is_for_others = code == "canceled" and message == nil -- the end of a run cancelled it
    if not ok and (is_for_others or code == "timeout") and (port.till or 0) > core.now() then
        return learn(port, known, name, anew)
    end
    return ok, message or waiting.CANCELED, code
end

local function find_builtin(known, name)
    local kind = known.builtin[name]
    if kind == nil then
        kind = not name:find("%z") and core.builtin_kind(name) or false
        known.builtin[name] = kind
    end
    return kind
end

-- What is known of a name without a request.
local function find_known(known, name)
    local builtin = find_builtin(known, name)
    if known.all then
        return known.all:find_certain(name, builtin)
    end
    return builtin or nil
end

local function find_or_refuse(port, known, name, anew)
    local ok, message, code = learn(port, known, name, anew)
    if not ok then
        return nil, message, code
    end
    local found = known.all:find(name)
    if found then
        return found
    end
    return known.all:refuse(name)
end

---Finds a kind by any of its names.
---@param port kubelua.Port
---@param name string
---@return kubelua.Kind?, string?, string?
function kinds.find(port, name)
    local known = known_to(port)
    local found = find_known(known, name)
    if found then
        return found
    end
    return find_or_refuse(port, known, name)
end

---Finds the kind of an object.
---@param port kubelua.Port
---@param api_version string
---@param kind string
---@return kubelua.Kind?, string?, string?
function kinds.of(port, api_version, kind)
    return kinds.find(port, api_version .. "/" .. kind)
end

---Finds a kind again, after the server answered 404: it no longer serves the old path.
---@param port kubelua.Port
---@param name string the name that was asked for
---@return kubelua.Kind?, string?, string?
function kinds.again(port, name)
    return find_or_refuse(port, known_to(port), name, true)
end

---Makes the next unknown name ask the server, even if its last reply is recent: a custom resource
---definition was written.
---@param port kubelua.Port
function kinds.doubt(port)
    local roots = known_to(port).roots
    if roots then
        roots.at = -math.huge
    end
end

-- Percent-encodes a segment of a path (RFC 3986).
local function encode_path_segment(text)
    if not text:find("[^%w%-._~:@]") then
        return text
    end
    return (text:gsub("[^%w%-._~:@]", function(byte)
        return string.format("%%%02X", byte:byte())
    end))
end

---The path of a collection, or of one object in it.
---@param kind kubelua.Kind
---@param namespace string?
---@param name string?
---@param subresource string?
---@return string
function kinds.path(kind, namespace, name, subresource)
    local path = (kind.group == "" and "/api/" or "/apis/") .. kind.api_version
    if kind.namespaced and namespace then
        path = path .. "/namespaces/" .. encode_path_segment(namespace)
    end
    path = path .. "/" .. kind.plural
    if name then
        path = path .. "/" .. encode_path_segment(name)
    end
    return subresource and path .. "/" .. encode_path_segment(subresource) or path
end

return kinds
