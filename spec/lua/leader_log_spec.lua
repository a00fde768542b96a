-- What an election logs: each thing once, and the remedy.
local process_of = require("processes").output_of

describe("the log of an election #processes", function()
    it("names a repeated failure once, and the right that is missing", function()
        local said = process_of([[
            package.path = "spec/support/?.lua;" .. package.path
            local world = require("leader_world").new()
            world:join("a")
            world:pass(4)
            local cluster = world.cluster
            cluster:fail { resource = "leases", verb = "update", status = 500, count = 0,
                message = "no quorum" }
            world:pass(8)
            cluster:fail { resource = "leases", verb = "get", status = 500, skip = 1, count = 0,
                message = "no quorum" }
            world:pass(20)
            cluster:heal()
            world:pass(4)
            cluster:fail { resource = "leases", status = 403, count = 0 }
            world:pass(30)
            world:close()
        ]], "KUBELUA_LOG=info")
        local function count(text)
            local found = 0
            for _ in said:gmatch((text:gsub("%p", "%%%0"))) do
                found = found + 1
            end
            return found
        end
        assert.equal(1, count("the Lease was not renewed: HTTP 500: no quorum"), said)
        assert.equal(0, count("the Lease was not read: HTTP 500: no quorum"), said)
        assert.equal(2, count("info  leader election by Lease default/foo: a leads"), said)
        assert.equal(2, count("a does not lead any more: the Lease was not renewed for 10 seconds"),
            said)
        assert.equal(1, count("this needs the verbs get, create and update on leases of the group "
            .. "coordination.k8s.io in the namespace default"), said)
        assert.matches("status 0", said)
    end)
end)
