-- Stands for the containers of the simulated pods: starts an nginx for each pod with an address,
-- which answers with the pod's image, and stops it when the pod is gone. A pod at 10.244.1.2 is at
-- 127.20.1.2 on this machine.
local kubelua = require "kubelua"
local machine = require "machine"

local pods = {}

local CONF = [[
daemon off;
master_process off;
pid @folder@/@address@.pid;
error_log @folder@/pods.log;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path @folder@/body;
    proxy_temp_path @folder@/proxy;
    fastcgi_temp_path @folder@/fastcgi;
    uwsgi_temp_path @folder@/uwsgi;
    scgi_temp_path @folder@/scgi;
    server {
        listen @address@:@port@;
        location / { return 200 "@image@\n"; }
    }
}
]]

---Runs an nginx for each pod of a cluster.
function pods.run(client, port)
    local containers = {}
    local informer = assert(client:informer { "pods" })
    local function look(pod)
        local address = pod:get("status.podIP")
        address = address and address:gsub("^10%.244%.", "127.20.")
        if address and not containers[pod.key] then
            local conf = machine.write(address .. ".conf", CONF, { address = address, port = port,
                image = pod.spec.containers[1].image })
            containers[pod.key] = kubelua.spawn(kubelua.exec,
                machine.nginx { "-c", conf, "-p", machine.folder }, { timeout = 600 })
        end
    end
    informer:on { add = look, update = function(_, pod) look(pod) end, delete = function(pod)
        if containers[pod.key] then
            containers[pod.key]:cancel()
            containers[pod.key] = nil
        end
    end }
end

return pods
