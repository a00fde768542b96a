-- What the themes of LimitRanges and of ResourceQuotas have in common: objects that ask for
-- something, and requests that make them.
local objects = require "objects"

local limited = { CORE = "/api/v1/namespaces/{ns}/" }

---A list of requests, what adds one, and what adds one that makes an object.
function limited.requests()
    local requests = {}
    local function add(request)
        requests[#requests + 1] = request
    end
    local function post(sentence, plural, object, more)
        local request = { sentence, "POST " .. limited.CORE .. plural, object }
        for name, value in pairs(more or {}) do
            request[name] = value
        end
        add(request)
    end
    return requests, add, post
end

---A container with those requests and limits.
function limited.container(name, asks, limits)
    return { name = name, image = "app", resources = { requests = asks, limits = limits } }
end

function limited.pod(name, containers, spec)
    spec = spec or {}
    spec.containers = containers
    return objects.of("v1", "Pod", name, { spec = spec })
end

---A pod that asks for nothing.
function limited.plain(name)
    return limited.pod(name, { { name = "a", image = "app" } })
end

return limited
