-- KubeLua inside another event loop: luv polls kubelua.fd(), then calls kubelua.step().
-- Try it: kubelua run --sim=examples/cluster.yaml examples/embed-in-luv.lua
local kubelua = require "kubelua"
local uv = require "luv"

local pods = assert(assert(kubelua.connect()):informer { "pods" })
local seen = 0
pods:on {
    add = function(pod)
        seen = seen + 1
        print("luv got", pod.key)
    end,
    synced = function()
        print(seen .. " pods; now luv's own timer goes on")
    end,
}

local poll = uv.new_poll(kubelua.fd())
poll:start("r", function() kubelua.step() end)

local ticks = 0
local timer = uv.new_timer()
timer:start(0, 50, function()
    ticks = ticks + 1
    if ticks == 5 or (ticks > 1 and pods:has_synced() and seen == pods:count()) then
        timer:close()
        poll:close()
        pods:stop()
    end
end)
uv.run()
print("luv is done")
