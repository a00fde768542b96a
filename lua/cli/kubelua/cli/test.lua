-- kubelua test: runs Lua specs in busted's style. spec/run.lua uses it too.
local PASSED, FAILED, INTERRUPTED = 0, 1, 130

local function complain(message)
    require("kubelua.cli.complaint")(message)
end

-- True if one of the patterns is in the text.
local function has_any(text, patterns)
    for _, pattern in ipairs(patterns or {}) do
        if text:find(pattern) then
            return true
        end
    end
    return false
end

-- True if the name has one of the tags: #tag.
local function has_tag(name, tags)
    for tag in name:gmatch("#([%w_-]+)") do
        for _, wanted in ipairs(tags or {}) do
            if tag == wanted then
                return true
            end
        end
    end
    return false
end

local function is_empty(list)
    return not list or #list == 0
end

local function make_selects(options)
    return function(name)
        return (is_empty(options.filter) or has_any(name, options.filter))
            and not has_any(name, options.filter_out)
            and (is_empty(options.tags) or has_tag(name, options.tags))
            and not has_tag(name, options.exclude_tags)
    end
end

-- Adds the *_spec.lua of a folder and of the folders below, by name.
local function add_folder(files, path, names)
    local core = require "kubelua.core"
    table.sort(names)
    for _, name in ipairs(names) do
        local inner = (path == "/" and "" or path:gsub("/$", "")) .. "/" .. name
        local below = name:sub(1, 1) ~= "." and core.list_folder(inner)
        if below then
            add_folder(files, inner, below)
        elseif name:find("_spec%.lua$") then
            files[#files + 1] = inner
        end
    end
end

-- The files of the command line. nil, message: one is not there, or there are none.
local function find_files(options)
    local files = {}
    for _, path in ipairs(options.specs) do
        local file, message = io.open(path)
        if not file then
            return nil, message
        end
        local is_file = file:read(0) or file:seek("end", 0) == 0
        file:close()
        if is_file then
            files[#files + 1] = path
        else
            add_folder(files, path, assert(require("kubelua.core").list_folder(path)))
        end
    end
    local kept = {}
    for _, path in ipairs(files) do
        if not has_any(path:match("[^/]*$"), options.exclude_pattern) then
            kept[#kept + 1] = path
        end
    end
    if #kept == 0 then
        return nil, "no spec found in " .. table.concat(options.specs, ", ")
            .. ": name files, or folders that have files *_spec.lua"
    end
    return kept
end

-- A pattern that does not parse would be an error in the middle of the run.
local function check_patterns(options)
    for _, name in ipairs { "filter", "filter_out", "exclude_pattern" } do
        for _, pattern in ipairs(options[name] or {}) do
            local ok, message = pcall(string.find, "", pattern)
            if not ok then
                return nil, "'" .. pattern .. "' is not a Lua pattern: " .. message
            end
        end
    end
    return true
end

---Runs the command; returns the exit status.
---@param options table of the command line
---@param allow_all fun()? lets the specs' modules come from every folder
---@param now (fun(): number)?
---@return integer
return function(options, allow_all, now)
    local found, Runner = pcall(require, "kubelua.cli.test.blocks")
    if not found then
        complain(tostring(Runner):find("'luassert", 1, true) and "kubelua test needs luassert: apt "
            .. "install lua-luassert, or luarocks install luassert" or Runner)
        return FAILED
    end
    local ok, message = check_patterns(options)
    local files = ok and nil
    if ok then
        files, message = find_files(options)
    end
    if not files then
        complain(message)
        return FAILED
    end
    now = now or os.time
    local started = now()
    local seed = options.seed or options.shuffle and os.time() % 100000 + 1
    local report = require("kubelua.cli.test.report").new(options)
    local runner = Runner.new { report = report, selects = make_selects(options), seed = seed }
    if seed then
        io.stdout:write("# --seed ", string.format("%d", seed), "\n")
    end
    if allow_all then
        allow_all()
    end
    for _, path in ipairs(files) do
        if not runner.is_interrupted then
            report:begin_file(path)
            runner:run_file(path)
            report:finish_file()
        end
    end
    report:done(#files, now() - started)
    if runner.is_interrupted then
        return INTERRUPTED
    elseif report.passed + report.failed + report.pending == 0 then
        -- TAP has a word for it, and says so when a list of files is run one by one.
        if options.output ~= "tap" then
            complain("no case of these specs is selected")
            return FAILED
        end
    end
    return report.failed > 0 and FAILED or PASSED
end
