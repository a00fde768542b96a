-- The clusters of a fleet from a folder: each file is a kubeconfig. The folder is watched by
-- inotify, and looked at every `interval` seconds, as other machines may change it.
local core = require "kubelua.core"
local fleet_options = require "kubelua.fleet.options"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local sorted_keys = require "kubelua.sorted_keys"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

---@class kubelua.fleet.Folder: kubelua.fleet.Source
---@field folder string
---@field watch userdata? a watch of files of the core
---@field watcher kubelua.Task? waits for the watch
local Folder = {}
Folder.__index = Folder

local TYPES = { folder = "string" }

-- The endings of names of kubeconfigs; a file without a dot is one, too.
local ENDINGS = { yaml = true, yml = true, json = true, kubeconfig = true, conf = true }

-- Files are written in several steps: a look counts once another one, REST seconds later, has found
-- the same texts, or after LOOKS looks.
local REST, LOOKS = 0.05, 20

local MOST = 16 * 1024 * 1024 -- bytes of a file, as in the core

-- The text of a file; nil: it is a folder, or cannot be read, which connect tells.
local function read_file(path)
    local file = io.open(path, "rb")
    local text, _, code = nil, nil, nil
    if file then
        text, _, code = file:read(MOST)
        file:close()
    end
    return text or "", code == 21 -- EISDIR
end

-- The name of the cluster of a file; nil: it is none.
local function name_of(file)
    local stem, ending = file:match("^(.*)%.([^.]*)$")
    if file:sub(1, 1) == "." or (ending and not ENDINGS[ending]) then
        return nil
    end
    return stem or file
end

-- The texts of all files now, by file name; nil, message: the folder cannot be read.
local function look(self)
    local names, message = core.list_folder(self.folder)
    if not names then
        return nil, message
    end
    local texts = {}
    for _, file in ipairs(names) do
        local is_folder
        if name_of(file) then
            texts[file], is_folder = read_file(self.folder .. "/" .. file)
            texts[file] = not is_folder and texts[file] or nil
        end
    end
    return texts
end

local function is_same(a, b)
    for file, text in pairs(a) do
        if b[file] ~= text then
            return false
        end
    end
    for file in pairs(b) do
        if a[file] == nil then
            return false
        end
    end
    return true
end

local function look_until_rest(self)
    local texts, message = look(self)
    for _ = 1, LOOKS do
        if not texts or is_same(texts, self.seen) then
            break
        end
        self.seen = texts
        waiting.sleep(REST)
        texts, message = look(self)
    end
    return texts, message
end

---@return kubelua.fleet.Entry[]?, string?, string?
function Folder:read()
    local texts, message = look_until_rest(self)
    if not texts then
        return nil, message, "io"
    end
    local entries = {}
    for _, file in ipairs(sorted_keys(texts)) do
        local path, name = self.folder .. "/" .. file, name_of(file)
        local is_name = fleet_options.is_name(name)
        entries[#entries + 1] = { name = name, origin = "file " .. path, text = texts[file],
            options = is_name and { kubeconfig = path } or nil,
            problem = not is_name and fleet_options.tell_name(name) or nil }
    end
    return entries
end

-- Calls a function after each change. A condition may be asked again after it was true.
local function await_changes(self, changed)
    local has_changed = false
    local function look_at_watch()
        has_changed = self.watch == nil or self.watch:has_changed() or has_changed
        return has_changed
    end
    while self.watch do
        waiting.wait("fleet", nil, look_at_watch)
        has_changed = false
        changed()
    end
end

---Begins to watch the folder. Without inotify, its looks are all that tell of changes.
---@param changed fun()
---@return true
function Folder:open(changed)
    self.watch = os.getenv("KUBELUA_NO_INOTIFY") == nil and core.file_watch(tasks.poller) or nil
    if self.watch and self.watch:add(self.folder) then
        self.watcher = tasks.task("fleet: " .. self.what, await_changes, self, changed)
        self.watcher.outlasts, self.watcher.doing = true, function() end
        tasks.leave_scope(self.watcher)
    end
    return true
end

function Folder:close()
    if self.watcher then
        self.watcher:cancel()
    end
    if self.watch then
        self.watch:close()
        self.watch = nil
    end
end

---@param given { folder: string }
---@param named { interval: number }
---@return kubelua.fleet.Source
return function(given, named)
    options.check("kubelua.fleet: source", given, TYPES)
    if given.folder == "" then
        misuse("kubelua.fleet: source: 'folder' is empty")
    end
    local folder = given.folder:gsub("(.)/+$", "%1")
    return setmetatable({ folder = folder, what = "folder " .. folder, seen = {},
        interval = named.interval }, Folder)
end
