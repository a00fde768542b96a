-- What filters make of a request: redirects, rewrites and changes of headers. The cases follow the
-- table of HTTPPathModifier and the conformance suite of the Gateway API.
local headers = require "resty.kubelua.gateway.headers"
local redirect = require "resty.kubelua.gateway.redirect"
local rewrite = require "resty.kubelua.gateway.rewrite"

-- A request for a path as the client wrote it; `path`: what nginx makes of it.
local function request_of(raw, fields)
    local request = { address = "10.0.0.1", port = 80, scheme = "http", method = "GET",
        path = raw, raw_path = raw }
    for name, value in pairs(fields or {}) do
        request[name] = value
    end
    return request
end

local function prefix(path)
    return { kind = "prefix", path = path }
end

local function rewritten(raw, from, to, fields)
    return (rewrite.target({ path = { kind = "prefix", value = to } }, request_of(raw, fields),
        prefix(from)))
end

describe("a prefix that is replaced", function()
    for _, case in ipairs {
        -- path, prefix, replacement, result: HTTPPathModifier's table
        { "/foo/bar", "/foo", "/xyz", "/xyz/bar" }, { "/foo/bar", "/foo", "/xyz/", "/xyz/bar" },
        { "/foo/bar", "/foo/", "/xyz", "/xyz/bar" }, { "/foo/bar", "/foo/", "/xyz/", "/xyz/bar" },
        { "/foo", "/foo", "/xyz", "/xyz" }, { "/foo/", "/foo", "/xyz", "/xyz/" },
        { "/foo/bar", "/foo", "", "/bar" }, { "/foo/", "/foo", "", "/" },
        { "/foo", "/foo", "", "/" }, { "/foo/", "/foo", "/", "/" }, { "/foo", "/foo", "/", "/" },
        -- the suite
        { "/prefix/one/two", "/prefix/one", "/one", "/one/two" },
        { "/strip-prefix/three", "/strip-prefix", "/", "/three" },
        { "/strip-prefix", "/strip-prefix", "/", "/" },
        -- all paths
        { "/", "/", "/x", "/x/" }, { "/a/b", "/", "/x", "/x/a/b" }, { "/a", "/", "/", "/a" },
        { "/a", "/a", "x", "/x" },
    } do
        it(("makes %s of %s, with %q for %s"):format(case[4], case[1], case[3], case[2]), function()
            assert.equal(case[4], rewritten(case[1], case[2], case[3]))
        end)
    end

    it("keeps the rest as the client has encoded it", function()
        assert.equal("/x/b%2Fc%20d%c3%a4",
            rewritten("/a/b%2Fc%20d%c3%a4", "/a", "/x", { path = "/a/b/c d\195\164" }))
        assert.equal("/x/b", rewritten("/%61/b", "/a", "/x", { path = "/a/b" }))
        assert.equal("/x/b", rewritten("/a%20%62/b", "/a b", "/x", { path = "/a b/b" }))
    end)

    it("takes the path of nginx if more was changed than the encoding", function()
        for _, raw in ipairs { "/a/../a/b", "/a/x/../../../a/b", "//a/b", "/a//b", "/a/./b",
            "/a/%2e%2e/a/b", "/a/x%2f..%2fb", "/a/x/..%2fb", "http://a/b" } do
            assert.equal("/x/b", rewritten(raw, "/a", "/x", { path = "/a/b" }), raw)
        end
        assert.equal("/x/b%20%25%3F%23%00%E4",
            rewritten("/a//b", "/a", "/x", { path = "/a/b %?#\0\228" }))
    end)

    it("is cut off paths of 64 KB", function()
        local rest = ("/b"):rep(32768)
        assert.equal("/x" .. rest, rewritten("/a" .. rest, "/a", "/x"))
        assert.equal("/x" .. ("/b"):rep(32768),
            rewritten("/%61" .. rest, "/a", "/x", { path = "/a" .. rest }))
    end)
end)

describe("a rewrite", function()
    local function target(path, raw, query, captures)
        return { rewrite.target({ path = path }, request_of(raw, { query = query }), prefix "/",
            function(text, pattern)
                assert.equal(raw, text)
                return pattern == "the pattern" and captures or nil
            end) }
    end

    it("of the full path keeps the query", function()
        assert.same({ "/one", "a=b" }, target({ kind = "full", value = "/one" }, "/x/y", "a=b"))
        assert.same({ "/one" }, target({ kind = "full", value = "one" }, "/x/y"))
        assert.same({ "/" }, target({ kind = "full", value = "" }, "/x"))
    end)

    it("of the host alone leaves path and query as they are", function()
        assert.same({ "/a%2Fb//", "q" }, { rewrite.target({ host = "b" },
            request_of("/a%2Fb//", { path = "/a/b/", query = "q" }), prefix "/") })
        assert.same({ "/a%20b" }, { rewrite.target({}, request_of("", { path = "/a b" }),
            prefix "/") })
    end)

    it("fills in what the groups of a pattern caught, encoded", function()
        local function value(text, captures, query)
            return target({ kind = "regex", pattern = "the pattern", value = text }, "/api/v1",
                query, captures)
        end
        assert.same({ "/v1", "q=1" }, value("/$2", { "/", "v1" }, "q=1"))
        assert.same({ "/b%20c%3Fd/" }, value("/$1/$2$3", { "b c?d", false }))
        assert.same({ "/x1" }, value("$1", { "x1" }))
        assert.same({ "/v1", "a=1&q=1" }, value("/$2?a=1", { "/", "v1" }, "q=1"))
        assert.same({ "/v1", "a=%2526" }, value("/v1?a=$1", { "%26" }, ""))
        assert.same({ "/$0/$" }, value("/$0/$", {}))
        assert.same({ "/api/v1" }, value("/$2", nil))
    end)
end)

describe("a redirect", function()
    -- The Location, for a request to example.com.
    local function location(filter, raw, fields, from)
        return redirect.location(filter, request_of(raw or "/", fields), prefix(from or "/"),
            { host = "example.com" })
    end

    -- The listener, the filter's scheme and port, and the origin in the Location.
    for _, case in ipairs {
        { "http", 80, nil, nil, "http://b.org" }, { "http", 80, nil, 80, "http://b.org" },
        { "http", 80, nil, 8080, "http://b.org:8080" },
        { "http", 80, "https", nil, "https://b.org" },
        { "http", 80, "https", 443, "https://b.org" },
        { "http", 80, "https", 8443, "https://b.org:8443" },
        { "http", 8080, nil, nil, "http://b.org:8080" }, { "http", 8080, nil, 80, "http://b.org" },
        { "http", 8080, "https", nil, "https://b.org" },
        { "https", 443, nil, nil, "https://b.org" }, { "https", 443, nil, 443, "https://b.org" },
        { "https", 443, nil, 8443, "https://b.org:8443" },
        { "https", 443, "http", nil, "http://b.org" }, { "https", 443, "http", 80, "http://b.org" },
        { "https", 443, "http", 8080, "http://b.org:8080" },
        { "https", "8443", nil, nil, "https://b.org:8443" },
        { "http", 80, nil, 443, "http://b.org:443" },
    } do
        it(("from %s on port %s with scheme %s and port %s leads to %s"):format(case[1], case[2],
            tostring(case[3]), tostring(case[4]), case[5]), function()
            assert.equal(case[5] .. "/x", (location({ host = "b.org", scheme = case[3],
                port = case[4] }, "/x", { scheme = case[1], port = case[2] })))
        end)
    end

    it("keeps what it does not say", function()
        assert.same({ "https://example.com/a%2Fb?q=%20", 302 }, { location({ scheme = "https" },
            "/a%2Fb", { path = "/a/b", query = "q=%20" }) })
        assert.same({ "http://b.org/a", 301 }, { location({ host = "b.org", status = 301 }, "/a") })
        for _, status in ipairs { 303, 307, 308 } do
            assert.equal(status, (select(2, location { status = status })))
        end
    end)

    it("replaces the full path or the prefix, and keeps the query", function()
        local function path_to(kind, value)
            return { path = { kind = kind, value = value } }
        end
        assert.equal("http://example.com/new/lemon?q=1", (location(path_to("prefix", "/new"),
            "/old/lemon", { query = "q=1" }, "/old")))
        assert.equal("http://example.com/new", (location(path_to("full", "/new"), "/old/x", nil,
            "/old")))
        assert.equal("http://example.com/", (location(path_to("prefix", ""), "/old", nil, "/old")))
        assert.equal("http://example.com/new?a=1&q=1", (location(path_to("full", "/new?a=1"), "/",
            { query = "q=1" })))
    end)

    it("without a host leads to the address", function()
        local function to(address)
            return (redirect.location({}, request_of("/", { address = address }), prefix "/",
                { host = "" }))
        end
        assert.equal("http://10.0.0.1/", to "10.0.0.1")
        assert.equal("http://[::1]/", to "::1")
    end)

    it("cannot end its header, nor leave its host", function()
        assert.equal("http://example.com/a%0D%0Ab%20%00?q%0A", (location({}, "/a\r\nb \0",
            { query = "q\n" })))
        assert.equal("http://example.com//evil.org", (location({}, "//evil.org",
            { path = "/evil.org" })))
        assert.equal("http://example.com/@evil.org", (location({ path = { kind = "full",
            value = "@evil.org" } })))
    end)

    it("to a template is what the template says", function()
        assert.same({ "https://sso/?rd=/x", 301 }, { redirect.location({ status = 301,
            location = { "https://sso/?rd=", { var = "uri" } } }, request_of "/x", prefix "/",
            { host = "a" }, { render = function(parts) return parts[1] .. "/x" end }) })
    end)
end)

describe("a change of headers", function()
    -- Changes `given` as a filter says; names are compared in lower case, as nginx does.
    local function changed(filter, given)
        headers.change(filter, function(name) return given[name:lower()] end,
            function(name, value) given[name:lower()] = value end)
        return given
    end

    it("sets, adds and removes", function()
        local filter = { set = { { "X-Header-Set", "new" } },
            add = { { "X-Header-Add", "val-1" }, { "X-Header-Add-Append", "val-2" } },
            remove = { "X-Header-Remove" } }
        for _ = 1, 2 do -- the second time with what the first has prepared
            assert.same({ ["x-header-set"] = "new", ["x-header-add"] = "val-1",
                ["x-header-add-append"] = "append-1,val-2", other = "val" },
                changed(filter, { ["x-header-set"] = "old", ["x-header-add-append"] = "append-1",
                    ["x-header-remove"] = "x", other = "val" }))
        end
    end)

    it("does nothing that the filter does not say", function()
        assert.same({ a = "1" }, changed({}, { a = "1" }))
        assert.same({ a = "1" }, changed({ remove = { "B" } }, { a = "1" }))
    end)

    it("counts the first of two entries with one name, in any case", function()
        assert.same({ a = "1", b = "1" }, changed({ set = { { "A", "1" }, { "a", "2" } },
            add = { { "b", "1" }, { "B", "2" } } }, {}))
    end)

    it("joins lines with commas, but not those of Set-Cookie", function()
        assert.same({ a = "1,2,3", b = "3" }, changed({ add = { { "A", "3" }, { "B", "3" } } },
            { a = { "1", "2" }, b = "" }))
        local given = { ["set-cookie"] = { "a=1, b", "c=2" } }
        local before = given["set-cookie"]
        assert.same({ "a=1, b", "c=2", "d=3" },
            changed({ add = { { "Set-Cookie", "d=3" } } }, given)["set-cookie"])
        assert.same({ "a=1, b", "c=2" }, before)
        assert.same({ "a=1", "d=3" }, changed({ add = { { "Set-Cookie", "d=3" } } },
            { ["set-cookie"] = "a=1" })["set-cookie"])
    end)
end)
