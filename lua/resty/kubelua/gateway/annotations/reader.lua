-- Reads the values of an Ingress's annotations, each as ingress-nginx reads it, and collects what
-- is wrong. A wrong value is as good as none, but for annotations that guard a path: access.lua.
local cidr = require "resty.kubelua.gateway.cidr"
local known = require "resty.kubelua.gateway.annotations.known"
local template = require "resty.kubelua.gateway.template"

---What a user should know of an object.
---@class kubelua.gateway.Problem
---@field object string "Ingress web/shop"
---@field annotation string? its whole name
---@field kind "wrong"|"differs"|"unsupported"|"foreign"|"conflict"|"missing"|"refused"
---@field message string

---@class kubelua.gateway.AnnotationReader
---@field object string
---@field namespace string
---@field values table<string, string> by their names without the prefix
---@field problems kubelua.gateway.Problem[]
---@field constants table<string, string> variables of templates that are known
local Reader = {}
Reader.__index = Reader

local TRUE, FALSE = {}, {}
for word in ("1 t T TRUE true True"):gmatch("%S+") do
    TRUE[word] = true
end
for word in ("0 f F FALSE false False"):gmatch("%S+") do
    FALSE[word] = true
end

local LONGEST = 1000 -- bytes of a text; each variable in it may become 8 KB in a request

local UNITS = { [""] = 1, b = 1, k = 1024, m = 1024 ^ 2, g = 1024 ^ 3 }

---Adds a problem of an annotation.
---@param kind string
---@param name string without the prefix
---@param message string
function Reader:add(kind, name, message)
    self.problems[#self.problems + 1] = { object = self.object, kind = kind,
        annotation = known.PREFIX .. name, message = message }
end

-- A value as a message shows it.
local function show(value)
    return ("%q"):format(#value > 60 and value:sub(1, 57) .. "..." or value):gsub("\\\n", "\\n")
end

---Adds the problem that a value is not what it should be.
---@param name string
---@param expected string
function Reader:wrong(name, expected)
    self:add("wrong", name, ("%s is not %s; it is ignored, as by ingress-nginx")
        :format(show(self.values[name] or ""), expected))
end

---A text without blanks around it; nil if there is none.
---@param name string
---@return string?
function Reader:text(name)
    local value = self.values[name]
    local text = value and value:match("^%s*(.-)%s*$")
    return text ~= "" and text or nil
end

---@param name string
---@return boolean?
function Reader:flag(name)
    local value = self.values[name]
    if value == nil or value == "" then
        return nil
    elseif TRUE[value] or FALSE[value] then
        return TRUE[value] or false
    end
    self:wrong(name, "\"true\" or \"false\"")
end

---A whole number.
---@param name string
---@param least integer
---@param most integer?
---@param unit string? as a message says it: " of seconds"
---@return integer?
function Reader:number(name, least, most, unit)
    local value = self.values[name]
    if value == nil or value == "" then
        return nil
    end
    local number = value:find("^[+-]?%d+$") and #value <= 12 and tonumber((value:gsub("^%+", "")))
    if number and number >= least and number <= (most or math.huge) then
        return number
    end
    local hint = unit == " of seconds" and value:match("^(%d+)s$")
    self:wrong(name, ("a whole number%s%s"):format(unit or "",
        hint and (" (write \"%s\")"):format(hint)
        or (" from %d%s"):format(least, most and (" to %d"):format(most) or "")))
end

---One of some words.
---@param name string
---@param words string with blanks between them
---@param folded boolean? case does not matter
---@return string?
function Reader:choice(name, words, folded)
    local text = self:text(name)
    local wanted = text and (folded and text:lower() or text)
    if not text then
        return nil
    end
    for word in words:gmatch("%S+") do
        if (folded and word:lower() or word) == wanted then
            return word
        end
    end
    self:wrong(name, "one of " .. words:gsub(" ", ", "))
end

---A size of nginx in bytes: "8m", "512k", "0".
---@param name string
---@return integer?
function Reader:size(name)
    local value = self:text(name)
    if not value then
        return nil
    end
    local digits, unit = value:gsub(" ", ""):match("^(%d+)([bBkKmMgG]?)$")
    if digits and #digits <= 12 then
        return math.floor(tonumber(digits) * UNITS[unit:lower()])
    end
    self:wrong(name, "a size of nginx, such as 8m, 512k or 0 (without limit)")
end

---A text that fits a Lua pattern.
---@param name string
---@param pattern string
---@param expected string
---@return string?
function Reader:like(name, pattern, expected)
    local text = self:text(name)
    if text and #text <= LONGEST and text:find(pattern) then
        return text
    elseif text and #text > LONGEST then
        self:wrong(name, ("a text of at most %d bytes"):format(LONGEST))
    elseif text then
        self:wrong(name, expected)
    end
end

---Ranges of addresses. nil, message: one is wrong, and then none counts.
---@param name string
---@return string[]? ranges, string? message
function Reader:ranges(name)
    local text = self:text(name)
    if not text then
        return nil
    end
    local ranges, wrong = cidr.list(text)
    if not ranges then
        return nil, show(wrong) .. " is no address and no range such as 10.0.0.0/8"
    end
    return ranges
end

---A list with commas, without blanks.
---@param name string
---@param pattern string that each item fits
---@param expected string
---@return string[]?
function Reader:list(name, pattern, expected)
    local text = self:text(name)
    if not text then
        return nil
    end
    local items = {}
    for item in (text .. ","):gmatch("%s*(.-)%s*,") do
        if item ~= "" and not item:find(pattern) then
            self:wrong(name, expected)
            return nil
        end
        items[#items + 1] = item ~= "" and item or nil
    end
    return items
end

---A text with variables of nginx.
---@param name string
---@param consequence string? of a variable that is not at hand
---@return kubelua.gateway.TemplatePart[]?
function Reader:template(name, consequence)
    local text = self:text(name)
    if not text then
        return nil
    elseif text:find("%c") then
        return self:wrong(name, "a text of one line")
    elseif #text > LONGEST then
        return self:wrong(name, ("a text of at most %d bytes"):format(LONGEST))
    end
    local parts, unknown = template.parse(text, self.constants)
    if not parts then
        self:add("unsupported", name, ("the variable $%s is not at hand, so %s; use another one, "
            .. "or Lua (kubelua.dev/lua)"):format(unknown, consequence
            or "the annotation is ignored"))
    end
    return parts
end

---Makes a reader of an Ingress.
---@param metadata table
---@return kubelua.gateway.AnnotationReader
local function new(metadata)
    local namespace, name = metadata.namespace or "default", metadata.name
    local values = {}
    local reader = setmetatable({ object = ("Ingress %s/%s"):format(namespace, name),
        namespace = namespace, values = values, problems = {},
        constants = { namespace = namespace, ingress_name = name } }, Reader)
    for key, value in pairs(metadata.annotations or {}) do
        if type(key) == "string" and key:sub(1, #known.PREFIX) == known.PREFIX then
            local short = key:sub(#known.PREFIX + 1)
            if type(value) == "string" then
                values[short] = value
            else
                reader:add("wrong", short, "is no text; the API server refuses the object: put "
                    .. "the value in quotes")
            end
        end
    end
    return reader
end

return new
