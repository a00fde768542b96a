-- The verbs that read: get and list.
local replies = require "kubelua.verbs.replies"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local ports = require "kubelua.verbs.ports"
local targets = require "kubelua.verbs.targets"

local reading = {}

---@class kubelua.GetOptions
---@field subresource? string "status", "scale"
---@field managed_fields? boolean keep metadata.managedFields; default: false
---@field timeout? number seconds of the whole call; default: 30

local GET = { subresource = "string", managed_fields = "boolean", timeout = "number" }

---@class kubelua.ListOptions
---@field namespace? string default, and "*": all
---@field labels? string a selector, as kubectl's -l
---@field fields? string a selector, as kubectl's --field-selector
---@field page_size? integer objects in one page; default: 500
---@field timeout? number seconds of the whole call, with all pages; default: 30

local LIST = { namespace = "string", labels = "string", fields = "string", page_size = "number",
    timeout = "number" }

local PAGE = 500

local function read_object(port, target, given)
    local reply, message, code, retry_after = ports.read(port,
        { what = "get", subresource = given.subresource, timeout = given.timeout }, target)
    if not reply then
        return nil, message, code, retry_after
    end
    local object
    object, message, code, retry_after = replies.object(reply, "get " .. targets.tell(target),
        not given.subresource and target.kind.kind or nil, given.managed_fields)
    if object and target.uid and object.uid ~= target.uid then
        return nil, targets.tell(target) .. " is another object by now: its UID is " .. object.uid
            .. ", not " .. target.uid, "not_found"
    elseif object then
        return object
    end
    return nil, message, code, retry_after
end

---Reads the object of a target that was found before.
---@param port kubelua.Port
---@param target kubelua.Target
---@param given kubelua.GetOptions
---@return kubelua.Object?, string?, string?, number?
function reading.of_target(port, target, given)
    return read_object(ports.bounded(port, given.timeout), target, given)
end

---@param port kubelua.Port
---@param resource string|table
---@param ... any key, or namespace and name; options
---@return kubelua.Object?, string?, string?, number?
function reading.get(port, resource, ...)
    local named, taken = targets.arguments("get", resource, ...)
    local given = options.optional("get", (select(taken + 1, ...)), GET)
    port = ports.bounded(port, given.timeout)
    local target, message, code = targets.find(port, "get", named)
    if not target then
        return nil, message, code
    end
    return read_object(port, target, given)
end

-- Reads one page. Its second result is the token of the next page, the third what cannot be read.
local function read_page(port, target, given, query)
    local reply, message, code, retry_after = ports.read(port,
        { what = "list", query = query, timeout = given.timeout }, target)
    if not reply then
        return nil, message, code, retry_after
    end
    return replies.list(reply, "list " .. target.kind.plural, target.kind)
end

local function append(list, more)
    for _, each in ipairs(more) do
        list[#list + 1] = each
    end
end

-- Reads all pages. If a token has expired meanwhile (410 Gone), the list is read again from the
-- beginning, in one page, which cannot expire.
local function read_pages(port, target, given, limit)
    local query = { labelSelector = given.labels, fieldSelector = given.fields, limit = limit }
    local objects, unreadable = {}, nil
    repeat
        local page, message, rest, retry_after = read_page(port, target, given, query)
        if not page and rest == "gone" and query.continue then
            return read_pages(port, target, given, nil)
        elseif not page then
            return nil, message, rest, retry_after
        end
        if #objects == 0 then
            objects = page
        else
            append(objects, page)
        end
        if rest then
            unreadable = unreadable or {}
            append(unreadable, rest)
        end
        if message ~= "" and message == query.continue then
            return nil, "list " .. target.kind.plural .. ": the server gives the continue token of "
                .. "this page again, so its list never ends", "parse"
        end
        query.continue = message ~= "" and message or nil
    until not query.continue
    return objects, unreadable
end

---@param port kubelua.Port
---@param resource string
---@param filter kubelua.ListOptions?
---@return kubelua.Object[]?, kubelua.UnreadableObject[]|string|nil, string?, number?
function reading.list(port, resource, filter)
    filter = options.optional("list", filter, LIST)
    local limit = filter.page_size or PAGE
    if limit < 1 or limit % 1 ~= 0 then
        misuse("list: 'page_size' is a whole number from 1")
    end
    port = ports.bounded(port, filter.timeout)
    local target, message, code = targets.collection(port, "list", resource, filter.namespace)
    if not target then
        return nil, message, code
    end
    return read_pages(port, target, filter, limit)
end

return reading
