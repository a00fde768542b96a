-- Host names of requests, and the names of listeners and routes that fit them, the most specific
-- first: "a.b.com", then "*.b.com", "*.com", and "*". match.lua asks the tables in that order.
local hostname = {}

local MOST = 253 -- characters of a name in the DNS

---The name in a Host header: without port and the dot at its end, in lower case. A request of
---HTTP/1.0 may have none: that is "", which fits "*" only. nil: no name of a host, so the request
---is bad; "*" in it would else be taken for the name of a route.
---@param host string?
---@return string?
function hostname.normalise(host)
    if host == nil or host == "" then
        return ""
    elseif #host > MOST + 7 then -- with a dot and ":65535"
        return nil
    end
    local address = host:match("^(%[[%x:.]+%])$") or host:match("^(%[[%x:.]+%]):%d*$")
    if address then
        return address:lower()
    end
    local name = host:gsub(":%d*$", ""):gsub("%.$", "")
    if name == "" or #name > MOST or name:find("[^%w%-_.]") or name:find("..", 1, true)
        or name:find("^%.") or name:find("%.$") then
        return nil
    end
    return name:lower()
end

---The next less specific name that fits all hosts which `name` fits; nil: `name` is "*".
---@param name string "a.b.com", "*.b.com" or "*"
---@return string?
function hostname.widen(name)
    if name == "*" then
        return nil
    end
    local from = name:find(".", name:sub(1, 2) == "*." and 3 or 1, true)
    return from and name:sub(1, 1) ~= "[" and "*" .. name:sub(from) or "*"
end

return hostname
