-- LimitRange: what is set, what is refused, what it cannot be itself.
local limited = require "limited"
local objects = require "objects"

local container, pod, plain = limited.container, limited.pod, limited.plain
local of = objects.of
local CORE = limited.CORE
local requests, add, post = limited.requests()

local function claim(name, storage)
    return of("v1", "PersistentVolumeClaim", name, {
        spec = {
            accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = storage } },
        },
    })
end

local function range(name, limits)
    post("range " .. name .. ": made", "limitranges", of("v1", "LimitRange", name, {
        spec = { limits = { limits } },
    }))
end

local function no_range(name)
    add {
        "range " .. name .. ": gone", "DELETE " .. CORE .. "limitranges/" .. name,
        only = "status",
    }
end

range("least", { type = "Container", min = { cpu = "100m" }, max = { cpu = "1" } })
post("less than allowed", "pods", pod("x", { container("a", { cpu = "1m" }, { cpu = "1" }) }),
    { wait = 403 })
post("a limit above what is allowed", "pods", pod("x", {
    container("a", { cpu = "1" }, { cpu = "2" }),
}))
post("what the range makes of a pod", "pods?dryRun=All", plain("x"))
post("what it makes of half a pod", "pods?dryRun=All", pod("x", {
    container("a", { memory = "1Mi" }), container("b", nil, { cpu = "500m" }),
}))
no_range("least")

range("defaults", {
    type = "Container", default = { cpu = "500m", memory = "64Mi" },
    defaultRequest = { cpu = "0.2" },
})
post("defaults in containers", "pods?dryRun=All", pod("x", {
    container("a"), container("b", { cpu = "300m" }),
}, { initContainers = { container("c", nil, { memory = "1Gi" }) } }), { wait = 201 })
no_range("defaults")

range("ratio", { type = "Container", maxLimitRequestRatio = { memory = "2" } })
post("a limit that is far from its request", "pods", pod("x", {
    container("a", { memory = "1Mi" }, { memory = "3Mi" }),
}), { wait = 403 })
post("no request for a ratio", "pods", plain("x"))
no_range("ratio")

range("whole", { type = "Pod", max = { cpu = "1" } })
post("a pod that is too large", "pods", pod("x", {
    container("a", nil, { cpu = "600m" }), container("b", nil, { cpu = "600m" }),
}), { wait = 403 })
post("a pod without a limit", "pods", plain("x"))
no_range("whole")

range("storage", {
    type = "PersistentVolumeClaim", min = { storage = "1Gi" }, max = { storage = "2Gi" },
})
post("a claim below the least", "persistentvolumeclaims", claim("small", "1Mi"), { wait = 403 })
post("a claim above the most", "persistentvolumeclaims", claim("large", "3Gi"))
no_range("storage")

-- --- What they cannot be. -------------------------------------------------

local function bad(sentence, limits)
    post("no range: " .. sentence, "limitranges", of("v1", "LimitRange", "bad", {
        spec = { limits = limits },
    }))
end

bad("of nothing", { { type = "" } })
bad("of something else", { { type = "Thing", max = { cpu = "1" } } })
bad("of one type twice", {
    { type = "Pod", max = { cpu = "1" } }, { type = "Pod", max = { cpu = "1" } },
})
bad("defaults of pods", {
    { type = "Pod", default = { cpu = "1" }, defaultRequest = { cpu = "1" } },
})
bad("a minimum above its maximum", {
    { type = "Container", min = { memory = "2Gi" }, max = { memory = "1Gi" } },
})
bad("a default above its maximum", {
    {
        type = "Container", max = { cpu = "1" }, default = { cpu = "2" },
        defaultRequest = { cpu = "3" },
    },
})
bad("a default below its minimum", {
    {
        type = "Container", min = { cpu = "2" }, default = { cpu = "1" },
        defaultRequest = { cpu = "1" },
    },
})
bad("a request above its limit", {
    { type = "Container", default = { cpu = "1" }, defaultRequest = { cpu = "2" } },
})
bad("a ratio below one", { { type = "Container", maxLimitRequestRatio = { cpu = "500m" } } })
bad("a ratio that cannot be", {
    {
        type = "Container", min = { cpu = "1" }, max = { cpu = "2" },
        maxLimitRequestRatio = { cpu = "3" },
    },
})
bad("claims of nothing", { { type = "PersistentVolumeClaim", max = { cpu = "1" } } })
bad("a resource that is none", { { type = "Container", max = { thing = "1" } } })

return requests
