-- Names for objects that say only how theirs begins (metadata.generateName). They are made here and
-- not by the server, so that a create without an answer can be looked up.
local core = require "kubelua.core"

local names = {}

-- As Kubernetes has them: no vowels, so no words (k8s.io/apimachinery, util/rand).
local LETTERS = "bcdfghjklmnpqrstvwxz2456789"
local LENGTH, LONGEST = 5, 63

---A name that begins so, as a server makes it of generateName.
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
