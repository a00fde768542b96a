-- Annotations of ingress-nginx as settings and filters, and what is told of wrong ones.
local annotations = require "resty.kubelua.gateway.annotations"
local balance_settings = require "resty.kubelua.gateway.balance.settings"
local known = require "resty.kubelua.gateway.annotations.known"
local template = require "resty.kubelua.gateway.template"

local function parse(values)
    local all = {}
    for name, value in pairs(values) do
        all[name:find("/", 1, true) and name or known.PREFIX .. name] = value
    end
    return annotations.parse { metadata = { namespace = "web", name = "shop", annotations = all } }
end

-- The problems as "kind name: message".
local function problems(values)
    local list = {}
    for i, each in ipairs(parse(values).problems) do
        list[i] = ("%s %s: %s"):format(each.kind, each.annotation:gsub("^nginx%.ingress.-/", ""),
            each.message)
    end
    return list
end

local function settings(values)
    return parse(values).settings
end

describe("annotations of numbers and sizes", function()
    it("are seconds and bytes", function()
        assert.same({ body_size = 8 * 1024 * 1024, connect_timeout = 5, read_timeout = 3600,
            send_timeout = 60 }, settings { ["proxy-body-size"] = "8m",
            ["proxy-connect-timeout"] = "5", ["proxy-read-timeout"] = "3600",
            ["proxy-send-timeout"] = "60" })
        for text, bytes in pairs { ["0"] = 0, ["1000"] = 1000, ["5K"] = 5120, ["2g"] = 2147483648,
            ["7b"] = 7, [" 1 m "] = 1048576 } do
            assert.equal(bytes, settings({ ["proxy-body-size"] = text }).body_size, text)
        end
    end)

    it("that are longer than 1,000 bytes are ignored", function()
        local long = ("$request_uri"):rep(100)
        for name, value in pairs { ["permanent-redirect"] = "https://a/" .. long,
            ["rewrite-target"] = "/" .. ("$1"):rep(500), ["upstream-hash-by"] = long,
            ["upstream-vhost"] = long } do
            local told = problems { [name] = value }
            assert.equal(1, #told, name)
            assert.truthy(told[1]:find("is not a text of at most 1000 bytes", 1, true), told[1])
        end
    end)

    it("that are wrong are ignored, and told with what to write", function()
        assert.same({ 'wrong proxy-read-timeout: "60s" is not a whole number of seconds (write '
            .. '"60"); it is ignored, as by ingress-nginx' },
            problems { ["proxy-read-timeout"] = "60s" })
        for name, values in pairs {
            ["proxy-read-timeout"] = { "1m", "-5", "0", "1.5", "1e3", " 5", ("9"):rep(20) },
            ["proxy-body-size"] = { "8mb", "-1", "8 MiB", "unlimited", "8.5m", ("9"):rep(50) } } do
            for _, value in ipairs(values) do
                local parsed = parse { [name] = value }
                assert.same({}, parsed.settings, value)
                assert.equal(1, #parsed.problems, value)
            end
        end
    end)

    it("that are empty are as if they were not there", function()
        for name in pairs(known.ALL) do
            if not name:find("^%a*list%-source") then
                assert.is_nil(next(settings { [name] = "" }), name)
            end
        end
    end)

    it("that are no texts are told", function()
        local parsed = parse { ["proxy-read-timeout"] = 60, ["ssl-redirect"] = false }
        assert.equal(2, #parsed.problems)
        assert.match("put the value in quotes", parsed.problems[1].message)
    end)
end)

describe("annotations of redirects and rewrites", function()
    it("answer with another URL", function()
        assert.same({ type = "redirect", location = { "https://a.example.com/x" }, status = 301 },
            parse({ ["permanent-redirect"] = "https://a.example.com/x" }).redirect)
        assert.equal(308, parse({ ["permanent-redirect"] = "https://a", ["permanent-redirect-code"]
            = "308" }).redirect.status)
        local parsed = parse { ["temporal-redirect"] = "https://a$request_uri",
            ["permanent-redirect"] = "https://b" }
        assert.same({ type = "redirect", location = { "https://a", { var = "request_uri" } },
            status = 302 }, parsed.redirect)
        assert.is_nil(parse({ ["permanent-redirect"] = "/x" }).redirect)
        assert.is_nil(parse({ ["permanent-redirect"] = "https://x\r\nSet-Cookie: a" }).redirect)
    end)

    it("have a root for /", function()
        assert.equal("/login", settings({ ["app-root"] = "/login" }).app_root)
        assert.is_nil(settings({ ["app-root"] = "login" }).app_root)
        assert.is_nil(settings({ ["app-root"] = "https://x" }).app_root)
    end)

    it("take only paths with groups as a target", function()
        assert.equal("/$1/$2", parse({ ["rewrite-target"] = "/$1/$2" }).rewrite_target)
        assert.is_nil(parse({ ["rewrite-target"] = "/a b; return 200" }).rewrite_target)
        assert.is_nil(parse({ ["rewrite-target"] = "/a\nb" }).rewrite_target)
    end)

    it("to https hold with TLS, or always", function()
        assert.equal("tls", parse({}).ssl_redirect)
        assert.is_nil(parse({ ["ssl-redirect"] = "false" }).ssl_redirect)
        assert.equal("always", parse({ ["ssl-redirect"] = "false",
            ["force-ssl-redirect"] = "true" }).ssl_redirect)
        assert.equal("tls", parse({ ["ssl-redirect"] = "no" }).ssl_redirect)
        assert.match('"no" is not "true" or "false"', problems({ ["ssl-redirect"] = "no" })[1])
    end)
end)

describe("annotations that guard a path", function()
    it("are lists of addresses", function()
        assert.same({ allow = { "10.0.0.0/8", "::1" }, deny = { "10.1.1.1" } }, settings {
            ["whitelist-source-range"] = "10.0.0.0/8,::1", ["denylist-source-range"] = "10.1.1.1" })
        assert.same({ "1.1.1.1" }, settings({ ["whitelist-source-range"] = "10.0.0.0/8",
            ["allowlist-source-range"] = "1.1.1.1" }).allow)
    end)

    it("deny the path if they are wrong", function()
        for name, values in pairs {
            ["whitelist-source-range"] = { "10.0.0.0/99", "all", "10.0.0.1 10.0.0.2", "", "," },
            ["denylist-source-range"] = { "x" },
            ["auth-type"] = { "digest", "Basic", "ldap", "basic" }, -- the last lacks auth-secret
            ["auth-tls-secret"] = { "web/ca" },
            ["auth-url"] = { "/auth", "auth.web.svc", "http://x/$secret", "https:///x" } } do
            for _, value in ipairs(values) do
                assert.is_string(settings({ [name] = value }).denied, name .. " " .. value)
                assert.is_true(#problems { [name] = value } > 0, name .. " " .. value)
            end
        end
        assert.is_string(settings({ ["auth-url"] = "http://a/x", ["auth-method"] = "get" }).denied)
        assert.is_string(settings({ ["auth-url"] = "http://a/x",
            ["auth-response-headers"] = "a b" }).denied)
    end)

    it("name a Secret of the same namespace", function()
        assert.same({ basic_auth = { secret = "web/users", realm = "Please log in" } }, settings {
            ["auth-type"] = "basic", ["auth-secret"] = "users", ["auth-realm"] = "Please log in" })
        local parsed = parse { ["auth-type"] = "basic", ["auth-secret"] = "web/users",
            ["auth-secret-type"] = "auth-map" }
        assert.is_true(parsed.settings.basic_auth.map)
        for _, secret in ipairs { "other/users", "a/b/c", "..", "a b", "" } do
            local denied = settings { ["auth-type"] = "basic", ["auth-secret"] = secret }
            assert.equal(secret ~= "..", denied.denied ~= nil, secret)
        end
        assert.match("no effect without auth%-type", problems({ ["auth-secret"] = "users" })[1])
    end)

    it("ask a service, and send to its page with the way back", function()
        local auth = settings({ ["auth-url"] = "https://$host/oauth2/auth",
            ["auth-signin"] = "https://$host/oauth2/start",
            ["auth-response-headers"] = "X-User, X-Email" }).auth_request
        assert.same({ "https://", { var = "host" }, "/oauth2/auth" }, auth.url)
        assert.same({ "X-User", "X-Email" }, auth.response_headers)
        local function get(name)
            return ({ host = "a.example.com", http_host = "a.example.com", scheme = "https",
                request_uri = "/x?y" })[name]
        end
        local function escape(text) return (text:gsub("%W", "%%")) end
        assert.equal("https://a.example.com/oauth2/start?rd=https://a.example.com%x%y",
            template.render(auth.signin, get, escape))
        auth = settings({ ["auth-url"] = "http://a/b",
            ["auth-signin"] = "https://s/?rd=$scheme://$best_http_host$escaped_request_uri" })
            .auth_request
        assert.equal("https://s/?rd=https://a.example.com%x%y",
            template.render(auth.signin, get, escape))
        auth = settings({ ["auth-url"] = "http://a/$http_x", ["auth-always-set-cookie"] = "true",
            ["auth-request-redirect"] = "https://$host/x" }).auth_request
        assert.is_true(auth.always_set_cookie)
        assert.same({ "https://", { var = "host" }, "/x" }, auth.request_redirect)
    end)

    it("let no client choose the auth service, or where a request ends", function()
        for _, url in ipairs { "http://$http_x/", "http://a.$arg_x/", "http://$host$http_x/",
            "https://$http_host", "http://a:$arg_port/" } do
            assert.match("^auth%-url: the host may have no", settings({ ["auth-url"] = url })
                .denied, url)
        end
        for _, name in ipairs { "Content-Length", "transfer-encoding", "X-A, Host", "Upgrade" } do
            assert.match("^auth%-url: an annotation", settings({ ["auth-url"] = "http://a/",
                ["auth-response-headers"] = name }).denied, name)
        end
    end)

    it("limit rates", function()
        assert.same({ limits = { rps = 10, burst_multiplier = 5, allow = { "10.0.0.0/8" } } },
            settings { ["limit-rps"] = "10", ["limit-whitelist"] = "10.0.0.0/8",
                ["limit-connections"] = "0" })
        assert.same({}, settings { ["limit-burst-multiplier"] = "3" })
        assert.same({ rate = { bytes = 102400, after = 1024 }, buffering = true },
            settings { ["limit-rate"] = "100", ["limit-rate-after"] = "1" })
        assert.same({}, settings { ["limit-rate"] = "0", ["limit-rate-after"] = "1" })
    end)
end)

describe("annotations about backends", function()
    it("name the protocol", function()
        for text, protocol in pairs { HTTPS = "https", https = "https", GRPC = "grpc",
            grpcs = "grpcs" } do
            assert.equal(protocol, parse({ ["backend-protocol"] = text }).protocol)
        end
        assert.is_nil(parse({ ["backend-protocol"] = "HTTP" }).protocol)
        assert.is_string(settings({ ["backend-protocol"] = "FCGI" }).denied)
        assert.match("is not one of HTTP", problems({ ["backend-protocol"] = "h2c" })[1])
    end)

    it("keep a client at its endpoint by a cookie", function()
        assert.same({ by = "sticky", cookie = { name = "INGRESSCOOKIE" } },
            settings({ affinity = "cookie" }).balance)
        assert.same({ by = "sticky", cookie = { name = "route", path = "/a", max_age = 3600,
            same_site = "None", secure = true } }, settings({ affinity = "cookie",
            ["session-cookie-name"] = "route", ["session-cookie-path"] = "/a",
            ["session-cookie-expires"] = "172800", ["session-cookie-max-age"] = "3600",
            ["session-cookie-samesite"] = "none", ["session-cookie-secure"] = "true" }).balance)
        assert.is_nil(settings({ affinity = "ip" }).balance)
        assert.equal("INGRESSCOOKIE", settings({ affinity = "cookie",
            ["session-cookie-name"] = "a;b" }).balance.cookie.name)
    end)

    it("hash a text with variables, or choose an algorithm", function()
        assert.same({ by = "hash", hash_by = "$request_uri" },
            settings({ ["upstream-hash-by"] = "$request_uri" }).balance)
        assert.same({ by = "ewma" }, settings({ ["load-balance"] = "ewma" }).balance)
        assert.is_nil(settings({ ["upstream-hash-by"] = "$ssl_client_cert" }).balance)
        assert.is_nil(settings({ ["load-balance"] = "least_conn" }).balance)
    end)

    it("give what the balancers take", function()
        for _, values in ipairs { { ["upstream-hash-by"] = "${request_uri}-x$http_x_user" },
            { ["load-balance"] = "round_robin" }, { affinity = "cookie",
            ["session-cookie-path"] = "/a", ["session-cookie-domain"] = "a.example.com",
            ["session-cookie-max-age"] = "-1", ["session-cookie-samesite"] = "strict",
            ["session-cookie-secure"] = "true", ["session-cookie-change-on-failure"] = "true" },
            { ["proxy-next-upstream-tries"] = "2" } } do
            local balance = settings(values).balance
            assert.same({ balance, {} }, { balance_settings.normalise(balance) })
        end
        assert.is_nil(settings({ ["upstream-hash-by"] = "constant" }).balance)
    end)

    it("say what changes in answers", function()
        assert.same({ { kind = "redirect", from = "http://shop/", to = "/" },
            { kind = "cookie_path", from = "/two/", to = "/" },
            { kind = "cookie_domain", from = "shop.internal", to = "example.com" } },
            settings({ ["proxy-redirect-from"] = "http://shop/", ["proxy-redirect-to"] = "/",
                ["proxy-cookie-path"] = "/two/ /",
                ["proxy-cookie-domain"] = "shop.internal example.com" }).answers)
        for name, value in pairs { ["proxy-redirect-from"] = "off", ["proxy-cookie-path"] = "off",
            ["proxy-cookie-domain"] = "off" } do
            assert.same({}, problems { [name] = value })
        end
        for name, value in pairs { ["proxy-redirect-from"] = "~^http://([^/]+)/",
            ["proxy-redirect-to"] = "$scheme://$host/", ["proxy-cookie-path"] = "/two/",
            ["proxy-cookie-domain"] = "a b; c" } do
            assert.match("^wrong " .. name:gsub("%-", "%%-"), problems({ [name] = value })[1])
        end
    end)

    it("say when another endpoint is tried", function()
        assert.same({ tries = 2, on = { error = true, timeout = true, ["502"] = true },
            non_idempotent = true }, settings({ ["proxy-next-upstream"]
            = "error timeout http_502 non_idempotent" }).balance.retry)
        for _, tries in ipairs { "0", "1000" } do
            local read = settings { ["proxy-next-upstream-tries"] = tries }
            assert.equal(10, read.balance.retry.tries)
        end
        assert.same({ tries = 0, on = {} }, settings({ ["proxy-next-upstream"] = "off" })
            .balance.retry)
        assert.is_nil(settings({ ["proxy-next-upstream"] = "error; http_502" }).balance)
    end)
end)

describe("the annotation enable-cors", function()
    it("is a filter with ingress-nginx's defaults", function()
        local filter = parse({ ["enable-cors"] = "true" }).filters[1]
        assert.same({ "cors", { "*" }, true, 1728000, nil }, { filter.type, filter.allow_origins,
            filter.allow_credentials, filter.max_age, filter.expose_headers })
        assert.equal("GET", filter.allow_methods[1])
        assert.same({}, parse({ ["cors-allow-origin"] = "*" }).filters)
    end)

    it("has origins, and leaves out wrong ones", function()
        local filter = parse({ ["enable-cors"] = "true", ["cors-allow-credentials"] = "false",
            ["cors-allow-origin"] = "https://a.example.com:4443, http://*.b.com, a.com, null",
            ["cors-allow-methods"] = "GET, X Y", ["cors-allow-headers"] = "X-A, X-B",
            ["cors-max-age"] = "600" }).filters[1]
        assert.same({ "https://a.example.com:4443", "http://*.b.com", "null" },
            filter.allow_origins)
        assert.same({ "X-A", "X-B" }, filter.allow_headers)
        assert.equal(6, #filter.allow_methods)
        assert.same({ false, 600 }, { filter.allow_credentials, filter.max_age })
        assert.same({ "*" }, parse({ ["enable-cors"] = "true",
            ["cors-allow-origin"] = "https://a.com,*" }).filters[1].allow_origins)
    end)
end)

describe("annotations that do not work", function()
    it("are told with what to do instead", function()
        assert.match("unsupported configuration%-snippet: text for nginx.conf is not taken from "
            .. "objects; write the same in Lua", problems({ ["configuration-snippet"] = "x" })[1])
        assert.match("differs session%-cookie%-expires",
            problems({ ["session-cookie-expires"] = "1" })[1])
    end)

    it("are told if they are misspelt", function()
        assert.same({ "wrong proxy_body_size: is no annotation of ingress-nginx; did you mean "
            .. "proxy-body-size?" }, problems { ["proxy_body_size"] = "1m" })
        assert.same({ "wrong websocket-services: is no annotation of ingress-nginx; WebSockets "
            .. "work without it" }, problems { ["websocket-services"] = "x" })
        assert.match("did you mean server%-snippet", problems({ ["server-snippets"] = "x" })[1])
        assert.same({ "wrong qwerty: is no annotation of ingress-nginx" },
            problems { qwerty = "1" })
    end)

    it("are named if they are of another controller; others are not", function()
        local parsed = parse { ["nginx.org/rewrites"] = "x", ["cert-manager.io/issuer"] = "x",
            ["kubernetes.io/tls-acme"] = "true" }
        assert.equal(1, #parsed.problems)
        assert.equal("foreign", parsed.problems[1].kind)
    end)

    it("of rubbish raise nothing, and let nothing through", function()
        local rubbish = { "\0", "\r\n", ("x"):rep(100000), "$", "${", "$1$", "%s%d%q", "'\"`;{}",
            "\255\254", "-", "1e999", "nan", ("("):rep(5000), ("a,"):rep(20000) }
        for name in pairs(known.ALL) do
            for _, value in ipairs(rubbish) do
                local parsed = parse { [name] = value, ["auth-type"] = name == "auth-secret"
                    and "basic" or nil, canary = name:find("^canary%-") and "true" or nil,
                    affinity = name:find("^session") and "cookie" or nil,
                    ["enable-cors"] = name:find("^cors") and "true" or nil }
                for _, problem in ipairs(parsed.problems) do
                    assert.is_true(#problem.message < 400, name)
                end
            end
        end
        for _, object in ipairs { { metadata = { name = "a" } },
            { metadata = { name = "a", annotations = "x" } },
            { metadata = { name = "a", annotations = { 1, [true] = {} } } } } do
            assert.is_table(annotations.parse(object).settings)
        end
    end)
end)

describe("the table of annotations in docs/GATEWAY.md", function()
    it("says what the code does", function()
        local file = assert(io.open("docs/GATEWAY.md"))
        local text = file:read("*a")
        file:close()
        local words = { yes = "works", differs = "differs", no = "no" }
        local rows = 0
        for name, word, more in text:gmatch("\n| `([%w%-]+)` | (%l+) | ([^\n]*)|") do
            local each = known.ALL[name]
            assert.is_table(each, name)
            assert.equal(words[each.support], word, name)
            assert.equal((each.text or "") .. (each.instead and "; " .. each.instead or ""),
                more:match("^(.-)%s*$"), name)
            rows = rows + 1
        end
        for _ in pairs(known.ALL) do
            rows = rows - 1
        end
        assert.equal(0, rows)
    end)
end)

describe("annotations of the handshake with a backend", function()
    it("have a name", function()
        assert.equal("a.example.com", settings({ ["proxy-ssl-name"] = "a.example.com" }).tls_name)
        assert.same({}, settings { ["proxy-ssl-name"] = "$host; x" })
    end)
end)

describe("annotations of which some values differ", function()
    it("are told only with those", function()
        assert.same({}, problems { ["proxy-body-size"] = "0", ["proxy-next-upstream"]
            = "error timeout" })
        assert.same({}, problems { ["proxy-next-upstream"] = "off" })
        assert.match("^differs proxy%-body%-size", problems({ ["proxy-body-size"] = "5g" })[1])
        assert.same({}, problems { ["proxy-next-upstream"] = "http_502 non_idempotent" })
        assert.match("^differs proxy%-next.*: http_429 is left out", problems {
            ["proxy-next-upstream"] = "http_502 http_429" }[1])
    end)
end)

describe("a template", function()
    it("has texts and variables that tell nothing of others", function()
        assert.same({ "a", { var = "arg_x" }, "-b", { var = "http_user_agent" } },
            template.parse("a${arg_x}-b$http_user_agent"))
        assert.same({ "web/x" }, template.parse("$namespace/x", { namespace = "web" }))
        assert.same({ [2] = "ssl_client_cert" }, { template.parse("$ssl_client_cert") })
        assert.same({ "$1 $" }, template.parse("$1 $"))
    end)
end)
