-- Objects that specs and benches of the gateway begin with, as YAML that ends with "---".
local gateway_objects = {}

-- The gateway's class, and a Gateway web/main that takes HTTP on port 80.
gateway_objects.GATEWAY = [[
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
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
]]

-- The class of the gateway's Ingresses.
gateway_objects.INGRESS_CLASS = [[
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: kubelua}
spec: {controller: kubelua.dev/gateway}
---
]]

return gateway_objects
