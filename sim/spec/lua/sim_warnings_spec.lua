-- Warnings of a simulated cluster: fields that no API server knows, which it drops.
local core = require "kubelua.core"
local Sim = require "kubelua.sim"

describe("an unknown field", function()
    local cluster, lines, write
    local service = {
        apiVersion = "v1", kind = "Service", metadata = { name = "web", namespace = "default" },
        spec = { typ = "NodePort", ports = { { port = 80 } } },
    }
    local COLLECTION = "/api/v1/namespaces/default/services"
    local WARNING = 'unknown field "spec.typ"'

    before_each(function()
        cluster = assert(Sim.new())
        lines, write = {}, core.log
        core.log = function(_, line) -- luacheck: ignore 122
            lines[#lines + 1] = line
        end
    end)

    after_each(function()
        core.log = write -- luacheck: ignore 122
        cluster:close()
    end)

    it("is logged when an object is created", function()
        assert(cluster:create(service))
        assert.same({ "POST " .. COLLECTION .. ": " .. WARNING }, lines)
    end)

    it("is in the fourth result of a raw call, and not logged", function()
        local _, _, _, warnings = cluster:call {
            method = "POST", target = COLLECTION, body = core.encode(service),
        }
        assert.equal(WARNING, warnings)
        assert.is_nil((select(4, cluster:call { target = COLLECTION })))
        assert.same({}, lines)
    end)
end)
