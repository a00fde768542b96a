-- Prints what happens to pods. Try it: kubelua run --sim=examples/cluster.yaml examples/watch.lua
local kubelua = require "kubelua"
local pods = assert(assert(kubelua.connect()):informer { "pods" })
pods:on { add = function(pod) print("add", pod, pod:get("status.phase")) end,
          update = function(old, new) print("update", new, new:get("status.phase")) end,
          delete = function(pod) print("delete", pod) end }
