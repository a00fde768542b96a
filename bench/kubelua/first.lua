-- Prints the first pod that its informer tells of, and ends: how long a process takes to that.
-- Usage: lua5.4 first.lua SERVER, or: kubelua run --server SERVER first.lua
local kubelua = require "kubelua"

local client = assert(kubelua.connect { server = arg[1] })
client:informer("pods"):on {
    add = function(pod)
        print(pod.metadata.name)
        io.stdout:flush()
        os.exit(0)
    end,
}
kubelua.run()
