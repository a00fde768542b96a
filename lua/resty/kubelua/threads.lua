-- kube.run: runs a function for a task of KubeLua in a light thread of nginx, where sockets, timers
-- and every lua-resty library work. A task itself belongs to no request (kubelua/nginx.lua), so
-- there they raise "no request found". The dispatcher of owner.lua, a timer, begins the threads.
local misuse = require "kubelua.misuse"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

local threads = {
    has_dispatcher = false, -- scripts of kube.owner run in this worker; owner.lua sets it
}

---@class resty.kubelua.Job
---@field task kubelua.Task the one that waits
---@field call function
---@field arguments table with the field n
---@field results table? with the fields n and ok, once the function has returned or raised

local unbegun = {} ---@type resty.kubelua.Job[] # in the order of their calls

local function keep_results(job, ok, ...)
    job.results = { ok = ok, n = select("#", ...), ... }
end

local function run_job(job)
    keep_results(job, trace.call(job.call, unpack(job.arguments, 1, job.arguments.n)))
    tasks.wake(job.task)
end

---Begins the threads of all jobs that wait for theirs. Call it where nginx allows light threads.
function threads.begin()
    if unbegun[1] then
        local jobs = unbegun
        unbegun = {}
        for _, job in ipairs(jobs) do
            ngx.thread.spawn(run_job, job)
        end
    end
end

---Runs a function in a light thread, and waits for its results: only this task waits. An error of
---the function is raised here, with its traceback. Outside of tasks (in a request, a timer, a light
---thread) it is simply called.
---@param f function
---@param ... any its arguments
---@return any ...
function threads.run(f, ...)
    if type(f) ~= "function" then
        misuse("kube.run: a function expected, not a %s", type(f))
    end
    local task = tasks.task_here()
    if not task then
        return f(...)
    elseif not threads.has_dispatcher then
        misuse("kube.run: this task is of no script of kube.owner, so nothing would begin its "
            .. "light thread; call it in a script of kube.owner, or outside of tasks")
    end
    local job = { task = task, call = f, arguments = { n = select("#", ...), ... } }
    unbegun[#unbegun + 1] = job
    waiting.await("kube.run", nil, function()
        return job.results ~= nil
    end, function() end)
    local results = job.results
    if not results.ok then
        error(results[1], 0)
    end
    return unpack(results, 1, results.n)
end

return threads
