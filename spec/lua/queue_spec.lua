-- The workqueue's Lua binding: what crosses between C and Lua. spec/core/queue and the model test
-- what the queue promises.
local core = require "kubelua.core"

local function new(options)
    options = options or {}
    options.stands = true
    return assert(core.queue(options))
end

local function keys_of(queue)
    local keys = {}
    local key = queue:next()
    while key do
        keys[#keys + 1] = key
        queue:done(key, "done")
        key = queue:next()
    end
    return keys
end

describe("a queue", function()
    it("hands out each key once, the front lane first", function()
        local queue = new()
        assert.is_true(queue:add("web/listed", true))
        assert.is_true(queue:add("web/changed"))
        assert.is_true(queue:add("web/changed"))
        assert.same({ "web/changed", "web/listed" }, keys_of(queue))
        assert.is_nil(queue:next())
    end)

    it("returns with a key its lane, attempt, wait, and the timer it had", function()
        local queue = new()
        queue:add("a", true)
        queue:advance(2)
        assert.same({ "a", true, 1, 2 }, { queue:next() })
        queue:done("a", "after", 10)
        queue:advance(4)
        queue:add("a")
        assert.same({ "a", false, 1, 0, 6 }, { queue:next() })
    end)

    it("says in how many seconds a key waits again", function()
        local queue = new()
        queue:add("a")
        queue:next()
        assert.equal(1.5, queue:done("a", "after", 1.5))
        assert.equal(1.5, queue:due_in())
        queue:advance(1.5)
        assert.equal(0, queue:due_in())
        queue:next()
        assert.is_nil(queue:due_in())
        assert.is_nil(queue:done("a", "done"))
    end)

    it("runs a failing key again after a backoff, and counts its attempts", function()
        local queue = new()
        queue:add("a")
        queue:next()
        local again = queue:done("a", "failed")
        assert.is_true(again >= 0.1 and again < 0.2)
        queue:advance(0.2)
        assert.equal(2, (select(3, queue:next())))
        again = queue:done("a", "failed", 7)
        assert.is_true(again >= 7)
        assert.equal(1, queue:status().failing)
        queue:forget("a")
        queue:advance(again)
        assert.equal(1, (select(3, queue:next())))
    end)

    it("keeps a backoff for add_related, and ends it for add", function()
        local queue = new()
        queue:add("a")
        queue:next()
        queue:done("a", "failed", 60)
        queue:add_related("a")
        assert.is_nil(queue:next())
        queue:add("a")
        assert.equal("a", queue:next())
    end)

    it("gathers the events of a key for so many seconds", function()
        local queue = new { delay = 0.5 }
        queue:add("a")
        assert.is_nil(queue:next())
        queue:advance(0.5)
        assert.equal("a", queue:next())
    end)

    it("has a timer for each key", function()
        local queue = new()
        queue:add_after("a", 5)
        queue:add_after("a", 3)
        assert.equal(3, queue:due_in())
        queue:add_after("b", 1e300) -- far away, without an overflow
        queue:advance(3)
        assert.same({ "a" }, keys_of(queue))
    end)

    it("refuses keys once it is drained, and finishes", function()
        local queue = new()
        queue:add("a")
        queue:drain()
        local ok, message, code = queue:add("b")
        assert.is_nil(ok)
        assert.equal("string", type(message))
        assert.equal("closed", code)
        assert.is_false(queue:is_finished())
        assert.same({ "a" }, keys_of(queue))
        assert.is_true(queue:is_finished())
    end)

    it("drops what waits when it is shut down", function()
        local queue = new()
        queue:add("a")
        queue:shut_down()
        assert.is_nil(queue:next())
        assert.is_true(queue:is_finished())
    end)

    it("reports what is in it", function()
        local queue = new()
        queue:add("a")
        queue:add("b", true)
        queue:add("c")
        queue:add_after("d", 9)
        queue:next()
        queue:advance(3)
        assert.same({ waiting = 2, waiting_rear = 1, in_progress = 1, delayed = 1, failing = 0,
            adds = 4, retries = 0, oldest_wait = 3 }, queue:status())
    end)
end)

describe("misuse of a queue", function()
    local function problem(f, ...)
        local ok, message = pcall(f, ...)
        assert.is_false(ok)
        return message
    end

    it("is a key with a NUL byte, or one that is no text", function()
        local queue = new()
        for _, name in ipairs { "add", "add_related", "add_after", "forget", "done" } do
            assert.matches("has a NUL byte", problem(queue[name], queue, "a\0b", "done"))
            assert.matches("must be a string, not a number", problem(queue[name], queue, 7, "done"))
            assert.matches("must be a string, not a nil", problem(queue[name], queue))
        end
        assert.equal(0, queue:status().adds)
    end)

    it("is done of a key that is not in progress", function()
        local queue = new()
        queue:add("a")
        assert.matches("'a' is not in progress", problem(queue.done, queue, "a", "done"))
        queue:next()
        assert.has_error(function() queue:done("a", "perhaps") end)
        assert.has_error(function() queue:done("a", "after", 0 / 0) end)
        queue:done("a", "done")
    end)

    it("is an unknown option", function()
        assert.matches("no option 'dely'", problem(core.queue, { dely = 1 }))
        assert.has_error(function() core.queue { delay = -1 } end)
    end)
end)
