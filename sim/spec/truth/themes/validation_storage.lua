-- What volumes, claims and classes of storage refuse.
local core = require "kubelua.core"
local objects = require "objects"

local of = objects.of
local requests = {}

local function post(sentence, path, object)
    requests[#requests + 1] = { sentence, "POST " .. path, object }
end

local function claim(sentence, spec, base)
    base = base or {
        accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } },
    }
    for name, value in pairs(spec) do
        base[name] = value
    end
    post("claim: " .. sentence, "/api/v1/namespaces/{ns}/persistentvolumeclaims?dryRun=All",
        of("v1", "PersistentVolumeClaim", "c", { spec = base }))
end

claim("no modes", { accessModes = core.array {} })
claim("a mode that is none", { accessModes = { "Sometimes" } })
claim("alone and together", { accessModes = { "ReadWriteOncePod", "ReadWriteOnce" } })
claim("no storage", { resources = {} })
claim("less storage than none", { resources = { requests = { storage = "-1Gi" } } })
claim("no storage at all", { resources = { requests = { storage = "0" } } })
claim("a class that is none", { storageClassName = "A_b" })
claim("a mode of volumes that is none", { volumeMode = "Tape" })
claim("a volume that is none", { volumeName = "A_b" })
claim("a selector that is none", {
    selector = { matchExpressions = { { key = "a", operator = "Is" } } },
})
claim("a source that is none", { dataSource = { kind = "", name = "" } })
claim("a source of another claim", { dataSource = { kind = "PersistentVolumeClaim", name = "x" } })
claim("a source of the core that is none", { dataSource = { kind = "Pod", name = "x" } })
claim("two sources", {
    dataSource = { kind = "PersistentVolumeClaim", name = "x" },
    dataSourceRef = { kind = "PersistentVolumeClaim", name = "y" },
})
claim("a class of attributes that is none", { volumeAttributesClassName = "A_b" })

local function volume(sentence, spec, base)
    base = base or {
        accessModes = { "ReadWriteOnce" }, capacity = { storage = "1Gi" },
        hostPath = { path = "/data" },
    }
    for name, value in pairs(spec) do
        base[name] = value
    end
    post("volume: " .. sentence, "/api/v1/persistentvolumes?dryRun=All",
        of("v1", "PersistentVolume", "{run}-v", { spec = base }))
end

volume("as it should be", {})
volume("nothing", {}, {})
volume("no modes", { accessModes = core.array {} })
volume("a mode that is none", { accessModes = { "Sometimes" } })
volume("alone and together", { accessModes = { "ReadWriteOncePod", "ReadWriteOnce" } })
volume("another size", { capacity = { cpu = "1" } })
volume("two sizes", { capacity = { storage = "1Gi", cpu = "1" } })
volume("less than none", { capacity = { storage = "-1" } })
volume("two sources", { nfs = { server = "a", path = "/b" } })
volume("a path that goes back", { hostPath = { path = "/a/../b" } })
volume("no path", { hostPath = { path = "" } })
volume("a type of path that is none", { hostPath = { path = "/a", type = "Thing" } })
volume("of NFS without a server", { nfs = { path = "b" } }, {
    accessModes = { "ReadWriteOnce" }, capacity = { storage = "1Gi" },
})
volume("of CSI without a driver", { csi = {} }, {
    accessModes = { "ReadWriteOnce" }, capacity = { storage = "1Gi" },
})
volume("of CSI whose driver is none", { csi = { driver = "a b", volumeHandle = "x" } }, {
    accessModes = { "ReadWriteOnce" }, capacity = { storage = "1Gi" },
})
volume("local, anywhere", { ["local"] = { path = "/a" } }, {
    accessModes = { "ReadWriteOnce" }, capacity = { storage = "1Gi" },
})
volume("a policy that is none", { persistentVolumeReclaimPolicy = "Burn" })
volume("recycled from the root", {
    persistentVolumeReclaimPolicy = "Recycle", hostPath = { path = "/" },
})
volume("a class that is none", { storageClassName = "A_b" })
volume("a mode of volumes that is none", { volumeMode = "Tape" })
volume("an affinity of nothing", { nodeAffinity = {} })
volume("an affinity that is none", {
    nodeAffinity = {
        required = {
            nodeSelectorTerms = { { matchExpressions = { { key = "a b", operator = "Is" } } } },
        },
    },
})

local function class(sentence, body)
    post("storageclasses: " .. sentence, "/apis/storage.k8s.io/v1/storageclasses?dryRun=All",
        of("storage.k8s.io/v1", "StorageClass", "{run}-s", body))
end

class("nothing", {})
class("as it should be", { provisioner = "example.com/disk" })
class("a provisioner that is none", { provisioner = "a b" })
class("a policy that is none", { provisioner = "x", reclaimPolicy = "Burn" })
class("a binding that is none", { provisioner = "x", volumeBindingMode = "Later" })
class("a parameter without a name", { provisioner = "x", parameters = { [""] = "y" } })
class("topologies", {
    provisioner = "x",
    allowedTopologies = {
        { matchLabelExpressions = { { key = "a b", values = { "c" } }, { key = "d" } } },
    },
})

return requests
