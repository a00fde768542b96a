-- Reads the objects that a script hands over: a table, a view, or a text with YAML or JSON
-- documents.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"

local documents = {}

local function type_name(value)
    return core.is_view(value) and "part of an object" or type(value)
end

---Raises for an object that lacks what `drop` or `keep` of its informer removed, and for a copy of
---one; not for a part.
---@param call string for the message
---@param document table|kubelua.Object
function documents.check_pruned(call, document)
    if core.is_pruned(document) and (type(document) == "table" or core.is_object(document)) then
        misuse("%s: parts of this object were dropped (drop or keep of its informer), so writing "
            .. "it would remove them from the server; write only the fields that change (patch, "
            .. "apply), or read it with client:get", call)
    end
end

-- Only whole objects can be written: without its spec, an update would empty the object.
local function check_whole(call, document)
    if core.is_metadata_only(document) then
        misuse("%s: of %s only metadata was asked for (metadata = true): it cannot be written",
            call, tostring(document))
    end
    documents.check_pruned(call, document)
end

-- Reads the documents of a text.
local function read_text(text)
    local array, message, code = core.manifest(text)
    if not array then
        return nil, message, code
    end
    return core.decode(array)
end

-- The documents; a List is replaced by its items.
local function unpack_lists(documents_given)
    local all = {}
    for _, document in ipairs(documents_given) do
        local items = type(document) == "table" and document.items
        if type(items) == "table" and tostring(document.kind):match("List$") then
            for _, item in ipairs(items) do
                all[#all + 1] = item
            end
        else
            all[#all + 1] = document
        end
    end
    return all
end

---All documents of a table, a view or a text, with Lists unpacked. Views stay views.
---@param call string for the message
---@param object any
---@return (table|kubelua.Object)[]?, string?, string?
function documents.all(call, object)
    local given = { object }
    if type(object) == "string" then
        local read, message, code = read_text(object)
        if not read then
            return nil, message, code
        end
        given = read
    elseif type(object) ~= "table" and not core.is_object(object) then
        misuse("%s: an object is a table, a view or the text of a manifest, not %s%s", call,
            object == nil and "" or "a ", type_name(object))
    end
    local all = {}
    for _, document in ipairs(unpack_lists(given)) do
        if type(document) ~= "table" and not core.is_object(document) then
            return nil, "an object is a table, a view or a manifest's text, not "
                .. (type(document) == "string" and "the text \"" .. document:sub(1, 64) .. "\""
                    or "a " .. type_name(document)), "invalid_argument"
        end
        check_whole(call, document)
        all[#all + 1] = document
    end
    return all
end

---The only document of a table, a view or a text.
---@param call string
---@param object any
---@return table|kubelua.Object|nil, string?, string?
function documents.one(call, object)
    if type(object) == "table" and object.items == nil then -- no List: the usual case
        check_whole(call, object)
        return object
    end
    local all, message, code = documents.all(call, object)
    if not all then
        return nil, message, code
    elseif #all ~= 1 then
        return nil, call .. ": one object expected, and the text has "
            .. (#all == 0 and "none" or #all .. " documents"), "invalid_argument"
    end
    return all[1]
end

---A copy of an object or a patch; its metadata is a copy too, and may be changed.
---@param document table
---@return table
function documents.copy(document)
    local copy, metadata = {}, {}
    if type(document) ~= "table" then
        return core.view_table(document)
    end
    for name, value in pairs(document) do
        copy[name] = value
    end
    local given = copy.metadata == nil and {} or copy.metadata
    if type(given) ~= "table" and not core.is_view(given) then
        misuse("metadata is a table, not a %s", type(given))
    end
    for name, value in (core.is_view(given) and core.pairs or pairs)(given) do
        metadata[name] = value
    end
    copy.metadata = metadata
    return copy
end

return documents
