-- resty.kubelua.gateway.match: which rule takes a request. Tables are written as compile.lua writes
-- them: matches in order of precedence. The cases follow what the conformance suite of the Gateway
-- API asks of HTTPRoute and GRPCRoute (docs/GATEWAY.md).
local match = require "resty.kubelua.gateway.match"

-- A regular expression here is a Lua pattern; "explode" is one whose search is given up.
local function search(text, pattern)
    if pattern == "explode" then
        return nil, "pcre2_match() failed: -47"
    end
    return text:find(pattern) ~= nil
end

-- A value of gateway.hosts: each match names its backend in `to`.
local function host_of(matches)
    local host = { rules = {}, matches = {} }
    for i, given in ipairs(matches) do
        host.rules[i] = { source = given.to }
        host.matches[i] = { path = given.path or "/", kind = given.kind or "prefix",
            method = given.method, headers = given.headers, queries = given.queries, rule = i }
    end
    return host
end

-- `entry` and `host` give the value of a key, each time that a request needs it.
local function new_matcher(entry, host)
    return match.new {
        entry = function(key) return function() return entry(key) end end,
        host = function(key) return function() return host(key) end end,
        read = function(value_of) return value_of() end,
        regex = search,
    }
end

-- `listeners`: names; `hosts`: "LISTENER ROUTE_HOST" to matches. All on port 80 of any address.
local function matcher_of(listeners, hosts)
    local entry, values = { id = "e", listeners = {} }, {}
    for _, name in ipairs(listeners) do
        entry.listeners[name] = { tls = false, name = name }
    end
    for key, matches in pairs(hosts) do
        values["e " .. key] = host_of(matches)
    end
    local asked = {}
    return new_matcher(function(key) return key == "*:80" and entry or nil end, function(key)
        asked[#asked + 1] = key
        return values[key]
    end), asked
end

-- A request: "GET a.example.com/path?b=c", with headers.
local function request_of(line, headers)
    local method, host, path, query = line:match("^(%u+) ([^/]*)([^?]*)%??(.*)$")
    local arguments = {}
    for name, value in query:gmatch("([^&=]+)=?([^&]*)") do
        arguments[name] = arguments[name] or value
    end
    return { address = "10.0.0.1", port = 80, scheme = "http", method = method, host = host,
        path = path, raw_path = path, query = query,
        header = function(name) return (headers or {})[name] end,
        argument = function(name) return arguments[name] end }
end

-- Each case: the request, and the backend or the reason why there is none; then headers.
local function check(matcher, cases)
    for _, case in ipairs(cases) do
        local rule, found = matcher:find(request_of(case[1], case[3]))
        assert.equal(case[2], rule and rule.source or found, case[1])
    end
end

describe("a match of paths", function()
    it("is an exact one, else the longest prefix", function()
        check(matcher_of({ "*" }, { ["* *"] = {
            { kind = "exact", path = "/match/exact/one", to = "v3" },
            { kind = "exact", path = "/match/exact", to = "v2" },
            { kind = "exact", path = "/match", to = "v1" },
            { path = "/match/prefix/one", to = "v2" }, { path = "/match/prefix/", to = "v1" },
            { path = "/match/", to = "v3" } } }), {
            { "GET a/match/exact/one", "v3" }, { "GET a/match/exact", "v2" },
            { "GET a/match", "v1" }, { "GET a/match/prefix/one/any", "v2" },
            { "GET a/match/prefix/any", "v1" }, { "GET a/match/any", "v3" },
            { "GET a/match/", "v3" }, { "GET a/matches", "route" }, { "GET a/", "route" } })
    end)

    it("compares an exact path as it is, with its case and its end", function()
        check(matcher_of({ "*" }, { ["* *"] = {
            { kind = "exact", path = "/one", to = "v1" },
            { kind = "exact", path = "/two", to = "v2" } } }), {
            { "GET a/one", "v1" }, { "GET a/two", "v2" }, { "GET a/", "route" },
            { "GET a/one/example", "route" }, { "GET a/two/", "route" },
            { "GET a/Two", "route" } })
    end)

    it("compares a prefix by whole elements", function()
        check(matcher_of({ "*" }, { ["* *"] = { { path = "/v2", to = "v2" },
            { headers = { { "version", "two" } }, to = "v2" },
            { headers = { { "version", "one" } }, to = "v1" }, { to = "v1" } } }), {
            { "GET a/", "v1" }, { "GET a/example", "v1" }, { "GET a/v2", "v2" },
            { "GET a/v2/", "v2" }, { "GET a/v2/example", "v2" }, { "GET a/v2example", "v1" },
            { "GET a/foo/v2/example", "v1" }, { "GET a/", "v1", { version = "one" } },
            { "GET a/", "v2", { version = "two" } } })
    end)

    it("asks regular expressions where they stand among the prefixes", function()
        check(matcher_of({ "*" }, { ["* *"] = {
            { kind = "exact", path = "/a/1", to = "exact" }, { path = "/a/long", to = "long" },
            { kind = "regex", path = "^/a/%d+$", to = "regex" }, { path = "/a", to = "short" },
            { kind = "regex", path = "x$", to = "last" } } }), {
            { "GET a/a/1", "exact" }, { "GET a/a/2", "regex" }, { "GET a/a/long", "long" },
            { "GET a/a/x", "short" }, { "GET a/b/x", "last" }, { "GET a/b", "route" } })
    end)

    it("ends without a rule if the search of a pattern is given up", function()
        local matcher = matcher_of({ "*" }, { ["* a.com"] = {
            { path = "/open", to = "open" },
            { kind = "regex", path = "explode", to = "guarded" }, { to = "all" } },
            ["* b.com"] = { { headers = { { "x", "explode", "regex" } }, to = "guarded" },
                { to = "all" } }, ["* *"] = { { to = "others" } } })
        check(matcher, { { "GET a.com/", "regex" }, { "GET a.com/open", "open" },
            { "GET b.com/", "regex", { x = "1" } }, { "GET b.com/", "all" },
            { "GET c.com/", "others" } })
    end)
end)

describe("a match of methods, headers and arguments", function()
    it("takes a method as it is", function()
        check(matcher_of({ "*" }, { ["* *"] = {
            { path = "/path1", method = "GET", to = "v1" },
            { path = "/path2", method = "POST", headers = { { "version", "two" } }, to = "v3" },
            { path = "/path5", to = "v1" },
            { method = "PUT", headers = { { "version", "one" } }, to = "v2" },
            { method = "POST", to = "v1" }, { method = "GET", to = "v2" },
            { method = "PATCH", to = "v2" },
            { headers = { { "version", "four" } }, to = "v3" } } }),
            { { "POST a/", "v1" }, { "GET a/", "v2" }, { "HEAD a/", "route" },
            { "GET a/path1", "v1" }, { "PUT a/", "v2", { version = "one" } },
            { "PUT a/", "route" }, { "POST a/path2", "v3", { version = "two" } },
            { "PATCH a/path5", "v1" }, { "PATCH a/", "v2", { version = "four" } },
            { "PUT a/", "v3", { version = "four" } } })
    end)

    it("wants all headers of a match, with their values", function()
        check(matcher_of({ "*" }, { ["* *"] = {
            { headers = { { "version", "two" }, { "color", "orange" } }, to = "v1" },
            { headers = { { "version", "one" } }, to = "v1" },
            { headers = { { "version", "two" } }, to = "v2" },
            { headers = { { "color", "blue" } }, to = "v1" },
            { headers = { { "color", "^re", "regex" } }, to = "v2" } } }), {
            { "GET a/", "v1", { version = "one" } }, { "GET a/", "v2", { version = "two" } },
            { "GET a/", "v1", { version = "two", color = "orange" } },
            { "GET a/", "v2", { version = "two", color = "blue" } },
            { "GET a/", "v1", { color = "blue" } }, { "GET a/", "v2", { color = "red" } },
            { "GET a/", "route", { color = "Blue" } }, { "GET a/", "route", { color = "" } },
            { "GET a/", "route", { ["some-other-header"] = "one" } } })
    end)

    it("reads a header of several lines as one list", function()
        check(matcher_of({ "*" }, { ["* *"] = { { headers = { { "x", "1, 2" } }, to = "v1" } } }),
            { { "GET a/", "v1", { x = { "1", "2" } } }, { "GET a/", "route", { x = "1" } } })
    end)

    it("wants all arguments of a match, in their case", function()
        check(matcher_of({ "*" }, { ["* *"] = {
            { path = "/path5", to = "v1" },
            { headers = { { "version", "one" } }, queries = { { "animal", "whale" } }, to = "v2" },
            { headers = { { "version", "four" } }, to = "v3" },
            { queries = { { "animal", "dolphin" }, { "color", "blue" } }, to = "v3" },
            { queries = { { "animal", "whale" } }, to = "v1" },
            { queries = { { "animal", "dolphin" } }, to = "v2" },
            { queries = { { "ANIMAL", "Whale" } }, to = "v3" },
            { queries = { { "animal", "hydra" } }, to = "v2" } } }), {
            { "GET a/?animal=whale", "v1" }, { "GET a/?animal=dolphin", "v2" },
            { "GET a/?animal=dolphin&color=blue", "v3" }, { "GET a/?ANIMAL=Whale", "v3" },
            { "GET a/?animal=whale&otherparam=irrelevant", "v1" },
            { "GET a/?animal=dolphin&color=yellow", "v2" }, { "GET a/?color=blue", "route" },
            { "GET a/?animal=dog", "route" }, { "GET a/?animal=whaledolphin", "route" },
            { "GET a/", "route" }, { "GET a/?animal=whale", "v2", { version = "one" } },
            { "GET a/path5?animal=hydra", "v1" },
            { "GET a/?animal=hydra", "v3", { version = "four" } } })
    end)

    it("takes the first value of an argument, and an argument without one as empty", function()
        local matcher = matcher_of({ "*" }, { ["* *"] = {
            { queries = { { "a", "1" } }, to = "one" },
            { queries = { { "flag", "^$", "regex" } }, to = "flag" } } })
        local function source_with(value, name)
            local request = request_of("GET a/")
            request.argument = function(asked) return asked == name and value or nil end
            local rule = matcher:find(request)
            return rule and rule.source
        end
        assert.equal("one", source_with({ "1", "2" }, "a"))
        assert.is_nil(source_with({ "2", "1" }, "a"))
        assert.equal("flag", source_with(true, "flag"))
        assert.equal("flag", source_with({ true, "x" }, "flag"))
    end)

    it("counts only the first of two conditions with one name", function()
        check(matcher_of({ "*" }, { ["* *"] = { { to = "v1",
            headers = { { "x", "1" }, { "x", "2" } },
            queries = { { "q", "1" }, { "q", "2" } } } } }), {
            { "GET a/?q=1", "v1", { x = "1" } }, { "GET a/?q=2", "route", { x = "2" } } })
    end)

    it("asks for each header once, and only for those that rules name", function()
        local matches = {}
        for i = 1, 100 do
            matches[i] = { headers = { { "x", tostring(i) }, { "y", "1" } }, to = "v" .. i }
        end
        local matcher = matcher_of({ "*" }, { ["* *"] = matches })
        local headers, asked = { x = "100", y = "1" }, {}
        for i = 1, 10000 do
            headers["h" .. i] = "v"
        end
        local request = request_of("GET a/")
        request.header = function(name)
            asked[#asked + 1] = name
            return headers[name]
        end
        assert.equal("v100", matcher:find(request).source)
        assert.same({ "x", "y" }, asked)
    end)
end)

describe("a match of hosts", function()
    it("takes the listener with the most specific name", function()
        local to = { { to = "v3" } }
        check(matcher_of({ "bar.com", "foo.bar.com", "*.bar.com", "*.foo.com" }, {
            ["bar.com bar.com"] = { { to = "v1" } },
            ["foo.bar.com foo.bar.com"] = { { to = "v2" } },
            ["*.bar.com *.bar.com"] = to, ["*.foo.com *"] = to }), {
            { "GET bar.com/", "v1" }, { "GET foo.bar.com/", "v2" }, { "GET baz.bar.com/", "v3" },
            { "GET boo.bar.com/", "v3" }, { "GET multiple.prefixes.bar.com/", "v3" },
            { "GET multiple.prefixes.foo.com/", "v3" }, { "GET foo.com/", "listener" },
            { "GET no.matching.host/", "listener" } })
    end)

    it("leaves a request to its listener, though another one has a rule for it", function()
        check(matcher_of({ "*", "*.example.com", "*.foo.example.com", "abc.foo.example.com" }, {
            ["* *"] = { { path = "/empty", to = "v1" } },
            ["*.example.com *"] = { { path = "/wildcard", to = "v1" } },
            ["*.foo.example.com *"] = { { path = "/foo", to = "v1" } },
            ["abc.foo.example.com *"] = { { path = "/abc", to = "v1" } } }), {
            { "GET bar.com/empty", "v1" }, { "GET bar.com/wildcard", "route" },
            { "GET bar.example.com/wildcard", "v1" }, { "GET bar.example.com/empty", "route" },
            { "GET bar.foo.example.com/foo", "v1" },
            { "GET bar.foo.example.com/wildcard", "route" },
            { "GET abc.foo.example.com/abc", "v1" }, { "GET abc.foo.example.com/foo", "route" },
            { "GET example.com/empty", "v1" } })
    end)

    it("serves where the names of listener and route meet", function()
        check(matcher_of({ "very.specific.com", "*.wildcard.io", "*.anotherwildcard.io" }, {
            ["very.specific.com very.specific.com"] = { { path = "/s1", to = "v1" },
                { path = "/s3", to = "v3" } },
            ["*.wildcard.io foo.wildcard.io"] = { { path = "/s2", to = "v2" } },
            ["*.wildcard.io foo.bar.wildcard.io"] = { { path = "/s2", to = "v2" } },
            ["*.anotherwildcard.io *.anotherwildcard.io"] = { { path = "/s4", to = "v1" } } }), {
            { "GET very.specific.com/s1", "v1" }, { "GET very.specific.com:1234/s1", "v1" },
            { "GET non.matching.com/s1", "listener" }, { "GET foo.wildcard.io/s1", "route" },
            { "GET very.specific.com/non-matching-prefix", "route" },
            { "GET foo.wildcard.io/s2", "v2" }, { "GET foo.bar.wildcard.io/s2", "v2" },
            { "GET wildcard.io/s2", "listener" }, { "GET very.specific.com/s2", "route" },
            { "GET very.specific.com/s3", "v3" }, { "GET foo.specific.com/s3", "listener" },
            { "GET foo.anotherwildcard.io/s4", "v1" },
            { "GET foo.bar.anotherwildcard.io/s4", "v1" },
            { "GET anotherwildcard.io/s4", "listener" }, { "GET foo.wildcard.io/s4", "route" } })
    end)

    it("asks the most specific host of routes first, then the others", function()
        check(matcher_of({ "*" }, {
            ["* example.com"] = { { path = "/v2", to = "v2" } },
            ["* a.b.example.com"] = { { path = "/deep", to = "deep" } },
            ["* *.b.example.com"] = { { path = "/b", to = "b" } },
            ["* *.example.com"] = { { path = "/wild", to = "wild" } },
            ["* *"] = { { to = "all" } } }), {
            { "GET example.com/v2", "v2" }, { "GET example.com/", "all" },
            { "GET example.net/v2", "all" }, { "GET a.b.example.com/deep", "deep" },
            { "GET a.b.example.com/b", "b" }, { "GET a.b.example.com/wild", "wild" },
            { "GET a.b.example.com/", "all" }, { "GET b.example.com/b", "all" },
            { "GET b.example.com/wild", "wild" } })
    end)

    it("takes the entry of the address, else that of the port", function()
        local function entry(id)
            return { id = id, listeners = { ["*"] = {} } }
        end
        local entries = { ["10.0.0.1:80"] = entry("one"), ["*:80"] = entry("any"),
            ["fd00::1:80"] = entry("six") }
        local matcher = new_matcher(function(key) return entries[key] end,
            function(key) return host_of { { to = key } } end)
        for address, id in pairs { ["10.0.0.1"] = "one", ["10.0.0.2"] = "any",
            ["fd00::1"] = "six" } do
            local request = request_of("GET a/")
            request.address = address
            assert.equal(id .. " * a", (matcher:find(request)).source)
        end
        local request = request_of("GET a/")
        request.port = "8080"
        assert.same({ nil, "entry" }, { matcher:find(request) })
    end)

    it("tells where a host is served", function()
        local matcher = matcher_of({ "*.example.com", "a.example.com" }, {})
        local place = matcher:place("10.0.0.1", 80, "B.Example.Com.:8443")
        assert.equal("b.example.com", place.host)
        assert.equal("*.example.com", place.name)
        assert.equal("*.example.com", place.listener.name)
        assert.equal(place, (matcher:place("10.0.0.1", 80, "B.Example.Com.:8443")))
        assert.equal("a.example.com", matcher:place("10.0.0.1", 80, "a.example.com").name)
        assert.same({ nil, "listener" }, { matcher:place("10.0.0.1", 80, "example.com") })
        assert.same({ nil, "host" }, { matcher:place("10.0.0.1", 80, "*.example.com") })
        assert.same({ nil, "entry" }, { matcher:place("10.0.0.1", 81, "a.example.com") })
    end)
end)

describe("a match in tables that change", function()
    it("sees a new value, and forgets the old one", function()
        local entry, value = { id = "e", listeners = { ["*"] = {} } }, host_of { { to = "old" } }
        local matcher = new_matcher(function() return entry end, function() return value end)
        assert.equal("old", (matcher:find(request_of("GET a.com/"))).source)
        local gone = setmetatable({ entry, value }, { __mode = "v" })
        entry, value = { id = "f", listeners = { ["*.com"] = {} } }, host_of { { to = "new" } }
        local rule, _, place = matcher:find(request_of("GET a.com/"))
        assert.same({ "new", "*.com" }, { rule.source, place.name })
        collectgarbage()
        collectgarbage()
        assert.same({}, gone)
    end)

    it("remembers no more than some places, whatever hosts clients name #many", function()
        local matcher = matcher_of({ "*" }, { ["* *"] = { { to = "v1" } } })
        for i = 1, 20000 do
            matcher:find(request_of("GET h" .. i .. ".com/"))
        end
        local count = 0
        for _, places in pairs(matcher.places) do
            for _ in pairs(places) do
                count = count + 1
            end
        end
        assert.is_true(count > 0 and count <= 8192)
    end)
end)

describe("a hostile request", function()
    local matcher = matcher_of({ "*" }, { ["* a.com"] = { { kind = "exact", path = "/x", to = "x" },
        { path = "/a/b", to = "b" }, { kind = "regex", path = "^/re/", to = "re" },
        { path = "/a", to = "a" } },
        ["* *"] = { { path = "/any", to = "any" } } })

    it("with a path of 64 KB is matched by its beginning", function()
        check(matcher, { { "GET a.com/a/" .. ("/"):rep(65536), "a" },
            { "GET a.com" .. ("/a"):rep(32768), "a" },
            { "GET a.com/a/b" .. ("/b"):rep(32768), "b" },
            { "GET a.com/" .. ("x"):rep(65536), "route" } })
    end)

    it("with odd paths gets only what fits as it is", function()
        check(matcher, { { "GET a.com//", "route" }, { "GET a.com//a", "route" },
            { "GET a.com/%2e%2e/a", "route" }, { "GET a.com/a/%2e%2e", "a" },
            { "GET a.com/a%2Fb", "route" }, { "GET a.com/a\0b", "route" },
            { "GET a.com/a/\0", "a" }, { "GET a.com", "route" } })
    end)

    it("without a host gets what any host gets", function()
        check(matcher, { { "GET /any", "any" }, { "GET /a", "route" } })
        local request = request_of("GET /any")
        request.host = nil
        assert.equal("any", matcher:find(request).source)
    end)

    it("with a host that is none is refused", function()
        for _, host in ipairs { " ", "a b", "a.com ", "a\0b", "*", "*.com", "a..com", ".com", ".",
            "..", "a.com:80:80", "a.com:x", "[::1", "::1", "[x]", "[::1]x", "a_b.com\n", "a@b.com",
            "a.com/b", "\255.com", ("a"):rep(254), ("a."):rep(4000) .. "com" } do
            local request = request_of("GET /any")
            request.host = host
            assert.same({ nil, "host" }, { matcher:find(request) }, host)
        end
    end)

    it("with as many labels as a name can have asks a key for each of them", function()
        local deep, asked = matcher_of({ "*" }, {})
        local request = request_of("GET " .. ("a."):rep(126) .. "a/")
        assert.equal("route", (select(2, deep:find(request))))
        assert.equal(128, #asked)
        assert.is_nil(next(deep.places))
    end)
end)
