-- KubeLua in nginx, with a simulated cluster of three pods whose API server runs in this process.
local Sim = require "kubelua.sim"
local eventually = require "eventually"
local nginx = require "nginx"

local guest = {}

-- Connects in init_worker, and counts pods with handlers that wait or fail.
guest.INIT_WORKER = [[
    init_worker_by_lua_block {
        client = assert(kubelua.connect { server = "URL" })
        pods = assert(client:informer "pods")
        seen, waited, refusals = 0, 0, {}
        assert(pods:on { add = function(pod)
            seen = seen + 1
            for _, name in ipairs { "sleep", "exit", "timer", "thread" } do
                local call = { sleep = function() ngx.sleep(0.001) end,
                    exit = function() ngx.exit(500) end,
                    timer = function() ngx.timer.at(0, function() end) end,
                    thread = function() ngx.thread.spawn(function() end) end }
                local ok, problem = pcall(call[name])
                refusals[name] = tostring(ok) .. " " .. tostring(problem)
            end
            local co = coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) end)
            assert(co() == 1 and co() == 2)
            kubelua.sleep(0.001)
            assert(client:get("pods", pod.key).name == pod.name)
            waited = waited + 1
        end })
        MORE
    }
]]

guest.TIMER = "assert(ngx.timer.every(0.005, function() kubelua.step(0) end))"

guest.STATE = [[
    location /state { content_by_lua_block {
        ngx.say(seen, " ", waited, " ", pods:count())
    } }
    location /refusals { content_by_lua_block {
        for _, name in ipairs { "sleep", "exit", "timer", "thread" } do
            ngx.say(name, ": ", refusals[name])
        end
    } }
]]

---@class spec.Guest
---@field url string of the API server
local Guest = {}
Guest.__index = Guest

function guest.new()
    local self = setmetatable({ cluster = assert(Sim.new()) }, Guest)
    for i = 1, 3 do
        assert(self.cluster:load("{apiVersion: v1, kind: Pod, metadata: {name: p" .. i .. "}}"))
    end
    self.url = assert(self.cluster:listen())
    return self
end

---Starts nginx. Without a given init_by_lua, init_by_lua loads the module.
---@param options spec.NginxOptions
---@param init string?
---@return spec.Nginx
function Guest:start(options, init)
    init = init or "init_by_lua_block { kubelua = require \"kubelua\" } "
    options.http = (init .. (options.http or "")):gsub("URL", self.url)
    options.server = (options.server or ""):gsub("URL", self.url)
        .. " location = / { return 200 up; }"
    self.nginx = nginx.start(options)
    return self.nginx
end

---Waits until a path answers with `text`.
---@param path string
---@param text string
function Guest:says(path, text)
    local body
    eventually(function()
        local _
        _, body = self.nginx:get(path)
        return body == text
    end, function()
        return path .. " says " .. text .. ", and said " .. tostring(body) .. "\n"
            .. self.nginx:said()
    end, 20)
end

---Stops nginx and the cluster; fails if error.log reports a crash.
function Guest:close()
    self.cluster:close()
    if self.nginx then
        self.nginx:close()
    end
end

return guest
