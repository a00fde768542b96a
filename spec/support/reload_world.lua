-- A script that kubelua run --reload runs and replaces in this process, in a simulated cluster, and
-- a function that drives it, in a task beside it: saves the script, changes the cluster, waits.
local assert = require("busted").assert
local core = require "kubelua.core"
local clients = require "kubelua.client"
local handover = require "kubelua.cli.reload.handover"
local kubelua = require "kubelua"
local reload = require "kubelua.cli.reload"
local scripts = require "kubelua.script"
local Sim = require "kubelua.sim"
local waiting = require "kubelua.waiting"

local CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

local world = {
    sim = nil, ---@type kubelua.Sim
    folder = nil, ---@type string
    path = nil, ---@type string # of the script
    -- What scripts note: they require it by this name, and it is no module of theirs, so it stays.
    witness = nil, ---@type table
}

local problem

---Writes a file as editors do, by rename.
function world.write_file(name, text)
    local path = world.folder .. "/" .. name
    local file = assert(io.open(path .. ".new", "w"))
    file:write(text)
    file:close()
    assert(os.rename(path .. ".new", path))
end

function world.save(text)
    world.write_file("script.lua", text)
end

function world.hang_up()
    assert(os.execute("kill -HUP $PPID"))
end

local HEAD = [[
local kubelua = require "kubelua"
local witness = require "witness"
local client = assert(kubelua.connect())
]]

---A script of this generation, with a client: NAME in the text is its number.
---@param text string
---@param number integer
---@return string
function world.text_of(text, number)
    return HEAD .. text:gsub("NAME", tostring(number))
end

---Waits in a task until the condition is true.
function world.await(condition, what)
    local deadline = core.now() + 30
    while not condition() do
        if core.now() > deadline then
            error("not within the time: " .. what, 2)
        end
        kubelua.sleep(0.001)
    end
end

local function ask(method, target, body)
    local status, answer = world.sim:call { method = method, target = target, body = body }
    if not status or status >= 300 then
        error(method .. " " .. target .. ": " .. tostring(answer))
    end
end

---Creates or replaces a ConfigMap.
function world.put(name, value, is_new)
    ask(is_new and "POST" or "PUT", CONFIGMAPS .. (is_new and "" or "/" .. name), string.format(
        '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s","namespace":"default",'
        .. '"labels":{"app":"%s"}},"data":{"n":"%s"}}', name, name, value))
end

function world.delete(name)
    ask("DELETE", CONFIGMAPS .. "/" .. name)
end

local function describe_error(raised)
    return debug.traceback(tostring(type(raised) == "table" and raised.message or raised))
end

---Lets scripts note texts: witness.note(text). Returns all of them.
---@return string[]
function world.take_notes()
    local notes, witness = {}, world.witness
    witness.notes = notes
    function witness.note(text)
        notes[#notes + 1] = text
    end
    function witness.has(text)
        for _, note in ipairs(notes) do
            if note == text then
                return true
            end
        end
        return false
    end
    return notes
end

---What the text of the metrics has for a name.
---@param name string
---@return number?
function world.metric(name)
    return tonumber(kubelua.metric.text():match("\n" .. name:gsub("[%-{}]", "%%%0")
        .. " ([%d.e+]+)"))
end

world.FAILED = 'kubelua_script_reloads_total{result="failure"}'
world.RELOADED = 'kubelua_script_reloads_total{result="success"}'

---Waits until a metric is more than before.
function world.await_more(name, before)
    world.await(function() return (world.metric(name) or 0) > before end, name .. " rises")
end

---Saves a script that cannot start, and waits until that was found.
function world.save_broken(text)
    local before = world.metric(world.FAILED) or 0
    world.save(text)
    world.await_more(world.FAILED, before)
end

---Saves a script, and waits until it runs.
function world.save_good(text)
    local before = world.metric(world.RELOADED) or 0
    world.save(text)
    world.await_more(world.RELOADED, before)
end

---Runs the script, and `drive` beside it, in a task that is not the script's. Returns what the
---command gets.
---@param text string? nil: the script is there
---@param drive fun()
function world.run(text, drive)
    if text then
        world.save(text)
    end
    kubelua.spawn(function()
        local ok, message = xpcall(drive, describe_error)
        problem = not ok and message or nil
        kubelua.stop()
    end)
    local ok, message = reload({ script = world.path, args = {}, reload = true }, debug.traceback)
    if scripts.current then
        handover.drop(scripts.current)
        scripts.current = nil
    end
    assert.is_nil(problem)
    return ok, message
end

---Removes a file, or a folder with all that is in it.
local function remove(path)
    if not os.remove(path) then
        for _, name in ipairs(core.list_folder(path) or {}) do
            remove(path .. "/" .. name)
        end
        os.remove(path)
    end
end

---@return table witness
function world.begin()
    world.sim = assert(Sim.new { bookmark = 0.5, history = 3000 })
    clients.defaults.sim = world.sim
    world.folder = os.tmpname()
    os.remove(world.folder)
    assert(core.make_folder(world.folder)) -- without a process, for ThreadSanitizer
    world.path, problem = world.folder .. "/script.lua", nil
    world.witness = { generation = 0 }
    package.loaded.witness = world.witness
    waiting.ends_waits, waiting.grace = true, 25
    return world.witness
end

function world.finish()
    waiting.ends_waits, waiting.grace = false, 25
    clients.defaults.sim = nil
    package.loaded.witness = nil
    world.sim:close()
    remove(world.folder)
end

return world
