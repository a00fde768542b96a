-- Starts tasks that ask a server what it serves: the lists of groups (the roots), groups by
-- their names, and the kinds of each version. What it learns is put into the catalogue. kinds.lua
-- decides what is asked and when, and waits for the answers that a verb needs.
local Catalogue = require "kubelua.verbs.catalogue"
local core = require "kubelua.core"
local discovery = require "kubelua.verbs.discovery"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

local survey = {}

---What a port knows about its server's kinds.
---@class kubelua.Kinds
---@field builtin table<string, kubelua.Kind> by the name that was asked for
---@field all kubelua.Catalogue? nil before the first reply of discovery
---@field roots kubelua.Question? for the lists of groups; nil: it does not count any more
---@field groups table<string, kubelua.Question> by group, those asked for by name since then
---@field queue kubelua.Slot[] versions that have to be asked for their kinds, the next one last
---@field workers integer how many tasks ask for them

-- Discovery reads /api and /apis (the roots), then all groups and versions at the same time. Tasks
-- of discovery do that, not the task of the verb that needs a kind. So a verb waits only for the
-- groups that may have its kind: a group that hangs delays no verb on a kind of another group.
--
-- How many groups and versions are asked at a time, and how many seconds each has.
local AT_ONCE, SHARE = 16, 5

---A question to the server that calls may wait for.
---@class kubelua.Question
---@field is_over boolean
---@field at number a time of core.now: when the server was asked; then, when it had answered
---@field task kubelua.Task?
---@field waiting integer how many calls wait for it
---@field message string? why it failed
---@field code string? nil: it has not failed
---@field is_early boolean? the server does not know the answer yet, or has not answered in time
---@field pause number? seconds after which it may be asked again then; of a group

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
function survey.hurry(port, known, name)
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
    survey.hurry(port, known, name)
    while known.workers < AT_ONCE and #known.queue > 0 do
        start_worker(port, known)
    end
end

local function rest_in_task()
    if tasks.task_here() then
        waiting.sleep(0)
    end
end

-- Starts a task that sends a question: `ask` does, and returns a message and a code if it failed.
local function begin_question(port, ask)
    local question = { is_over = false, at = core.now(), waiting = 0, code = "canceled" }
    question.task = start_task(port, function()
        question.is_over, question.at = true, core.now()
    end, function()
        question.message, question.code = ask(question)
    end)
    return question
end

---Asks for the roots of discovery (/api and /apis), and then for all groups: those that the name
---may mean come first.
---@param port kubelua.Port
---@param known kubelua.Kinds
---@param name string
---@return kubelua.Question
function survey.begin(port, known, name)
    for group, question in pairs(known.groups) do
        known.groups[group] = not question.is_over and question or nil
    end
    known.roots = begin_question(port, function()
        local served, message, code = discovery.roots(port.send, rest_in_task)
        if served then
            known.all = known.all or Catalogue.new()
            ask_all(port, known, known.all:replace(served), name)
        end
        return message, code
    end)
    return known.roots
end

---Asks for a group by its name: the roots leave it out. A kube-apiserver that has just started does
---that for a moment, though it serves the group; or it answers 503, as it does not know yet.
---@param port kubelua.Port
---@param known kubelua.Kinds its catalogue is there
---@param group string
---@param name string of the kind that is looked for
---@return kubelua.Question
function survey.begin_group(port, known, group, name)
    known.groups[group] = begin_question(port, function(question)
        local served, message, code, status = discovery.group(port.send, group, SHARE)
        if served then
            ask_all(port, known, known.all:replace_group(group, served), name)
        end
        question.is_early = code == "timeout" or code == "unavailable" and status ~= nil
        return message, code
    end)
    return known.groups[group]
end

---Nothing waits for this question any more: the next call asks anew.
---@param known kubelua.Kinds
---@param question kubelua.Question
function survey.abandon(known, question)
    if question.is_over then
        return
    elseif known.roots == question then
        known.roots = nil
    end
    for group, each in pairs(known.groups) do
        if each == question then
            known.groups[group] = nil
        end
    end
    question.task:cancel()
end

return survey
