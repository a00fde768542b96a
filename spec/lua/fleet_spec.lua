-- kubelua.fleet: the clusters of a source come and go, and what the function has made with them.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local world = require "fleet_world"

local w, eu, us

before_each(function()
    w = world.new()
    eu, us = w:sim(), w:sim()
    w.named = { eu = { sim = eu }, us = { sim = us } }
end)

after_each(function()
    w:close()
end)

-- How many threads and descriptors this process has.
local function count_all()
    local threads = assert(core.list_folder("/proc/self/task"))
    local descriptors = assert(core.list_folder("/proc/self/fd"))
    return #threads, #descriptors
end

describe("a fleet", function()
    it("calls its function for each cluster, whose controllers work there", function()
        world.apply(eu, "a")
        world.apply(us, "b")
        local fleet = w:fleet(w:noting())
        w:noted("eu web/a", "us web/b")
        assert.equal("running", w:until_in(fleet, "eu", "running").state)
    end)

    it("begins with a cluster that comes, and ends with one that goes", function()
        w.named = { eu = { sim = eu } }
        world.apply(us, "b")
        local fleet = w:fleet(w:noting())
        w:until_in(fleet, "eu", "running")
        w.named = { us = { sim = us } }
        w:noted("us web/b")
        w:until_in(fleet, "eu", nil)
        assert.is_nil(fleet:cluster("eu"))
        assert.equal("us", fleet:cluster("us").name)
    end)

    it("leaves no thread, descriptor or task of a cluster that has gone", function()
        w.named = {}
        local fleet = w:fleet(function(cluster)
            w:noting()(cluster)
            kubelua.every(0.01, function() w.ticks = (w.ticks or 0) + 1 end)
            kubelua.spawn(function() kubelua.sleep(1000) end)
            assert(cluster.client:informer { "secrets" }):on { add = function() end }
            kubelua.sleep(1000) -- it goes while the function has not returned
        end)
        local threads, descriptors = count_all()
        for _ = 1, 3 do
            w.named = { eu = { sim = eu }, us = { sim = us } }
            w:until_in(fleet, "us", "starting")
            eventually(function() return (w.ticks or 0) > 3 end, "it ticks")
            w.named = {}
            w:until_in(fleet, "eu", nil)
            w:until_in(fleet, "us", nil)
            local ticks = w.ticks
            kubelua.step(0.05)
            assert.equal(ticks, w.ticks)
            collectgarbage()
        end
        eventually(function()
            collectgarbage()
            local threads_now, descriptors_now = count_all()
            return threads_now <= threads and descriptors_now <= descriptors
        end, "threads and descriptors are as before")
    end)

    it("ends handlers on informers from outside, but not these informers", function()
        local home = assert(w:sim():connect())
        local seen = {}
        local informer = assert(home:informer { "configmaps", namespace = "web" })
        assert(informer:wait_synced(10))
        local fleet = w:fleet(function(cluster)
            informer:on { add = function(object)
                seen[#seen + 1] = cluster.name .. " " .. object.name
            end }
        end)
        w:until_in(fleet, "eu", "running")
        w:until_in(fleet, "us", "running")
        w.named.us = nil
        w:until_in(fleet, "us", nil)
        world.apply(w.sims[3], "a")
        eventually(function() return #seen > 0 end, "a handler sees it")
        assert.same({ "eu a" }, seen)
        assert.equal("a", informer:get("web/a").name)
        home:close()
    end)

    it("gives its function's connect, and its tasks', the client of the cluster", function()
        local clients = {}
        local fleet = w:fleet(function(cluster)
            assert(kubelua.connect() == cluster.client)
            kubelua.spawn(function()
                clients[cluster.name] = kubelua.connect() == cluster.client
            end):wait()
        end)
        w:until_in(fleet, "eu", "running")
        w:until_in(fleet, "us", "running")
        assert.same({ eu = true, us = true }, clients)
    end)

    it("gives runs 'grace' seconds when their cluster goes, and then cancels them", function()
        world.apply(eu, "a")
        world.apply(us, "b")
        local ended = {}
        local fleet = w:fleet(function(cluster)
            kubelua.controller { "configmaps", reconcile = function()
                w:note(cluster.name)
                local ok = pcall(kubelua.sleep, cluster.name == "eu" and 0.1 or 1000)
                ended[cluster.name] = ok and "returned" or "cancelled"
            end }
        end, { grace = 0.5 })
        w:noted("eu", "us")
        w.named = {}
        w:until_in(fleet, "eu", nil)
        w:until_in(fleet, "us", nil)
        assert.same({ eu = "returned", us = "cancelled" }, ended)
    end)

    it("begins no run in a cluster that is ending", function()
        world.apply(eu, "a")
        local goes_on = true
        local fleet = w:fleet(function(cluster)
            kubelua.controller { "configmaps", namespace = "web", reconcile = function(object)
                w:note("%s %s", cluster.name, object.key)
                while goes_on do
                    kubelua.sleep(0.01)
                end
            end }
        end)
        w:noted("eu web/a")
        w.named = {}
        w:until_in(fleet, "eu", "ending")
        world.apply(eu, "b")
        goes_on = false
        w:until_in(fleet, "eu", nil)
        assert.same({}, w.notes)
    end)

    it("tries again where its function raises, and goes on elsewhere", function()
        local calls = 0
        world.apply(us, "b")
        local fleet = w:fleet(function(cluster)
            if cluster.name == "eu" then
                calls = calls + 1
                kubelua.every(1000, function() end)
                assert(calls > 1, "no luck")
            end
            w:noting()(cluster)
        end)
        w:noted("us web/b")
        w:logged("no luck")
        w:until_in(fleet, "eu", "running")
        assert.equal(2, calls)
    end)

    it("begins anew where a cluster has another server", function()
        world.apply(eu, "a")
        world.apply(us, "b")
        w.named = { one = { sim = eu } }
        local fleet = w:fleet(w:noting())
        w:noted("one web/a")
        local first = fleet:cluster("one").client
        w.named = { one = { sim = us } }
        w:noted("one web/b")
        assert.is_nil((first:get("configmaps", "web/a")))
    end)

    it("goes on while its source cannot be read", function()
        local answer = function() return w.named end
        local fleet = w:fleet(w:noting(), { source = function() return answer() end })
        w:until_in(fleet, "eu", "running")
        answer = function() error("no answer", 0) end
        w:logged("the clusters go on as they are")
        assert.matches("no answer", fleet:status().source.problem)
        answer = function() return nil, "not today", "unavailable" end
        w:logged("not today")
        world.apply(eu, "a")
        w:noted("eu web/a")
        answer = function() return w.named end
        w:logged("it can be read again")
        assert.is_nil(fleet:status().source.problem)
    end)

    it("refuses an entry that cannot be used, and goes on with the others", function()
        world.apply(us, "b")
        w.named = { us = { sim = us }, wrong = { kubeconfg = "x" }, ["two words"] = { sim = eu },
            text = "eu.yaml" }
        local fleet = w:fleet(w:noting())
        w:noted("us web/b")
        assert.matches("do you mean 'kubeconfig'?", w:until_in(fleet, "wrong", "refused").problem,
            1, true)
        assert.matches("cannot be the name of a cluster", w:until_in(fleet, "two words",
            "refused").problem)
        assert.matches("not a string", w:until_in(fleet, "text", "refused").problem)
        w.named = { wrong = { sim = eu } }
        w:until_in(fleet, "wrong", "running")
        w:until_in(fleet, "text", nil)
    end)

    it("goes on with a cluster whose entry cannot be read any more", function()
        local fleet = w:fleet(w:noting())
        w:until_in(fleet, "eu", "running")
        w.named.eu = { kubeconfg = "x" }
        w:logged("it goes on as it was")
        assert.equal("running", w.of(fleet, "eu").state)
        assert.matches("kubeconfg", w.of(fleet, "eu").problem)
        world.apply(eu, "a")
        w:noted("eu web/a")
    end)

    it("tells the kubeconfig that cannot be read, and tries it again", function()
        w.named = { gone = { kubeconfig = "/nowhere/config" } }
        local fleet = w:fleet(w:noting())
        local cluster = w:until_in(fleet, "gone", "failed")
        assert.matches("/nowhere/config", cluster.problem)
        assert.equal("config", cluster.code)
    end)

    it("loses nothing of the others while one cluster hangs", function()
        assert(eu:fault { action = "freeze" })
        local fleet = w:fleet(w:noting())
        w:until_in(fleet, "eu", "running")
        world.apply(us, "b")
        w:noted("us web/b")
        w.named.eu = nil
        w:until_in(fleet, "eu", nil)
        world.apply(us, "c")
        w:noted("us web/c")
    end)

    it("names the cluster in the log, in runs, metrics and status", function()
        world.apply(eu, "a")
        local name
        local fleet = w:fleet(function(cluster)
            kubelua.log("info", "hello")
            kubelua.controller { "configmaps", namespace = "web", reconcile = function(_, run)
                name = run.cluster
                run.log("info", "in a run")
                kubelua.log("info", "beside it")
                return nil, "no luck"
            end }
            w:note(cluster.name)
        end)
        w:noted("eu", "us")
        w:logged("info eu: hello")
        w:logged("info us: hello")
        w:logged("info eu: controller configmaps: web/a: in a run")
        w:logged("info eu: beside it")
        w:logged("warn eu: controller configmaps: ConfigMap web/a: no luck")
        assert.equal("eu", name)
        local text = kubelua.metric.text()
        assert.matches('kubelua_fleet_cluster{fleet="shop",cluster="eu",state="running"} 1', text,
            1, true)
        assert.matches('kubelua_fleet_reconciles_total{fleet="shop",cluster="eu",'
            .. 'controller="configmaps",result="error"}', text, 1, true)
        assert.matches('kubelua_informer_objects{name="us: configmaps in web"} 0', text, 1, true)
        local status = w.of(fleet, "eu")
        assert.equal("configmaps", status.controllers[1].name)
        assert.equal("no luck", status.controllers[1].failures[1].message)
        w.named.eu = nil
        w:until_in(fleet, "eu", nil)
        assert.is_nil(kubelua.metric.text():find('cluster="eu"', 1, true))
    end)

    it("does not end the process where a controller of one cluster can never work", function()
        local hopeless = require("kubelua.loop").tell_hopeless
        local before = hopeless()
        local fleet = w:fleet(function()
            kubelua.controller { "widgets.example.com", namespace = "web", name = "widgets",
                reconcile = function() end }
        end)
        w:until_in(fleet, "eu", "running")
        assert(eu:apply { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
            metadata = { name = "widgets.example.com" }, spec = { group = "example.com",
                scope = "Cluster", names = { plural = "widgets", singular = "widget",
                    kind = "Widget", listKind = "WidgetList" },
                versions = { { name = "v1", served = true, storage = true, schema = {
                    openAPIV3Schema = { type = "object" } } } } } })
        w:logged("can never work")
        assert.matches("have no namespace", w.of(fleet, "eu").problem)
        assert.equal(before, hopeless())
    end)

    it("raises what is wrong with its options, at the line of the script", function()
        local function refused(given, why)
            local ok, problem = pcall(kubelua.fleet, given)
            assert.is_false(ok)
            assert.matches(why, problem, 1, true)
        end
        local function f() end
        refused(f, "a table expected, such as { source = ..., function(cluster) end }")
        refused({ source = f }, "the function for each cluster is missing")
        refused({ f }, "'source' is missing")
        refused({ f, source = {} }, "source: a function, or a table with folder = ...")
        refused({ f, source = { folde = "a" } }, "a table with folder = ...")
        refused({ f, source = f, gracee = 1 }, "do you mean 'grace'?")
        refused({ f, source = f, grace = -1 }, "'grace' must be a number of seconds, from 0")
        refused({ f, source = f, interval = 0 }, "'interval' must be a number of seconds above 0")
        refused({ f, source = f, name = "two words" }, "'name': use letters")
    end)

    it("cannot be made inside of its own function", function()
        local fleet = w:fleet(function()
            kubelua.fleet { source = function() end, function() end }
        end)
        assert.matches("make it outside", w:until_in(fleet, "eu", "failed").problem)
    end)

    it("calls its function for no cluster once it is stopped", function()
        for i = 1, 10 do -- they begin one after the other
            w.named["more-" .. i] = { sim = eu }
        end
        local fleet, calls = nil, 0
        fleet = w:fleet(function()
            calls = calls + 1
            fleet:stop()
        end)
        eventually(function()
            return calls > 0 and #fleet:status().clusters == 0
        end, "the fleet has ended", 20)
        assert.equal(1, calls)
    end)

    it("ends all its clusters when it is stopped", function()
        local fleet = w:fleet(w:noting())
        w:until_in(fleet, "eu", "running")
        w:until_in(fleet, "us", "running")
        w.stop(fleet)
        assert.equal("kubelua.fleet shop", tostring(fleet))
        world.apply(eu, "a")
        kubelua.step(0.1)
        assert.same({}, w.notes)
    end)
end)
