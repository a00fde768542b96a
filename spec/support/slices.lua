-- EndpointSlices and Services as texts for cluster:load, with the addresses that a spec gives.
local slices = {}

local SERVICE = [[{"apiVersion":"v1","kind":"Service","metadata":{"name":"%s","namespace":"%s"},
"spec":{"selector":{"app":"%s"},"ports":[{"name":"http","port":80,"protocol":"TCP"}]}}]]

local SLICE = [[{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"%s",
"namespace":"%s","labels":{"kubernetes.io/service-name":"%s"}},"addressType":"IPv4",
"ports":[{"name":"http","port":%d,"protocol":"TCP"}],"endpoints":[%s]}]]

local ENDPOINT = [[{"addresses":["%s"],"conditions":{"ready":%s,"serving":true,
"terminating":false}}]]

---@param namespace string
---@param name string
---@return string
function slices.service(namespace, name)
    return SERVICE:format(name, namespace, name)
end

---Backends of specs listen at 127.0.0.N, which no owner serves; a slice has 10.127.0.N for it, and
---`peers` of nginx_world turns it back.
---@param address string
---@return string
function slices.pod_of(address)
    return (address:gsub("^127%.0%.", "10.127."))
end

---@param namespace string
---@param service string
---@param name string of the slice
---@param addresses string[]
---@param port integer
---@param ready boolean? default: true
---@return string
function slices.slice(namespace, service, name, addresses, port, ready)
    local endpoints = {}
    for i, address in ipairs(addresses) do
        endpoints[i] = ENDPOINT:format(slices.pod_of(address), tostring(ready ~= false))
    end
    return SLICE:format(name, namespace, service, port, table.concat(endpoints, ","))
end

---The text of a list of such texts.
---@param texts string[]
---@return string
function slices.list(texts)
    return '{"apiVersion":"v1","kind":"List","items":[' .. table.concat(texts, ",") .. "]}"
end

return slices
