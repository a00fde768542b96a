-- proxy-body-size for bodies whose length is not said before: chunked ones, and those of HTTP/2.
-- nginx limits them while it reads, by a number of the location, so a request goes on to the
-- location with the next power of two. There the whole body is read, and its length is known.
local body_size = {}

local var = ngx.var

-- The locations of server.conf: 1 MiB times two to the power of 0 to 12.
local LEAST, MOST = 20, 32

local function has_unknown_length()
    return var.http_transfer_encoding ~= nil or (ngx.req.http_version() or 0) >= 2
end

-- A call of gRPC is a stream, which the backend reads while it comes.
local function is_stream(rule)
    local first = rule.backends[1]
    local protocol = first and first.protocol
    return rule.grpc or protocol == "grpc" or protocol == "grpcs"
end

local function location_of(limit)
    for exponent = LEAST, MOST do
        if limit <= 2 ^ exponent then
            return ("@kubelua_body_%d"):format(exponent)
        end
    end
end

---True: the body is larger than the rule allows. Does not return where it has to be read first.
---@param rule table
---@param limit integer bytes; 0: none
---@param is_read boolean? the body has been read
---@return boolean
function body_size.is_over(rule, limit, is_read)
    local length = tonumber(var.content_length)
    if length or limit == 0 or is_read then
        return limit > 0 and (length or 0) > limit
    end
    local location = has_unknown_length() and not is_stream(rule) and location_of(limit)
    if location then
        return ngx.exec(location)
    end
    return false
end

return body_size
