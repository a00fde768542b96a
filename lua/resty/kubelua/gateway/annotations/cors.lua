-- The annotations enable-cors and cors-*: a filter of the type "cors".

local METHODS = { "GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS" }
local HEADERS = { "DNT", "Keep-Alive", "User-Agent", "X-Requested-With", "If-Modified-Since",
    "Cache-Control", "Content-Type", "Range", "Authorization" }

local function is_origin(text)
    local host = text:match("^%l+://(.*)$")
    host = host and host:gsub("^%*%.", ""):gsub(":%d+$", "")
    return text == "null" or host ~= nil and host:find("^[%w%-%.]+$") ~= nil
end

-- One wrong origin is left out, the others count; "*" allows all.
local function read_origins(reader)
    local text, origins = reader:text("cors-allow-origin"), {}
    if not text then
        return { "*" }
    end
    for origin in (text .. ","):gmatch("%s*(.-)%s*,") do
        if origin == "*" then
            return { "*" }
        elseif is_origin(origin) then
            origins[#origins + 1] = origin
        elseif origin ~= "" then
            reader:wrong("cors-allow-origin",
                "a list of origins such as https://a.example.com or https://*.example.com")
        end
    end
    return origins
end

---@param reader kubelua.gateway.AnnotationReader
---@param parsed kubelua.gateway.ParsedAnnotations
return function(reader, parsed)
    if not reader:flag("enable-cors") then
        return
    end
    local credentials = reader:flag("cors-allow-credentials")
    parsed.filters[#parsed.filters + 1] = { type = "cors", allow_origins = read_origins(reader),
        allow_methods = reader:list("cors-allow-methods", "^%a+$", "a list of methods") or METHODS,
        allow_headers = reader:list("cors-allow-headers", "^[%w%-_]+$", "a list of headers")
            or HEADERS,
        expose_headers = reader:list("cors-expose-headers", "^[%w%-_%*]+$", "a list of headers"),
        allow_credentials = credentials ~= false,
        max_age = reader:number("cors-max-age", -1, 2147483647, " of seconds") or 1728000 }
end
