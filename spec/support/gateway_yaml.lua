-- Objects that specs and benches of the gateway begin with, as YAML that ends with "---".
local gateway_yaml = {}

---The gateway's class, and a Gateway web/main.
---@param listeners string a list in YAML, on one line or on lines that begin with four spaces
---@return string
function gateway_yaml.gateway(listeners)
    return [[
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kubelua}
spec: {controllerName: kubelua.dev/gateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: web}
spec:
  gatewayClassName: kubelua
  listeners: ]] .. listeners .. "\n---\n"
end

-- The same with a listener that takes HTTP on port 80.
gateway_yaml.GATEWAY = gateway_yaml.gateway "[{name: http, port: 80, protocol: HTTP}]"
-- The same with routes of all namespaces.
gateway_yaml.FOR_ALL = gateway_yaml.gateway("[{name: http, port: 80, protocol: HTTP, "
    .. "allowedRoutes: {namespaces: {from: All}}}]")

-- The class of the gateway's Ingresses.
gateway_yaml.INGRESS_CLASS = [[
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: kubelua}
spec: {controller: kubelua.dev/gateway}
---
]]

return gateway_yaml
