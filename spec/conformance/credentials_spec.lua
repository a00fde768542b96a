-- Credentials that are wrong, insufficient or replaced while an informer runs.
local conformance = require "conformance"
local eventually = require "eventually"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local function write(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
end

local function error_of_code(watched, code)
    return eventually(function()
        for _, problem in ipairs(watched.errors) do
            if problem.code == code then
                return problem
            end
        end
    end, function()
        local last = watched.errors[#watched.errors]
        return "an error " .. code .. "; the last one: " .. (last and last.message or "none")
    end)
end

-- A simulator accepts a single token, so the file has a wrong one at first.
local function describe_sim(it)
    it("in a token file are read again after a 401", function(scene)
        local guarded = assert(Sim.new { token = "right" })
        local path = os.tmpname()
        write(path, "wrong")
        local url = assert(guarded:listen { tls = true })
        local client = assert(kubelua.connect {
            server = url, token_file = path, insecure = true,
        })
        scene.clients[1] = client
        local watched = scene:record(scene:informer { client = client, namespace = "default" })
        error_of_code(watched, "unauthorized")
        write(path, "right\n")
        watched:sees { "synced" }
        watched.informer:stop()
        client:close()
        guarded:close()
        os.remove(path)
    end)
end

local function describe_real(it, cluster)
    it("that get a 403 for a list name the missing verb and resource", function(scene)
        local client = scene:connect { kubeconfig = cluster.folder .. "/kubeconfig-nobody" }
        local watched = scene:record(scene:informer { client = client })
        local problem = error_of_code(watched, "forbidden")
        assert.truthy(problem.message:find("configmaps", 1, true), problem.message)
        assert.truthy(problem.message:find("list") or problem.message:find("watch"),
            problem.message)
        assert.truthy(problem.message:find(scene.namespace, 1, true), problem.message)
    end)

    it("that get the missing right later list without a restart", function(scene)
        scene:create("a")
        local client = scene:connect { kubeconfig = cluster.folder .. "/kubeconfig-nobody" }
        local watched = scene:record(scene:informer { client = client })
        error_of_code(watched, "forbidden")
        cluster:control("kubectl", "-n", scene.namespace, "create", "role", "reader",
            "--verb=list,watch", "--resource=configmaps")
        cluster:control("kubectl", "-n", scene.namespace, "create", "rolebinding", "reader",
            "--role=reader", "--user=nobody")
        watched:starts_with { "add a=1 initial" }
    end)

    it("in a token file are read again when it is rotated", function(scene)
        local client = scene:connect { kubeconfig = cluster.folder .. "/kubeconfig-token-file" }
        local watched = scene:record(scene:informer { client = client })
        watched:sees { "synced" }
        cluster:rotate("rotated-" .. scene.name)
        scene:create("a")
        watched:sees { "add a=1" }
    end)
end

conformance.describe("Credentials", function(it, cluster)
    if cluster.is_real then
        describe_real(it, cluster)
    elseif cluster.over_network then
        describe_sim(it)
    end

    it("that the kubeconfig lacks are an error at once", function()
        local client, message, code = kubelua.connect { kubeconfig = "/no/such/file" }
        assert.is_nil(client)
        assert.equal("config", code)
        assert.truthy(message:find("/no/such/file", 1, true), message)
    end)
end)
