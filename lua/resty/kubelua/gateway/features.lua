-- The features of Gateway API that the status of a GatewayClass claims: those whose tests pass in
-- the conformance suite (spec/gateway-api; unclaimed.lua there says why the others are not here).
local features = {}

local ALWAYS = {
    "Gateway", "GatewayAddressEmpty", "GatewayHTTPListenerIsolation",
    "GatewayHTTPSListenerDetectMisdirectedRequests", "GatewayPort8080", "HTTPRoute",
    "HTTPRoute303RedirectStatusCode", "HTTPRoute307RedirectStatusCode",
    "HTTPRoute308RedirectStatusCode", "HTTPRouteBackendProtocolWebSocket",
    "HTTPRouteBackendRequestHeaderModification",
    "HTTPRouteBackendTimeout", "HTTPRouteCORS", "HTTPRouteHostRewrite",
    "HTTPRouteMethodMatching", "HTTPRouteNamedRouteRule", "HTTPRouteParentRefPort",
    "HTTPRoutePathRedirect", "HTTPRoutePathRewrite", "HTTPRoutePortRedirect",
    "HTTPRouteQueryParamMatching", "HTTPRouteRequestMirror", "HTTPRouteRequestMultipleMirrors",
    "HTTPRouteRequestPercentageMirror", "HTTPRouteRequestTimeout",
    "HTTPRouteResponseHeaderModification", "HTTPRouteSchemeRedirect", "ReferenceGrant",
}

---@param has_h2c boolean HTTP listeners speak HTTP/2 beside HTTP/1.1: GRPCRoutes and h2c need it
---@param has_pool boolean Gateways have addresses of their own
---@return string[]
function features.list(has_h2c, has_pool)
    local list = {}
    for i, name in ipairs(ALWAYS) do
        list[i] = name
    end
    if has_h2c then
        list[#list + 1] = "GRPCRoute"
        list[#list + 1] = "HTTPRouteBackendProtocolH2C"
    end
    if has_pool then
        list[#list + 1] = "GatewayStaticAddresses"
    end
    return list
end

return features
