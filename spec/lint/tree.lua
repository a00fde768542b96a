-- The files of the tree as lints see them: what git tracks, and what is new.
local tree = {}

---A tree: its files, and their texts. A spec makes one of a table.
---@class lint.Tree
---@field paths string[] relative to the root
---@field read fun(path: string): string?

---The tree that the process stands in the root of.
---@return lint.Tree
function tree.here()
    local self = { paths = {} }
    local pipe = assert(io.popen("git ls-files --cached --others --exclude-standard"))
    for path in pipe:lines() do
        self.paths[#self.paths + 1] = path
    end
    pipe:close()
    function self.read(path)
        local file = io.open(path)
        local text = file and file:read("a")
        if file then
            file:close()
        end
        return text
    end
    return self
end

---A tree of these texts by their paths.
---@param texts table<string, string>
---@return lint.Tree
function tree.of(texts)
    local self = { paths = {}, read = function(path) return texts[path] end }
    for path in pairs(texts) do
        self.paths[#self.paths + 1] = path
    end
    table.sort(self.paths)
    return self
end

return tree
