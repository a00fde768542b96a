-- The Ingresses in the owner: which are compiled anew after a change.
local ingress = require "resty.kubelua.gateway.ingress"
local ingresses = require "resty.kubelua.gateway.ingresses"

local PREFIX = "nginx.ingress.kubernetes.io/"

-- A compiler that keeps what each Ingress contributes, and counts.
local function new_compiler()
    local compiler = { given = {}, calls = 0 }
    function compiler:contribute(_, namespace, name, list)
        self.given[namespace .. "/" .. name] = list
        self.calls = self.calls + 1
    end
    return compiler
end

local function path(text, service)
    return { path = text, pathType = "Prefix",
        backend = { service = { name = service or "shop", port = { number = 80 } } } }
end

local function object_of(name, host, more)
    local namespace, own = name:match("^(.-)/(.+)$")
    return { metadata = { namespace = namespace, name = own, uid = name, generation = 1,
        creationTimestamp = "2026-01-01T00:00:00Z", annotations = more and more.annotations },
        spec = { ingressClassName = "nginx", tls = more and more.tls,
            rules = { { host = host, http = { paths = { path "/" } } } } } }
end

describe("the Ingresses of the owner", function()
    local all, compiler

    before_each(function()
        all, compiler = ingresses.new { nginx = true }, new_compiler()
        for i = 1, 20 do
            local key = "web/i" .. i
            all:set("Ingress", key, object_of(key, "h" .. i .. ".com"))
        end
        all:set("Ingress", "db/x", object_of("db/x", "x.com"))
        all:run(compiler)
        compiler.calls = 0
    end)

    it("are left as they are if only a status changed", function()
        local same = object_of("web/i3", "h3.com")
        same.status = { loadBalancer = {} }
        all:set("Ingress", "web/i3", same)
        all:run(compiler)
        assert.equal(0, compiler.calls)
    end)

    it("are compiled anew where one shares a host with what changed, before or after", function()
        local read = {}
        local parse = ingress.compile
        ingress.compile = function(objects, ...)
            for _, object in ipairs(objects.ingresses) do
                read[object.metadata.name] = true
            end
            return parse(objects, ...)
        end
        all:set("Ingress", "web/i3", object_of("web/i3", "h4.com"))
        local ok, problem = pcall(all.run, all, compiler)
        ingress.compile = parse
        assert(ok, problem)
        assert.same({ i3 = true, i4 = true }, read)
        assert.equal("h4.com", compiler.given["web/i3"] and compiler.given["web/i3"][1].host
            or "h4.com")
    end)

    it("follow their Services, and no other namespace does", function()
        all:set("Service", "web/shop", { metadata = { namespace = "web", name = "shop", uid = "s" },
            spec = { ports = { { port = 81 } } } })
        all:run(compiler)
        local problems = {}
        for _, problem in ipairs(all:problems()) do
            problems[problem.namespace] = (problems[problem.namespace] or 0) + 1
        end
        assert.truthy(problems.web >= 20, problems.web)
    end)

    it("go when they are deleted", function()
        all:set("Ingress", "db/x", nil)
        all:run(compiler)
        assert.is_nil(compiler.given["db/x"])
        assert.equal(1, compiler.calls)
    end)

    it("of which one makes no sense: the others are served", function()
        local broken = object_of("web/broken", "h1.com")
        broken.spec.rules[1].http.paths[1].backend.service.port = { number = {} , name = 1 }
        all:set("Ingress", "web/broken", broken)
        all:set("Ingress", "web/odd", { metadata = { namespace = "web", name = "odd", uid = "odd",
            annotations = { [PREFIX .. "rewrite-target"] = { 1 } } },
            spec = { ingressClassName = "nginx", rules = { { host = "odd.com",
            http = { paths = 7 } } }, tls = "x", defaultBackend = { service = 1 } } })
        all:set("Ingress", "web/new", object_of("web/new", "new.com"))
        all:run(compiler)
        assert.equal("new.com", compiler.given["web/new"][1].host)
    end)
end)

-- The same numbers in each interpreter.
local function numbers(seed)
    return function(most)
        seed = (seed * 16807) % 2147483647
        return seed % most + 1
    end
end

local HOSTS = { "a.com", "www.a.com", "b.a.com", "*.a.com", "c.com", "www.c.com" }

local function random_object(key, random)
    local annotations, rules = {}, {}
    local function maybe(name, value)
        if random(4) == 1 then
            annotations[PREFIX .. name] = value
        end
    end
    maybe("server-alias", HOSTS[random(#HOSTS)] .. "," .. HOSTS[random(#HOSTS)])
    maybe("from-to-www-redirect", "true")
    maybe("canary", "true")
    maybe("canary-weight", "30")
    maybe("use-regex", "true")
    for i = 1, random(3) - 1 do
        local paths = {}
        for n = 1, random(2) do
            paths[n] = path("/" .. random(3), "s" .. random(2))
        end
        rules[i] = { host = HOSTS[random(#HOSTS)], http = { paths = paths } }
    end
    local object = object_of(key, "")
    object.metadata.annotations, object.spec.rules = annotations, rules
    object.metadata.creationTimestamp = ("2026-01-0%dT00:00:00Z"):format(random(5))
    object.spec.tls = random(3) == 1 and { { secretName = "s" .. random(2),
        hosts = random(3) > 1 and { HOSTS[random(#HOSTS)] } or nil } } or nil
    object.spec.defaultBackend = random(4) == 1 and path("/").backend or nil
    return object
end

local function texts_of(problems)
    local texts = {}
    for _, problem in ipairs(problems) do
        texts[problem.object .. " " .. problem.message] = true
    end
    return texts
end

describe("Ingresses that share hosts", function()
    it("are compiled in groups to what all of them are together", function()
        for seed = 1, 40 do
            local random, objects, services = numbers(seed), {}, {}
            local all, compiler = ingresses.new { nginx = true }, new_compiler()
            for _ = 1, 40 do
                local key = (random(2) == 1 and "web" or "db") .. "/i" .. random(7)
                objects[key] = random(4) > 1 and random_object(key, random) or nil
                all:set("Ingress", key, objects[key])
                if random(5) == 1 then
                    local name = "web/s" .. random(2)
                    services[name] = random(2) == 1 and { metadata = { namespace = "web",
                        name = name:sub(5), uid = name }, spec = { ports = { { port = 80 } } } }
                        or nil
                    all:set("Service", name, services[name])
                end
                if random(2) == 1 then
                    all:run(compiler)
                    local list = {}
                    for _, object in pairs(objects) do
                        list[#list + 1] = object
                    end
                    local fresh = ingress.compile({ ingresses = list, classes = {},
                        services_by_name = services }, { nginx = true })
                    assert.same(fresh.contributions, compiler.given, "seed " .. seed)
                    assert.same(fresh.taken, all.taken)
                    local standing = {}
                    for name, messages in pairs(all.standing) do
                        for message in pairs(messages) do
                            standing["Ingress " .. name .. " "
                                .. message:gsub("^" .. PREFIX:gsub("%p", "%%%0") .. "%S+: ", "")]
                                = true
                        end
                    end
                    assert.same(texts_of(fresh.problems), standing)
                end
            end
        end
    end)
end)
