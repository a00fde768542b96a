-- Reads the values of options: each function takes the text, and returns the value, or nil and what
-- is wrong with it. For usage.lua, which has the options.
-- Loads no module in C by itself: spec/run.lua and the build use the command line without one.
local whole_file = require "kubelua.cli.whole_file"

local values = {}

local HUNDRED_YEARS = 100 * 366 * 86400 -- as for cluster:advance

function values.to_seconds(text)
    local seconds = tonumber(text)
    if seconds and seconds > HUNDRED_YEARS then
        return nil, "'" .. text .. "' seconds are more than a hundred years: write a number such "
            .. "as 10 or 0.5"
    elseif seconds and seconds >= 0 then
        return seconds
    end
    return nil, "'" .. text .. "' is not a number of seconds: write a number such as 10 or 0.5"
end

function values.to_factor(text)
    local factor = tonumber(text)
    if factor and factor >= 0 then
        return factor
    end
    return nil, "'" .. text .. "' is not a speed: write a number such as 10, 0.5 or 0"
end

function values.to_offset(text)
    local seconds = tonumber(text)
    if seconds and math.abs(seconds) <= HUNDRED_YEARS then
        return seconds
    end
    return nil, "'" .. text .. "' is not a number of seconds within a hundred years: write a "
        .. "number such as 3600 or -86400"
end

function values.to_address(text)
    local host, port = text:match("^%[?([^%[%]]+)%]?:(%d+)$")
    if not host then
        return nil, "--listen " .. text .. ": write ADDRESS:PORT, such as 127.0.0.1:6443"
    elseif tonumber(port) > 65535 then
        return nil, "--listen " .. text .. ": a port is a number from 0 to 65535"
    end
    return { host = host, port = math.floor(tonumber(port)) }
end

local function read_served(option, text)
    local host, port = text:match("^%[?([^%[%]]*)%]?:(%d+)$")
    if not host then
        host, port = "", text:match("^%d+$")
    end
    if not port or tonumber(port) > 65535 then
        return nil, option .. " " .. text .. ": write ADDRESS:PORT, such as 127.0.0.1:8080, or "
            .. ":8080 for all addresses; a port is a number from 0 to 65535"
    end
    return { host = host, port = port }
end

function values.to_served(text)
    return read_served("--serve", text)
end

function values.to_admitted(text)
    return read_served("--admit", text)
end

function values.to_namespace(text)
    if pcall(require("kubelua.core").check_namespace, "-n", text) then
        return text
    end
    return nil, "'" .. text .. "' cannot be a namespace: a namespace is one name of lower-case "
        .. "letters, digits and dashes"
end

-- Roles are named more freely than other objects: "system:node", "Shop".
function values.to_role(text)
    if #text <= 253 and text:find("^[%w:][%w:._-]*$") then
        return text
    end
    return nil, "'" .. text .. "' cannot be the name of a role: use letters, digits and -._:"
end

function values.to_name(text)
    if pcall(require("kubelua.core").check_namespace, "--name", text) then
        return text
    end
    return nil, "'" .. text .. "' cannot be the name of a Deployment: it is one name of lower-case "
        .. "letters, digits and dashes"
end

function values.to_count(text)
    local count = text:find("^%d%d?%d?$") and math.floor(tonumber(text))
    if count then
        return count
    end
    return nil, "'" .. text .. "' is not a number of replicas: write a number such as 2"
end

-- RFC 6750: the characters that a bearer token may have in a header.
function values.to_token(text)
    if text:find("^[%w%-%._~%+/]+=*$") then
        return text
    end
    return nil, "'" .. text .. "' is not a bearer token: use only letters, digits and -._~+/"
end

function values.to_user(text)
    local name, token, groups = text:match("^([^:]+):([^:]+):?([^:]*)$")
    if name and values.to_token(token) then
        return { name = name, token = token, groups = groups }
    end
    return nil, "'" .. text .. "' is not a user: write NAME:TOKEN or NAME:TOKEN:GROUP,GROUP"
end

-- configmap/NAME, configmap/NAMESPACE/NAME, each perhaps with :KEY.
function values.to_config_map(text)
    local path, key = text:match("^configmap/([^:]+):?(.*)$")
    local namespace, name = (path or ""):match("^([^/]+)/([^/]+)$")
    name = name or (path or ""):match("^[^/]+$")
    if not name then
        return nil, "--reload " .. text .. ": write configmap/NAME, configmap/NAMESPACE/NAME or "
            .. "configmap/NAME:KEY; a file is reloaded by --reload SCRIPT"
    end
    return { namespace = namespace, name = name, key = key ~= "" and key or nil }
end

-- The lines of a file that are not empty.
local function read_lines(path)
    local text, message = whole_file.read(path)
    if not text then
        return nil, message
    end
    local lines = {}
    for line in text:gmatch("[^\r\n]+") do
        lines[#lines + 1] = line
    end
    return lines
end

-- A message never has the line: it is a secret.
function values.to_token_of_file(path)
    local lines, message = read_lines(path)
    if not lines then
        return nil, message
    elseif #lines ~= 1 or not values.to_token(lines[1]) then
        return nil, path .. ": one line expected, with a bearer token: letters, digits and -._~+/"
    end
    return lines[1]
end

function values.to_users_of_file(path)
    local lines, message = read_lines(path)
    if not lines then
        return nil, message
    end
    for i, line in ipairs(lines) do
        lines[i] = values.to_user(line)
        if not lines[i] then
            return nil, path .. ": line " .. i .. " (of those with a text) is not a user: write "
                .. "NAME:TOKEN or NAME:TOKEN:GROUP,GROUP"
        end
    end
    return lines
end

-- A whole number above 0; argparse shows the message for others.
function values.to_seed(text)
    local seed = text:find("^%d+$") and tonumber(text)
    if seed and seed > 0 and seed < 2147483647 then
        return seed
    end
    return nil, "'" .. text .. "' is not a seed: write a whole number from 1 to 2147483646"
end

function values.to_tags(text)
    local tags = {}
    for tag in text:gmatch("[^,%s]+") do
        tags[#tags + 1] = tag:gsub("^#", "")
    end
    return tags
end

---Adds the option of kubelua plan and deploy that lets a script do what a rehearsal refuses.
---@param parser table of one command
function values.add_real(parser)
    parser:flag("--real", "Let the script really send HTTP requests, start programs and write "
        .. "files in the simulated cluster, where each object is also deleted and time jumps. "
        .. "Without it they are refused: nil, \"not in a rehearsal\".")
end

return values
