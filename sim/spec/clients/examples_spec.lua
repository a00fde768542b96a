-- The controllers of examples/, each as a process of its own on an API server: a real one with
-- KUBELUA_BACKEND=real, else the simulator on a port. More specs of the examples are in examples/.
package.path = "sim/spec/clients/foo/?.lua;" .. package.path
local eventually = require "eventually"
local kubelua = require "kubelua"
local process = require "process"

local PATIENCE = 30

local function backend()
    local name = os.getenv("KUBELUA_BACKEND") or "tls"
    return name == "real" and require "backend_real" or require("backend_sim")[name]
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

    -- Starts the example, lets `f` use it, and ends it.
    local function run(name, f)
        local pid = process.start(("env %s bin/kubelua run --kubeconfig KUBECONFIG examples/%s.lua")
            :format("DNS_KUBECONFIG=" .. server.kubeconfig, name), server.kubeconfig, log)
        local ok, problem = pcall(f)
        local stopped = process.stop(pid)
        assert(ok, ("%s\n%s"):format(problem, read(log)))
        assert(stopped, "it does not stop on SIGTERM")
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
        run("label-pods", function()
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
        run("expire-configmaps", function()
            expect("configmaps", namespace .. "/short", "deleted")
        end)
    end)

    it("pod-summary counts pods", function()
        pod "a"
        run("pod-summary", function()
            expect("configmaps", "default/pods", function(summary)
                return tonumber(summary.data.Pending) >= 1
            end)
        end)
    end)

    it("rotate-certificates makes a certificate", function()
        assert(client:create { apiVersion = "v1", kind = "Secret",
            metadata = { name = "s", namespace = namespace,
                labels = { ["example.com/days"] = "9" } } })
        run("rotate-certificates", function()
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
        run("mirror-configmaps", function()
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
        run("zones", function()
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
        run("ordered-set", function()
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
        run("drain-nodes", function()
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
end)
