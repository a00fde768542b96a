-- resty.kubelua.gateway.weights: each backend gets its share, at any time, and canaries what their
-- headers and cookies ask for.
local weights = require "resty.kubelua.gateway.weights"

-- Numbers in [0, 1) from a seed: the same in each interpreter.
local function random_from(seed)
    return function()
        seed = seed * 16807 % 2147483647
        return seed / 2147483647
    end
end

local function backends_of(list)
    local backends = {}
    for i, weight in ipairs(list) do
        backends[i] = { service = "a/b" .. i .. ":80", weight = weight }
    end
    return backends
end

-- How far the counts of n picks are from the shares, at most and at any time.
local function greatest_error(list, seed, picks)
    local chooser, backends = weights.new(random_from(seed)), backends_of(list)
    local counts, total, worst, is_wrong = {}, 0, 0, false
    for i, weight in ipairs(list) do
        counts[backends[i]], total = 0, total + weight
    end
    for n = 1, picks do
        local picked = chooser:pick(backends, {})
        counts[picked] = counts[picked] + 1
        for _, backend in ipairs(backends) do
            local miss = math.abs(counts[backend] - n * backend.weight / total)
            worst = math.max(worst, miss)
            is_wrong = is_wrong or backend.weight == 0 and counts[backend] > 0
        end
    end
    assert.is_false(is_wrong) -- not in the loop: an assert takes longer than a pick
    return worst
end

describe("a choice by weight", function()
    it("gives 1 to 50 backends their shares within four requests", function()
        local random = random_from(7)
        for count = 1, 50 do
            local equal, mixed = {}, {}
            for i = 1, count do
                equal[i] = 1
                mixed[i] = math.floor(random() * 100)
            end
            mixed[count] = 100
            assert.is_true(greatest_error(equal, count, 2000) < 4, count)
            assert.is_true(greatest_error(mixed, count, 2000) < 4, count)
        end
    end)

    it("gives a small weight its share, and none to a weight of 0", function()
        assert.is_true(greatest_error({ 99, 1, 0 }, 3, 10000) < 3)
        assert.is_true(greatest_error({ 0, 1000000, 1 }, 3, 10000) < 3)
        assert.equal(0, greatest_error({ 0, 1 }, 3, 100))
    end)

    it("gives a small weight its share also if rules are replaced after each request", function()
        local chooser, count = weights.new(random_from(11)), 0
        for _ = 1, 10000 do
            local backends = backends_of { 90, 10 }
            if chooser:pick(backends, {}) == backends[2] then
                count = count + 1
            end
        end
        assert.is_true(count > 900 and count < 1100, count)
    end)

    it("gives backends that are a status their share", function()
        local chooser = weights.new(random_from(5))
        local backends, errors = { { service = "a/b:80", weight = 1 },
            { status = 500, weight = 3 } }, 0
        for _ = 1, 1000 do
            errors = errors + (chooser:pick(backends, {}).status == 500 and 1 or 0)
        end
        assert.is_true(math.abs(errors - 750) < 3, errors)
    end)

    it("is of nothing if no backend has a weight", function()
        local chooser = weights.new(random_from(5))
        assert.is_nil(chooser:pick(backends_of { 0, 0 }, {}))
        assert.is_nil(chooser:pick({}, {}))
        assert.is_truthy(chooser:pick({ { service = "a/b:80" } }, {})) -- none said: 1
    end)

    it("forgets a list that is gone", function()
        local chooser = weights.new(random_from(5))
        local gone = setmetatable({ backends_of { 1, 1 } }, { __mode = "v" })
        chooser:pick(gone[1], {})
        collectgarbage()
        collectgarbage()
        assert.same({}, gone)
    end)
end)

describe("a canary", function()
    -- Which backend a request gets: of a canary whose weight is all or nothing, if it is not asked.
    local function picked(canary, weight, headers, cookies)
        local chooser = weights.new(random_from(5), function(text, pattern)
            return text:find(pattern) ~= nil
        end)
        local backends = { { service = "main", weight = 100 - weight },
            { service = "canary", weight = weight, canary = canary } }
        return chooser:pick(backends, { header = function(name) return (headers or {})[name] end,
            cookie = function(name) return (cookies or {})[name] end }).service
    end

    it("takes and leaves requests by the values always and never of its header", function()
        local canary = { header = "x" }
        assert.equal("canary", picked(canary, 0, { x = "always" }))
        assert.equal("main", picked(canary, 100, { x = "never" }))
        assert.equal("main", picked(canary, 0, { x = "other" }))
        assert.equal("canary", picked(canary, 100, { x = "other" }))
        assert.equal("canary", picked(canary, 0, { x = { "always", "never" } }))
    end)

    it("takes requests by the value or the pattern of its header", function()
        assert.equal("canary", picked({ header = "x", value = "me" }, 0, { x = "me" }))
        assert.equal("main", picked({ header = "x", value = "me" }, 0, { x = "always" }))
        assert.equal("canary", picked({ header = "x", value = "me" }, 100, { x = "never" }))
        assert.equal("canary", picked({ header = "x", pattern = "^m" }, 0, { x = "me" }))
        assert.equal("main", picked({ header = "x", pattern = "^m" }, 0, { x = "you" }))
    end)

    it("takes and leaves requests by its cookie, after its header", function()
        local canary = { header = "x", cookie = "c" }
        assert.equal("canary", picked(canary, 0, {}, { c = "always" }))
        assert.equal("main", picked(canary, 100, {}, { c = "never" }))
        assert.equal("main", picked(canary, 100, { x = "never" }, { c = "always" }))
        assert.equal("canary", picked(canary, 0, { x = "other" }, { c = "always" }))
        assert.equal("main", picked(canary, 0, {}, { c = "other" }))
    end)

    it("gets its weight of the others", function()
        local chooser, count = weights.new(random_from(5)), 0
        local canary = { service = "canary", weight = 20, canary = { cookie = "c" } }
        local backends = { { service = "main", weight = 80 }, canary }
        for _ = 1, 1000 do
            count = count + (chooser:pick(backends, {}) == canary and 1 or 0)
        end
        assert.is_true(math.abs(count - 200) < 3, count)
    end)
end)
