-- Makes names for objects with metadata.generateName. KubeLua makes them, not the server, so that a
-- create without an answer can be looked up by its name.
local core = require "kubelua.core"

local names = {}

-- The letters that Kubernetes uses: without vowels, so without words (k8s.io/apimachinery,
-- util/rand).
local LETTERS = "bcdfghjklmnpqrstvwxz2456789"
local LENGTH, LONGEST = 5, 63

---Makes a name with this beginning, as a server does for generateName.
---@param beginning string "shop-"
---@return string
function names.generate(beginning)
    local suffix = core.random(LENGTH):gsub("%x%x", function(digits)
        local at = tonumber(digits, 16) % #LETTERS + 1
        return LETTERS:sub(at, at)
    end)
    return beginning:sub(1, LONGEST - LENGTH) .. suffix
end

return names
