-- Admission: AdmissionReviews in, answers out, without a server.
local configuration = require "kubelua.admission.configuration"
local core = require "kubelua.core"
local hooks = require "kubelua.admission.hook"
local kubelua = require "kubelua"

local function ingress(host, name)
    return { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
        metadata = { name = name or "one", namespace = "web", creationTimestamp = kubelua.null },
        spec = { rules = { { host = host } } } }
end

-- An AdmissionReview as kube-apiserver sends it, with changes of its request.
local function review(changes)
    local request = {
        uid = "u-1", operation = "CREATE", name = "one", namespace = "web", dryRun = false,
        kind = { group = "networking.k8s.io", version = "v1", kind = "Ingress" },
        resource = { group = "networking.k8s.io", version = "v1", resource = "ingresses" },
        userInfo = { username = "ann", groups = { "a" } }, object = ingress("a.example.com"),
        oldObject = kubelua.null, options = { kind = "CreateOptions" },
    }
    for name, value in pairs(changes or {}) do
        request[name] = value
    end
    return kubelua.json { apiVersion = "admission.k8s.io/v1", kind = "AdmissionReview",
        request = request }
end

-- The response of an answer that is a review.
local function respond(hook, text, ...)
    local status, body, content_type = hook:answer(text or review(), ...)
    assert.equal(200, status, body)
    assert.equal("application/json", content_type)
    local whole = assert(kubelua.decode(body))
    assert.equal("admission.k8s.io/v1", whole.apiVersion)
    assert.equal("AdmissionReview", whole.kind)
    assert.equal("u-1", whole.response.uid)
    return whole.response
end

local function validating(f, more)
    local given = { "ingresses", validate = f }
    for name, value in pairs(more or {}) do
        given[name] = value
    end
    return hooks.new(given)
end

local function mutating(f)
    return hooks.new { "ingresses", mutate = f }
end

local function patch_of(response)
    return kubelua.decode(kubelua.unbase64(response.patch))
end

describe("validate", function()
    it("allows by nothing, nil and true", function()
        for _, f in ipairs { function() end, function() return nil end,
            function() return true end } do
            assert.same({ uid = "u-1", allowed = true }, respond(validating(f)))
        end
    end)

    it("denies by false, with a message and a code", function()
        local response = respond(validating(function(object)
            return false, "the host " .. object.spec.rules[1].host .. " belongs to a/one"
        end))
        assert.is_false(response.allowed)
        assert.same({ status = "Failure", code = 403, reason = "Forbidden",
            message = "the host a.example.com belongs to a/one" }, response.status)
        response = respond(validating(function() return false, "twice", 409 end))
        assert.equal("Conflict", response.status.reason)
        response = respond(validating(function() return false end))
        assert.equal("admit ingresses denies it", response.status.message)
    end)

    it("gets object, old, request and cluster; null fields are nil", function()
        local got
        local hook = validating(function(...) got = { n = select("#", ...), ... } end,
            { operations = { "UPDATE" } })
        respond(hook, review { operation = "UPDATE", oldObject = ingress("old.example.com"),
            dryRun = true }, nil, "the cluster")
        local object, old, request, cluster = got[1], got[2], got[3], got[4]
        assert.equal("a.example.com", object.spec.rules[1].host)
        assert.is_nil(object.metadata.creationTimestamp)
        assert.equal("old.example.com", old.spec.rules[1].host)
        assert.is_true(request.dryRun)
        assert.equal("ann", request.userInfo.username)
        assert.equal("the cluster", cluster)
    end)

    it("gets only the old object of a DELETE", function()
        local object, old
        local hook = validating(function(a, b) object, old = a, b end,
            { operations = { "DELETE" } })
        respond(hook, review { operation = "DELETE", object = kubelua.null,
            oldObject = ingress("gone.example.com") })
        assert.is_nil(object)
        assert.equal("gone.example.com", old.spec.rules[1].host)
    end)

    it("warns the user", function()
        local response = respond(validating(function(_, _, request)
            request:warn("%d rules", 1)
            request:warn("100%")
        end))
        assert.is_true(response.allowed)
        assert.same({ "1 rules", "100%" }, response.warnings)
    end)

    it("is a failure of the webhook if it raises, or returns nil and a message", function()
        for _, f in ipairs { function(object) return object.spec.no.host end,
            function() return nil, "the server is down", "timeout" end,
            function() error({ code = 7 }) end, function() return 7 end,
            function() error(nil) end } do
            local status, body, content_type = validating(f):answer(review())
            assert.equal(500, status)
            assert.equal("text/plain; charset=utf-8", content_type)
            assert.truthy(body:find("^admit ingresses: validate failed: "), body)
            assert.is_nil(body:find("traceback", 1, true))
        end
    end)
end)

describe("mutate", function()
    it("answers what it changed as a JSON patch", function()
        local response = respond(mutating(function(object)
            object.metadata.labels = { team = "red" }
            object.spec.rules[1].host = nil
        end))
        assert.is_true(response.allowed)
        assert.equal("JSONPatch", response.patchType)
        assert.same({ { op = "add", path = "/metadata/labels", value = { team = "red" } },
            { op = "remove", path = "/spec/rules/0/host" } }, patch_of(response))
    end)

    it("may return another object; without a change there is no patch", function()
        local response = respond(mutating(function(object)
            local copy = kubelua.table(object)
            copy.spec.rules[1].host = "b.example.com"
            return copy
        end))
        assert.same({ { op = "replace", path = "/spec/rules/0/host", value = "b.example.com" } },
            patch_of(response))
        assert.same({ uid = "u-1", allowed = true }, respond(mutating(function() end)))
    end)

    it("may deny", function()
        local response = respond(mutating(function(object)
            object.spec = nil
            return false, "no"
        end))
        assert.is_false(response.allowed)
        assert.is_nil(response.patch)
    end)

    it("fails if what it leaves is not JSON", function()
        local status, body = mutating(function(object) object.spec.f = print end):answer(review())
        assert.equal(500, status)
        assert.truthy(body:find("mutate failed: what it leaves is not JSON", 1, true), body)
    end)

    it("runs before validate, which sees what it left; each alone by its phase", function()
        local seen = {}
        local hook = hooks.new { "ingresses",
            mutate = function(object) object.spec.seen = true end,
            validate = function(object)
                seen[#seen + 1] = tostring(object.spec.seen)
                return false, "no"
            end }
        assert.is_false(respond(hook).allowed)
        assert.is_true(respond(hook, nil, "mutate").allowed)
        assert.is_nil(respond(hook, nil, "validate").patch)
        assert.same({ "true", "nil" }, seen)
        assert.equal("/admit/ingresses/mutate", hook:path("mutate"))
        assert.equal("/admit/ingresses", validating(print):path("validate"))
    end)
end)

describe("an answer before the caches are known", function()
    it("denies in a way that may be tried again, or allows with a warning", function()
        local function f() error("not reached") end
        local response = respond(validating(f), nil, nil, nil, "ingresses: no list yet")
        assert.is_false(response.allowed)
        assert.equal(503, response.status.code)
        assert.equal(1, response.status.details.retryAfterSeconds)
        assert.truthy(response.status.message:find("ingresses: no list yet", 1, true))
        response = respond(validating(f, { unsynced = "allow" }), nil, nil, nil, "no list yet")
        assert.is_true(response.allowed)
        assert.truthy(response.warnings[1]:find("no list yet", 1, true))
    end)
end)

describe("a body that is no review", function()
    local hook = validating(function() error("not reached") end)

    local function refuses(text, why)
        local status, body, content_type = hook:answer(text)
        assert.equal(400, status)
        assert.equal("text/plain; charset=utf-8", content_type)
        assert.truthy(body:find(why, 1, true), body)
    end

    it("is refused with the reason", function()
        refuses("", "not JSON")
        refuses("{", "not JSON")
        refuses("\0\255", "not JSON")
        refuses(("["):rep(20000), "not JSON")
        refuses("null", "not an AdmissionReview")
        refuses("[]", "not an AdmissionReview")
        refuses('"AdmissionReview"', "not an AdmissionReview")
        refuses('{"kind":"Pod","apiVersion":"v1"}', "not an AdmissionReview")
        refuses('{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}',
            "admissionReviewVersions: [v1]")
        refuses('{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "no request")
        refuses('{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null}',
            "no request")
    end)

    it("names the field that is wrong", function()
        for name, value in pairs { uid = "", operation = "PATCH", kind = kubelua.null,
            resource = "ingresses", namespace = 7, object = kubelua.null, userInfo = 1,
            oldObject = "x", subResource = false } do
            refuses(review { [name] = value }, "no valid request." .. name)
        end
    end)

    it("is answered for 9,000 levels and a megabyte", function()
        local deep = ("["):rep(9000) .. ("]"):rep(9000)
        local allowing = validating(function() end)
        local object = ingress("a.example.com")
        object.spec.deep = kubelua.decode(deep)
        object.spec.long = ("x"):rep(2 ^ 20)
        assert.is_true(respond(allowing, review { object = object }).allowed)
        local text = review { object = object }
        assert.equal(200, (mutating(function(o) o.spec.deep[1] = 1 end):answer(text)))
        assert.equal(200, (mutating(function(o) o.spec.more = 1 end):answer(text)))
    end)
end)

describe("the rule of a webhook", function()
    local function asks(names, operations, changes)
        local called = false
        local given = { operations = operations, name = "x",
            validate = function() called = true end }
        for i, name in ipairs(names) do
            given[i] = name
        end
        local response = respond(hooks.new(given), review(changes))
        assert.is_true(response.allowed)
        assert.equal(called and 0 or 1, #(response.warnings or {}))
        return called
    end

    it("knows a resource by any name, in any of the list", function()
        for _, name in ipairs { "ingresses", "ing", "Ingress", "ingresses.networking.k8s.io",
            "networking.k8s.io/v1/Ingress", "*" } do
            assert.is_true(asks { name }, name)
        end
        assert.is_true(asks { "pods", "ingresses" })
        assert.is_false(asks { "pods" })
        assert.is_false(asks({ "ingresses" }, { "DELETE" }))
    end)

    it("knows custom resources, and keeps groups apart", function()
        local foo = { kind = { group = "example.com", version = "v1", kind = "Foo" },
            resource = { group = "example.com", version = "v1", resource = "foos" } }
        for _, name in ipairs { "foos.example.com", "foos.v1.example.com", "example.com/v1/Foo",
            "Foo.example.com", "foos" } do
            assert.is_true(asks({ name }, nil, foo), name)
        end
        assert.is_false(asks({ "foos.example.org" }, nil, foo))
        assert.is_false(asks({ "example.com/v2/Foo" }, nil, foo))
        local ours = { kind = { group = "example.com", version = "v1", kind = "Ingress" },
            resource = { group = "example.com", version = "v1", resource = "ingresses" } }
        assert.is_false(asks({ "ingresses" }, nil, ours))
    end)

    it("has a subresource only if it names it", function()
        local status = { subResource = "status" }
        assert.is_false(asks({ "ingresses" }, nil, status))
        assert.is_true(asks({ "ingresses/status" }, nil, status))
        assert.is_true(asks({ "ingresses/*" }, nil, status))
        assert.is_true(asks({ "*/*" }, nil, status))
        assert.is_true(asks({ "*/status" }, nil, status))
        assert.is_false(asks { "ingresses/status" })
        assert.is_false(asks({ "*" }, nil, status))
        assert.is_false(asks { "*/status" })
    end)

    -- apiserver's rules.Matcher: "pods/*" asks about pods, too.
    it("asks about the object itself, too, if the subresource is *", function()
        assert.is_true(asks { "ingresses/*" })
        assert.is_true(asks { "*/*" })
        assert.is_false(asks { "services/*" })
    end)
end)

describe("options of kubelua.admit", function()
    it("are refused with the remedy", function()
        for _, case in ipairs {
            { nil, "a table of options expected" },
            { { "pods" }, "give validate, mutate or both" },
            { { validate = print }, "which resource?" },
            { { "pods", validate = print, operation = { "CREATE" } }, "do you mean 'operations'?" },
            { { "pods", validate = print, operations = { "create" } }, "CREATE" },
            { { "pods", validate = print, operations = {} }, "is a list of CREATE" },
            { { "pods", validate = print, timeout = 31 }, "1 to 30" },
            { { "pods", validate = print, timeout = 1.5 }, "1 to 30" },
            { { "pods", validate = print, failure_policy = "fail" }, "Fail" },
            { { "pods", validate = print, unsynced = "no" }, "deny" },
            { { "pods", validate = print, name = "A/b" }, "write name =" },
            { { "pods", {}, validate = print }, "a resource is a name" },
        } do
            local ok, message = pcall(hooks.new, case[1])
            assert.is_false(ok)
            assert.truthy(message:find(case[2], 1, true), message)
        end
    end)
end)

describe("the configuration of a webhook", function()
    it("says what the script said", function()
        local hook = hooks.new { "ingresses", "pods/exec", "foos.example.com", name = "hosts",
            operations = { "DELETE", "CREATE" }, validate = print, failure_policy = "Ignore",
            timeout = 3, namespaces = { "web" },
            namespace_selector = { matchLabels = { team = "a" } },
            object_selector = { matchLabels = { b = "c" } },
            match_conditions = { { name = "x", expression = "true" } } }
        local list = configuration.make(hook, { url = "https://10.0.0.7:8443/", ca = "PEM" })
        assert.equal(1, #list)
        assert.equal("ValidatingWebhookConfiguration", list[1].kind)
        local webhook = list[1].webhooks[1]
        assert.equal("hosts.kubelua.dev", webhook.name)
        assert.same({ url = "https://10.0.0.7:8443/admit/hosts", caBundle = core.base64("PEM") },
            webhook.clientConfig)
        assert.same({ "Ignore", 3 }, { webhook.failurePolicy, webhook.timeoutSeconds })
        assert.same({ matchLabels = { team = "a" }, matchExpressions = { { operator = "In",
            key = "kubernetes.io/metadata.name", values = { "web" } } } },
            webhook.namespaceSelector)
        assert.same({ { "networking.k8s.io", "ingresses" }, { "", "pods/exec" },
            { "example.com", "foos" } }, { { webhook.rules[1].apiGroups[1],
            webhook.rules[1].resources[1] }, { webhook.rules[2].apiGroups[1],
            webhook.rules[2].resources[1] }, { webhook.rules[3].apiGroups[1],
            webhook.rules[3].resources[1] } })
        assert.same({ "CREATE", "DELETE" }, webhook.rules[1].operations)
        assert.same({ { name = "x", expression = "true" } }, webhook.matchConditions)
    end)

    it("has one object for each function, and a Service's path", function()
        local hook = hooks.new { "ingresses", mutate = print, validate = print,
            reinvocation_policy = "IfNeeded" }
        local list = configuration.make(hook, { service = { namespace = "a", name = "b" } })
        assert.same({ "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration" },
            { list[1].kind, list[2].kind })
        assert.same({ namespace = "a", name = "b", port = 443, path = "/admit/ingresses/mutate" },
            list[1].webhooks[1].clientConfig.service)
        assert.equal("IfNeeded", list[1].webhooks[1].reinvocationPolicy)
        assert.is_nil(list[2].webhooks[1].reinvocationPolicy) -- only a mutating one has it
    end)

    it("needs one address, and the group of a kind that is not built in", function()
        local hook = hooks.new { "foos", validate = print }
        for _, case in ipairs { { {}, "either url or service" },
            { { url = "http://a" }, "https://10.0.0.7:8443" },
            { { url = "https://a" }, "foos.example.com" } } do
            local ok, message = pcall(configuration.make, hook, case[1])
            assert.is_false(ok)
            assert.truthy(message:find(case[2], 1, true), message)
        end
    end)
end)
