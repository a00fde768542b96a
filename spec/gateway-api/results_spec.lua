-- What the suite's program prints, as run.lua and table.lua read it.
package.path = "spec/gateway-api/?.lua;" .. package.path
local results = require "results"

local function read(text)
    local reader = results.reader()
    for line in text:gmatch("[^\n]+") do
        reader:read(line)
    end
    return reader:results()
end

describe("the output of the suite", function()
    it("has the outcome of each test", function()
        local list = read [[
=== RUN   TestGateway
=== RUN   TestGateway/Weight
=== RUN   TestGateway/Other
--- PASS: TestGateway (3.50s)
    --- PASS: TestGateway/Weight (1.25s)
        --- PASS: TestGateway/Weight/distribution (1.00s)
    --- FAIL: TestGateway/Other (0.50s)
]]
        assert.equal(2, #list)
        assert.same({ name = "Weight", outcome = "PASS", seconds = 1.25, reasons = {} }, list[1])
        assert.equal("FAIL", list[2].outcome)
    end)

    it("leaves out tests of features that are not claimed", function()
        assert.same({}, read "    --- SKIP: TestGateway/Retry (0.00s)")
    end)

    it("has the last words of a part that fails, also where parts take turns", function()
        local list = read [[
=== CONT  TestGateway/Match/a
    http.go:1: a is not ready
=== NAME  TestGateway/Match/b
    http.go:2: b is not ready
=== NAME  TestGateway/Match/a
    apply.go:3: Deleting match HTTPRoute
    http.go:4: timeout
    --- FAIL: TestGateway/Match (9.00s)
        --- FAIL: TestGateway/Match/a (9.00s)
        --- PASS: TestGateway/Match/b (1.00s)
]]
        assert.same({ "Match", "Match/a", "    http.go:1: a is not ready",
            "    http.go:4: timeout" }, list[1].reasons)
    end)
end)
