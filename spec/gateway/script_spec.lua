-- Lua of tenants in its environment and within its limits, without nginx.
local budget = require "resty.kubelua.gateway.script.budget"
local chunk = require "resty.kubelua.gateway.script.chunk"
local options = require "resty.kubelua.gateway.script.options"
local strings = require "resty.kubelua.gateway.script.strings"

local limits = options.read { namespaces = { "web" }, milliseconds = 30, megabytes = 8 }

-- Runs a text as the function `access` of a script: the result and what the error says.
local function run(text)
    local script, why = chunk.compile("web/a", "return { access = function() " .. text .. "\nend }",
        limits)
    assert(script, why)
    local allowed = chunk.allowance(script)
    local ok, result = budget.call(allowed, function()
        return chunk.begin(script).access()
    end)
    return ok and result or nil, not ok and budget.describe(allowed, result, limits) or nil
end

local TIME, MEMORY = "has run for more than 30 ms", "has taken more than 8 MB"

describe("a script", function()
    it("has functions for phases, and nothing else", function()
        local script = chunk.compile("web/a", "return { log = function() end }", limits)
        assert.same({ log = true }, script.phases)
        for text, expected in pairs {
            ["return"] = "returns no table",
            ["return {}"] = "without a function",
            ["return { acces = type }"] = "the field acces: access, header_filter",
            ["return { log = 1 }"] = "log is no function",
            ["return setmetatable({}, { __index = function() while true do end end })"] =
                "without a function",
            ["x ="] = "route.lua:1:",
            ["while true do end"] = TIME,
            ["error({})"] = "error with a table",
            ["error(setmetatable({}, { __tostring = function() while true do end end }))"] =
                "error with a table",
        } do
            local made, why = chunk.compile("web/a", text, limits)
            assert.is_nil(made)
            assert.truthy(why:find(expected, 1, true), why)
        end
    end)

    it("is text, and not too long", function()
        local _, why = chunk.compile("web/a", string.dump(function() end), limits)
        assert.truthy(why:find("attempt to load", 1, true), why)
        _, why = chunk.compile("web/a", ("-"):rep(chunk.MOST + 1), limits)
        assert.truthy(why:find("65536 at most", 1, true), why)
        _, why = chunk.compile("web/a", nil, limits)
        assert.equal("has no key route.lua", why)
    end)

    it("has variables for one request", function()
        local script = chunk.compile("web/a", "local n = 0; m = 0; return { access = function() "
            .. "n = n + 1; m = m + 1; return n + m end }", limits)
        for _ = 1, 2 do
            local _, result = budget.call(chunk.allowance(script), function()
                return chunk.begin(script).access()
            end)
            assert.equal(2, result)
        end
        assert.is_nil(rawget(_G, "m"))
    end)

    it("reaches nothing of the process", function()
        for _, name in ipairs { "os", "io", "ffi", "debug", "package", "load", "loadstring",
            "loadfile", "dofile", "getfenv", "setfenv", "coroutine", "collectgarbage", "newproxy",
            "jit", "ngx", "xpcall", "_G", "print", "module", "_ENV_" } do
            assert.equal("nil", run("return type(" .. name .. ")"), name)
        end
        assert.equal("nil", run "return type(getmetatable(''))")
        assert.equal("nil", run "return type(getmetatable(string))")
        assert.equal("nil", run "return type(string.dump)")
        assert.equal("nil", run "return type(('').dump)")
        assert.equal("nil", run "return type(math.randomseed)")
    end)

    it("changes nothing that others share", function()
        for _, text in ipairs { "string.x = 1", "string.find = nil", "table.insert(math, 1)",
            "rawset(string, 'x', 1)", "table.sort(table)", "table.remove(string)",
            "setmetatable(string, {})", "(''):x()", "('').x = 1" } do
            local _, why = run(text)
            assert.truthy(why, text)
        end
        assert.equal("nil", run "return type(string.x)")
        run "type = 6; string = nil"
        assert.equal("string", run "return type('')")
        assert.is_nil(rawget(string, "x"))
        local text = "x"
        assert.equal(string.rep, text.rep)
    end)

    it("ends when its time is over, whatever it does with errors", function()
        for _, text in ipairs {
            "while true do end",
            "repeat until false",
            "for i = 1, 1e12 do end",
            "local function f() return f() end f()",
            "while true do pcall(function() while true do end end) end",
            "local function f() return pcall(f) end while true do f() end",
            "local t = setmetatable({}, { __index = function(t, k) return t[k + 1] end }) "
                .. "while true do pcall(function() return t[1] end) end",
            "while true do pcall(error, setmetatable({}, { __tostring = function() while true do "
                .. "end end })) end",
            "table.sort({ 3, 2, 1 }, function() while true do end end)",
            "('x'):gsub('x', function() while true do end end)",
            "return tostring(setmetatable({}, { __tostring = function() while true do end end }))",
            "return ('a'):rep(1000):find(('.-'):rep(20) .. 'b')",
            "while true do pcall(string.find, ('a'):rep(1000), ('.-'):rep(20) .. 'b') end",
            "return ('a'):rep(100000):match('^(.*)(.*)(.*)(.*)%1%2b')",
            "return ('('):rep(100000):gsub('%b()', '')",
            "local a, b = ('a'):rep(2e6), ('a'):rep(1e6) .. 'b' while true do a:find(b, 1, true) "
                .. "end",
            "local a = ('a'):rep(5e5) while true do a:upper() end",
            "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.insert(t, 1, 1) "
                .. "table.remove(t, 1) end",
        } do
            local _, why = run(text)
            assert.equal(TIME, why, text)
        end
    end)

    it("takes no more memory than it may, whatever it does with errors", function()
        local before = collectgarbage "count"
        for _, text in ipairs {
            "local s = 'x' while true do s = s .. s end",
            "return ('x'):rep(1e9)",
            "while true do pcall(string.rep, 'x', 1e9) end",
            "local t = {} while true do t[#t + 1] = {} end",
            "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(i) end",
            "return table.concat({ ('x'):rep(1e6), ('x'):rep(1e6) }, ('x'):rep(7e6))",
            "return ('x'):rep(1e6):gsub('x', ('y'):rep(100))",
            "return string.format('%s%s%s', ('x'):rep(3e6), ('x'):rep(3e6), ('x'):rep(3e6))",
        } do
            local _, why = run(text)
            assert.truthy(why == MEMORY or why == TIME, text .. ": " .. tostring(why))
        end
        collectgarbage()
        collectgarbage()
        assert.truthy(collectgarbage "count" < before + 8 * 1024)
    end)

    it("may fail, and catch that, within its limits", function()
        assert.equal("a", run "local ok, why = pcall(error, 'a', 0) return why")
        assert.equal("web/a:route.lua:1: b", run("local _, why = pcall(function() error('b') end) "
            .. "return why"))
        local _, why = run "local function f() f() end f()"
        -- Which limit comes first is a matter of speed: a sanitizer's build is slow.
        assert.truthy(why == MEMORY or why == TIME or why:find("stack overflow", 1, true), why)
        _, why = run "error('c')"
        assert.equal("web/a:route.lua:1: c", why)
        assert.equal("1 2 3", run "local t = { 3, 1, 2 } table.sort(t) return table.concat(t, ' ')")
    end)
end)

describe("the patterns of scripts", function()
    local function both(call, ...)
        local expected = { pcall(string[call], ...) }
        local found = { pcall(strings[call], ...) }
        if not expected[1] then
            assert.is_false(found[1])
        else
            assert.same(expected, found)
        end
    end

    it("find what those of Lua find", function()
        local patterns = { "a", "", "a*", "a-b", "a+b", "a?b", "^a", "a$", "^$", ".", "..", "%a+",
            "%A", "%d*$", "[a-c]+", "[^a-c]", "[]a]", "[%a-]", "[a%]]", "(a)(b)", "(a*)b", "()a()",
            "((a)b)", "(.)%1", "%b()", "%bxx", "%f[%a]%a+", "%f[%z%s]", "a.-b", "(a-)(b*)$", "%%",
            "%.", "[a-]", "[%w_]+", "%x%x", "%s+", "x*y*z*", "(a", "[a", "%", "%f", "%b(",
            "%2", "(()", "-", "a-", "^^a", "a$b", "$" }
        local texts = { "", "a", "b", "ab", "aab", "abab", "xx", "aa]b-c", "f(a(b)c)d", "a b\tc",
            "THE (quick) fox", "12.5%", "_x1y", "\0a\0", "aaaaab", "zyx", "$a$b^a" }
        for _, pattern in ipairs(patterns) do
            for _, text in ipairs(texts) do
                both("find", text, pattern)
                both("match", text, pattern)
                both("find", text, pattern, #text > 0 and 2 or nil) -- 5.1 differs beyond the end
                both("match", text, pattern, -2)
                both("find", text, pattern, 1, true)
            end
        end
    end)

    it("replace as those of Lua", function()
        for _, given in ipairs { { "abc", "%w", "<%0>" }, { "abc", "(%w)(%w)", "%2%1" },
            { "hello world", "o", "0", 1 }, { "abc", "", "-" }, { "abc", "^a", "x" },
            { "a b", "%s", "%%" }, { "abc", "b", { b = "x" } }, { "abc", "%w", { a = false } },
            { "abc", "%w", string.upper }, { "abc", "(b)()", "%2" }, { 123, 2, 5 },
            { "abc", "x", "y" }, { "", "x*", "y" }, { "abc", "b", "%9" }, { "abc", "b", true } } do
            both("gsub", given[1], given[2], given[3], given[4])
        end
    end)

    it("go on from one place to the next", function()
        for _, given in ipairs { { "a1 b2", "(%a)(%d)" }, { "one two", "%a+" }, { "abc", "" },
            { "", "x" } } do
            local expected, found = {}, {}
            for a, b in given[1]:gmatch(given[2]) do
                expected[#expected + 1] = { a, b }
            end
            for a, b in strings.gmatch(given[1], given[2]) do
                found[#found + 1] = { a, b }
            end
            assert.same(expected, found)
        end
    end)
end)

describe("gateway.init { scripts = ... }", function()
    local function problem_of(given)
        local ok, why = pcall(options.read, given)
        return not ok and why or nil
    end

    it("is off by default", function()
        assert.is_nil(options.read(nil))
        assert.is_false(options.allows(nil, "web"))
        assert.truthy(options.refusal(nil, "web"):find("{ namespaces = { \"web\" } }", 1, true))
    end)

    it("names namespaces, or all", function()
        assert.is_true(options.allows(options.read { namespaces = { "web" } }, "web"))
        assert.is_false(options.allows(options.read { namespaces = { "web" } }, "db"))
        assert.is_true(options.allows(options.read { namespaces = "all" }, "db"))
    end)

    it("says what is wrong", function()
        for expected, given in pairs {
            ["says who may use Lua"] = {}, ["or \"all\""] = { namespaces = "web" },
            ["do you mean"] = { namespaces = "all", milisecond = 1 },
            ["is above 0"] = { namespaces = "all", milliseconds = 0 },
            ["has names"] = { namespaces = { 1 } },
            ["\"services\" or \"all\""] = { namespaces = "all", sockets = "some" },
        } do
            local why = problem_of(given)
            assert.truthy(why and tostring(why):find(expected, 1, true), expected .. ": "
                .. tostring(why))
        end
    end)
end)
