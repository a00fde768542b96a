-- Other processes that run scripts, with this interpreter and its paths: their output and end; or
-- they can be stopped, continued and killed.
local assert = require("busted").assert

local processes = {}

local Process = {}
Process.__index = Process

local INTERPRETER = rawget(_G, "jit") and "luajit" or "lua5.4"

local function write_script(path, text)
    local file = assert(io.open(path, "w"))
    file:write(string.format("package.path, package.cpath = %q, %q\n", package.path,
        package.cpath), text)
    file:close()
end

local function shell(command)
    local pipe = assert(io.popen(command))
    local said = pipe:read("*a")
    pipe:close()
    return said
end

---Runs a script with this text; returns its output and how it ended: "...\nstatus 0\n".
---@param text string
---@param environment string? "NAME=value NAME=value"
---@param errors string? a file for its standard error, which is then not in the result
---@return string
function processes.output_of(text, environment, errors)
    local path = os.tmpname()
    write_script(path, text)
    local pipe = io.popen(string.format("%s %s %s 2>%s; echo \"status $?\"", environment or "",
        INTERPRETER, path, errors or "&1"))
    local said = pipe:read("*a")
    pipe:close()
    os.remove(path)
    return said
end

---The log (standard error) of a script with this text, once it has ended without an error.
---@param text string
---@param environment string? "NAME=value NAME=value"; besides it, LOG names the file of the log
---@return string
function processes.log_of(text, environment)
    local path = os.tmpname()
    local said = processes.output_of(text, "LOG=" .. path .. " " .. (environment or ""), path)
    local file = assert(io.open(path))
    local log = file:read("*a")
    file:close()
    os.remove(path)
    assert.equal("status 0\n", said .. (said == "status 0\n" and "" or log))
    return log
end

---Starts a script with this text. Both of its outputs go to a file.
---@param text string
---@param environment string? "NAME=value NAME=value"
function processes.start(text, environment)
    local self = setmetatable({ path = os.tmpname(), log = os.tmpname() }, Process)
    write_script(self.path, text)
    self.pid = shell(string.format("%s %s %s >%s 2>&1 & echo $!", environment or "", INTERPRETER,
        self.path, self.log)):match("%d+")
    return self
end

---Sends the process a signal: "KILL", "STOP", "CONT", "TERM".
function Process:signal(name)
    os.execute(string.format("kill -%s %s 2>/dev/null", name, self.pid))
end

---@return boolean
function Process:is_running()
    return shell("kill -0 " .. self.pid .. " 2>&1") == ""
end

---The process's output so far.
function Process:said()
    local file = assert(io.open(self.log))
    local text = file:read("*a")
    file:close()
    return text
end

---Kills the process, also if it is stopped, and removes its files.
function Process:close()
    self:signal("KILL")
    os.remove(self.path)
    os.remove(self.log)
end

return processes
