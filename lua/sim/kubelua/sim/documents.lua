-- The objects of what a script hands over: a table, a view, or the text of YAML or JSON documents.
local core = require "kubelua.core"

---The documents of a table, a view or a text; Lists are unpacked.
---@param object any
---@return table[]?, string?, string?
local function read(object)
    local given
    if type(object) == "string" then
        local text, message, code = core.manifest(object)
        if not text then
            return nil, message, code
        end
        given = core.decode(text)
    elseif type(object) == "userdata" then
        given = { core.view_table(object) }
    else
        if object == nil then
            error("an object is a table, a view or a manifest's text, not nil", 4)
        end
        given = { object }
    end
    local all = {}
    for _, document in ipairs(given) do
        if type(document) ~= "table" then
            return nil, "an object is a table, a view or a manifest's text, not "
                .. (type(document) == "string" and "the text \"" .. document:sub(1, 64) .. "\""
                    or "a " .. type(document)), "invalid"
        end
        if type(document.items) == "table" and tostring(document.kind):match("List$") then
            for _, item in ipairs(document.items) do
                all[#all + 1] = item
            end
        else
            all[#all + 1] = document
        end
    end
    return all
end

return read
