-- Writes a folder of files as a whole or not at all: at first into a folder beside it, which gets
-- the name at the end. For kubelua deploy --kustomize and --helm.
local core = require "kubelua.core"
local whole_file = require "kubelua.cli.whole_file"

-- By errno, which is the same on all platforms of KubeLua.
local REMEDIES = {
    [2] = "its parent folder does not exist: make it first", -- ENOENT
    [13] = "its parent folder cannot be written", -- EACCES
    [16] = "name a folder that does not exist yet", -- EBUSY: "."
    [17] = "it exists, and is not empty: name another one, or remove it", -- EEXIST
    [20] = "it is a file, or below one: name another folder", -- ENOTDIR
    [22] = "name a folder that does not exist yet", -- EINVAL
    [30] = "its parent folder cannot be written", -- EROFS
    [39] = "it exists, and is not empty: name another one, or remove it", -- ENOTEMPTY
}

-- Makes the folders that lead to a file; `made` has those that are there.
local function make_parents(root, name, made)
    for at in name:gmatch("()/") do
        local folder = root .. "/" .. name:sub(1, at - 1)
        if not made[folder] then
            local ok, message = core.make_folder(folder)
            if not ok then
                return nil, message
            end
            made[folder] = true
            made[#made + 1] = folder
        end
    end
    return true
end

local function write_all(root, files, made)
    for _, file in ipairs(files) do
        local ok, message = make_parents(root, file.name, made)
        made[#made + 1] = root .. "/" .. file.name
        if ok then
            ok, message = whole_file.write(root .. "/" .. file.name, file.text)
        end
        if not ok then
            return nil, message
        end
    end
    return true
end

---@param path string
---@param files { name: string, text: string }[] the names may lead into folders of the folder
---@return true?, string? message
return function(path, files)
    path = path:gsub("(.)/+$", "%1")
    local root = path .. ".new-" .. core.random(8)
    local ok, message, code = core.make_folder(root)
    if not ok then
        return nil, path .. ": " .. (REMEDIES[code] or message)
    end
    local made = { root }
    ok, message = write_all(root, files, made)
    if ok then
        ok, message, code = os.rename(root, path)
        message = message and path .. ": " .. (REMEDIES[code] or message)
    end
    if not ok then
        for i = #made, 1, -1 do
            os.remove(made[i])
        end
        return nil, message
    end
    return true
end
