-- Clients of one process whose connections one thread carries: connect { shared_thread = true },
-- and the clusters of a fleet.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"
local world = require "fleet_world"

-- How many threads of this process have that name: kl-transport carries connections, kl-requests
-- looks after requests.
local function count_threads(wanted)
    local count = 0
    for _, name in ipairs(assert(core.list_folder("/proc/self/task"))) do
        local file = io.open("/proc/self/task/" .. name .. "/comm") -- nil: it has ended
        if file and file:read("*l") == wanted then
            count = count + 1
        end
        if file then
            file:close()
        end
    end
    return count
end

describe("clients that share a thread", function()
    local clusters, clients, others

    before_each(function()
        collectgarbage()
        collectgarbage()
        others = count_threads "kl-requests" -- of clients that other specs have left open
        clusters, clients = {}, {}
        for i = 1, 3 do
            clusters[i] = assert(Sim.new { no_controllers = true })
        end
    end)

    after_each(function()
        for _, client in ipairs(clients) do
            client:close()
        end
        for _, cluster in ipairs(clusters) do
            cluster:close()
        end
    end)

    local function connect_all(shared_thread)
        for i, cluster in ipairs(clusters) do
            clients[i] = assert(kubelua.connect {
                server = assert(cluster:listen()), shared_thread = shared_thread })
            assert(clients[i]:create { apiVersion = "v1", kind = "ConfigMap",
                metadata = { name = "c" .. i } })
        end
    end

    it("have one, and each has its own server's answers", function()
        connect_all(true)
        assert.equal(1, count_threads "kl-transport")
        assert.equal(1, count_threads "kl-requests" - others)
        for i, client in ipairs(clients) do
            assert.equal("c" .. i, assert(client:get("configmaps", "c" .. i)).name)
            assert.equal("not_found", select(3, client:get("configmaps", "c" .. i % 3 + 1)))
        end
    end)

    it("go on when one of them closes", function()
        connect_all(true)
        table.remove(clients, 1):close()
        assert.equal("c2", assert(clients[1]:get("configmaps", "c2")).name)
        assert.equal(1, count_threads "kl-transport")
    end)

    it("are those that say so", function()
        connect_all(nil)
        assert.equal(3, count_threads "kl-transport")
        assert.equal(3, count_threads "kl-requests" - others)
    end)

    it("are not those that Lua states share", function()
        local ok, message = pcall(kubelua.connect, { server = "http://127.0.0.1:1", share = "x",
            shared_thread = true })
        assert.is_false(ok)
        assert.is_truthy(message:find("'shared_thread' and 'share' cannot", 1, true), message)
    end)

    it("are the clusters of a fleet", function()
        local w = world.new()
        for i, cluster in ipairs(clusters) do
            world.apply(cluster, "a")
            w.named["c" .. i] = { server = assert(cluster:listen()) }
        end
        w:fleet(w:noting())
        w:noted("c1 web/a", "c2 web/a", "c3 web/a")
        assert.equal(1, count_threads "kl-transport")
        w:close()
    end)
end)
