-- What a client learns first: versions, health, groups and resources.
local AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,app"
    .. "lication/json"

local requests = {
    { "the versions of the core group", "GET /api" },
    { "the resources of the core group", "GET /api/v1" },
    { "the list of groups", "GET /apis" },
    { "a group", "GET /apis/apps" },
    { "a group with several versions", "GET /apis/autoscaling" },
    { "a group that does not exist", "GET /apis/nothing.example.com" },
    { "a version that does not exist", "GET /apis/apps/v9" },
    { "a version of the core group that does not exist", "GET /api/v2" },
    { "a path that does not exist", "GET /nothing" },
    { "the groups with a slash at the end", "GET /apis/" },
    { "the aggregated core group", "GET /api", headers = { Accept = AGGREGATED } },
    { "the aggregated groups", "GET /apis", headers = { Accept = AGGREGATED } },
    {
        "the aggregated groups unchanged", "GET /apis", headers = { Accept = AGGREGATED },
        only = "headers",
    },
    {
        "the aggregated groups, beta", "GET /apis", only = "headers",
        headers = {
            Accept = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        },
    },
    { "the server's version", "GET /version" },
    { "the server's version with a slash", "GET /version/" },
    { "healthz", "GET /healthz" },
    { "livez", "GET /livez" },
    { "readyz", "GET /readyz" },
    { "one check of readyz", "GET /readyz/ping" },
    { "one check of livez", "GET /livez/ping" },
    { "one check of healthz", "GET /healthz/ping" },
    { "a check that does not exist", "GET /readyz/nothing" },
    { "verbose health", "GET /livez?verbose", only = "headers" },
    { "verbose readiness", "GET /readyz?verbose", only = "headers" },
    { "the index of OpenAPI 3", "GET /openapi/v3", only = "headers" },
    { "OpenAPI 2", "GET /openapi/v2", only = "headers" },
    { "OpenAPI 3 of the core group", "GET /openapi/v3/api/v1", only = "headers" },
    { "OpenAPI 3 of a group", "GET /openapi/v3/apis/apps/v1", only = "headers" },
    { "OpenAPI 3 of nothing", "GET /openapi/v3/apis/nothing/v1" },
    { "a POST to discovery", "POST /apis", {} },
    { "a DELETE of a version", "DELETE /api/v1" },
    { "a POST to a version", "POST /apis/apps/v1", {} },
    { "a group as text that nobody writes", "GET /apis/apps", headers = { Accept = "text/csv" } },
    { "the root", "GET /", only = "headers" },
    { "HEAD of a version", "HEAD /api/v1", only = "headers" },
}

for _, group in ipairs {
    "apps/v1", "batch/v1", "networking.k8s.io/v1", "discovery.k8s.io/v1", "coordination.k8s.io/v1",
    "rbac.authorization.k8s.io/v1", "policy/v1", "autoscaling/v2",
    "storage.k8s.io/v1", "events.k8s.io/v1", "apiextensions.k8s.io/v1",
    "authentication.k8s.io/v1", "authorization.k8s.io/v1", "apiregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1", "scheduling.k8s.io/v1", "node.k8s.io/v1",
    "certificates.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1",
} do
    table.insert(requests, { "the resources of " .. group, "GET /apis/" .. group })
end

return requests
