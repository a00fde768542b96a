-- What the themes of PodSecurity have in common: namespaces that ask for a standard, and
-- containers that meet it.
local objects = require "objects"

local standards = {}

---Labels of a namespace: { enforce = "baseline", ["warn-version"] = "v1.30" }.
function standards.labels(modes)
    local result = {}
    for mode, value in pairs(modes) do
        result["pod-security.kubernetes.io/" .. mode] = value
    end
    return result
end

---A request that makes {run}-NAME.
function standards.space(name, modes)
    return {
        "namespace " .. name, "POST /api/v1/namespaces",
        objects.of("v1", "Namespace", "{run}-" .. name, {
            metadata = { labels = standards.labels(modes) },
        }),
    }
end

function standards.container(name, security, more)
    local result = { name = name, image = "i", securityContext = security }
    for key, value in pairs(more or {}) do
        result[key] = value
    end
    return result
end

return standards
