-- Texts with variables of nginx in annotations: "https://sso/start?rd=$escaped_request_uri". They
-- are taken apart when objects are compiled. Only variables that tell nothing of others get in.
local template = {}

---A text, or a variable.
---@alias kubelua.gateway.TemplatePart string | { var: string, escape: boolean? }

-- Variables that may be in a template; those of ingress-nginx's own by their names in nginx.
local VARIABLES = {}
for name in ([[args binary_remote_addr content_length content_type document_uri host http_host
    hostname https is_args query_string remote_addr remote_port remote_user request request_id
    request_method request_uri scheme server_addr server_name server_port server_protocol
    uri]]):gmatch("%S+") do
    VARIABLES[name] = { var = name }
end
VARIABLES.best_http_host = { var = "http_host" }
VARIABLES.pass_access_scheme = { var = "scheme" }
VARIABLES.the_real_ip = { var = "remote_addr" }
VARIABLES.req_id = { var = "request_id" }
VARIABLES.pass_server_port = { var = "server_port" }
VARIABLES.escaped_request_uri = { var = "request_uri", escape = true }

local function find_variable(name)
    if VARIABLES[name] then
        return VARIABLES[name]
    elseif name:find("^arg_[%w_]+$") or name:find("^cookie_[%w_]+$")
        or name:find("^http_[%w_]+$") then
        return { var = name }
    end
end

-- Adds a text to the parts; texts that meet become one.
local function add_text(parts, text)
    if type(parts[#parts]) == "string" then
        parts[#parts] = parts[#parts] .. text
    elseif text ~= "" then
        parts[#parts + 1] = text
    end
end

---Takes a text apart. nil and the name of a variable that is not at hand.
---@param text string
---@param constants table<string, string>? values that are known already: $namespace, ...
---@return kubelua.gateway.TemplatePart[]? parts, string? unknown
function template.parse(text, constants)
    local parts, at = {}, 1
    while true do
        local from, to, name = text:find("%$([%a_][%w_]*)", at)
        local braced_from, braced_to, braced = text:find("%${([%a_][%w_]*)}", at)
        if braced_from and (not from or braced_from < from) then
            from, to, name = braced_from, braced_to, braced
        end
        if not from then
            break
        end
        add_text(parts, text:sub(at, from - 1))
        local constant = constants and constants[name]
        local variable = not constant and find_variable(name)
        if not constant and not variable then
            return nil, name
        elseif constant then
            add_text(parts, constant)
        else
            parts[#parts + 1] = variable
        end
        at = to + 1
    end
    add_text(parts, text:sub(at))
    return parts
end

---The text for a request.
---@param parts kubelua.gateway.TemplatePart[]
---@param get fun(name: string): string? the value of a variable
---@param escape (fun(text: string): string)? for parts that say so
---@return string
function template.render(parts, get, escape)
    local out = {}
    for i, part in ipairs(parts) do
        if type(part) == "string" then
            out[i] = part
        else
            local value = get(part.var) or ""
            out[i] = part.escape and escape and escape(value) or value
        end
    end
    return table.concat(out)
end

return template
