-- kubelua run --admit: starts the HTTPS server of kubelua.admit, and hands its requests to the
-- script's functions. The server is in C (lua/serve/admit.c) and has a thread: it answers in time
-- that there was no answer, also while the loop hangs.
local admission = require "kubelua.admission"
local core = require "kubelua.core"
local log = require "kubelua.log"
local open_files = require "kubelua.cli.certificate_files"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"

local LOOK = 10 -- seconds between two looks at the files of the certificate

local TEXT = "text/plain; charset=utf-8"

---The server of kubelua run --admit.
---@class kubelua.cli.Admitting
---@field server userdata
---@field files kubelua.cli.CertificateFiles
---@field task kubelua.Task
---@field timer kubelua.Timer
---@field is_stopped boolean?
local Admitting = {}
Admitting.__index = Admitting

local function handle(server, id, path, body)
    local status, text, content_type = admission.answer(path, body)
    server:answer(id, status, content_type, text)
end

-- Answers in a task of its own, since the function may wait.
local function begin(server, id, path, body, seconds)
    local task = tasks.task("kubelua.admit " .. path:sub(1, 100), handle, server, id, path, body)
    tasks.leave_script(task)
    local timer = scheduler.at(core.now() + seconds, function() task:cancel() end)
    function task.on_over(ok, problem)
        timer.cancelled = true
        if not ok then
            server:answer(id, 500, TEXT, "kubelua.admit: " .. tostring(problem) .. "\n")
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
            begin(server, id, path, body, seconds)
            id = nil
        end
    end
end

local function start(options)
    if not (options.admit and options.admit_cert and options.admit_key) then
        return nil, "give --admit, --admit-cert and --admit-key together"
    end
    local loaded, serve = pcall(require, "kubelua.serve")
    if not loaded then
        return nil, "this KubeLua was built without libmicrohttpd or GnuTLS (" .. tostring(serve)
            .. ")"
    end
    local server, ok
    local files, message = open_files(options.admit_cert, options.admit_key, function(cert, key)
        local problem
        server, problem = serve.admit(options.admit.host, options.admit.port, cert, key)
        return server, problem
    end)
    if files then
        ok, message = tasks.poller:watch(server:fd())
    end
    if not ok then
        return nil, message
    end
    return setmetatable({ server = server, files = files }, Admitting)
end

-- Reads the files of the certificate again, from time to time.
function Admitting:follow_files()
    self.timer = scheduler.at(core.now() + LOOK, function()
        self.files:look(function(cert, key) return self.server:renew(cert, key) end)
        self:follow_files()
    end)
end

---@return integer
function Admitting:port()
    return self.server:port()
end

---Ends the server; what waits is answered with a failure.
function Admitting:stop()
    self.timer.cancelled, self.is_stopped = true, true
    tasks.drop(self.task)
    self.server:stop()
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
    self.task = tasks.task("kubelua run --admit", take_requests, self)
    self.task.doing, self.task.outlasts = function() end, true
    tasks.leave_script(self.task)
    self:follow_files()
    log("info", "serves /admit on https://%s:%d", options.admit.host == "" and "*"
        or options.admit.host, self:port())
    return self
end
