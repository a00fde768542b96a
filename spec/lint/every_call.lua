-- Holds the public headers against the tables of spec/*/exhaust: every public C call is tried there
-- with each of its allocations failing, or shown to make none; and is called where the table says.
-- Usage, in the root of the tree: lua5.4 spec/lint/every_call.lua; exit status 1 if one is missing.
local HEADERS = "core/include/kubelua sim/core/include/kubelua"
local SPECS = "spec/core/exhaust spec/live/exhaust"

local breaches = 0

local function breach(file, message, ...)
    breaches = breaches + 1
    print(string.format("%s: " .. message, file, ...))
end

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("a")
    file:close()
    return text
end

local function files_of(folders, ending)
    local files = {}
    for folder in folders:gmatch("%S+") do
        local pipe = assert(io.popen("ls " .. folder))
        for name in pipe:lines() do
            if name:sub(-#ending) == ending then
                files[#files + 1] = folder .. "/" .. name
            end
        end
        pipe:close()
    end
    return files
end

-- Without comments and the preprocessor's lines: what is left are declarations.
local function bare(text)
    return (("\n" .. text):gsub("/%*.-%*/", ""):gsub("\n#[^\n]*", "\n"))
end

-- {name = header} of every function that the headers declare public.
local function public_calls()
    local calls = {}
    local headers = files_of(HEADERS, ".h")
    table.move(files_of(HEADERS, ".h.in"), 1, 1, #headers + 1, headers)
    for _, path in ipairs(headers) do
        for name in bare(read(path)):gmatch("KL_API[^;{]-([%w_]+)%s*%(") do
            calls[name] = path
        end
    end
    return calls
end

-- {function = body} of a C file in the house's format.
local function bodies_of(text)
    local bodies = {}
    for name, body in text:gmatch("([%w_]+)%b()\n(%b{})") do
        bodies[name] = body
    end
    return bodies
end

-- Whether a function of the file makes the call, or another that it names.
local function reaches(bodies, name, call, seen)
    local body = bodies[name]
    if not body or seen[name] then
        return false
    end
    seen[name] = true
    for word in body:gmatch("[%w_]+") do
        if word == call or reaches(bodies, word, call, seen) then
            return true
        end
    end
    return false
end

-- Removes from `missing` what the tables of a spec name.
local function strike(path, missing, calls)
    local text = bare(read(path))
    local bodies = bodies_of(text)
    for call, run in text:gmatch("[%u_]+%(%s*(kl_[%w_]+),%s*([%w_]+)[^()]*%)") do
        if not calls[call] then
            breach(path, "%s is no public call", call)
        elseif not reaches(bodies, run, call, {}) then
            breach(path, "%s does not call %s", run, call)
        else
            missing[call] = nil
        end
    end
end

local calls, missing, count = public_calls(), {}, 0
for name, path in pairs(calls) do
    missing[name] = path
    count = count + 1
end
for _, path in ipairs(files_of(SPECS, "_spec.c")) do
    strike(path, missing, calls)
end
local names = {}
for name in pairs(missing) do
    names[#names + 1] = name
end
table.sort(names)
for _, name in ipairs(names) do
    breach(missing[name], "%s is in no table of %s: try it without memory", name, SPECS)
end
if breaches > 0 or count == 0 then
    print(breaches .. " breaches")
    os.exit(1)
end
print(count .. " public calls are tried with each of their allocations failing.")
