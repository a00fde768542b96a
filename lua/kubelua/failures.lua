-- Remembers the failures of calls by their messages. assert(call()) raises only the message, and a
-- function may return it: a controller then finds here the code, the server's Retry-After, the line
-- of the script that made the call, and the object of the write.
--
-- The calls of a run are also kept in its scope: many runs may fail with the same message.
local core = require "kubelua.core"
local scopes = require "kubelua.scope"

local failures = {}

-- At least this many are remembered, and at most twice as many.
local FEW = 256

---@class kubelua.Failure
---@field call string? "run:apply", "client:patch"
---@field message string
---@field code string?
---@field retry_after number?
---@field line string the line of the script: "foo.lua:12: ", or ""
---@field verb string? of the write that was sent
---@field target string? its object: "Secret web/a"
---@field is_trial boolean? it was a dry run

local function new_store()
    return { recent = {}, before = {}, count = 0 }
end

local everywhere = new_store()

local function store_of(scope)
    scope.failures = scope.failures or new_store()
    return scope.failures
end

local function keep_failure(store, failure)
    if store.count == FEW then
        store.recent, store.before, store.count = {}, store.recent, 0
    end
    store.count = store.count + 1
    store.recent[failure.message] = failure
end

local function find_failure(store, message)
    return store.recent[message] or store.before[message]
end

-- The object of a write: "Secret web/a"; of a collection: "Secret web/".
local function name_target(write)
    return write.kind.kind .. " " .. (write.namespace and write.namespace .. "/" or "")
        .. (write.name or "")
end

---Remembers of which write a message is. The verb that sent it then returns the message.
---@param scope kubelua.Scope
---@param write kubelua.Write
---@param message string
function failures.note_write(scope, write, message)
    keep_failure(store_of(scope), { message = message, line = "", verb = write.verb,
        target = name_target(write), is_trial = write.dry_run })
end

---The object of a write, as in `target` of a failure.
---@type fun(write: kubelua.Write): string
failures.target_of = name_target

-- A message contains names and texts that others wrote: a terminal must not obey them.
local function escape_message(message)
    return message:find("[%c\128-\255]") and core.escape(message, "indented") or message
end

-- `texts`: the message as a verb has noted it, and as it is shown.
local function note_failure(scope, call, texts, code, retry_after)
    local write = scope and find_failure(store_of(scope), texts[1]) or {}
    local failure = { call = call, message = texts[2], code = code,
        retry_after = type(retry_after) == "number" and retry_after or nil,
        line = scopes.script_line(), verb = write.verb, target = write.target,
        is_trial = write.is_trial }
    keep_failure(everywhere, failure)
    if scope then
        keep_failure(store_of(scope), failure)
        if scope.failed then
            scope.failed(failure, scope)
        end
    end
end

---Remembers the results of a call of the script, if they are a failure; returns them.
---@param call string the name of the call
---@param ... any
---@return any ...
function failures.note(call, ...)
    local result, message, code, retry_after = ...
    local scope = scopes.here()
    local shown
    if result == nil and type(message) == "string" then
        shown = escape_message(message)
        note_failure(scope, call, { message, shown }, code, retry_after)
    end
    if scope then
        scope.line = nil
    end
    if not shown then
        return ...
    end
    return nil, shown, select(3, ...)
end

---Wraps a function so that its failures (nil, message, code, retry_after) are remembered.
---@generic F: function
---@param call string the name of the call
---@param f F
---@return F
function failures.remembered(call, f)
    return function(...)
        return failures.note(call, f(...))
    end
end

local function find_here(message)
    local scope = scopes.here()
    return scope and find_failure(store_of(scope), message) or find_failure(everywhere, message)
end

---What is known about an error, if it is the message of such a failure; and that message. The
---assert of a test framework (luassert) puts the position in the script before it.
---@param problem any
---@return kubelua.Failure?, string?
function failures.find(problem)
    local message = type(problem) == "string" and problem or nil
    local known = message and find_here(message)
    if message and not known then
        message = message:match("^[^\n]-:%d+: (.*)$")
        known = message and find_here(message)
    end
    return known or nil, message
end

---The message of a failure with the line of the script, and the write: "foo.lua:12: apply Secret
---web/a: ...".
---@param failure kubelua.Failure
---@return string
function failures.tell(failure)
    local write = failure.target and failure.verb .. " " .. failure.target .. ": " or ""
    return failure.line .. write .. failure.message
end

return failures
