-- The course of discovery: asks for the roots, then for all groups and versions at the same time,
-- in tasks of its own. So a verb waits only for the groups that may have its kind, and a group that
-- hangs costs only its own kinds. kinds.lua waits.
local Catalogue = require "kubelua.verbs.catalogue"
local core = require "kubelua.core"
local discovery = require "kubelua.verbs.discovery"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

local survey = {}

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
local function start(port, on_over, f)
    if not port.client then
        f()
        on_over()
        return nil
    end
    local task = tasks.task("discovery", f)
    tasks.leave_scope(task)
    task.doing = function() return nil end -- it is no work of the script that a signal ends
    task.on_over = function()
        on_over()
        tasks.poller:wake()
    end
    return task
end

local function ask_slot(port, known, slot)
    slot.sent_at = core.now()
    local kinds, message, code, status = discovery.version(port.send, slot.group, slot.version,
        SHARE)
    if kinds then
        known.all:settle(slot, "answered", kinds)
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
    start(port, function()
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

---Asks for the roots, and then for all groups: those that the name may mean come first.
---@param port kubelua.Port
---@param known kubelua.Kinds
---@param name string
---@return kubelua.Roots
function survey.begin(port, known, name)
    local roots = { is_over = false, at = core.now(), waiting = 0, code = "canceled" }
    known.roots = roots
    roots.task = start(port, function()
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
function survey.abandon(known, roots)
    if not roots.is_over and known.roots == roots then
        known.roots = nil
        roots.task:cancel()
    end
end

return survey
