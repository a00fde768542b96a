-- The names that documents cite in backquotes: of functions, fields and options, which have to be
-- in a source file, and of Lua specs, which have to be in a spec that the same line names. They go
-- stale when something is renamed. For citations.lua.
local cited_names = {}

local SOURCES = { c = true, h = true, lua = true, ["in"] = true, sh = true, go = true, txt = true,
    cmake = true }
-- Names of the C library and of nginx; and the page whose names are examples.
local FOREIGN = { malloc_stats = true, exit_worker_by_lua = true }
local OF_EXAMPLES = "docs/STYLE.md"

-- The words of all sources, as a set.
local function words_of(tree)
    local words = {}
    for _, path in ipairs(tree.paths) do
        local text = SOURCES[path:match("%.(%w+)$")] and not path:find("^spec/lint/")
            and tree.read(path)
        for word in (text or ""):gmatch("[%a_][%w_]*_[%w_]*") do
            words[word] = true
        end
    end
    return words
end

local function is_in_a_spec(tree, line, phrase)
    local has_spec = false
    for path in line:gmatch("[%w_/]*spec/[%w_/]+_spec%.%l+") do
        has_spec = true
        if (tree.read(path) or ""):find('"' .. phrase, 1, true) then
            return true
        end
    end
    return not has_spec
end

---Calls `breach` for each name in the documents of a tree that is not there.
---@param tree lint.Tree
---@param breach fun(path: string, line: integer, message: string)
function cited_names.check(tree, breach)
    local words
    for _, path in ipairs(tree.paths) do
        local text = path:find("%.md$") and path ~= OF_EXAMPLES and tree.read(path) or ""
        local number = 0
        for line in (text:gsub("```.-```", function(code) return (code:gsub("[^\n]", "")) end)
            .. "\n"):gmatch("([^\n]*)\n") do
            number = number + 1
            for cited in line:gmatch("`([^`]+)`") do
                local name = cited:match("^([%l_]+_[%l%d_]+)%(?%)?$")
                words = words or name and words_of(tree)
                if name and not words[name] and not FOREIGN[name] then
                    breach(path, number, "no source has the name " .. name)
                elseif cited:find("^%l+ [%l ]+$") and not is_in_a_spec(tree, line, cited) then
                    breach(path, number, "no spec of this line has the name '" .. cited .. "'")
                end
            end
        end
    end
end

return cited_names
