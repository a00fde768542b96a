-- For kubelua plan: refuses what a script may not do in a rehearsal: HTTP calls, programs, and
-- writing files. They would be real, while the objects are not: the rehearsal deletes each of them,
-- and its clock jumps. With --real they are done, and what they print goes to standard error. Also
-- stops tries of a key that fails again and again.
local kubelua = require "kubelua"
local queues = require "kubelua.controller.queue"
local scopes = require "kubelua.scope"

---@class kubelua.Refusals
---@field texts string[] "shop.lua:9: kubelua.exec openssl was refused; --real allows it"
---@field private seen table<string, true>
---@field private tries table<string, integer> failed runs in a row, by queue and key
local Refusals = {}
Refusals.__index = Refusals

local refusals = {}

-- So many runs of a key may fail in a row; the next one needs an event.
local TRIES = 12

local NOT_PERMITTED = 1 -- the errno EPERM, the third result of io.open and of its like

local function note(self, what, detail)
    local where = scopes.script_line()
    local key = where .. what
    if not self.seen[key] then
        self.seen[key] = true
        table.insert(self.texts, where .. what .. (detail and " " .. detail or "")
            .. " was refused; --real allows it")
    end
    return nil, what .. ": not in a rehearsal; --real allows it"
end

-- The server of a URL, without what may be a secret.
local function server_of(url)
    local scheme, rest = tostring(url):match("^(%a[%w+.-]*://)([^/?#]*)")
    return scheme and scheme .. rest:gsub("^.*@", "") or nil
end

local function program_of(argv)
    return type(argv) == "table" and argv[1] ~= nil and tostring(argv[1]) or nil
end

local function opens_to_read(mode)
    return mode == nil or mode == "r" or mode == "rb"
end

-- Each function that is refused: the table that has it, and its own name. `detail` makes the words
-- of its first argument that are shown; `code` is the third result; `allows` lets a call through.
local REFUSED = {
    { of = kubelua, name = "http", full = "kubelua.http", detail = server_of, code = "refused" },
    { of = kubelua, name = "exec", full = "kubelua.exec", detail = program_of, code = "refused" },
    { of = os, name = "execute", full = "os.execute" },
    { of = os, name = "remove", full = "os.remove", detail = tostring },
    { of = os, name = "rename", full = "os.rename", detail = tostring },
    { of = io, name = "popen", full = "io.popen" },
    { of = io, name = "open", full = "io.open", detail = tostring,
        allows = function(_, mode) return opens_to_read(mode) end },
    { of = io, name = "output", full = "io.output", detail = tostring, raises = true,
        allows = function(file) return type(file) ~= "string" end },
}

local function make_refused(self, each, before)
    return function(...)
        if each.allows and each.allows(...) then
            return before(...)
        end
        local _, message = note(self, each.full, each.detail and each.detail((...)))
        if each.raises then
            error(message, 2)
        end
        return nil, message, each.code or NOT_PERMITTED
    end
end

-- What the programs of the script print goes to standard error, as what the script prints.
local function divert_execute(execute)
    return function(command)
        return execute(command and "exec >&2\n" .. command)
    end
end

local function divert_popen(popen)
    return function(command, mode)
        if mode and mode:find("w", 1, true) and type(command) == "string" then
            command = "exec >&2\n" .. command
        end
        return popen(command, mode)
    end
end

-- Replaces a function; returns what puts it back. A module is replaced for `require` too.
local function replace(of, name, by)
    local before, module = of[name], of == kubelua and "kubelua." .. name or nil
    rawset(of, name, by)
    if module then
        package.loaded[module] = by
    end
    return function()
        rawset(of, name, before)
        if module then
            package.loaded[module] = before
        end
    end
end

local function bound_tries(self, clock)
    local done = queues.done
    function queues.done(queue, key, result, seconds)
        if queue.clock == clock then
            local id = tostring(queue) .. key
            self.tries[id] = result == "failed" and (self.tries[id] or 0) + 1 or nil
            result = (self.tries[id] or 0) < TRIES and result or "done"
        end
        return done(queue, key, result, seconds)
    end
    return function()
        queues.done = done
    end
end

---Forgets how often keys have failed: each may be tried as often again.
function Refusals:forget_tries()
    self.tries = {}
end

---Begins to refuse, or with `is_real` to divert what is printed.
---@param clock kubelua.Clock of the controllers whose keys are not tried for ever
---@param is_real boolean?
---@return kubelua.Refusals, fun() undo
function refusals.start(clock, is_real)
    local self = setmetatable({ texts = {}, seen = {}, tries = {} }, Refusals)
    local undos = {}
    if is_real then
        undos = { replace(os, "execute", divert_execute(os.execute)),
            replace(io, "popen", divert_popen(io.popen)) }
    else
        for i, each in ipairs(REFUSED) do
            undos[i] = replace(each.of, each.name, make_refused(self, each, each.of[each.name]))
        end
    end
    undos[#undos + 1] = bound_tries(self, clock)
    return self, function()
        for _, undo in ipairs(undos) do
            undo()
        end
    end
end

return refusals
