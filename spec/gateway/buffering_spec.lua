-- Which answers nginx buffers, and what of it differs from ingress-nginx.
local annotations = require "resty.kubelua.gateway.annotations"

local function parse(values)
    local all = {}
    for name, value in pairs(values) do
        all["nginx.ingress.kubernetes.io/" .. name] = value
    end
    local parsed = annotations.parse { metadata = { name = "a", namespace = "web",
        annotations = all } }
    local named = {}
    for _, problem in ipairs(parsed.problems) do
        named[#named + 1] = problem.kind .. " " .. problem.annotation:gsub("^.*/", "")
    end
    return parsed.settings.buffering, named
end

describe("annotations about buffers", function()
    for _, case in ipairs {
        { { ["proxy-buffering"] = "on" }, true, {} },
        { { ["proxy-buffering"] = "off" }, nil, {} },
        { { ["proxy-buffering"] = "yes" }, nil, { "wrong proxy-buffering" } },
        { { ["limit-rate"] = "100", ["proxy-buffering"] = "off" }, true, {} },
        { { ["proxy-buffering"] = "on", ["proxy-next-upstream"] = "error timeout" }, true, {} },
        { { ["proxy-buffering"] = "on", ["proxy-next-upstream"] = "error http_502" }, true,
            { "differs proxy-buffering" } },
        { { ["proxy-buffering"] = "on", ["proxy-next-upstream"] = "off" }, true, {} },
        { { ["limit-rate"] = "1", ["proxy-next-upstream"] = "http_502" }, true,
            { "differs limit-rate" } },
        { { ["proxy-buffer-size"] = "8k" }, nil, {} },
        { { ["proxy-buffer-size"] = "16k" }, nil, { "unsupported proxy-buffer-size" } },
    } do
        local words = {}
        for name, value in pairs(case[1]) do
            words[#words + 1] = name .. ": " .. value
        end
        table.sort(words)
        it("are read: " .. table.concat(words, ", "), function()
            local buffering, named = parse(case[1])
            assert.equal(case[2], buffering)
            assert.same(case[3], named)
        end)
    end

    it("differ for sessions that would move only", function()
        local _, named = parse { affinity = "cookie", ["affinity-mode"] = "persistent" }
        assert.same({}, named)
        _, named = parse { affinity = "cookie", ["affinity-mode"] = "balanced" }
        assert.same({ "differs affinity-mode" }, named)
    end)
end)
