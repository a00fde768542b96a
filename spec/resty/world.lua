-- A shared map in a file. The program shared_writer owns it, and resty.kubelua reads it: picks and
-- lookups need no nginx.
local world = { unpack = rawget(_G, "unpack") }

-- KUBELUA_EMULATOR goes before programs of the build folder: spec/arm64/run sets it.
local WRITER = (os.getenv("KUBELUA_EMULATOR") or "") .. " "
    .. (os.getenv("KUBELUA_BUILD") or "build") .. "/spec/shared_writer"

-- Only this user can write the folder: the map is refused elsewhere.
local function make_folder()
    local pipe = io.popen("mktemp -d")
    local folder = assert(pipe:read("*l"))
    pipe:close()
    return folder
end

world.folder = make_folder()
world.path = world.folder .. "/map"
world.writer = WRITER

local function quote(word)
    return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

---Runs commands in the owner, and waits for its end.
---@param ... string[] commands; see shared_writer.c
function world.write(...)
    local words = { WRITER, quote(world.path) }
    for _, command in ipairs { ... } do
        for _, word in ipairs(command) do
            words[#words + 1] = quote(word)
        end
        words[#words + 1] = "';'"
    end
    local status = os.execute(table.concat(words, " "))
    assert(status == 0 or status == true, "shared_writer failed")
end

---The module, with its map open; made once in a process.
---@param options resty.kubelua.InitOptions?
function world.open(options)
    local kube = require "resty.kubelua"
    options = options or {}
    options.path, options.size = world.path, 1048576
    assert(kube.init(options))
    return kube
end

function world.close()
    os.remove(world.path)
    os.remove(world.folder)
end

return world
