-- Writes with an unknown result: the key's next run looks them up.
local trace = require "kubelua.trace"
local writes = require "kubelua.controller.writes"

describe("a write with an unknown result", function()
    it("is looked up again if the run was cancelled during the look-up", function()
        local asked = {}
        local client = {}
        function client:get(kind, key)
            asked[#asked + 1] = kind .. " " .. key
            if #asked == 1 then
                error(trace.CANCELED, 0)
            elseif #asked == 2 then
                return nil, "the server is away", "unavailable"
            end
            return nil, "there is none", "not_found"
        end
        local kind = { api_version = "v1", kind = "ConfigMap", namespaced = true }
        local tracker = writes.new { client = client, sources = {}, of_kind = {},
            in_order = {}, what = "spec" }
        local function write(name)
            return { kind = kind, namespace = "default", name = name }
        end
        tracker.unknown["default/a"] = { write("b"), write("c") }
        local ok, problem = pcall(tracker.settle, tracker, "default/a")
        assert.is_false(ok)
        assert.equal(trace.CANCELED, problem)
        local _, _, code = tracker:settle("default/a")
        assert.equal("unavailable", code)
        assert.is_true(tracker:settle("default/a"))
        assert.is_true(tracker:settle("default/a"))
        assert.same({ "v1/ConfigMap default/b", "v1/ConfigMap default/b", "v1/ConfigMap default/b",
            "v1/ConfigMap default/c" }, asked)
    end)
end)
