-- Marks a request as a dry run, by dryRun=All in its query, and in the body of a delete if it has
-- one.
local api_path = require "kubelua.cli.dry_run.api_path"
local copy_table = require "kubelua.copy_table"
local core = require "kubelua.core"

local dry_mark = {}

-- Servers and proxies may take a GET with such a header for a write.
local OVERRIDES = { ["x-http-method-override"] = true, ["x-http-method"] = true,
    ["x-method-override"] = true }

local function has_body(call)
    return call.body ~= nil and call.body ~= ""
end

-- Adds dryRun to the DeleteOptions in the body of a delete: if a delete has a body, the server
-- ignores its query. nil: the body is not a JSON object.
local function mark_body(body)
    local options = core.decode(body)
    if type(options) ~= "table" or getmetatable(options) == getmetatable(core.array()) then
        return nil
    end
    options.dryRun = core.array { "All" }
    return core.encode(options)
end

-- True if the request accepts whole objects as JSON. The diff is made from the JSON of the reply.
local function accepts_json(accept)
    for range in (accept or "*/*"):lower():gmatch("[^,]+") do
        local kind = range:match("^%s*([^;%s]*)")
        local is_json = kind == "application/json" or kind == "application/*" or kind == "*/*"
        if is_json and not range:find(";%s*as%s*=") then
            return true
        end
    end
    return false
end

---Returns the reason if a header of the request makes a dry run impossible; nil: no header does.
---@param call table of core.request_send
---@param method string # in capitals
---@return string?
function dry_mark.obstacle(call, method)
    local headers = call.headers or {}
    for i = 1, #headers, 2 do
        if OVERRIDES[headers[i]:lower()] then
            return "its header " .. headers[i] .. " may make another method of it"
        end
    end
    if not api_path.READS[method] and not accepts_json(call.accept) then
        return "to show what would change, it has to accept application/json, and not only "
            .. call.accept
    end
    return nil
end

---True if a server that knows dryRun only tries the request.
---@param call table of core.request_send
---@param method string # in capitals
---@return boolean
function dry_mark.is_marked(call, method)
    if not api_path.has_parameter(call.target, "dryRun", "All") then
        return false
    elseif method ~= "DELETE" or not has_body(call) then
        return true
    end
    local options = core.decode(call.body)
    local marks = type(options) == "table" and options.dryRun
    return type(marks) == "table" and marks[1] == "All"
end

---Returns a copy of the request that is marked as a dry run; or nil, and why that is impossible.
---@param call table of core.request_send
---@param method string # in capitals
---@return table?, string?
function dry_mark.mark(call, method)
    local marked = copy_table(call)
    marked.target = api_path.with_parameter(call.target, "dryRun", "All")
    marked.accept = "application/json"
    if method == "DELETE" then
        marked.body = has_body(call) and mark_body(call.body) or nil
        if has_body(call) and not marked.body then
            return nil, "its body is not JSON"
        end
    end
    return marked
end

return dry_mark
