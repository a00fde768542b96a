-- Scripts and manifests in files, and their plans: for the specs of kubelua plan.
local plan = require "kubelua.cli.plan"

local planned = {}

planned.WATCHES = [[local client = assert(kubelua.connect())
    assert(client:informer { "pods" }):on { add = function() end }
]]

planned.CLUSTER = [[
{apiVersion: v1, kind: Namespace, metadata: {name: web}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: web}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: web}, data: {target: linked}}
---
apiVersion: v1
kind: Pod
metadata: {name: shop-1, namespace: web}
spec: {containers: [{name: c, image: "c:1"}]}
]]

-- Rules as texts: "get,list pods", "get configmaps [a,b]", "patch deployments.apps".
function planned.tell(rules)
    local texts = {}
    for _, rule in ipairs(rules or {}) do
        for _, resource in ipairs(rule.resources or rule.nonResourceURLs) do
            local group = rule.apiGroups and rule.apiGroups[1] or ""
            texts[#texts + 1] = table.concat(rule.verbs, ",") .. " " .. resource
                .. (group ~= "" and "." .. group or "")
                .. (rule.resourceNames and " [" .. table.concat(rule.resourceNames, ",") .. "]"
                    or "")
        end
    end
    table.sort(texts)
    return texts
end

local paths = {} -- of files, until `clean`

---Writes a file; returns its path.
function planned.write(text, name)
    local path = os.tmpname()
    os.remove(path)
    path = path .. (name or ".lua")
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    paths[#paths + 1] = path
    return path
end

---The plan of a script, which is given as a text.
function planned.make(text, options)
    local given = { script = planned.write(text),
        sim_load = { planned.write(planned.CLUSTER, ".yaml") } }
    for name, value in pairs(options or {}) do
        given[name] = value
    end
    return plan.of(given)
end

---The rules of its ClusterRole, as texts.
function planned.cluster_of(text, options)
    return planned.tell(assert(planned.make(text, options)).rules.cluster)
end

---Removes the files.
function planned.clean()
    for _, path in ipairs(paths) do
        os.remove(path)
    end
    paths = {}
end

return planned
