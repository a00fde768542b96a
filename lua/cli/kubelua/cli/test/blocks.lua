-- Runs spec files in busted's style: defines describe, it, before_each, ... A file is a block, too.
-- The body of a block runs just before its cases, and registers them. This file loads no module of
-- KubeLua: each spec file loads the modules anew.
local luassert = require "luassert"

-- The LuaJIT of Debian 12 compiles this loop over tables wrongly in one of twenty runs of
-- spec/lua/view_text_spec.lua, and crashes (docs/LUA.md, at the top).
if rawget(_G, "jit") then
    jit.off(require("luassert.util").deepcompare)
end

---@class kubelua.test.Block
---@field parent kubelua.test.Block?
---@field name string
---@field where string FILE:LINE
---@field children table[] blocks and cases, in their order

---@class kubelua.test.Runner
local Runner = {}
Runner.__index = Runner

local HOOKS = { "setup", "teardown", "lazy_setup", "lazy_teardown", "before_each", "after_each" }
local PENDING = {} -- raised by pending() inside of a case

---@param options { report: table, selects: (fun(name: string): boolean), seed: integer? }
--- report: has `begin(case)` and `finish(case)`; seed: shuffles by it
---@return kubelua.test.Runner
function Runner.new(options)
    return setmetatable({ report = options.report, selects = options.selects,
        seed = options.seed }, Runner)
end

local function new_block(parent, name, where, body)
    local block = { parent = parent, name = name, where = where, body = body, children = {} }
    for _, hook in ipairs(HOOKS) do
        block[hook] = {}
    end
    return block
end

local function full_name(node)
    local parent = node.parent and full_name(node.parent) or ""
    return parent == "" and node.name or parent .. " " .. node.name
end

-- The line that called a word.
local function caller(level)
    local info = debug.getinfo(level, "Sl")
    return info.short_src .. ":" .. info.currentline
end

-- Cuts a traceback off where the functions of this file begin.
local function cut_trace(trace)
    local kept = {}
    for line in trace:gmatch("[^\n]+") do
        if line:find("cli/test/blocks", 1, true) then
            break
        end
        kept[#kept + 1] = line
    end
    if kept[#kept] and kept[#kept]:find("xpcall", 1, true) then
        kept[#kept] = nil
    end
    return table.concat(kept, "\n")
end

local function to_text(problem)
    local meta = debug.getmetatable(problem)
    if type(problem) == "string" or meta and meta.__tostring then
        return tostring(problem)
    end
    return luassert:format({ problem, n = 1 })[1]
end

-- Calls a function of a spec. Returns what went wrong: { message =, trace = } or { pending = }.
-- An assertion that fails has no trace: its message begins with its line.
local function try(self, f)
    local problem
    xpcall(f, function(raised)
        if type(raised) == "table" and rawget(raised, PENDING) then
            problem = { pending = raised[PENDING] }
            return
        end
        local text, trace = to_text(raised), debug.traceback("", 2)
        self.is_interrupted = self.is_interrupted or text:find("interrupted!$") ~= nil
        problem = { message = text,
            trace = not trace:find("luassert/assert.lua", 1, true) and cut_trace(trace) or nil }
    end)
    return problem
end

-- Calls each function of a list, up to the first that fails.
local function try_all(self, functions)
    for _, f in ipairs(functions) do
        local problem = try(self, f)
        if problem then
            return problem
        end
    end
    return nil
end

-- Tells of what failed outside of a case: a file, a block's body, a setup or a teardown.
local function fail_block(self, block, problem, what)
    local case = { name = full_name(block) .. (what and " (" .. what .. ")" or ""),
        where = block.where, problem = { message = problem.message or "pending() outside of it()",
            trace = problem.trace } }
    self.report:begin(case)
    self.report:finish(case)
end

-- Runs before_each from the outermost block inwards. Returns the blocks whose after_each are due,
-- and what failed.
local function prepare(self, block, entered)
    local problem = block.parent and prepare(self, block.parent, entered)
    if problem then
        return problem
    end
    if not block.is_set_up then
        block.is_set_up = true
        problem = try_all(self, block.lazy_setup)
    end
    entered[#entered + 1] = block
    return problem or try_all(self, block.before_each)
end

local function finish_case(self, entered)
    local problem
    for i = #entered, 1, -1 do
        problem = try_all(self, entered[i].after_each) or problem
    end
    return problem
end

local function run_case(self, case)
    self.report:begin(case)
    local entered = {}
    local problem
    self.case = case
    if case.body then
        problem = prepare(self, case.parent, entered) or try(self, case.body)
        for _, f in ipairs(case) do -- of finally()
            problem = try(self, f) or problem
        end
        problem = finish_case(self, entered) or problem
    else
        problem = { pending = case.reason }
    end
    self.case = nil
    case.problem = problem
    self.report:finish(case)
end

-- False if no case of the block is selected: then its setup need not run.
local function has_work(block)
    for _, child in ipairs(block.children) do
        if child.children or child.is_selected then
            return true
        end
    end
    return false
end

-- Park and Miller: the same order from the same seed in every Lua.
local function shuffle(self, list)
    for i = #list, 2, -1 do
        self.seed = self.seed * 16807 % 2147483647
        local j = self.seed % i + 1
        list[i], list[j] = list[j], list[i]
    end
end

local run_block

local function run_children(self, block)
    for _, child in ipairs(block.children) do
        if self.is_interrupted then
            return
        elseif child.children then
            run_block(self, child)
        elseif child.is_selected then
            run_case(self, child)
        end
    end
end

function run_block(self, block)
    local before = self.block
    self.block = block
    local problem = try(self, block.body)
    self.block = before
    if problem then
        return fail_block(self, block, problem)
    end
    if self.seed then
        shuffle(self, block.children)
    end
    if not has_work(block) then
        return
    end
    problem = try_all(self, block.setup)
    if problem then
        fail_block(self, block, problem, "setup")
    else
        run_children(self, block)
    end
    for _, hook in ipairs { "lazy_teardown", "teardown" } do
        problem = (hook == "teardown" or block.is_set_up) and try_all(self, block[hook])
        if problem then
            fail_block(self, block, problem, hook)
        end
    end
end

-- The block that a word belongs to; an error where the word has no place.
local function open_block(self, word, level)
    return self.block or error(word .. ": not inside of a running case", level or 3)
end

local function add_case(self, word, name, body, reason)
    local parent = open_block(self, word, 4)
    local case = { parent = parent, name = name, where = caller(4), body = body,
        reason = reason }
    case.name = full_name(case)
    case.is_selected = self.selects(case.name)
    parent.children[#parent.children + 1] = case
end

local function pending(self, name, reason)
    if self.case then
        error({ [PENDING] = name or "" })
    end
    add_case(self, "pending", name, nil, type(reason) == "string" and reason or nil)
end

---What a spec file may call: describe, it, before_each, assert, spy, ...
---@return table<string, any>
function Runner:words()
    local words = { assert = luassert, spy = require "luassert.spy", mock = require "luassert.mock",
        stub = require "luassert.stub", match = require "luassert.match" }
    local function describe(name, body)
        local parent = open_block(self, "describe")
        local children = parent.children
        children[#children + 1] = new_block(parent, name, caller(3), body)
    end
    local function it(name, body)
        add_case(self, "it", name, body)
    end
    words.describe, words.context, words.insulate, words.expose = describe, describe, describe,
        describe
    words.it, words.test, words.spec = it, it, it
    words.pending = function(name, reason)
        pending(self, name, reason)
    end
    words.finally = function(f)
        local case = self.case or error("finally: outside of a running case", 2)
        case[#case + 1] = f
    end
    for _, hook in ipairs(HOOKS) do
        words[hook] = function(f)
            local list = open_block(self, hook)[hook]
            list[#list + 1] = f
        end
    end
    words.strict_setup, words.strict_teardown = words.setup, words.teardown
    return words
end

local function copy_of(from)
    local copy = {}
    for key, value in next, from do
        copy[key] = value
    end
    return copy
end

local function restore(to, from)
    for key in next, copy_of(to) do
        rawset(to, key, rawget(from, key))
    end
    for key, value in next, from do
        rawset(to, key, value)
    end
end

local function load_file(path, words)
    local globals = setmetatable(copy_of(words), { __index = _G })
    local chunk, message = loadfile(path, "t", globals)
    if chunk and setfenv then
        setfenv(chunk, globals)
    end
    return chunk, message
end

---Runs the cases of a file. The modules and globals that it leaves behind go with it.
---@param path string
function Runner:run_file(path)
    local words, snapshot = self:words(), luassert:snapshot()
    local loaded, globals, meta = copy_of(package.loaded), copy_of(_G), getmetatable(_G)
    package.loaded.busted = words
    package.loaded["busted.runner"] = function() end
    local chunk, message = load_file(path, words)
    local block = new_block(nil, "", path, chunk)
    if chunk then
        run_block(self, block)
    else
        fail_block(self, { name = path, where = path }, { message = message })
    end
    snapshot:revert()
    -- LuaJIT's FFI stays: a state that collects it, or loads it twice, crashes at its end, as the
    -- module holds the table of all finalizers.
    loaded.ffi = package.loaded.ffi
    restore(package.loaded, loaded)
    setmetatable(_G, meta)
    restore(_G, globals)
end

return Runner
