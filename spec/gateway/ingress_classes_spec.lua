-- Which Ingresses are the gateway's: by class, annotation, default, and what was ingress-nginx's.
local ingress = require "resty.kubelua.gateway.ingress"

describe("the class of an Ingress", function()
    local function taken(class, objects, options, annotation)
        local object = { metadata = { namespace = "web", name = "a",
            annotations = { ["kubernetes.io/ingress.class"] = annotation } },
            spec = { ingressClassName = class, rules = {} } }
        local result = ingress.compile({ ingresses = { object }, classes = objects }, options)
        return result.taken["web/a"] or false, result.left["web/a"]
    end
    local function class(name, controller, default)
        return { metadata = { name = name, annotations = default and {
            ["ingressclass.kubernetes.io/is-default-class"] = "true" } },
            spec = { controller = controller } }
    end
    local ours = class("lua", "kubelua.dev/gateway")

    it("is this gateway's by the controller of its IngressClass", function()
        assert.is_true(taken("lua", { ours }))
        assert.is_false(taken("lua", { class("lua", "x/y") }))
        assert.is_true(taken("lua", { class("lua", "x/y") }, { controller = "x/y" }))
        assert.same({ false, "is of the class q, which is unknown" }, { taken("q", { ours }) })
    end)

    it("may be named by the old annotation, which wins", function()
        assert.is_true(taken("other", { ours }, nil, "lua"))
        assert.is_false(taken("lua", { ours }, nil, "other"))
    end)

    it("is the default class where there is none", function()
        assert.is_false(taken(nil, { ours }))
        assert.is_true(taken(nil, { class("lua", "kubelua.dev/gateway", true) }))
        assert.is_true(taken(nil, { ours }, { without_class = true }))
    end)

    it("is ingress-nginx's if that is asked for, also after its IngressClass is gone", function()
        local nginx = class("web", "k8s.io/ingress-nginx")
        assert.is_false(taken("web", { nginx }))
        assert.is_true(taken("web", { nginx }, { nginx = true }))
        assert.is_true(taken("nginx", {}, { nginx = true }))
        assert.is_false(taken("nginx", {}))
        assert.is_false(taken("nginx", { class("nginx", "nginx.org/ingress-controller") },
            { nginx = true }))
    end)
end)
