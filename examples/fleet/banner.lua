-- Copies the ConfigMap argocd/banner of the home cluster into each cluster that a Secret of Argo CD
-- names, and repairs the copies. Several replicas may run: each cluster is written to by one.
-- Try it on three simulated clusters: kubelua run examples/fleet/story.lua
local kubelua = require "kubelua"

local home = assert(kubelua.connect())
local banner = assert(home:informer { "configmaps", namespace = "argocd",
    fields = "metadata.name=banner" })

assert(kubelua.fleet {
    name = "banner", client = home, shards = { name = "banner", namespace = "argocd" },
    source = { secrets = "argocd", namespace = "argocd" },
    function(cluster)
        local controller = kubelua.controller {
            name = "banner", watches = { { "configmaps", namespace = "default",
                map = function(object) return object.name == "banner" and "copy" or nil end } },
            reconcile = function(_, run)
                local object = banner:get("argocd/banner")
                if not object then return false, "there is no banner" end
                local text = object.data.text .. ", " .. cluster.name
                assert(run:apply({ apiVersion = "v1", kind = "ConfigMap", data = { text = text },
                    metadata = { name = "banner", namespace = "default" } }, { owner = false }))
                run.log("info", "the banner is up")
            end,
        }
        local function enqueue() controller:enqueue("copy") end
        banner:on { add = enqueue, update = enqueue } -- ends with the cluster
    end,
})
