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

-- By the pod's key: the task that runs the container, its image and its address; and, once it has
-- ended by itself, why.
local containers = {}

local function run_container(pod, address, port)
    local image = pod.spec.containers[1].image
    local conf = machine.write(address .. ".conf", CONF, { address = address, port = port,
        image = image })
    local container = { image = image, url = ("http://%s:%d/"):format(address, port) }
    container.task = kubelua.spawn(function()
        local _, message = kubelua.exec(machine.nginx { "-c", conf, "-p", machine.folder })
        container.problem = message or "it has ended"
    end)
    return container
end

---Waits until so many containers of an image answer: the simulated kubelet says that a pod is ready
---without having asked it. Raises if one of them has ended.
function pods.wait(image, count)
    local function are_answering()
        local urls, answering, why = {}, 0, "they have not begun"
        for _, container in pairs(containers) do
            if container.image == image then
                if container.problem then
                    error(("a pod of %s does not run: %s"):format(image, container.problem), 0)
                end
                urls[#urls + 1] = container.url
            end
        end
        for _, url in ipairs(urls) do
            local reply, message = kubelua.http(url)
            answering, why = answering + (reply and 1 or 0), message or why
        end
        return answering == count, why
    end
    machine.wait_for(("%d pods of %s answer"):format(count, image), are_answering)
end

---Runs an nginx for each pod of a cluster.
function pods.run(client, port)
    local informer = assert(client:informer { "pods" })
    local function look(pod)
        local address = pod:get("status.podIP")
        address = address and address:gsub("^10%.244%.", "127.20.")
        if address and not containers[pod.key] then
            containers[pod.key] = run_container(pod, address, port)
        end
    end
    informer:on { add = look, update = function(_, pod) look(pod) end, delete = function(pod)
        if containers[pod.key] then
            containers[pod.key].task:cancel()
            containers[pod.key] = nil
        end
    end }
end

return pods
