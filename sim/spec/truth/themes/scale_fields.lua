-- The managers of replicas: a field of the object and of its scale, under different names.
local objects = require "objects"

local APPS = "/apis/apps/v1/namespaces/{ns}/deployments"
local APPLY = "application/apply-patch+yaml"

local function scale(spec, metadata)
    return objects.of("autoscaling/v1", "Scale", "web", { spec = spec, metadata = metadata })
end

local function applied(name, target, body)
    return { name, "PATCH " .. target, body, type = APPLY }
end

local WEB = APPS .. "/web/scale?fieldManager="

return {
    { "a deployment", "POST " .. APPS, objects.deployment("web", { spec = { replicas = 2 } }) },
    applied("a scale that another has", WEB .. "one", scale { replicas = 5 }),
    applied("a scale by force", WEB .. "one&force=true", scale { replicas = 5 }),
    { "who has it now", "GET " .. APPS .. "/web" },
    applied("the same again", WEB .. "one", scale { replicas = 5 }),
    { "who has it still", "GET " .. APPS .. "/web" },
    applied("the same by another", WEB .. "two", scale { replicas = 5 }),
    { "who shares it", "GET " .. APPS .. "/web" },
    { "the same by PUT", "PUT " .. WEB .. "three", scale { replicas = 5 } },
    { "who still shares it", "GET " .. APPS .. "/web" },
    { "another number by PUT", "PUT " .. WEB .. "three", scale { replicas = 6 } },
    { "who took it", "GET " .. APPS .. "/web" },
    {
        "another number, in the deployment", "PATCH " .. APPS .. "/web?fieldManager=main",
        { spec = { replicas = 7 } },
    },
    { "that number, in the scale", "PUT " .. WEB .. "four", scale { replicas = 7 } },
    { "who has it, and no longer since when", "GET " .. APPS .. "/web" },
    applied("by force, with more than is taken", WEB .. "five&force=true", {
        apiVersion = "autoscaling/v1", kind = "Scale",
        metadata = { name = "web", labels = { a = "b" } },
        spec = { replicas = 5 }, status = { replicas = 3 },
    }),
    { "who has what", "GET " .. APPS .. "/web" },
    applied("nothing any more", WEB .. "five", scale()),
    { "nobody has it", "GET " .. APPS .. "/web" },
    applied("a configuration of the deployment", WEB .. "five", objects.deployment("web")),
    applied("without a type", WEB .. "five", { metadata = { name = "web" } }),
    applied("with an unknown field", WEB .. "five", scale { x = 1 }),
    applied("with a text for a number", WEB .. "five", scale { replicas = "x" }),
    applied("below nothing", WEB .. "five", scale { replicas = -1 }),
    applied("at an old version", WEB .. "five", scale({ replicas = 4 }, { resourceVersion = "1" })),
    applied("without a manager", APPS .. "/web/scale", scale { replicas = 4 }),
    applied("of nothing", APPS .. "/none/scale?fieldManager=five", scale { replicas = 4 }),
    applied(
        "with another uid", WEB .. "five",
        scale({ replicas = 4 }, { uid = "00000000-0000-0000-0000-000000000001" })
    ),
    {
        "a patch with another uid", "PATCH " .. WEB .. "five",
        { metadata = { uid = "00000000-0000-0000-0000-000000000001" }, spec = { replicas = 4 } },
    },
    {
        "a strategic patch", "PATCH " .. WEB .. "five", { spec = { replicas = 4 } },
        type = "application/strategic-merge-patch+json",
    },
    applied("a dry run", WEB .. "six&force=true&dryRun=All", scale { replicas = 9 }),
    { "an unknown field by PUT", "PUT " .. WEB .. "six", scale { replicas = 4, x = 1 } },
    {
        "an unknown field, strictly", "PUT " .. WEB .. "six&fieldValidation=Strict",
        scale { replicas = 4, x = 1 },
    },
    { "in the end", "GET " .. APPS .. "/web" },

    {
        "a controller of old", "POST /api/v1/namespaces/{ns}/replicationcontrollers",
        objects.of("v1", "ReplicationController", "web", {
            spec = {
                replicas = 1, selector = { a = "b" },
                template = {
                    metadata = { labels = { a = "b" } },
                    spec = { containers = { objects.container() } },
                },
            },
        }),
    },
    applied(
        "its scale",
        "/api/v1/namespaces/{ns}/replicationcontrollers/web/scale?fieldManager=one&force=true",
        scale { replicas = 2 }
    ),
    { "who has its replicas", "GET /api/v1/namespaces/{ns}/replicationcontrollers/web" },
}
