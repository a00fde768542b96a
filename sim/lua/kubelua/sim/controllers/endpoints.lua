-- The controller of EndpointSlices: one for each Service with a selector, with the addresses of its
-- pods, and which of them are ready.
local kubelua = require "kubelua"
local owned = require "kubelua.sim.controllers.owned"

local function selects(service, pod)
    local labels, any = pod.metadata.labels or {}, false
    for name, value in kubelua.pairs(service:get("spec.selector") or {}) do
        any = true
        if labels[name] ~= value then
            return false
        end
    end
    return any
end

-- A port's number. The name of a port is looked up in the containers of a pod.
local function number_of(port, pod)
    local target = port.targetPort or port.port
    if type(target) == "number" then
        return target
    end
    for _, container in kubelua.ipairs(pod and pod.spec.containers or {}) do
        for _, named in kubelua.ipairs(container.ports or {}) do
            if named.name == target then
                return named.containerPort
            end
        end
    end
    return nil
end

local function ports_of(service, pod)
    local ports = kubelua.array()
    for _, port in kubelua.ipairs(service:get("spec.ports") or {}) do
        ports[#ports + 1] = { name = port.name or "", protocol = port.protocol or "TCP",
            port = number_of(port, pod) }
    end
    return ports
end

local function endpoint_of(pod)
    local is_ready, is_stopping = owned.is_ready(pod), owned.is_deleted(pod)
    return {
        addresses = { pod.status.podIP },
        conditions = { ready = is_ready and not is_stopping, serving = is_ready,
            terminating = is_stopping },
        nodeName = pod.spec.nodeName,
        targetRef = { kind = "Pod", namespace = pod.namespace, name = pod.name, uid = pod.uid },
    }
end

local function reconcile(service, run)
    if not service:get("spec.selector") then
        return
    end
    local endpoints, first = kubelua.array(), nil
    for _, pod in ipairs(run:list("pods", { namespace = service.namespace })) do
        if selects(service, pod) and pod:get("status.podIP") then
            first = first or pod
            endpoints[#endpoints + 1] = endpoint_of(pod)
        end
    end
    return run:apply({
        apiVersion = "discovery.k8s.io/v1", kind = "EndpointSlice",
        metadata = { name = service.name,
            labels = { ["kubernetes.io/service-name"] = service.name } },
        addressType = "IPv4", endpoints = endpoints, ports = ports_of(service, first),
    }, { adopt = true })
end

-- The Services that select a pod.
local function services_of(pod, run)
    local services = {}
    for _, service in ipairs(run:by("services", "namespace", pod.namespace)) do
        if selects(service, pod) then
            services[#services + 1] = service
        end
    end
    return services
end

return function()
    return { { "services", name = "endpoints", indexes = { namespace = "metadata.namespace" },
        owns = { "endpointslices.discovery.k8s.io" },
        watches = { { "pods", map = services_of } },
        reconcile = reconcile } }
end
