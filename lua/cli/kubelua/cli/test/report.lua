-- What kubelua test prints: TAP, or a line for each file and what has failed.
local report = {}

-- The lines of a text, each behind a prefix.
local function indent(text, prefix)
    return prefix .. text:gsub("\n", "\n" .. prefix) .. "\n"
end

local function describe_problem(problem, prefix)
    return indent(problem.message, prefix) .. (problem.trace and indent(problem.trace, prefix)
        or "")
end

local function write(...)
    io.stdout:write(...)
    io.stdout:flush() -- a spec may end the process, or print by itself
end

local Counts = {}
Counts.__index = Counts

function Counts:begin() end

function Counts:begin_file() end

function Counts:finish_file() end

-- Counts a case; returns true if it passed.
function Counts:count(case)
    local problem = case.problem
    local how = not problem and "passed" or problem.message and "failed" or "pending"
    self[how] = self[how] + 1
    return how
end

local Tap = setmetatable({}, Counts)
Tap.__index = Tap

function Tap:finish(case)
    local how = self:count(case)
    local number = self.passed + self.failed + self.pending
    if how == "pending" then
        write("ok ", number, " - ", case.name, " # SKIP ", case.problem.pending or "", "\n")
        return
    end
    write(how == "failed" and "not ok " or "ok ", number, " - ", case.name, "\n")
    if how == "failed" then
        write("# ", case.where, "\n", describe_problem(case.problem, "# "))
    end
end

function Tap:done()
    write("1..", self.passed + self.failed + self.pending, "\n")
end

local Plain = setmetatable({}, Counts)
Plain.__index = Plain

function Plain:begin_file(path)
    self.path, self.before = path, { self.passed, self.failed, self.pending }
end

function Plain:finish(case)
    local how = self:count(case)
    if how == "failed" then
        write("FAILED  ", case.name, " (", case.where, ")\n",
            describe_problem(case.problem, "        "))
    elseif self.is_verbose then
        write(how == "passed" and "ok      " or "pending ", case.name, "\n")
    end
end

local function summary(passed, failed, pending)
    return string.format("%d passed, %d failed%s", passed, failed,
        pending > 0 and string.format(", %d pending", pending) or "")
end

function Plain:finish_file()
    local before = self.before
    local passed, failed = self.passed - before[1], self.failed - before[2]
    local pending = self.pending - before[3]
    if passed + failed + pending > 0 then
        write(self.path, ": ", summary(passed, failed, pending), "\n")
    end
end

function Plain:done(files, seconds)
    if files > 1 then
        write("all ", files, " files: ", summary(self.passed, self.failed, self.pending), "\n")
    end
    if self.is_verbose then
        write(string.format("%.1f seconds\n", seconds))
    end
end

---@param options { output: "plain"|"tap", verbose: boolean? }
---@return table report counts in `passed`, `failed` and `pending`
function report.new(options)
    local kind = options.output == "tap" and Tap or Plain
    return setmetatable({ passed = 0, failed = 0, pending = 0, is_verbose = options.verbose },
        kind)
end

return report
