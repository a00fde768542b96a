-- kubelua plan: prints the requests of a script, and the smallest role for them. Nothing is printed
-- before all of it is made, so an error leaves no half of a role.
local complain = require "kubelua.cli.complaint"
local log_lines = require "kubelua.log_lines"
local plan = require "kubelua.cli.plan"
local yaml = require "kubelua.cli.yaml"

local STOPPED, FAILED = 0, 1

-- "deployments.apps/status"
local function name_resource(request)
    if request.path then
        return request.path
    end
    return request.resource .. (request.group ~= "" and "." .. request.group or "")
        .. (request.subresource and "/" .. request.subresource or "")
end

local SECTIONS = {
    { title = "It lists and watches", verbs = { list = true, watch = true } },
    { title = "It reads", verbs = { get = true } },
    { title = "It writes", verbs = { create = true, update = true, patch = true, delete = true,
        deletecollection = true } },
}

local function add_once(list, seen, text)
    if text ~= "" and not seen[text] then
        seen[text] = true
        list[#list + 1] = text
    end
end

-- Requests for one resource from the same lines are one row.
local function join_rows(requests, verbs)
    local rows, by_key = {}, {}
    for _, request in ipairs(requests) do
        local lines = table.concat(request.lines, ", ")
        local key = name_resource(request) .. "\0" .. lines
        local row = by_key[key]
        if verbs[request.verb] and not row then
            row = { verbs = {}, resource = name_resource(request), lines = lines, objects = {},
                seen = {} }
            by_key[key], rows[#rows + 1] = row, row
        end
        if verbs[request.verb] then
            add_once(row.verbs, row.seen, request.verb)
            add_once(row.objects, row.seen, (request.namespace and request.namespace .. "/" or "")
                .. (request.name or request.namespace and "*" or ""))
        end
    end
    return rows
end

local SHOWN = 3 -- names of a row

local function tell_objects(row)
    local names, more = row.objects, ""
    if #names > SHOWN then
        more = " and " .. #names - SHOWN .. " more"
    end
    return table.concat(names, ", ", 1, math.min(#names, SHOWN)) .. more
end

local function add_table(out, rows)
    local widths = { 0, 0, 0 }
    local cells = {}
    for i, row in ipairs(rows) do
        cells[i] = { table.concat(row.verbs, ", "), row.resource, tell_objects(row) }
        for column, text in ipairs(cells[i]) do
            widths[column] = math.max(widths[column], #text)
        end
    end
    for i, row in ipairs(rows) do
        for column, text in ipairs(cells[i]) do
            cells[i][column] = text .. (" "):rep(widths[column] - #text)
        end
        local text = "  " .. table.concat(cells[i], "  ") .. "  " .. row.lines
        out[#out + 1] = text:gsub("%s+$", "") .. "\n"
    end
end

local function add_list(out, title, texts)
    if texts[1] then
        out[#out + 1] = title .. ":\n"
        for _, text in ipairs(texts) do
            out[#out + 1] = "  " .. text:gsub("\n", "\n    ") .. "\n"
        end
    end
end

-- The rights of kubelua run itself are those of its options, which a plan does not know.
local function tell_webhooks(result)
    return result.webhooks[1] and { table.concat(result.webhooks, ", ")
        .. ": with --admit-service or --admit-url the run also needs the rights to its Secret and "
        .. "to the webhooks' configurations, which kubelua deploy prints" } or {}
end

local function write_text(result, script)
    local out = {}
    out[1] = ("%s in a simulated cluster, %.10g s of its time\n"):format(script,
        math.floor(result.seconds))
    for _, section in ipairs(SECTIONS) do
        local rows = join_rows(result.requests, section.verbs)
        if rows[1] then
            out[#out + 1] = section.title .. ":\n"
            add_table(out, rows)
        end
    end
    add_list(out, "It waits for", result.waits)
    add_list(out, "Webhooks", tell_webhooks(result))
    add_list(out, "Refused", result.refused)
    add_list(out, "Failing", result.failures)
    if result.elsewhere then
        out[#out + 1] = "The script also connects to another API server, for which a second "
            .. "simulated cluster stood in: the rights that it needs there are not in the role.\n"
    end
    local unreached = {}
    for i, range in ipairs(result.unreached) do
        unreached[i] = range.text
    end
    add_list(out, "Not reached", unreached)
    return table.concat(out)
end

-- The name of the roles: that of the script's file, as Kubernetes takes it.
local function name_role(options)
    if options.name or options.script == "-" then
        return options.name or "script" -- plan.of refuses standard input
    end
    local base = options.script:match("([^/]+)$"):gsub("%.lua$", ""):lower()
    base = base:gsub("[^a-z0-9.-]+", "-"):gsub("^[^a-z0-9]+", ""):gsub("[^a-z0-9]+$", "")
    return base ~= "" and base or nil
end

-- Says on standard error what may be wrong with the roles; returns the exit status.
local function report(result, options)
    local strict = options.strict and #result.unreached + #result.failures > 0
    if options.format == "yaml" or strict then
        for _, text in ipairs(result.refused) do
            complain(text)
        end
        for _, text in ipairs(tell_webhooks(result)) do
            complain("webhooks: " .. text)
        end
        for _, range in ipairs(result.unreached) do
            complain(range.text)
        end
    end
    for _, failure in ipairs(result.failures) do
        complain("failing: " .. failure)
    end
    return strict and FAILED or STOPPED
end

---Runs the command; returns the exit status.
---@param options table of the command line
---@param allow_all fun()? lets the script's modules come from every folder
---@return integer
return function(options, allow_all)
    local is_set = os.getenv("KUBELUA_LOG_LEVEL") or os.getenv("KUBELUA_LOG")
    log_lines.set(options.log_level or not is_set and "error" or nil, options.log)
    local name = name_role(options)
    if not name then
        complain("no role can be named after " .. options.script .. "; give it a --name")
        return FAILED
    end
    if allow_all then
        allow_all()
    end
    local result, message = plan.of(options)
    if not result then
        complain(message)
        return FAILED
    end
    local manifests = yaml.stream(plan.manifests(result, name))
    if options.format == "yaml" then
        io.write(manifests)
    else
        io.write(write_text(result, options.script), manifests)
    end
    return report(result, options)
end
