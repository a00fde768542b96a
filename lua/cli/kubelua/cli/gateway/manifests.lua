-- Reads manifests for kubelua gateway check: files, folders and standard input.
local core = require "kubelua.core"
local documents = require "kubelua.verbs.documents"
local whole_file = require "kubelua.cli.whole_file"

local manifests = {}

local MANIFEST = { yaml = true, yml = true, json = true }

-- Adds the files of a folder and of the folders below, by name.
local function add_folder(paths, folder)
    local names = core.list_folder(folder)
    table.sort(names)
    for _, name in ipairs(names) do
        local path = folder:gsub("/$", "") .. "/" .. name
        local is_shown = name:sub(1, 1) ~= "."
        if is_shown and core.list_folder(path) then
            add_folder(paths, path)
        elseif is_shown and MANIFEST[name:match("%.(%w+)$")] then
            paths[#paths + 1] = path
        end
    end
end

local function read_file(path)
    if path == "-" then
        return io.stdin:read("*a")
    end
    return whole_file.read(path)
end

-- A field that is null, as `creationTimestamp: null` of kubectl, is one that is not there.
local function drop_nulls(value)
    for key, each in pairs(value) do
        if each == core.null then
            value[key] = nil
        elseif type(each) == "table" then
            drop_nulls(each)
        end
    end
end

-- A hint for texts that are no YAML for a reason.
local function hint(text)
    if text:find("{{", 1, true) then
        return " (it looks like a Helm template; check what `helm template` prints)"
    end
    return ""
end

---Reads the objects of a text.
---@param path string for messages
---@param text string
---@param visit fun(object: table, path: string)
---@return string? message
function manifests.read_text(path, text, visit)
    local all, message = documents.all("check", text)
    if not all then
        return ("%s: %s%s"):format(path, message, hint(text))
    end
    for _, object in ipairs(all) do
        drop_nulls(object)
        visit(object, path)
    end
end

---Reads the objects of files and folders.
---@param given string[]
---@param visit fun(object: table, path: string)
---@param complain fun(message: string) of each file that cannot be read
function manifests.read(given, visit, complain)
    for _, name in ipairs(given) do
        local paths = { name }
        if name ~= "-" and core.list_folder(name) then
            paths = {}
            add_folder(paths, name)
            if #paths == 0 then
                complain(name .. ": has no files *.yaml, *.yml or *.json")
            end
        end
        for _, path in ipairs(paths) do
            local text, message = read_file(path)
            local problem = not text and (message or "standard input cannot be read")
                or manifests.read_text(path == "-" and "(stdin)" or path, text, visit)
            if problem then
                complain(problem)
            end
        end
    end
end

return manifests
