-- Stands in for the controllers and kubelets of a cluster, which the suite expects: the Deployments
-- get Pods that are Ready at once, and Services with a selector get an EndpointSlice.
-- A Pod has an address of 10.42.0.0/16: the suite's program answers there (echo_test.go).
local kubelua = require "kubelua"

local HTTPS, ECHO_HTTPS = 8443, 18443 -- on 8443 nginx listens, and both are in one network
local count = 0

local function next_address()
    count = count + 1
    return ("10.42.%d.%d"):format(math.floor(count / 250), count % 250 + 1)
end

local function is_in_suite(object)
    return object.namespace:find("^gateway%-") ~= nil
end

local function is_ready(pod)
    return (kubelua.condition(pod, "Ready") or {}).status == "True"
end

-- The suite cuts two parts from a Pod's name to get its Deployment's.
local function create_pod(run, deployment, name)
    local template = deployment.spec.template
    local spec = kubelua.table(template.spec)
    spec.nodeName = "node" -- an EndpointSlice of the suite copies it
    return assert(run:create { apiVersion = "v1", kind = "Pod", spec = spec,
        metadata = { name = name, labels = template.metadata.labels } })
end

local function make_ready(run, pod)
    local address = next_address()
    assert(run:status(pod, { phase = "Running", podIP = address, podIPs = { { ip = address } },
        conditions = { { type = "Ready", status = "True" } } }))
end

kubelua.controller {
    "deployments.apps", name = "deployments", owns = { "pods" },
    reconcile = function(deployment, run)
        if not is_in_suite(deployment) then return end
        local pods = {}
        for _, pod in ipairs(run:owned("pods")) do
            pods[pod.name] = pod
        end
        for i = 1, deployment.spec.replicas do
            local name = deployment.name .. "-fake-" .. i
            local pod = pods[name] or create_pod(run, deployment, name)
            if not is_ready(pod) then make_ready(run, pod) end
        end
    end,
    gone = function(key, run)
        for _, pod in ipairs(run:list("pods", { namespace = key:match("^[^/]*") })) do
            if pod.name:find(key:match("[^/]*$") .. "-fake-", 1, true) == 1 then
                assert(run:delete(pod, { grace = 0 }))
            end
        end
    end,
}

local function selects(service, pod)
    for name, value in kubelua.pairs(service.spec.selector) do
        if kubelua.get(pod.metadata.labels or {}, name) ~= value then return false end
    end
    return true
end

local function endpoints_of(service, run)
    local endpoints = kubelua.array()
    for _, pod in ipairs(run:list("pods", { namespace = service.namespace })) do
        if is_ready(pod) and selects(service, pod) then
            endpoints[#endpoints + 1] = { addresses = { pod.status.podIP },
                conditions = { ready = true, serving = true, terminating = false },
                targetRef = { kind = "Pod", name = pod.name, namespace = pod.namespace } }
        end
    end
    return endpoints
end

local function ports_of(service)
    local ports = {}
    for i, port in kubelua.ipairs(service.spec.ports) do
        ports[i] = { name = port.name or "", protocol = port.protocol,
            port = port.targetPort == HTTPS and ECHO_HTTPS or port.targetPort }
    end
    return ports
end

kubelua.controller {
    "services", name = "endpoints",
    watches = { { "pods", map = function(pod, run)
        return is_in_suite(pod) and run:list("services", { namespace = pod.namespace }) or nil
    end } },
    reconcile = function(service, run)
        if not is_in_suite(service) or not service.spec.selector then return end
        assert(run:apply { apiVersion = "discovery.k8s.io/v1", kind = "EndpointSlice",
            metadata = { name = service.name .. "-fake",
                labels = { ["kubernetes.io/service-name"] = service.name } },
            addressType = "IPv4", endpoints = endpoints_of(service, run),
            ports = ports_of(service) })
    end,
    gone = function(key, run)
        assert(run:delete("endpointslices.discovery.k8s.io", key .. "-fake"))
    end,
}

kubelua.run()
