-- kubelua.fleet with shards: the clusters are shared out among replicas, and each is run by one.
local eventually = require "eventually"
local kubelua = require "kubelua"
local world = require "fleet_world"

local w, home, holders, clients

local NAMES = {}
for i = 1, 12 do
    NAMES[i] = "cluster-" .. i
end

before_each(function()
    w = world.new()
    home = w:sim()
    holders, clients = {}, {}
    w.named = {}
    for _, name in ipairs(NAMES) do
        w.named[name] = { sim = w:sim() }
    end
end)

after_each(function()
    w:close()
    for _, client in pairs(clients) do
        client:close()
    end
end)

-- A replica. Its function notes which clusters it has, until their lives end; it fails if another
-- one has one of them.
local function start(identity, f, options)
    clients[identity] = assert(home:connect())
    return w:fleet(function(cluster)
        assert(holders[cluster.name] == nil, "two replicas have " .. cluster.name)
        holders[cluster.name] = identity
        kubelua.spawn(function()
            pcall(kubelua.sleep, 1000)
            holders[cluster.name] = nil
        end)
        if f then
            f(cluster)
        end
    end, { client = clients[identity], shards = { name = "spec", identity = identity, lease = 3,
        renew = 2, retry = 0.2 }, grace = options and options.grace })
end

local function count(identity)
    local found = 0
    for _, name in ipairs(NAMES) do
        found = found + (holders[name] == identity and 1 or 0)
    end
    return found
end

-- Waits until the replicas have all clusters, and each of them some.
local function until_shared(...)
    local identities = { ... }
    eventually(function()
        local sum = 0
        for _, identity in ipairs(identities) do
            sum = sum + count(identity)
            if count(identity) == 0 then
                return false
            end
        end
        return sum == #NAMES
    end, function()
        return kubelua.json(holders) .. "\n" .. table.concat(w.lines, "\n")
    end, 20)
end

local function expect_no_clash()
    for _, line in ipairs(w.lines) do
        assert.is_nil(line:find("two replicas", 1, true), line)
    end
end

describe("a fleet with shards", function()
    it("has each cluster in one replica, and hands over what a new one is to have", function()
        local one = start("one")
        until_shared("one")
        local two = start("two")
        until_shared("one", "two")
        start("three")
        until_shared("one", "two", "three")
        w.stop(two)
        until_shared("one", "three")
        expect_no_clash()
        assert.equal(2, #one:status().shards.members)
        local waiting = 0
        for _, cluster in ipairs(one:status().clusters) do
            waiting = waiting + (cluster.state == "waiting" and 1 or 0)
        end
        assert.equal(#NAMES - count("one"), waiting)
    end)

    it("hands over a cluster once the runs there have ended", function()
        local goes_on, running = true, {}
        local function f(cluster)
            world.apply(w.named[cluster.name].sim, "a")
            kubelua.controller { "configmaps", namespace = "web", reconcile = function()
                assert(not running[cluster.name], "two replicas work")
                running[cluster.name] = true
                while goes_on do
                    kubelua.sleep(0.01)
                end
                running[cluster.name] = nil
            end }
        end
        start("one", f)
        until_shared("one")
        eventually(function()
            for _, name in ipairs(NAMES) do
                if not running[name] then
                    return false
                end
            end
            return true
        end, "a run goes on in each cluster", 20)
        local two = start("two", f)
        eventually(function() return #two:status().shards.members == 2 end, "both are members", 20)
        w:logged("it is another member's")
        assert.equal(0, count("two"))
        goes_on = false
        until_shared("one", "two")
        expect_no_clash()
    end)

    it("is run by another replica once the one that has it is cut off", function()
        local one = start("one")
        until_shared("one")
        clients.one:close() -- it cannot renew its Lease any more
        start("two")
        until_shared("two")
        assert.is_nil(one:cluster(NAMES[1]))
        assert.equal("waiting", w.of(one, NAMES[1]).state)
        expect_no_clash()
    end)

    it("writes nothing after a suspension, but reads; and begins anew #processes", function()
        local begun = 0
        local one = start("one", function() begun = begun + 1 end)
        until_shared("one")
        local client = one:cluster(NAMES[1]).client
        local body = { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "a-",
            namespace = "default" } }
        local request = { method = "POST", path = "/api/v1/namespaces/default/configmaps",
            body = body }
        assert(client:create(body))
        assert(client:request(request))
        os.execute("sleep 2.1") -- as if it was suspended for longer than `renew`
        local _, message, code = client:create(body)
        assert.equal("not_leader", code)
        assert.matches("the write was not sent", message)
        assert.equal("not_leader", (select(3, client:request(request))))
        assert.equal(2, #w.named[NAMES[1]].sim:list("configmaps", { namespace = "default" }))
        eventually(function() return begun == 2 * #NAMES end, "its clusters have begun anew", 20)
        until_shared("one")
        assert(one:cluster(NAMES[1]).client:create(body))
        expect_no_clash()
    end)

    it("refuses to share out by anything but names", function()
        local ok, problem = pcall(kubelua.fleet, { function() end, source = function() end,
            shards = { name = "a", by = "uid" } })
        assert.is_false(ok)
        assert.matches("clusters are shared out by their names: leave 'by' out", problem, 1, true)
    end)
end)
