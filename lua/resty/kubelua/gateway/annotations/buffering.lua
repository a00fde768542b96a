-- Annotations about buffers for answers. Without any, each part of an answer goes on at once.
local known = require "resty.kubelua.gateway.annotations.known"
local places = require "resty.kubelua.gateway.balance.places"

local SIZE = 8 * 1024 -- proxy_buffer_size of nginx.conf

---Reads them, after limit-rate and proxy-next-upstream: a rate is held only where nginx buffers.
---@param reader kubelua.gateway.AnnotationReader
---@param parsed kubelua.gateway.ParsedAnnotations
return function(reader, parsed)
    local settings = parsed.settings
    local retry = (settings.balance or {}).retry
    local is_on = reader:choice("proxy-buffering", "on off") == "on"
    local name = settings.rate and "limit-rate" or is_on and "proxy-buffering"
    settings.buffering = name and true or nil
    if name and retry and places.of(retry.on) then
        reader:add("differs", name, known.ALL["proxy-buffering"].text)
    end
    local size, each = reader:size("proxy-buffer-size"), known.ALL["proxy-buffer-size"]
    if size and size > SIZE then
        reader:add("unsupported", "proxy-buffer-size", each.text .. "; " .. each.instead)
    end
end
