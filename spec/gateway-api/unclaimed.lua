-- Why the gateway does not claim a feature in the status of its GatewayClass
-- (lua/resty/kubelua/gateway/features.lua): for table.lua.
local CLIENTS = "certificates of clients are not asked for"
local POLICY = "nginx cannot check a backend by an authority that comes with the request"
return {
    BackendTLSPolicy = POLICY, BackendTLSPolicySANValidation = POLICY,
    GatewayBackendClientCertificate = "the gateway shows no certificate to backends",
    GatewayFrontendClientCertificateValidation = CLIENTS,
    GatewayFrontendClientCertificateValidationInsecureFallback = CLIENTS,
    GatewayStaticAddresses = "only with a pool of addresses",
    GatewayInfrastructure = "a Gateway makes no objects that labels could be put on",
    HTTPRouteDestinationPortMatching = "experimental",
    HTTPRouteRetry = "experimental; its test passes with the CRDs of that channel",
    ListenerSet = "not read",
}
