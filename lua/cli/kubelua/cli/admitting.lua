-- kubelua run --admit: starts the HTTPS server of kubelua.admit, and hands its requests to the
-- script's functions. The server is in C (lua/serve/admit.c) and has a thread: it answers in time
-- that there was no answer, also while the loop hangs.
local admission = require "kubelua.admission"
local clients = require "kubelua.client"
local core = require "kubelua.core"
local log = require "kubelua.log"
local loop = require "kubelua.loop"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

local DRAIN = 3 -- seconds

local TEXT = "text/plain; charset=utf-8"

---The server of kubelua run --admit.
---@class kubelua.cli.Admitting
---@field server userdata
---@field source { pause: number, look: fun(self, use: function), close: fun(self) }
---@field tasks kubelua.Task[]
---@field is_stopped boolean?
local Admitting = {}
Admitting.__index = Admitting

-- The answer of a function that still runs when the server has stopped is dropped.
local function give(self, id, status, content_type, text)
    if not self.is_stopped then
        self.server:answer(id, status, content_type, text)
    end
end

local function handle(self, id, path, body)
    local status, text, content_type = admission.answer(path, body)
    give(self, id, status, content_type, text)
end

-- Answers in a task of its own, since the function may wait.
local function begin(self, id, path, body, seconds)
    local task = tasks.task("kubelua.admit " .. path:sub(1, 100), handle, self, id, path, body)
    tasks.leave_script(task)
    local timer = scheduler.at(core.now() + seconds, function() task:cancel() end)
    function task.on_over(ok, problem)
        timer.cancelled = true
        if not ok then
            give(self, id, 500, TEXT, "kubelua.admit: " .. tostring(problem) .. "\n")
        end
    end
end

-- Takes requests for as long as the process runs.
local function take_requests(self)
    local server = self.server
    local id, path, body, seconds
    local function has_request()
        if not id and not self.is_stopped then
            id, path, body, seconds = server:take()
        end
        return id ~= nil
    end
    while true do
        if not has_request() then
            scheduler.suspend_for(has_request)
        end
        if id then
            begin(self, id, path, body, seconds)
            id = nil
        end
    end
end

local function check_options(options)
    local of_files = options.admit_cert and options.admit_key
    local sources = (of_files and 1 or 0) + (options.admit_service and 1 or 0)
        + (options.admit_url and 1 or 0)
    if (options.admit_cert ~= nil) ~= (options.admit_key ~= nil) then
        return nil, "give --admit-cert and --admit-key together"
    elseif not options.admit or sources ~= 1 then
        return nil, "give --admit ADDRESS:PORT together with one of --admit-service, --admit-url, "
            .. "or --admit-cert and --admit-key"
    end
    return true
end

-- The certificate of --admit-service or --admit-url. Its file needs kubelua.serve.
local function open_own(options, use)
    local own_certificate = require "kubelua.admission.own_certificate"
    local client, message = clients.connect()
    if not client then
        return nil, message
    end
    local source
    source, message = own_certificate(client,
        { service = options.admit_service, url = options.admit_url }, admission.ready, use,
        "--admit")
    if not source then
        client:close()
    end
    return source, message
end

-- Where the certificate comes from: it has a method look(use), and `pause`, in seconds.
local function open_source(options, use)
    if options.admit_cert then
        return require("kubelua.cli.certificate_files")(options.admit_cert, options.admit_key, use)
    end
    return open_own(options, use)
end

local function start(options)
    local ok, message = check_options(options)
    if not ok then
        return nil, message
    end
    local loaded, serve = pcall(require, "kubelua.serve")
    if not loaded then
        return nil, "this KubeLua was built without libmicrohttpd or GnuTLS (" .. tostring(serve)
            .. ")"
    end
    local server, source
    source, message = open_source(options, function(cert, key)
        local problem
        server, problem = serve.admit(options.admit.host, options.admit.port, cert, key)
        return server, problem
    end)
    if source then
        ok, message = tasks.poller:watch(server:fd())
    end
    if not (source and ok) then
        return nil, message
    end
    return setmetatable({ server = server, source = source, tasks = {} }, Admitting)
end

-- Looks for another certificate, from time to time.
local function follow_source(self)
    local function use(cert, key)
        return self.server:renew(cert, key)
    end
    while true do
        waiting.sleep(self.source.pause)
        local ok, problem = pcall(self.source.look, self.source, use)
        if problem == trace.CANCELED then
            error(problem, 0)
        elseif not ok then -- the next look may go well; without looks the certificate would end
            log("error", "--admit: the certificate before stays in use: %s", tostring(problem))
        end
    end
end

-- Answers for some seconds more after SIGTERM, as a run of a controller may: API servers have to
-- learn that this replica ends, and each connection closes in order, with an answer.
local function drain_connections(self)
    scheduler.suspend_for(function() return loop.is_ending end)
    self.server:drain()
    waiting.sleep(DRAIN)
end

---@return integer
function Admitting:port()
    return self.server:port()
end

-- Such a task goes on until the process ends, also while a script is replaced.
local function begin_task(self, what, f)
    local task = tasks.task(what, f, self)
    task.doing, task.outlasts, task.clock = function() end, true, scheduler.machine
    tasks.leave_script(task)
    self.tasks[#self.tasks + 1] = task
    return task
end

---Ends the server; what waits is answered with a failure.
function Admitting:stop()
    self.is_stopped = true
    for _, task in ipairs(self.tasks) do
        tasks.drop(task)
    end
    self.server:stop()
    self.source:close()
    admission.is_served = false
end

---@param options table of the command line
---@return kubelua.cli.Admitting? admitting, string? problem
return function(options)
    local self, message = start(options)
    if not self then
        return nil, "--admit: " .. message
    end
    admission.is_served = true
    begin_task(self, "kubelua run --admit", take_requests)
    begin_task(self, "kubelua run --admit: certificate", follow_source)
    begin_task(self, "kubelua run --admit: last answers", drain_connections).is_run = true
    log("info", "serves /admit on https://%s:%d", options.admit.host == "" and "*"
        or options.admit.host, self:port())
    return self
end
