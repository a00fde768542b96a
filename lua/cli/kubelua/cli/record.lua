-- kubelua record: writes the changes of some resources to a file until it is stopped. Also used by
-- kubelua run --record.
local clients = require "kubelua.client"
local complain = require "kubelua.cli.complaint"
local loop = require "kubelua.loop"
local private_file = require "kubelua.cli.private_file"
local Recorder = require "kubelua.cli.recorder"

local record = {}

local STOPPED, FAILED = 0, 1

---A recorder that writes to a file, line by line.
---@param path string? default: standard output
---@return kubelua.Recorder?, string?
function record.to(path)
    local file = io.stdout
    if path then
        local opened, message = private_file(path)
        if not opened then
            return nil, message
        end
        file = opened
        file:setvbuf("line")
    end
    return Recorder.new(function(line)
        local ok, problem = file:write(line)
        if not ok then
            error((path or "standard output") .. ": " .. tostring(problem), 0)
        end
    end)
end

local function start_recording(options)
    local recorder, message = record.to(options.output)
    if not recorder then
        return nil, message
    end
    clients.defaults.namespace = options.namespace -- for kinds that have namespaces
    local client
    client, message = clients.connect { kubeconfig = options.kubeconfig, context = options.context,
        server = options.server }
    if not client then
        return nil, message
    end
    for _, resource in ipairs(options.resources) do
        local wanted = { resource, labels = options.labels,
            managed_fields = true }
        local informer
        informer, message = client:informer(wanted)
        if not informer then
            return nil, message
        end
        recorder:attach(informer, wanted)
    end
    return client
end

---Runs the command; returns the exit status.
---@param options table of the command line
---@return integer
function record.run(options)
    local client, message = start_recording(options)
    if not client then
        complain(message)
        return FAILED
    end
    loop.run(options.duration)
    client:close()
    return STOPPED
end

return record
