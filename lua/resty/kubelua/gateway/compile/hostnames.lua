-- Host names of listeners and routes: exact ("a.example.com"), wildcard ("*.example.com": one or
-- more labels, never "example.com" itself), and "*" for all. Pure.
local hostnames = {}

---@param name string? of an object; nil or "": all
---@return string lower case
function hostnames.of(name)
    if type(name) ~= "string" or name == "" then
        return "*"
    end
    return name:lower()
end

-- ".example.com" of "*.example.com"; nil for an exact name.
local function suffix_of(name)
    return name:sub(1, 2) == "*." and name:sub(2) or nil
end

local function ends_with(name, suffix)
    return name:sub(-#suffix) == suffix
end

---@param a string
---@param b string
---@return string? what both match: the more specific of both; nil: nothing
function hostnames.intersect(a, b)
    if a == b or b == "*" then
        return a
    elseif a == "*" then
        return b
    end
    local suffix_a, suffix_b = suffix_of(a), suffix_of(b)
    if suffix_b and ends_with(a, suffix_b) then
        return a
    elseif suffix_a and ends_with(b, suffix_a) then
        return b
    end
    return nil
end

---What a listener and a route have in common; without hostnames a route takes the listener's.
---@param listener string
---@param route string[]? spec.hostnames
---@return string[] hosts each once; empty: none
function hostnames.common(listener, route)
    if not route or #route == 0 then
        return { listener }
    end
    local hosts, seen = {}, {}
    for _, name in ipairs(route) do
        local host = hostnames.intersect(listener, hostnames.of(name))
        if host and not seen[host] then
            seen[host] = true
            hosts[#hosts + 1] = host
        end
    end
    return hosts
end

return hostnames
