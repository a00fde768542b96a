-- Which endpoints of a Service the gateway's balancers choose from, and draws by weights.
local groups = require "resty.kubelua.gateway.balance.group"

describe("group", function()
    local function names(...)
        local group = groups.new(...)
        return table.concat(group.hosts, " ", 1, group.count)
    end

    local function endpoint(host, zone, node, state)
        return { host = host, port = 80, weight = 1, zone = zone, node = node,
            ready = state == nil, serving = state ~= "gone" }
    end

    it("has the endpoints of the node, else of the zone, else all", function()
        local list = { endpoint("a", "z1", "n1"), endpoint("b", "z1,z2", "n2"),
            endpoint("c", "z3", "n3") }
        assert.equal("a b c", names(list))
        assert.equal("a b", names(list, "z1"))
        assert.equal("b", names(list, "z2"))
        assert.equal("c", names(list, "z1", "n3"))
        assert.equal("a b c", names(list, "z9", "n9"))
    end)

    it("draws endpoints by their weights", function()
        local list = {}
        for i, weight in ipairs { 30, 1, 2, 5, 5, 50, 7 } do
            list[i] = endpoint(tostring(i))
            list[i].weight = weight
        end
        local group, counts = groups.new(list), {}
        for i = 0, 9999 do
            local index = groups.draw(group, i / 10000)
            counts[index] = (counts[index] or 0) + 1
        end
        for i, drawn in ipairs(counts) do
            assert.is_true(math.abs(drawn - 100 * list[i].weight) <= 3, i .. ": " .. drawn)
        end
    end)

    it("has endpoints that only serve where none is ready", function()
        local list = { endpoint("a", nil, nil, "serving"), endpoint("b", nil, nil, "gone") }
        assert.equal("a", names(list))
        list[3] = endpoint("c")
        assert.equal("c", names(list))
        assert.equal("", names {})
    end)
end)
