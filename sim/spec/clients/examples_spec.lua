-- The controllers of examples/, each as a process of its own on an API server: a real one with
-- KUBELUA_BACKEND=real, else the simulator on a port. On the real one, each is a service account
-- with exactly the rights that kubelua plan prints. More specs of the examples are in examples/.
package.path = "sim/spec/clients/foo/?.lua;" .. package.path
local eventually = require "eventually"
local kubelua = require "kubelua"
local process = require "process"

local PATIENCE = 30
local is_real = os.getenv("KUBELUA_BACKEND") == "real"
local ran = {} -- names of examples, a set

local function backend()
    local name = os.getenv("KUBELUA_BACKEND") or "tls"
    return is_real and require "backend_real" or require("backend_sim")[name]
end

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

describe("The example", function()
    local client, namespace, count = nil, nil, 0
    local server, log

    local function create_namespace(name)
        assert(client:create { apiVersion = "v1", kind = "Namespace", metadata = { name = name } })
    end

    -- Creates the objects of a manifest; they may exist already.
    local function load(path)
        for document in (read(path) .. "\n---\n"):gmatch("(.-)\n%-%-%-\n") do
            local _, message, code
            eventually(function() -- a kind is not served at once
                _, message, code = client:create(document)
                return not code or code == "already_exists"
            end, function() return path .. ": " .. message end, PATIENCE)
        end
    end

    -- Fails unless the object fulfils the condition in time.
    local function expect(resource, key, condition)
        local last
        local ok, message = pcall(eventually, function()
            local object, _, code = client:get(resource, key)
            last = object and object:json() or code
            if condition == "deleted" then
                return code == "not_found"
            end
            return object and condition(object)
        end, resource .. " " .. key, PATIENCE)
        assert(ok, tostring(message) .. "\n" .. tostring(last))
    end

    local function pod(name, more)
        local made = { apiVersion = "v1", kind = "Pod",
            metadata = { name = name, namespace = namespace },
            spec = { containers = { { name = "c", image = "c:1" } } } }
        for field, value in pairs(more or {}) do
            made.spec[field] = value
        end
        return assert(client:create(made))
    end

    -- Runs a program; returns its output, and fails if it fails.
    local function output_of(command)
        local pipe = assert(io.popen(command .. " 2>" .. log .. "; echo status=$?"))
        local said = pipe:read("*a")
        pipe:close()
        local text, status = said:match("^(.*)status=(%d+)\n$")
        assert(status == "0", command .. ": " .. tostring(said) .. read(log))
        return text
    end

    local function write(path, text)
        local file = assert(io.open(path, "w"))
        file:write(text)
        file:close()
        return path
    end

    local function kubectl(...)
        return server:control("kubectl", ...)
    end

    -- Gives the service account "it" of the namespace the rights that the plan prints.
    local function grant(name, manifest)
        local role, is_file = name .. "-" .. namespace, manifest:find("^examples/")
        local path = is_file and manifest or write(log .. ".yaml", manifest)
        local text = output_of(("bin/kubelua plan --real -o yaml --name %s --sim=%s %s")
            :format(role, path, "examples/" .. name .. ".lua"))
        kubectl("apply", "-f", write(log .. ".roles", text))
        kubectl("create", "serviceaccount", "it", "-n", namespace)
        local account = "--serviceaccount=" .. namespace .. ":it"
        for document in (text .. "---\n"):gmatch("(.-)%-%-%-\n") do
            local of = document:match("\n  namespace: (%S+)")
            if document:find("kind: ClusterRole\n", 1, true) then
                kubectl("create", "clusterrolebinding", role, "--clusterrole=" .. role, account)
            elseif of then
                kubectl("create", "rolebinding", role, "-n", of, "--role=" .. role, account)
            end
        end
        os.remove(log .. ".yaml")
        os.remove(log .. ".roles")
    end

    -- A kubeconfig with the token of that service account.
    local function configure()
        local token = kubectl("create", "token", "it", "-n", namespace):match("%S+")
        return write(log .. ".config", kubelua.json {
            apiVersion = "v1", kind = "Config", ["current-context"] = "it",
            clusters = { { name = "it", cluster = { server = server.env.SERVER,
                ["certificate-authority"] = server.env.CA } } },
            users = { { name = "it", user = { token = token } } },
            contexts = { { name = "it", context = { cluster = "it", user = "it" } } },
        })
    end

    -- The requests that the server has refused for a lack of rights: the lines of its metrics.
    local function list_refused()
        local reply = assert(client:request { path = "/metrics" })
        local lines = {}
        for line in reply.body:gmatch("apiserver_request_total{[^\n]*") do
            if line:find('code="403"', 1, true) then
                lines[#lines + 1] = line
            end
        end
        table.sort(lines)
        return lines
    end

    -- Starts the example, lets `f` use it, and ends it. The manifest, a path or a text, has what
    -- the example needs in a plan to show all that it does in `f`.
    local function run(name, manifest, f)
        local kubeconfig, refused = server.kubeconfig, nil
        ran[name] = true
        if is_real then
            grant(name, manifest)
            kubeconfig, refused = configure(), list_refused()
        end
        local pid = process.start(("env %s bin/kubelua run --kubeconfig KUBECONFIG examples/%s.lua")
            :format("DNS_KUBECONFIG=" .. kubeconfig, name), kubeconfig, log)
        local ok, problem = pcall(f)
        local stopped = process.stop(pid)
        os.remove(log .. ".config")
        assert(ok, ("%s\n%s"):format(problem, read(log)))
        assert(stopped, "it does not stop on SIGTERM")
        if is_real then
            assert.same(refused, list_refused())
        end
    end

    setup(function()
        server = backend():start()
        server.kubeconfig = server.kubeconfig or server.folder .. "/kubeconfig"
        client = assert(kubelua.connect { kubeconfig = server.kubeconfig })
    end)

    teardown(function()
        client:close()
        server:stop()
    end)

    before_each(function()
        log = os.tmpname()
        count = count + 1
        namespace = ("examples-%d-%d"):format(os.time(), count)
        create_namespace(namespace)
    end)

    after_each(function()
        os.remove(log)
    end)

    it("label-pods labels pods, and follows their namespace", function()
        pod "a"
        run("label-pods", "examples/cluster.yaml", function()
            local function has_team(team)
                expect("pods", namespace .. "/a", function(found)
                    return found:get("metadata.labels.team") == team
                end)
            end
            has_team "nobody"
            assert(client:patch("namespaces", namespace,
                { metadata = { labels = { team = "x" } } }))
            has_team "x"
        end)
    end)

    it("expire-configmaps deletes a ConfigMap in its time", function()
        assert(client:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "short", namespace = namespace,
                annotations = { ["example.com/ttl"] = "1" } } })
        run("expire-configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: short, "
            .. "namespace: default, annotations: {example.com/ttl: '1'}}}", function()
            expect("configmaps", namespace .. "/short", "deleted")
        end)
    end)

    it("pod-summary counts pods", function()
        pod "a"
        run("pod-summary", "examples/cluster.yaml", function()
            expect("configmaps", "default/pods", function(summary)
                return tonumber(summary.data.Pending) >= 1
            end)
        end)
    end)

    it("rotate-certificates makes a certificate", function()
        assert(client:create { apiVersion = "v1", kind = "Secret",
            metadata = { name = "s", namespace = namespace,
                labels = { ["example.com/days"] = "9" } } })
        run("rotate-certificates", "{apiVersion: v1, kind: Secret, metadata: {name: s, "
            .. "namespace: default, labels: {example.com/days: '9'}}}", function()
            expect("secrets", namespace .. "/s", function(secret)
                return kubelua.unbase64(secret:get("data.cert") or ""):find("BEGIN CERTIFICATE")
            end)
        end)
    end)

    it("mirror-configmaps copies, and takes copies away", function()
        local origin = assert(client:create { apiVersion = "v1", kind = "ConfigMap",
            data = { x = "1" }, metadata = { name = "origin", namespace = namespace,
                labels = { ["example.com/mirror"] = "" } } })
        create_namespace(namespace .. "-b")
        run("mirror-configmaps", "examples/mirror.yaml", function()
            expect("configmaps", namespace .. "-b/origin", function(copy)
                return copy.data.x == "1"
            end)
            assert(client:delete(origin))
            expect("configmaps", namespace .. "-b/origin", "deleted")
        end)
    end)

    it("zones writes a zone file, and removes it before the Zone goes", function()
        load "examples/zones.yaml"
        create_namespace "dns"
        run("zones", "examples/zones.yaml", function()
            expect("zones.example.com", "shop.example", function(zone)
                local ready = kubelua.condition(zone, "Ready")
                return ready and ready.status == "True"
            end)
            expect("configmaps", "dns/shop.example", function(file)
                return file.data.zone == "mail A 192.0.2.2\nwww A 192.0.2.1\n"
            end)
            assert(client:delete("zones.example.com", "shop.example"))
            expect("zones.example.com", "shop.example", "deleted")
            expect("configmaps", "dns/shop.example", "deleted")
        end)
    end)

    it("ordered-set makes a pod when the one before is ready", function()
        load "examples/ordered-sets.yaml"
        run("ordered-set", "examples/ordered-sets.yaml", function()
            for i = 0, 2 do
                expect("pods", "default/db-" .. i, function() return true end)
                assert(client:patch("pods", "default/db-" .. i,
                    { status = { conditions = { { type = "Ready", status = "True" } } } },
                    { subresource = "status" }))
            end
            expect("orderedsets.example.com", "default/db", function(set)
                return set:get("status.readyReplicas") == 3
            end)
        end)
    end)

    it("drain-nodes evicts pods", function()
        local node = namespace
        assert(client:create { apiVersion = "v1", kind = "Node",
            metadata = { name = node, labels = { ["example.com/drain"] = "" } } })
        local there = pod("a", { nodeName = node })
        run("drain-nodes", "{apiVersion: v1, kind: Node, metadata: {name: node-1, labels: "
            .. "{example.com/drain: ''}}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: a, "
            .. "namespace: default}, spec: {nodeName: node-1, containers: [{name: c, image: c}]}}",
        function()
            expect("pods", namespace .. "/a", function(found)
                return found.metadata.deletionTimestamp
            end)
            assert(client:delete(there, { grace = 0 })) -- as the node's kubelet would
            expect("nodes", node, function(found)
                return found:get('metadata.annotations["example.com/drained"]') == "yes"
                    and found.spec.unschedulable
            end)
        end)
    end)

    it("foo-controller makes a Deployment, and scales it back", function()
        load "examples/foos.yaml"
        run("foo-controller", "examples/foos.yaml", function()
            local function has_replicas()
                expect("deployments", "default/example-foo", function(found)
                    return found.spec.replicas == 1
                end)
            end
            has_replicas()
            assert(client:patch("deployments", "default/example-foo", { spec = { replicas = 5 } }))
            has_replicas()
            assert(client:delete("foos.samplecontroller.k8s.io", "default/example-foo"))
        end)
    end)

    it("passwords makes a Secret", function()
        local config = { apiVersion = "v1", kind = "ConfigMap", data = { seconds = "3600" },
            metadata = { name = "p", namespace = namespace,
                labels = { ["example.com/password"] = "" } } }
        assert(client:create(config))
        run("passwords", kubelua.json(config), function()
            expect("secrets", namespace .. "/p", function(secret) return secret.data.password end)
        end)
    end)

    it("each controller of examples/ was run", function()
        local pipe = assert(io.popen("grep -l kubelua.controller examples/*.lua"))
        for path in pipe:lines() do
            local name = path:match("^examples/(.*)%.lua$")
            assert(ran[name] or name:find("_spec$") or name:find("^rollout$"), path)
        end
        pipe:close()
    end)
end)
