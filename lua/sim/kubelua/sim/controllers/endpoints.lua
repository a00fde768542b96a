-- An EndpointSlice for each Service that selects pods: their addresses, and who is ready.
local kubelua = require "kubelua"
local owned = require "kubelua.sim.controllers.owned"

local SERVICE = "kubernetes.io/service-name"

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

-- A port's number; one that is a name is looked up among the containers of a pod.
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

local function endpoint(pod)
    local ready = owned.is_ready(pod)
    local stopping = pod:get("metadata.deletionTimestamp") ~= nil
    return {
        addresses = { pod.status.podIP },
        conditions = { ready = ready and not stopping, serving = ready, terminating = stopping },
        nodeName = pod.spec.nodeName,
        targetRef = { kind = "Pod", namespace = pod.namespace, name = pod.name, uid = pod.uid },
    }
end

return function(world)
    local enqueue = world:queue("endpoints", function(key)
        local service = world.services:get(key)
        if not service or not service:get("spec.selector") then
            return true
        end
        local endpoints, first = kubelua.array(), nil
        for _, pod in ipairs(world.pods:by("namespace", service.namespace)) do
            if selects(service, pod) and pod:get("status.podIP") then
                first = first or pod
                endpoints[#endpoints + 1] = endpoint(pod)
            end
        end
        table.sort(endpoints, function(a, b)
            return a.targetRef.name < b.targetRef.name
        end)
        local wanted = { endpoints = endpoints, ports = ports_of(service, first) }
        local slice = world.slices:get(key)
        if slice then
            return owned.says(slice, wanted) or world:patch(slice, wanted)
        end
        wanted.apiVersion, wanted.kind = "discovery.k8s.io/v1", "EndpointSlice"
        wanted.addressType = "IPv4"
        wanted.metadata = { name = service.name, namespace = service.namespace,
            labels = { [SERVICE] = service.name }, ownerReferences = { owned.reference(service) } }
        return world:create(wanted)
    end)

    local function look(pod)
        for _, service in ipairs(world.services:by("namespace", pod.namespace)) do
            if selects(service, pod) then
                enqueue(service.key)
            end
        end
    end
    local function look_at_service(service)
        enqueue(service.key)
    end
    world.pods:on { add = look, delete = look, update = function(old, new)
        look(old)
        look(new)
    end }
    world.services:on { add = look_at_service, update = function(_, service)
        look_at_service(service)
    end }
end
