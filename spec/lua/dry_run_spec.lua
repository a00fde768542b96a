-- The dry run of the command: nothing is written, and each change is shown as a diff.
local api_path = require "kubelua.cli.dry_run.api_path"
local core = require "kubelua.core"
local dry_run = require "kubelua.cli.dry_run"
local kubelua = require "kubelua"
local object_diff = require "kubelua.cli.dry_run.object_diff"
local simcore = require "kubelua.simcore"
local world = require "dry_run_world"

local KINDS = { "namespaces", "configmaps", "secrets", "pods", "deployments", "events", "leases" }

local function make_map(name, data, namespace)
    return { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = name, namespace = namespace or "web" }, data = data }
end

describe("a dry run", function()
    local cluster, client, trial, shown, stderr

    -- Every object, as JSON.
    local function dump()
        local all = {}
        for _, resource in ipairs(KINDS) do
            for _, object in ipairs(assert(cluster:list(resource))) do
                all[#all + 1] = resource .. " " .. object:json()
            end
        end
        return all
    end

    before_each(function()
        cluster, client, trial, shown, stderr = world.begin {
            "{apiVersion: v1, kind: Namespace, metadata: {name: web}}",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}, data: "
                .. "{'n': '1'}}",
            "{apiVersion: v1, kind: Secret, metadata: {name: old, namespace: web}}",
            "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: web}, "
                .. "spec: {containers: [{name: c, image: i}]}}",
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: web}, spec: "
                .. "{replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: "
                .. "{a: b}}, spec: {containers: [{name: c, image: i}]}}}}",
        }
    end)

    after_each(world.finish)

    local function shows(pattern)
        for _, text in ipairs(shown) do
            if text:find(pattern, 1, true) then
                return true
            end
        end
        error("not shown: " .. pattern .. "\n" .. table.concat(shown), 2)
    end

    local function request(method, path, body)
        return client:request { method = method, path = "/api/v1/namespaces/web/" .. path,
            body = body }
    end

    -- Calls that write, in every way that a script has.
    local WRITES = {
        create = function() return client:create(make_map("new")) end,
        ["create with a generated name"] = function() return client:create { apiVersion = "v1",
            kind = "Secret", metadata = { generateName = "new-", namespace = "web" } } end,
        update = function() return client:update(make_map("a", { n = "2" })) end,
        apply = function() return client:apply(make_map("a", { m = "2" })) end,
        patch = function() return client:patch("configmaps", "web/a", { data = { n = "3" } }) end,
        ["patch of JSON"] = function() return client:patch("configmaps", "web/a",
            { { op = "replace", path = "/data/n", value = "4" } }, { type = "json" }) end,
        status = function() return client:patch("deployments", "web/d",
            { status = { observedGeneration = 7 } }, { subresource = "status" }) end,
        scale = function() return client:scale("deployments", "web/d", 5) end,
        delete = function() return client:delete("configmaps", "web/a") end,
        ["delete of an object"] = function()
            return client:delete(assert(client:get("configmaps", "web/a"))) end,
        delete_all = function() return client:delete_all("pods", { namespace = "web" }) end,
        ["delete_all everywhere"] = function()
            return client:delete_all("configmaps", { namespace = "*" }) end,
        evict = function() return client:evict("web/p") end,
        binding = function() return client:create { apiVersion = "v1", kind = "Binding",
            metadata = { name = "p", namespace = "web" },
            target = { apiVersion = "v1", kind = "Node", name = "n1" } } end,
        ["raw POST"] = function() return request("POST", "configmaps", make_map("raw")) end,
        ["raw PUT, with another dryRun"] = function()
            return request("PUT", "configmaps/a?dry%52un=&dryRun=", make_map("a", { n = "1" })) end,
        ["raw DELETE, with a body"] = function()
            return request("DELETE", "pods/p", { gracePeriodSeconds = 0 }) end,
        ["raw DELETE, without a body"] = function() return request("DELETE", "configmaps/a") end,
    }

    for name, write in pairs(WRITES) do
        it("writes nothing, and shows the change: " .. name, function()
            local before, version = dump(), simcore.version(cluster)
            local result, message = write()
            assert(result, message)
            assert.equal(version, simcore.version(cluster))
            assert.same(before, dump())
            assert.is_true(trial.changes > 0 or name == "raw PUT, with another dryRun",
                "nothing was shown")
            assert.equal(0, trial.refusals)
        end)
    end

    it("refuses a write that reaches core.request_send without dryRun=All", function()
        local tasks = require "kubelua.tasks"
        local version = simcore.version(cluster)
        for _, call in ipairs {
            { method = "POST", target = "/api/v1/namespaces" },
            { method = "delete", target = "/api/v1/namespaces/web?dryRun=All&dryRun=" },
            { method = "DELETE", target = "/api/v1/namespaces/web?dryRun=All", body = "{}" },
            { method = "PUT", target = "/api/v1/namespaces/web/pods/p/proxy?dryRun=All" },
            { method = "PATCH", target = "/api/v1/../v1/namespaces/web?dryRun=All" },
            { method = "BREW", target = "/api/v1/namespaces/web?dryRun=All" },
        } do
            call.headers = {}
            local sent, message, code = core.request_send(client, call, tasks.poller, 1)
            assert.is_nil(sent, call.method .. " " .. call.target)
            assert.equal("dry_run", code)
            assert.truthy(message:find("was not sent, because of --dry-run", 1, true), message)
        end
        assert.equal(version, simcore.version(cluster))
    end)

    it("refuses what cannot be tried, and names the line", function()
        local function refuse(result, message, code)
            assert.is_nil(result)
            assert.equal("dry_run", code)
            assert.truthy(message:find("was not sent, because of --dry-run: ", 1, true), message)
            assert.truthy(stderr[#stderr]:find("^spec/lua/dry_run_spec.lua:%d+: "), stderr[#stderr])
        end
        for _, call in ipairs { "GET /api/v1/namespaces/web/pods/p/exec", "PUT /debug/flags/v",
            "POST /api/v1/namespaces/web/pods/p/%65xec", "GET /api/v1/nodes/n/proxy/run",
            "POST /api/v1/namespaces/web/pods/p/portforward",
            "PUT /apis/x.io/v1/namespaces/web/vms/v/restart" } do
            local method, path = call:match("^(%u+) (.*)$")
            refuse(client:request { method = method, path = path })
        end
        refuse(kubelua.http("http://127.0.0.1:1/hook", { method = "POST" }))
        refuse(kubelua.http("http://127.0.0.1:1/api/v1/nodes?dryRun=All", { method = "POST" }))
        refuse(kubelua.exec { "true" })
        assert.equal(9, trial.refusals)
    end)

    it("lets reads pass, and questions that the server stores nowhere", function()
        assert(client:get("configmaps", "web/a"))
        assert(client:list("pods"))
        local reply = assert(client:request { method = "POST",
            path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            body = { spec = { resourceAttributes = { verb = "get", resource = "pods" } } } })
        assert.truthy(reply.body:find("\"allowed\"", 1, true))
        assert.same({}, shown)
    end)

    it("shows a patch as a unified diff without noise, and only if it is news", function()
        assert(client:patch("configmaps", "web/a", { data = { n = "1" } }))
        for _ = 1, 2 do
            assert(client:patch("configmaps", "web/a", { data = { n = "2" } }))
        end
        assert.equal(1, trial.changes)
        assert.truthy(shown[1]:find("^%-%-%- live/v1%.ConfigMap%.web%.a\n"
            .. "%+%+%+ dry%-run/v1%.ConfigMap%.web%.a\tpatch, spec/lua/dry_run_spec%.lua:%d+\n"
            .. "@@ %-4,4 %+4,4 @@\n"), shown[1])
        assert.truthy(shown[1]:find("\n-  \"n\": \"1\"\n+  \"n\": \"2\"\n", 1, true), shown[1])
        assert.is_nil(shown[1]:find("resourceVersion", 1, true))
        assert.is_nil(shown[1]:find("managedFields", 1, true))
    end)

    it("shows nothing for a write that changes nothing", function()
        assert(client:patch("configmaps", "web/a", { data = { n = "1" } }))
        assert.equal(0, trial.changes)
    end)

    it("shows an eviction, a deletion, and to which node a pod would be bound", function()
        assert(client:evict("web/p"))
        assert.truthy(shown[1]:find("^%-%-%- live/v1%.Pod%.web%.p\n%+%+%+ /dev/null\tevict"))
        assert(client:delete("configmaps", "web/a"))
        shows("--- live/v1.ConfigMap.web.a\n+++ /dev/null\tdelete")
        assert(request("POST", "pods/p/binding", { apiVersion = "v1", kind = "Binding",
            metadata = { name = "p" }, target = { kind = "Node", name = "n1" } }))
        shows("\n+  nodeName: n1\n")
    end)

    it("masks the values of Secrets, as kubectl diff does", function()
        trial.undo()
        assert(client:create("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: web, "
            .. "annotations: {kubectl.kubernetes.io/last-applied-configuration: c2FtZQ==}}, "
            .. "data: {changed: b2xk, same: c2FtZQ==, gone: Z29uZQ==}}"))
        trial = dry_run.begin(function(text) shown[#shown + 1] = text end)
        assert(client:patch("secrets", "web/s", { data = { changed = "bmV3", gone = kubelua.null,
            fresh = "ZnJlc2g=" }, metadata = { labels = { x = "y" } } }))
        local text = shown[1]
        assert.truthy(text:find("-  changed: \"*** (before)\"", 1, true), text)
        assert.truthy(text:find("+  changed: \"*** (after)\"", 1, true), text)
        assert.truthy(text:find("-  gone: \"***\"", 1, true), text)
        assert.truthy(text:find("+  fresh: \"***\"", 1, true), text)
        for _, secret in ipairs { "b2xk", "bmV3", "c2FtZQ", "Z29uZQ", "ZnJlc2g" } do
            assert.is_nil(text:find(secret, 1, true))
        end
    end)

    it("shows an Event in a line, which is no change; also when it is repeated", function()
        local pod = assert(client:get("pods", "web/p"))
        client:event(pod, "Warning", "Failed", "no \27[31m luck")
        client:event(pod, "Warning", "Failed", "no \27[31m luck")
        assert(cluster:settle())
        assert.same({ "# Event: Warning Failed: Pod web/p: no \\x1b[31m luck\n" }, shown)
        assert.equal(0, trial.changes)
        assert.same({}, cluster:list("events"))
    end)

    it("answers reads and writes of what it has created", function()
        local made = assert(client:create(make_map("new", { a = "1", b = "2" })))
        assert.equal(made.uid, client:get("configmaps", "web/new").uid)
        local _, _, code = client:create(make_map("new"))
        assert.equal("already_exists", code)
        local patched = assert(client:patch(made, { data = { a = "3", b = kubelua.null } }))
        assert.same({ a = "3" }, kubelua.table(patched.data))
        shows("\n-  a: \"1\"\n-  b: \"2\"\n+  a: \"3\"\n")
        shows("not checked by the server")
        assert(client:delete("configmaps", "web/new"))
        assert.equal("not_found", select(3, client:patch("configmaps", "web/new", { data = {} })))
        local _, message = client:patch(assert(client:create { apiVersion = "v1", kind = "Secret",
            metadata = { name = "s", namespace = "web" } }), { { op = "remove", path = "/data" } },
            { type = "json" })
        assert.truthy(message:find("exists only in this dry run", 1, true), message)
    end)

    it("scales, and sets the status of, what it has created", function()
        local new = assert(client:get("deployments", "web/d")):table()
        new.metadata = { name = "new", namespace = "web" }
        assert.equal(9, assert(client:scale(assert(client:create(new)), 9)).spec.replicas)
        assert(client:patch(new, { spec = { paused = true }, status = { replicas = 4 } },
            { subresource = "status" }))
        local now = client:get("deployments", "web/new")
        assert.same({ 9, 4 }, { now.spec.replicas, now.status.replicas })
        assert.is_nil(now.spec.paused)
    end)

    it("shows objects in a namespace that it has created", function()
        assert(client:create { apiVersion = "v1", kind = "Namespace", metadata = { name = "ns" } })
        assert(client:create(make_map("x", { k = "v" }, "ns")))
        assert(client:apply(make_map("y", { k = "v" }, "ns")))
        shows("+++ dry-run/v1.ConfigMap.ns.x\tcreate")
        shows("+++ dry-run/v1.ConfigMap.ns.y\tapply")
        assert.equal("v", client:get("configmaps", "ns/y").data.k)
        assert.equal(0, trial.refusals)
    end)

    it("reads before a write with the verb list where get is not allowed", function()
        cluster:fail { verb = "get", resource = "configmaps", status = 403, count = 0 }
        assert(client:patch("configmaps", "web/a", { data = { n = "2" } }))
        shows("\n-  \"n\": \"1\"\n+  \"n\": \"2\"\n")
        cluster:fail { verb = "list", resource = "configmaps", status = 403, count = 0 }
        assert(client:patch("configmaps", "web/a", { data = { n = "3" } }))
        shows("the state before cannot be read: allow the verb get")
        assert(client:delete("configmaps", "web/a"))
        shows("delete, ")
        assert.equal(3, trial.changes)
    end)

    it("counts a write that the server refuses; a conflict is for the script", function()
        cluster:fail { verb = "patch", resource = "configmaps", status = 403,
            message = "configmaps is forbidden" }
        assert.equal("forbidden", select(3, client:patch("configmaps", "web/a", { data = {} })))
        assert.equal(1, trial.refusals)
        assert.truthy(stderr[1]:find("^spec/lua/dry_run_spec.lua:%d+: patch "), stderr[1])
        local stale = assert(client:get("configmaps", "web/a")):table()
        stale.metadata.resourceVersion = "1"
        assert.equal("conflict", select(3, client:update(stale)))
        assert.equal(1, trial.refusals)
    end)

    it("names the remedy where a webhook cannot be tried", function()
        cluster:fail { verb = "patch", resource = "configmaps", status = 400, reason = "BadRequest",
            message = "admission webhook \"x.io\" does not support dry run" }
        local _, message = client:patch("configmaps", "web/a", { data = {} })
        assert.truthy(message:find("admission webhook \"x.io\" does not support dry run", 1, true))
        assert.truthy(message:find("sideEffects: None or NoneOnDryRun", 1, true), message)
    end)

    it("takes no Lease, and remembers no own write of a controller", function()
        local before, done = core.now(), nil
        local controller = assert(kubelua.controller { "configmaps", namespace = "web", name = "c",
            client = client, leader = "c", owns = { "secrets" }, finalizer = "x.io/f",
            reconcile = function(map, run)
                assert(run:apply { apiVersion = "v1", kind = "Secret", metadata = { name = "s" } })
                assert.is_nil(run:get("secrets", "web/s"))
                client:delete("secrets", "web/old")
                assert(run:get("secrets", "web/old"))
                assert(run:status { phase = "Done" } or true)
                done = map.metadata.finalizers[1]
            end, finalize = function() end })
        assert(require("kubelua.waiting").wait("spec", 20, function() return done ~= nil end))
        controller:stop()
        assert.equal("x.io/f", done)
        assert.is_true(core.now() - before < 4) -- a write that never arrives is awaited for 5 s
        assert.same({}, cluster:list("leases"))
        assert.truthy(table.concat(stderr):find("the Lease %S+/c is not taken"))
        shows("+  finalizers:\n+  - x.io/f\n")
    end)

    it("does not let client:wait wait for what never arrives", function()
        local _, message = client:wait("configmaps", "web/none", nil, 20)
        assert.truthy(message:find("a dry run does not wait for it", 1, true), message)
    end)
end)

describe("the path of a request", function()
    it("is read as kube-apiserver reads it", function()
        local function read(target)
            local path = api_path.parse(target)
            return path and { path.group, path.version, path.plural, path.namespace or false,
                path.name or false, path.subresource or false, path.object }
        end
        assert.same({ "", "v1", "pods", "web", "a b", "exec", "/api/v1/namespaces/web/pods/a%20b" },
            read "/api/v1/namespaces/web/pods/a%20b/%65xec?x=/y")
        assert.same({ "", "v1", "namespaces", false, "web", "status", "/api/v1/namespaces/web" },
            read "/api/v1/namespaces/web/status")
        assert.same({ "x.io", "v1", "status", "web", false, false,
            "/apis/x.io/v1/namespaces/web/status" }, read "/apis/x.io/v1/namespaces/web/status")
        assert.same({ "apps", "v1", "deployments", false, false, false,
            "/apis/apps/v1/deployments" }, read "/apis/apps/v1/deployments")
        assert.same({ "", "v1", "nodes", false, "n", "proxy/a/b", "/api/v1/nodes/n" },
            read "/api/v1/nodes/n/proxy/a/b")
        for _, target in ipairs { "/", "/api", "/api/v1", "/apis/apps/v1", "/healthz",
            "//api/v1/pods", "/api/v1/./pods", "/api/v1/%2e%2e/pods", "/api/v1/nodes/a%2Fproxy",
            "api/v1/pods", "/api/v1/pods#x" } do
            assert.is_nil(read(target), target)
        end
    end)
end)

describe("the diff of two objects", function()
    local function make_list(texts)
        return { apiVersion = "v1", kind = "X", metadata = { name = "x" }, list = texts }
    end

    it("leads from one to the other, whatever they are", function()
        math.randomseed(7)
        for _ = 1, 200 do
            local a, b = core.array(), core.array()
            for i = 1, math.random(0, 30) do a[i] = "v" .. math.random(3) end
            for i = 1, math.random(0, 30) do b[i] = "v" .. math.random(3) end
            local old, new = make_list(a), make_list(b)
            local text = object_diff.text(old, new, "note", "live")
            local from, at, result = object_diff.lines(old), 1, {}
            for line in (text or ""):gmatch("[^\n]+") do
                local first = line:match("^@@ %-(%d+)")
                local mark, rest = line:match("^([ +-])(.*)$")
                if first then
                    while at < tonumber(first) do
                        result[#result + 1], at = from[at], at + 1
                    end
                elseif not line:find("^%-%-%- ") and not line:find("^%+%+%+ ") then
                    if mark ~= "+" then
                        assert.equal(from[at], rest)
                        at = at + 1
                    end
                    result[#result + 1] = mark ~= "-" and rest or nil
                end
            end
            while at <= #from do
                result[#result + 1], at = from[at], at + 1
            end
            assert.same(object_diff.lines(new), result)
        end
    end)

    it("of texts that differ too much is all of the old one, then all of the new", function()
        local a, b = {}, {}
        for i = 1, 600 do a[i], b[i] = "a" .. i, "b" .. i end
        local text = object_diff.text(make_list(a), make_list(b), "note", "live")
        local at = 1
        for _, line in ipairs { "-- a1", "-- a600", "+- b1", "+- b600" } do
            at = assert(text:find("\n" .. line .. "\n", at, true), line)
        end
    end)

    it("shows what a terminal would obey as text, and has colours on demand", function()
        local text = object_diff.text(make_list { "a" }, make_list { "\27[31m\226\128\174" },
            "no\27te", "live")
        assert.is_nil(text:find("\27", 1, true))
        assert.is_nil(text:find("\226\128\174", 1, true))
        local coloured = object_diff.colour(text)
        assert.truthy(coloured:find("\27[31m-- a\27[0m\n", 1, true), coloured)
        assert.equal(text, (coloured:gsub("\27%[%d*m", "")))
    end)
end)
