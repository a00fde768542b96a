-- What a write changes in an object, as kubectl diff shows it: a unified diff of the YAML before
-- and after. Fields that the server alone sets are left out, and the values of Secrets are masked.
local copy_table = require "kubelua.copy_table"
local core = require "kubelua.core"
local yaml = require "kubelua.cli.yaml"

local object_diff = {}

local CONTEXT = 3 -- lines around each change, as in diff -u
-- Of texts with more differences than this, all lines are shown: the search for the shortest diff
-- takes time and memory with the square of this number.
local MOST = 800

-- Fields of metadata that differ in every object, or in every version of it.
local NOISE = { managedFields = true, resourceVersion = true, generation = true, uid = true,
    creationTimestamp = true, selfLink = true }

local APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

---The lines of an object in YAML; none for nil. Control characters are escaped: a terminal would
---obey them.
---@param object table?
---@return string[]
function object_diff.lines(object)
    local lines = {}
    for line in (object and yaml.encode(object) or ""):gmatch("([^\n]*)\n") do
        lines[#lines + 1] = line:find("[^\32-\126]") and core.escape(line) or line
    end
    return lines
end

local function remove_noise(object)
    local copy = copy_table(object)
    if type(copy.metadata) == "table" then
        copy.metadata = copy_table(copy.metadata)
        for name in pairs(NOISE) do
            copy.metadata[name] = nil
        end
    end
    return copy
end

-- The fields of a Secret that are shown. All others are masked, even fields that no Secret has: an
-- object that was made in this dry run has all fields that the script has sent.
local PLAIN = { apiVersion = true, kind = true, metadata = true, type = true, immutable = true }

-- The masks that are shown for a value before and after. They differ if the value changes.
local function mask_value(old, new)
    local changes = old ~= nil and new ~= nil and core.encode(old) ~= core.encode(new)
    return old ~= nil and (changes and "*** (before)" or "***") or nil,
        new ~= nil and (changes and "*** (after)" or "***") or nil
end

local function is_map(value)
    return value == nil or type(value) == "table"
end

-- Masks one field of a Secret. If it is a table, the names in it are shown.
local function mask_field(before, after, field)
    local old, new = before[field], after[field]
    if not is_map(old) or not is_map(new) then
        before[field], after[field] = mask_value(old, new)
        return
    end
    local old_masked, new_masked = {}, {}
    for _, values in ipairs { old or {}, new or {} } do
        for name in pairs(values) do
            old_masked[name], new_masked[name] = mask_value(old and old[name], new and new[name])
        end
    end
    before[field] = next(old_masked) ~= nil and old_masked or old
    after[field] = next(new_masked) ~= nil and new_masked or new
end

local function mask_fields(before, after)
    local fields = {}
    for _, object in ipairs { before, after } do
        for field in pairs(object) do
            fields[field] = not PLAIN[field] or nil
        end
    end
    for field in pairs(fields) do
        mask_field(before, after, field)
    end
end

-- kubectl apply keeps the whole Secret in an annotation.
local function mask_annotation(before, after)
    local function hold_annotations(object)
        local metadata = type(object.metadata) == "table" and object.metadata or {}
        if type(metadata.annotations) == "table" and metadata.annotations[APPLIED] then
            metadata.annotations = copy_table(metadata.annotations)
            return { value = { [APPLIED] = metadata.annotations[APPLIED] },
                annotations = metadata.annotations }
        end
        return { value = {}, annotations = {} }
    end
    local old, new = hold_annotations(before), hold_annotations(after)
    mask_field(old, new, "value")
    old.annotations[APPLIED], new.annotations[APPLIED] = old.value[APPLIED], new.value[APPLIED]
end

local function is_secret(object)
    return object and object.kind == "Secret" and object.apiVersion == "v1"
end

-- The objects as they are shown: copies.
local function prepare(before, after, is_masked)
    before, after = before and remove_noise(before), after and remove_noise(after)
    if is_masked or is_secret(before) or is_secret(after) then
        local old, new = before or {}, after or {}
        mask_fields(old, new)
        mask_annotation(old, new)
    end
    return before, after
end

-- The steps from `a` to `b`, from behind: Myers' algorithm (An O(ND) Difference Algorithm, 1986).
-- `trace[d][k]`: how far in `a` a path with `d` differences comes on the diagonal `k`.
local function walk_back(trace, count_a, count_b)
    local steps, x, y = {}, count_a, count_b
    for d = #trace, 1, -1 do
        local k, reached = x - y, trace[d]
        local is_down = k == -d or (k ~= d and reached[k - 1] < reached[k + 1])
        local from = is_down and k + 1 or k - 1
        local from_x = reached[from]
        while x > from_x and y > from_x - from do
            steps[#steps + 1] = " "
            x, y = x - 1, y - 1
        end
        steps[#steps + 1] = is_down and "+" or "-"
        x, y = from_x, from_x - from
    end
    while x > 0 do
        steps[#steps + 1] = " "
        x = x - 1
    end
    return steps
end

-- The trace of the shortest way; nil: it has more than MOST differences.
local function find_trace(a, b)
    local reached, trace = { [1] = 0 }, {}
    for d = 0, math.min(#a + #b, MOST) do
        for k = -d, d, 2 do
            local x
            if k == -d or (k ~= d and reached[k - 1] < reached[k + 1]) then
                x = reached[k + 1]
            else
                x = reached[k - 1] + 1
            end
            while x < #a and x - k < #b and a[x + 1] == b[x - k + 1] do
                x = x + 1
            end
            reached[k] = x
            if x >= #a and x - k >= #b then
                return trace
            end
        end
        trace[d + 1] = copy_table(reached)
    end
    return nil
end

-- Each step from one list of lines to the other: { " "|"-"|"+", line }.
local function find_steps(a, b)
    local trace, marks = find_trace(a, b), {}
    if trace then
        local back = walk_back(trace, #a, #b)
        for i = #back, 1, -1 do
            marks[#marks + 1] = back[i]
        end
    else
        for i = 1, #a + #b do
            marks[i] = i <= #a and "-" or "+"
        end
    end
    local steps, x, y = {}, 0, 0
    for i, mark in ipairs(marks) do
        x, y = x + (mark ~= "+" and 1 or 0), y + (mark ~= "-" and 1 or 0)
        steps[i] = { mark, mark == "+" and b[y] or a[x] }
    end
    return steps
end

-- The first and the last step of each hunk.
local function find_hunks(steps)
    local hunks, last = {}, nil
    for i, step in ipairs(steps) do
        if step[1] ~= " " then
            if last and i - CONTEXT <= last.till + 1 then
                last.till = math.min(#steps, i + CONTEXT)
            else
                last = { from = math.max(1, i - CONTEXT), till = math.min(#steps, i + CONTEXT) }
                hunks[#hunks + 1] = last
            end
        end
    end
    return hunks
end

-- "12,3": where a hunk begins in a text, and how many lines it has there.
local function format_range(before, count)
    return (count == 0 and before or before + 1) .. (count == 1 and "" or "," .. count)
end

local function add_hunk(out, steps, hunk)
    local counts = { [" "] = 0, ["-"] = 0, ["+"] = 0 }
    for i = 1, hunk.from - 1 do
        counts[steps[i][1]] = counts[steps[i][1]] + 1
    end
    local old, new = counts[" "] + counts["-"], counts[" "] + counts["+"]
    local lines = { "" }
    counts = { [" "] = 0, ["-"] = 0, ["+"] = 0 }
    for i = hunk.from, hunk.till do
        local mark, line = steps[i][1], steps[i][2]
        counts[mark] = counts[mark] + 1
        lines[#lines + 1] = mark .. line
    end
    lines[1] = "@@ -" .. format_range(old, counts[" "] + counts["-"]) .. " +"
        .. format_range(new, counts[" "] + counts["+"]) .. " @@"
    out[#out + 1] = table.concat(lines, "\n")
end

-- "apps.v1.Deployment.web.shop", as kubectl diff names its files.
local function name_object(object)
    local metadata = type(object.metadata) == "table" and object.metadata or {}
    local parts = { (tostring(object.apiVersion):gsub("/", ".")), tostring(object.kind) }
    for _, part in ipairs { metadata.namespace or false, metadata.name or false } do
        if part then
            parts[#parts + 1] = tostring(part)
        end
    end
    return core.escape(table.concat(parts, "."))
end

---The unified diff between two states of an object; nil: they are shown alike.
---@param before table? as JSON is decoded; nil: it did not exist
---@param after table? nil: it does not exist any more
---@param note string what changes it, for the head of the diff
---@param place string "live", or where else the state before is
---@param is_masked boolean? it is a Secret, whatever it says itself
---@return string?
function object_diff.text(before, after, note, place, is_masked)
    local old, new = prepare(before, after, is_masked)
    local steps = find_steps(object_diff.lines(old), object_diff.lines(new))
    local hunks = find_hunks(steps)
    if #hunks == 0 then
        return nil
    end
    local name = name_object(after or before)
    local out = { "--- " .. (before and place .. "/" .. name or "/dev/null"),
        "+++ " .. (after and "dry-run/" .. name or "/dev/null") .. "\t" .. core.escape(note) }
    for _, hunk in ipairs(hunks) do
        add_hunk(out, steps, hunk)
    end
    return table.concat(out, "\n") .. "\n"
end

local COLOURS = { ["-"] = "\27[31m", ["+"] = "\27[32m", ["@"] = "\27[36m" }

---The same in colours.
---@param text string
---@return string
function object_diff.colour(text)
    local number = 0
    return (text:gsub("[^\n]+", function(line)
        number = number + 1
        local colour = number <= 2 and "\27[1m" or COLOURS[line:sub(1, 1)]
        return colour and colour .. line .. "\27[0m" or nil
    end))
end

return object_diff
