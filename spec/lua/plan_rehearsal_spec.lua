-- kubelua plan: what a script does in its simulated cluster, and what it may not do there.
local planned = require "planned"

local WATCHES, cluster_of, make, tell, write =
    planned.WATCHES, planned.cluster_of, planned.make, planned.tell, planned.write

describe("a rehearsal of a plan #processes", function()
    after_each(planned.clean)

    it("deletes the objects of its manifests, so that finalize is reached", function()
        local result = assert(make [[kubelua.controller { "configmaps", name = "c",
            finalizer = "example.com/x", reconcile = function() end,
            finalize = function(map, run) assert(run.client:delete("secrets", map.key)) end }]])
        assert.same({ "get,delete secrets", "get,list,watch,patch configmaps" },
            tell(result.rules.cluster))
        assert.same({}, result.unreached)
    end)

    it("reaches what is due in weeks", function()
        local result = assert(make [[kubelua.controller { "configmaps", name = "c",
            reconcile = function(map, run)
                run.memo.due = run.memo.due or kubelua.now() + 30 * 86400
                if kubelua.now() < run.memo.due then return run.memo.due - kubelua.now() end
                assert(run:delete(map))
            end }]])
        assert.same({ "get,list,watch,delete configmaps" }, tell(result.rules.cluster))
        assert.is_true(result.seconds >= 30 * 86400)
    end)

    it("does not wait for a leader's Lease, but for sleeps of the main part", function()
        local result = assert(make [[
            kubelua.controller { "configmaps", name = "c", leader = "me",
                reconcile = function() end }
            kubelua.sleep(250)
            assert(kubelua.connect():list("pods"))
        ]])
        assert.same({ "list pods", "list,watch configmaps" }, tell(result.rules.cluster))
        assert.is_true(result.seconds > 250 and result.seconds < 1000, result.seconds .. " s")
    end)

    it("ends an endless loop that sleeps", function()
        assert.same({ "list configmaps" }, cluster_of [[
            while true do
                assert(kubelua.connect():list("configmaps"))
                kubelua.sleep(60)
            end ]])
    end)

    it("stops at the time that it is given", function()
        local text = 'kubelua.every(10, function() kubelua.connect():list("pods") end)'
        local result, message = make(text, { duration = 5 })
        assert.is_nil(result)
        assert.matches("asked nothing", message)
        assert.same({ "list pods" }, cluster_of(text, { duration = 15 }))
    end)

    it("refuses HTTP calls, programs and writes, and names their lines", function()
        local path = os.tmpname()
        local script = ([[
            assert(not kubelua.http("http://user:secret@127.0.0.1:1/x?token=secret"))
            assert(not require "kubelua.exec" { "touch", %q })
            assert(not os.execute("rm %s"))
            assert(not io.popen("rm %s"))
            assert(not os.remove(%q))
            assert(not os.rename(%q, "/tmp/other"))
            local file, why = io.open(%q, "a")
            assert(not file and why:find("not in a rehearsal; --real allows it", 1, true))
            assert(not pcall(io.output, %q))
            assert(io.open(%q)):close()
            kubelua.connect():list("pods")
        ]]):gsub("%%[qs]", { ["%q"] = ("%q"):format(path), ["%s"] = path })
        local result = assert(make(script))
        assert.is_true(os.remove(path)) -- it is there
        local texts = {}
        for i, text in ipairs(result.refused) do
            texts[i] = text:match(":(%d+: .*) was refused; %-%-real allows it$")
        end
        assert.same({ "1: kubelua.http http://127.0.0.1:1", "2: kubelua.exec touch",
            "3: os.execute", "4: io.popen", "5: os.remove " .. path, "6: os.rename " .. path,
            "7: io.open " .. path, "9: io.output " .. path }, texts)
        assert.equal("function", type(os.execute))
        assert.is_nil(select(2, io.open(path)):find("rehearsal"))
    end)

    it("starts programs and writes files with `real`", function()
        local path = os.tmpname()
        local result = assert(make(([[
            assert(os.execute("echo program >%s"))
            assert(io.open("%s", "a")):close()
            kubelua.connect():list("pods") ]]):format(path, path), { real = true }))
        local file = assert(io.open(path))
        assert.equal("program\n", file:read("*a"))
        file:close()
        os.remove(path)
        assert.same({}, result.refused)
    end)

    it("tries a key that fails not for ever, and says that it fails", function()
        local path = os.tmpname()
        local result = assert(make(([[
            kubelua.controller { "pods", name = "c", reconcile = function()
                local file = assert(io.open("%s", "a"))
                file:write("x")
                file:close()
                error("never")
            end } ]]):format(path), { real = true }))
        local file = assert(io.open(path))
        local tries = #file:read("*a")
        file:close()
        os.remove(path)
        assert.is_true(tries >= 2 and tries <= 40, tostring(tries))
        assert.equal(1, #result.failures)
        assert.matches("controller c: web/shop%-1: .*never", result.failures[1])
    end)

    it("names what was not reached", function()
        local result = assert(make(WATCHES .. [[
            if client == nil then
                client:delete("pods", "web/a")
            end
            local function never()
                client:create { }
            end
            client:informer { "secrets" }:on { update = function() never() end }
        ]]))
        local texts = {}
        for i, range in ipairs(result.unreached) do
            texts[i] = range.text:match(":([%d-]+ was not reached.*)")
        end
        local rest = " was not reached: what it needs is not in the role"
        assert.same({ "4" .. rest, "6-8" .. rest, "9" .. rest }, texts)
    end)

    it("names calls that their line has left out", function()
        local result = assert(make(WATCHES .. [[
            local c, no = client, os.getenv("NO_SUCH_NAME")
            if no then client:delete("pods", "web/a") end
            local x = no and c:evict("web/a")
            local y = no or c:get("configmaps", "web/settings")
            if no then
                c:get("secrets", "web/a")
            end
            if not no then c:list("nodes") end
            local z = y and y:get("data.a") or y:get("data.b") ]]))
        local texts = {}
        for i, range in ipairs(result.unreached) do
            texts[i] = range.text:match(":(%d.*) was not reached")
        end
        assert.same({ "4 (delete)", "5 (evict)", "8" }, texts)
    end)

    it("plays a recording, with its deletes", function()
        local object = '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a",'
            .. '"namespace":"default","uid":"u-1","resourceVersion":"%d"}}'
        local recording = write('{"kubelua":"recording","version":1}\n'
            .. '{"at":0,"type":"ADDED","initial":true,"object":' .. object:format(10) .. '}\n'
            .. '{"at":1,"type":"DELETED","object":' .. object:format(20) .. '}\n', ".ndjson")
        local result = assert(make([[kubelua.controller { "secrets", name = "c",
            reconcile = function() end,
            gone = function() assert(kubelua.connect():list("nodes")) end }]],
            { replay = recording, sim_load = {} }))
        assert.same({ "list nodes", "list,watch secrets" }, tell(result.rules.cluster))
    end)

    it("never reaches the server of another configuration", function()
        local result = assert(make(WATCHES .. [[
            local other = assert(kubelua.connect { server = "http://127.0.0.1:1" })
            assert(other:list("secrets")) ]]))
        assert.same({ "list,watch pods" }, tell(result.rules.cluster))
        assert.is_true(result.elsewhere)
    end)

    it("fails if the script fails, or cannot be loaded", function()
        assert.matches("%.lua:1: boom", select(2, make 'error("boom", 1)'))
        assert.matches("%.lua:1: ", select(2, make "x = = 1"))
    end)

    it("fails if a kind is not in the cluster", function()
        local result, message = make [[kubelua.controller { "foos.example.com",
            reconcile = function() end }]]
        assert.is_nil(result)
        assert.matches("foos", message)
    end)

    it("fails if the script asks nothing", function()
        assert.matches("asked nothing", select(2, make "local x = 1"))
    end)

    it("runs what follows kubelua.run, and takes os.exit for the end", function()
        assert.same({ "list pods" }, cluster_of [[
            kubelua.run()
            kubelua.connect():list("pods")
            os.exit(3) ]])
    end)

    it("leaves nothing of a script for the next one", function()
        local requests = require "kubelua.requests"
        local observed = requests.observed
        assert(make(WATCHES .. "leftover = 1"))
        assert.is_nil(rawget(_G, "leftover"))
        assert.same({ "list nodes" }, cluster_of 'kubelua.connect():list("nodes")')
        assert.is_nil(debug.gethook())
        assert.equal(observed, requests.observed)
    end)
end)
