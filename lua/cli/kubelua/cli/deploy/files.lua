-- Finds the files that kubelua deploy puts into the ConfigMap of a script: the script, the modules
-- that it requires, the Lua files that it runs by dofile or loadfile, and the files of --file.
local core = require "kubelua.core"
local whole_file = require "kubelua.cli.whole_file"

local files = {}

-- The API server allows so many bytes for all values of one ConfigMap together.
local LIMIT = 1024 * 1024

-- kubectl apply keeps a copy of the object in an annotation, and all annotations of an object may
-- have 256 KiB.
local APPLY_LIMIT = 200 * 1024

-- Modules that every image of kubelua contains, so they are not deployed.
local BUILT_IN = { cjson = true, ["cjson.safe"] = true, ["cjson.util"] = true, argparse = true }

---@class kubelua.DeployedFile
---@field name string its path below the folder of the script
---@field key string its key in the ConfigMap
---@field text string
---@field is_text boolean true: the text goes into `data`; false: as base64 into `binaryData`

local function is_own(name)
    return name == "kubelua" or name:find("^kubelua%.") or name:find("^resty%.kubelua")
end

-- True if the file may be printed as text in YAML and in Helm templates without losing a byte: it
-- is UTF-8, and has no control characters and no byte order mark.
local function is_text(text)
    return not text:find("[%z\1-\8\11\12\14-\31\127]") and not text:find("\194[\128-\159]")
        and not text:find("\239\187\191", 1, true) and not text:find("\239\191[\190\191]")
        and pcall(core.encode, text)
end

local function folder_of(path)
    return path:match("^(.*)/[^/]*$") or "."
end

-- The names that a script requires, as they are written.
local function required_names(text)
    local names = {}
    for _, name in text:gmatch("%f[%w_]require%s*%(?%s*([\"'])([^\"'\n]+)%1") do
        names[#names + 1] = name
    end
    return names
end

-- Finds the file of a module on this machine. Returns its path here, and its path below the
-- script's folder in the cluster. nil, nil, problem: the module is written in C, which cannot be
-- deployed. nil: there is no such file; the script ran in the plan without it, so it is not needed.
local function find_module(name, folder)
    local as_path = name:gsub("%.", "/")
    for _, suffix in ipairs { ".lua", "/init.lua" } do
        local path = folder .. "/" .. as_path .. suffix
        if whole_file.read(path) then
            return path, as_path .. suffix
        end
    end
    local path = package.searchpath(name, package.path)
    if path then
        return path, as_path .. (path:find("/init%.lua$") and "/init.lua" or ".lua")
    end
    local library = package.searchpath(name, package.cpath)
    return nil, nil, library and ("the module '%s' is written in C (%s), and no image of kubelua "
        .. "has it: build one that does, and name it by --image"):format(name, library)
end

-- Makes the key of a file in the ConfigMap. Kubernetes allows only letters, digits, dots, dashes
-- and underscores in it. Two files never get the same key.
local function choose_key(name, taken)
    local base = name:gsub("[^%w._-]", "_"):gsub("^%.%.", "__"):sub(1, 240)
    local key, count = base, 1
    while taken[key] or key == "." do
        count = count + 1
        key = base .. "_" .. count
    end
    taken[key] = true
    return key
end

-- True if the API server accepts the name as the path of a file in a volume.
local function is_allowed(name)
    return not name:find("^%.%.") and not ("/" .. name .. "/"):find("/../", 1, true)
end

local function add_file(found, path, name)
    found.by_path[path] = true
    if found.by_name[name] then
        return true
    elseif not is_allowed(name) then
        return nil, ("%s: a file of a ConfigMap cannot be called '%s', which begins with '..' or "
            .. "has a part '..': name the file without it"):format(path, name)
    end
    local text, message = whole_file.read(path)
    if not text then
        return nil, message
    end
    local file = { name = name, text = text, is_text = is_text(text) }
    found.by_name[name] = file
    found.list[#found.list + 1] = file
    found.size = found.size + #text
    return true
end

-- Adds the modules that the files require, those that these require, and so on.
local function add_required(found, folder)
    local i = 1
    while found.list[i] do
        for _, name in ipairs(required_names(found.list[i].text)) do
            local path, place, problem
            if not is_own(name) and not BUILT_IN[name] then
                path, place, problem = find_module(name, folder)
            end
            local ok, message = true, nil
            if path then
                ok, message = add_file(found, path, place)
            elseif problem then
                found.notes[#found.notes + 1] = found.list[i].name .. ": " .. problem
            end
            if not ok then
                return nil, message
            end
        end
        i = i + 1
    end
    return true
end

local function check_size(found, script)
    if found.size > LIMIT then
        return nil, ("%s and its modules have %d bytes, and a ConfigMap holds at most %d (1 MiB): "
            .. "build an image with them, FROM that of kubelua"):format(script, found.size, LIMIT)
    elseif found.size > APPLY_LIMIT then
        found.notes[#found.notes + 1] = ("the ConfigMap has %d bytes, which a plain kubectl apply "
            .. "cannot keep a copy of: use kubectl apply --server-side"):format(found.size)
    end
    return true
end

-- Where the script will look for a file in the cluster, as paths below /script: the script's folder
-- and its working directory are both /script there. So a path that begins with the script's folder
-- here (the script may have made it from arg[0]) loses that beginning, and a relative path stays.
local function places_of(path, folder)
    local places, clean = {}, path:gsub("^%./+", "")
    if path:sub(1, #folder + 1) == folder .. "/" then
        places[1] = path:sub(#folder + 2)
    end
    if path:sub(1, 1) ~= "/" and clean ~= places[1] then
        places[#places + 1] = clean
    end
    return places
end

local function add_at_places(found, path, folder)
    local places = places_of(path, folder)
    if #places == 0 then
        return nil, ("%s: is not below the script's folder (%s), nor is its path relative")
            :format(path, folder)
    end
    for _, place in ipairs(places) do
        local ok, message = add_file(found, path, place)
        if not ok then
            return nil, message
        end
    end
    return true
end

-- Returns the first place where the script would look for a file and not find it; nil: none.
local function missing_place(found, path, folder)
    for _, place in ipairs(places_of(path, folder)) do
        if not found.by_name[place] then
            return place
        end
    end
end

-- Adds a note for each file that the script reads or runs, but that is not deployed.
local function note_missing(found, folder, needs)
    local said = {}
    for _, list in ipairs { needs.loaded, needs.sims } do
        for _, path in ipairs(list) do
            said[path] = true
        end
    end
    for _, path in ipairs(needs.data) do
        local place = not said[path] and missing_place(found, path, folder)
        if place and not said[place] then
            said[place] = true
            found.notes[#found.notes + 1] = ("reads %s, which is not deployed%s"):format(path,
                is_allowed(place) and ": --file " .. path .. " adds it"
                    or "; move it below the script's folder, and --file adds it")
        end
    end
    for _, path in ipairs(needs.loaded) do
        if not found.by_path[path] and missing_place(found, path, folder) then
            found.notes[#found.notes + 1] = ("loads %s, which is not deployed: --file %s adds it")
                :format(path, path)
        end
    end
end

---Paths of files that the script has used while it was planned, besides those that its text
---requires.
---@class kubelua.DeployNeeds
---@field loaded string[] the script and its modules, which have run
---@field lua string[] files that the script has run by dofile or loadfile
---@field data string[] other files that the script has opened
---@field added string[] the files of --file
---@field sims string[] files that the command itself opens for the plan: --sim, --replay

---@param script string its path
---@param needs kubelua.DeployNeeds
---@return { list: kubelua.DeployedFile[], notes: string[] }? found the script is the first file
---@return string? message
function files.of(script, needs)
    local folder, name = folder_of(script), script:match("[^/]*$")
    local found = { list = {}, by_name = {}, by_path = {}, notes = {}, size = 0 }
    local ok, message = add_file(found, script, name)
    for _, path in ipairs(ok and needs.loaded or {}) do
        if ok and path:sub(1, #folder + 1) == folder .. "/" then
            ok, message = add_file(found, path, path:sub(#folder + 2))
        end
    end
    for _, list in ipairs { needs.lua, needs.added } do
        for _, path in ipairs(list) do
            if ok then
                ok, message = add_at_places(found, path, folder)
            end
        end
    end
    if ok then
        ok, message = add_required(found, folder)
    end
    if ok then
        ok, message = check_size(found, script)
    end
    if not ok then
        return nil, message
    end
    note_missing(found, folder, needs)
    local taken = {}
    for _, file in ipairs(found.list) do
        file.key = choose_key(file.name, taken)
    end
    return found
end

return files
