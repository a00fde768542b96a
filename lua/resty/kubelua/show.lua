-- content_by_lua of a location that shows a dump as JSON. It is written a part at a time, so
-- neither the worker's other requests nor its memory notice how long it is.
local dump = require "resty.kubelua.dump"
local values = require "kubelua.values"

local show = {}

local PART = 32768 -- bytes that are sent together

local function refuse(message)
    ngx.status = 400
    ngx.header.content_type = "text/plain"
    ngx.print(message, "\n")
    return ngx.exit(400)
end

-- Of several arguments with one name the first counts; one without a value is none.
local function read_options()
    local options, given = {}, ngx.req.get_uri_args()
    for name, value in pairs(given) do
        value = type(value) == "table" and value[1] or value
        options[name] = type(value) == "string" and value ~= "" and value or nil
    end
    return options
end

-- Text that goes out in parts. Raises if the client is gone.
local function open_output()
    local parts, size = {}, 0
    local output = {}
    function output.flush()
        if size > 0 then
            local ok, message = ngx.print(parts)
            if ok then
                ok, message = ngx.flush(true)
            end
            parts, size = {}, 0
            if not ok then
                error(message, 0)
            end
        end
    end
    function output.add(text)
        parts[#parts + 1], size = text, size + #text
        if size >= PART then
            output.flush()
        end
    end
    return output
end

local function write_all(work, chosen)
    local output = open_output()
    output.add((values.json(dump.head(work.map)):gsub("}$", "")))
    for _, section in ipairs(chosen) do
        local comma = ""
        output.add((",\n%q:["):format(section.name))
        section.each(work, function(item)
            output.add(comma .. "\n" .. values.json(item))
            comma = ","
        end)
        output.add("]")
    end
    output.add("}\n")
    output.flush()
end

---Answers the request with a dump.
---@param call string for messages
---@param sections resty.kubelua.DumpSection[]
---@param new_work fun(options: resty.kubelua.DumpOptions): resty.kubelua.DumpWork
function show.serve(call, sections, new_work)
    local options = read_options()
    local chosen, message = dump.choose(call, sections, options)
    if not chosen then
        return refuse(message)
    end
    ngx.header.content_type = "application/json"
    ngx.header.cache_control = "no-store"
    local ok, problem = pcall(write_all, new_work(options), chosen)
    if not ok then -- the answer has begun: a client sees that it is cut off
        ngx.log(ngx.WARN, call, ": ", tostring(problem))
        return ngx.exit(444)
    end
end

return show
