-- Reads pages of documentation, for specs that compare them with the code.
local page = {}

---@param path string
---@return string
function page.read(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

---The text of a page, and a function that fails if the page does not contain a text.
---@param path string
---@return string text
---@return fun(what: string) expect
function page.open(path)
    local text = page.read(path)
    return text, function(what)
        assert(text:find(what, 1, true), path .. " does not have " .. what)
    end
end

return page
