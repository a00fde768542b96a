-- Counts the cases of a run of ctest: lua5.4 scripts/cases.lua CONSOLE LASTTEST LOGS LABEL >>TOTALS
--   CONSOLE   what ctest printed: how each run of each test ended
--   LASTTEST  Testing/Temporary/LastTest.log of the build folder: what each run printed
--   LOGS      a folder; the whole output of a test that failed is written there
--   LABEL     goes before the name of each test
-- Appends lines to TOTALS: "passed N", "failed N", "skipped NAME: REASON", "unsteady NAME: LOG".
-- Shows what failed on standard error.
--
-- ctest runs a test that failed once more. If it passes then, it counts as passed, and is named as
-- unsteady. A crash or a sanitizer's report is final: the test has failed, whatever came after.
local console, last_test, logs, label = arg[1], arg[2], arg[3], arg[4]

local REPORTS = { "%lSanitizer: ", "runtime error: ", "with exception: " }
local SHOWN, TAIL = 20, 40 -- lines of a failure

local function lines_of(path)
    local file = io.open(path)
    return file and file:lines() or function() end
end

-- The words of ctest for each run of a test, in order: Passed, Failed, Skipped, Timeout,
-- Exception, Not (run).
local function read_endings()
    local endings = {}
    for line in lines_of(console) do
        local name, word = line:match("Test +#%d+: (%S+) %.*[%s%*]*(%u%a+)")
        if name then
            endings[name] = endings[name] or {}
            table.insert(endings[name], word)
        end
    end
    return endings
end

-- The outputs of the runs of each test, in order; and the names in the order of their first run.
local function read_outputs()
    local outputs, names = {}, {}
    local name, lines
    for line in lines_of(last_test) do
        local started = line:match("^%d+/%d+ Test: (.+)$")
        if started then
            name = started
            if not outputs[name] then
                outputs[name] = {}
                names[#names + 1] = name
            end
        elseif name and line == "Output:" and not lines then
            lines = {}
        elseif lines and line:find("<end of output>$") then
            lines[#lines + 1] = line:gsub("<end of output>$", "")
            table.remove(lines, 1) -- the rule below "Output:"
            table.insert(outputs[name], lines)
            name, lines = nil, nil
        elseif lines then
            lines[#lines + 1] = line
        end
    end
    return outputs, names
end

local function has_report(line)
    for _, pattern in ipairs(REPORTS) do
        if line:find(pattern) then
            return true
        end
    end
    return false
end

local function is_bad(line)
    return line:find("^not ok ") or line:find("^%[  FAILED  %] [%w_]+$")
end

-- The cases of one run. cmocka names each failure twice. "1..0" is TAP for: no case of this file
-- runs here, as the options exclude all of them.
local function count_cases(lines)
    local good, bad, seen, reports, leaks, is_empty = 0, 0, {}, 0, 0, false
    for _, line in ipairs(lines) do
        is_empty = is_empty or line == "1..0"
        if line:find("^%[       OK %]") or line:find("^ok ") then
            good = good + 1
        elseif is_bad(line) and not seen[line] then
            seen[line] = true
            bad = bad + 1
        end
        if line:find("LeakSanitizer: ") or line:find("leaked in") then
            leaks = leaks + 1
        elseif has_report(line) then
            reports = reports + 1
        end
    end
    -- A case that fails leaks what it has not freed: leaks count only if none has failed.
    return { good = good, bad = bad, is_empty = is_empty,
        is_final = reports > 0 or (leaks > 0 and bad == 0) }
end

local function write_log(name, lines)
    local path = logs .. "/" .. name .. ".log"
    local file = assert(io.open(path, "w"))
    file:write(table.concat(lines, "\n"), "\n")
    file:close()
    return path
end

local function show(lines)
    local shown = 0
    for number, line in ipairs(lines) do
        if shown < SHOWN and (line:find("FAILED") or line:find("^not ok") or has_report(line)) then
            shown = shown + 1
            io.stderr:write(number, ":", line, "\n")
        end
    end
    for number = math.max(1, #lines - TAIL + 1), #lines do
        io.stderr:write(lines[number], "\n")
    end
end

local function last_line(lines)
    for i = #lines, 1, -1 do
        if lines[i] ~= "" then
            return lines[i]
        end
    end
    return "no reason given"
end

-- The label says in which of several steps a test ran, unless its own name does: "real.truth_spec".
local function name_of(name)
    return name:sub(1, #label) == label and name or label .. name
end

local passed, failed = 0, 0

local function count_test(name, runs, endings)
    local full, last = name_of(name), #runs
    local ending, cases = endings[#endings], count_cases(runs[last])
    if ending == "Skipped" then
        print("skipped " .. full .. ": " .. last_line(runs[last]))
        return
    end
    local final_run -- the number of a run with a crash or a report
    for i, run in ipairs(runs) do
        if endings[i] == "Exception" or count_cases(run).is_final then
            final_run = i
        end
    end
    local is_spec = name:find("spec$")
    local bad = cases.bad
    local has_none = is_spec and cases.good == 0 and not cases.is_empty
    if bad == 0 and (ending ~= "Passed" or final_run or has_none) then
        bad = 1
    end
    local good = (cases.good > 0 or bad > 0 or cases.is_empty) and cases.good or 1
    passed, failed = passed + good, failed + bad
    if bad > 0 then
        local run = runs[final_run or last]
        io.stderr:write("FAILED  ", full, " (", final_run and endings[final_run] or ending, "), ",
            write_log(full, run), "\n")
        show(run)
    elseif last > 1 then
        print("unsteady " .. full .. ": " .. write_log(full .. ".first", runs[1]))
        io.stderr:write("UNSTEADY ", full, ": passed when it ran again; at first:\n")
        show(runs[1])
    end
end

local endings = read_endings()
local outputs, names = read_outputs()
for _, name in ipairs(names) do
    count_test(name, outputs[name], endings[name] or { "Lost" })
end
for name in pairs(endings) do
    if not outputs[name] then
        failed = failed + 1
        io.stderr:write("FAILED  ", name_of(name), ": it did not run\n")
    end
end
if #names == 0 then
    failed = failed + 1
    io.stderr:write("FAILED  ", label, ": ctest ran no test; it printed:\n")
    for line in lines_of(console) do
        io.stderr:write(line, "\n")
    end
end
print("passed " .. passed)
print("failed " .. failed)
