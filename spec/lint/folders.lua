-- The folders of C code, and which stands on which (docs/DESIGN.md#layers).
local folders = {}

-- Of core/: a layer stands on those of a lower rank. Layers of equal rank never meet.
folders.RANKS = {
    base = 0, json = 1, http = 1, queue = 1, object = 2, config = 2, cache = 3, api = 3,
    informer = 4, shared = 5, report = 5,
}

-- The simulator's folders, lowest first: a file stands on its own folder and those before it; what
-- stands in sim/core/ itself sees them all. All of it stands on the core, which never includes it.
folders.SIM = {
    "json", "body", "schema", "patch", "kinds", "request", "store", "table", "answer", "discovery",
    "vet", "write", "custom", "subresources", "life", "access", "http",
}

---The place of a file of sim/core/ in that list; the second result is its folder if that is not in
---the list.
---@param path string
---@return integer, string?
function folders.sim_rank(path)
    local folder = path:match("^sim/core/([%w_]+)/")
    for rank, name in ipairs(folders.SIM) do
        if name == folder then
            return rank
        end
    end
    return #folders.SIM + 1, folder
end

---True if a file of the core or of the simulator must not use what the other one has.
---@param file string
---@param other string in the same of the two
---@return boolean
function folders.is_upward(file, other)
    local layer, target = file:match("^core/(%w+)/"), other:match("^core/(%w+)/")
    if layer then
        return layer ~= target and folders.RANKS[target] >= folders.RANKS[layer]
    end
    return file:match("^sim/core/") ~= nil and folders.sim_rank(other) > folders.sim_rank(file)
end

return folders
