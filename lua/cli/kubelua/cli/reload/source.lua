-- kubelua run --reload: where the script comes from, files or a ConfigMap, and what has changed
-- there since it was loaded.
local clients = require "kubelua.client"
local core = require "kubelua.core"
local script_folder = require "kubelua.script_folder"
local sorted_keys = require "kubelua.sorted_keys"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"
local whole_file = require "kubelua.cli.whole_file"

---@class kubelua.ScriptSource
---@field what string its name, for messages
---@field main string the path of the script
---@field read fun(path: string): string?, string? # the text now; nil, message: there is none
---@field seen table<string, string|false> the texts that were looked at last, by path
---@field loaded table<string, string|false> the texts that the script was loaded from, by path
---@field missing string? why the script itself was not there at the last look
---@field interval number seconds between two looks, if no hint comes
---@field looked_at number? when the last look began
---@field hint fun(): boolean true if something may have changed since the last call
---@field watch fun(paths: table<string, any>)? from now on, hints come for these files
---@field end_watch fun()?
local Source = {}
Source.__index = Source

-- A look reads all files. Editors write a file in several steps, so a change counts once two looks
-- that are REST seconds apart have found the same texts; or after LOOKS looks.
local REST, LOOKS = 0.05, 40

-- Between two looks are so many seconds at least, but for SIGHUP.
local GAP = 0.2

-- Seconds between two looks without inotify; and with it, for what it cannot see: folders above,
-- and what other machines change in a file system of the network.
local WITHOUT_HINTS, WITH_HINTS = 0.5, 2

local function make(fields)
    local self = setmetatable(fields, Source)
    self.seen, self.loaded = {}, {}
    script_folder.read = function(path) -- the script requires a module, or tries a path
        local text = self.read(path)
        self.seen[path], self.loaded[path] = text or false, text or false
        return text
    end
    return self
end

-- ---- files ----

local function add_paths(watch, all)
    for path in pairs(all) do
        local folder = path:match("^(.*)/[^/]*$") or "."
        watch:add(folder == "" and "/" or folder)
        watch:add(path) -- what a symbolic link leads to; fails if there is none yet
    end
end

local function watch_files(self, watch)
    local has_changed = false -- true: a watch that is closed now has seen a change
    self.interval = WITH_HINTS
    function self.hint()
        local before = has_changed
        has_changed = false
        return watch:has_changed() or before
    end
    function self.watch(all)
        local next_watch = core.file_watch(tasks.poller) -- without files that are not needed now
        add_paths(next_watch or watch, all)
        if next_watch then
            has_changed = watch:has_changed() or has_changed
            watch:close()
            watch = next_watch
        end
    end
    function self.end_watch()
        watch:close()
    end
end

---The script in a file, and its modules.
---@param path string
---@return kubelua.ScriptSource
function Source.of_file(path)
    local self = make { what = path, main = path, read = whole_file.read, interval = WITHOUT_HINTS,
        hint = function() return false end }
    local watch = os.getenv("KUBELUA_NO_INOTIFY") == nil and core.file_watch(tasks.poller)
    if watch then
        watch_files(self, watch)
    end
    return self
end

-- ---- a ConfigMap ----

local function list_keys(data)
    return table.concat(sorted_keys(data), ", ")
end

-- The key of the script: as named, else the only one that ends in ".lua".
local function choose_key(data, key)
    if key and data[key] then
        return key
    elseif key then
        return nil, "has no key '" .. key .. "'; it has " .. list_keys(data)
    end
    for each in pairs(data) do
        if each:find("%.lua$") then
            if key then
                return nil, "has several scripts: name one, as in --reload configmap/NAME:KEY; it "
                    .. "has " .. list_keys(data)
            end
            key = each
        end
    end
    return key, not key and "has no key that ends in .lua; it has " .. list_keys(data)
end

-- A function that reads the paths "configmap/NAME/KEY" from what the informer has. A module a.b has
-- the key "a.b.lua".
local function reader(self, what, informer)
    return function(path)
        local object = informer:list()[1]
        if not object then
            return nil, what .. " is not there"
        end
        local text = object:get("data")
        local data = text and object:table().data or {}
        if path == self.main then
            local key, problem = choose_key(data, self.key)
            return key and data[key], problem and what .. " " .. problem
        end
        local key = path:sub(#self.folder + 2):gsub("/", ".")
        return data[key], what .. " has no key '" .. key .. "'"
    end
end

---The script in a ConfigMap, and its modules. Waits until the ConfigMap was read.
---@param wanted { namespace: string?, name: string, key: string? }
---@return kubelua.ScriptSource?, string?
function Source.of_config_map(wanted)
    local client, message = clients.connect {}
    local informer
    if client then
        wanted.namespace = wanted.namespace or clients.defaults.namespace or client:namespace()
            or "default"
        informer, message = client:informer { "configmaps", namespace = wanted.namespace,
            fields = "metadata.name=" .. wanted.name }
    end
    if not informer then
        return nil, message
    end
    local what = "configmap/" .. wanted.namespace .. "/" .. wanted.name
    local self = make { what = what, folder = what, key = wanted.key, client = client,
        main = what .. "/" .. (wanted.key or "SCRIPT"), interval = 60 }
    self.read = reader(self, what, informer)
    local has_changed = false
    local function note() has_changed = true end
    self.hint = function()
        local before = has_changed
        has_changed = false
        return before
    end
    informer:on { name = "--reload", add = note, update = note, delete = note }
    local ok, problem = informer:wait_synced()
    return ok and self, problem
end

---Nothing waits for a change any more.
function Source:close()
    if self.end_watch then
        self.end_watch()
    end
end

-- ---- loading, and looking again ----

---The main part of the script; nil, message: it cannot be read, or has a mistake.
---@return function?, string?
function Source:load()
    local text, message = self.read(self.main)
    self.seen, self.loaded = { [self.main] = text or false }, { [self.main] = text or false }
    if not text then
        return nil, message
    end
    return script_folder.compile(text, self.main)
end

-- The paths whose texts count: the script, its modules, and paths where `require` has found nothing
-- yet.
local function paths_of(self)
    local all = { [self.main] = true }
    for path in pairs(self.seen) do
        all[path] = true
    end
    for _, path in pairs(script_folder.own_modules()) do
        all[path] = true
    end
    return all
end

---The start of the script is over: from now on its files are watched. Returns its version.
---@return string
function Source:note_loaded()
    local all, texts = paths_of(self), {}
    for path in pairs(all) do
        if self.seen[path] == nil then -- a module that another searcher has found
            self.seen[path] = self.read(path) or false
        end
    end
    for name, path in pairs(script_folder.own_modules()) do
        texts[name] = self.loaded[path] or self.seen[path] or nil
    end
    texts["."] = self.loaded[self.main] or nil
    if self.watch then
        self.watch(all)
    end
    return core.hash(texts)
end

---The start of a script has failed: the files of the script before it count, too.
---@param seen table<string, string|false>
function Source:keep_seen(seen)
    for path, text in pairs(seen) do
        if self.seen[path] == nil then
            self.seen[path] = text
        end
    end
end

-- Waits until the condition is true, before a look. Reads the hints, which the look makes obsolete:
-- unread, they would wake the loop again and again.
local function wait_and_read(self, seconds, condition)
    waiting.wait("--reload", seconds, function()
        self.hint()
        return condition()
    end)
end

local function never()
    return false
end

-- The texts now, and the paths whose texts differ from those of `before`.
local function look(self, before)
    local now, changed = {}, {}
    for path in pairs(paths_of(self)) do
        now[path] = self.read(path) or false
        if now[path] ~= before[path] and before[path] ~= nil then
            changed[#changed + 1] = path
        end
    end
    table.sort(changed)
    return now, changed
end

-- Looks again and again until two looks have found the same texts. Returns these, and the paths
-- whose texts differ from those that were seen before.
local function look_until_rest(self)
    local now, changed = look(self, self.seen)
    local more = changed
    for _ = 1, LOOKS do
        if #more == 0 then
            break
        end
        wait_and_read(self, REST, never)
        now, more = look(self, now)
    end
    changed = {}
    for path, text in pairs(now) do
        if self.seen[path] ~= nil and self.seen[path] ~= text then
            changed[#changed + 1] = path
        end
    end
    table.sort(changed)
    return now, changed
end

-- What is wrong with a changed text.
local function find_problem(self, path, text)
    if text then
        local _, message = script_folder.compile(text, path)
        return message
    end
    local _, message = self.read(path)
    return message or path .. ": cannot be read"
end

-- Returns what is wrong with the changed files: one is gone, or has a mistake in its syntax. So the
-- script that runs need not pause for a script that cannot start.
local function judge(self, changed)
    for _, path in ipairs(changed) do
        local problem = find_problem(self, path, self.seen[path])
        if problem then
            return problem
        end
    end
    return nil
end

-- Waits for a hint, or for the time of the next look. At least GAP seconds are between two looks,
-- since other files in the same folder may change all the time.
local function await_hint(self, has_hint, is_asked)
    waiting.wait("--reload", self.interval, has_hint)
    local left = self.looked_at and self.looked_at + GAP - core.now() or 0
    if left > 0 and not is_asked() then
        wait_and_read(self, left, is_asked)
    end
end

---Waits for a change of the files. Returns nothing, or what is wrong with them. Only for a task.
---@param is_forced fun(): boolean true: the same as a change
---@return string? problem
function Source:await_change(is_forced)
    local is_hinted, is_asked = false, false
    local function has_asked()
        is_asked = is_forced() or is_asked
        return is_asked
    end
    local function has_hint()
        is_hinted = self.hint() or is_hinted
        return has_asked() or is_hinted
    end
    while true do
        await_hint(self, has_hint, has_asked)
        self.looked_at = core.now()
        self.hint() -- what has changed until now is looked at
        local now, changed = look_until_rest(self)
        local missing = not now[self.main] and select(2, self.read(self.main)) or nil
        if is_asked or #changed > 0 or (missing and missing ~= self.missing) then
            self.seen, self.missing = now, missing
            return missing or judge(self, changed)
        end
        is_hinted = false
    end
end

return Source
