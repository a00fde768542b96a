-- The warning of kubelua run --admit: a webhook is asked about what its own replicas need.
local configuration = require "kubelua.admission.configuration"
local deadlock = require "kubelua.admission.deadlock"
local hooks = require "kubelua.admission.hook"

local function find(given)
    given.validate, given.name = print, "x"
    local hook = hooks.new(given)
    return deadlock.find(configuration.make(hook, { url = "https://a:1" })[1], "own")
end

local function select(operator, ...)
    return { matchExpressions = { { key = "kubernetes.io/metadata.name", operator = operator,
        values = { ... } } } }
end

describe("a webhook that its own replicas need", function()
    it("is found by resource, operation and failure policy", function()
        assert.equal("pods", find { "services", "pods" })
        assert.equal("deployments", find { "apps/v1/Deployment" })
        assert.equal("secrets/*", find { "secrets/*" })
        assert.equal("*", find { "*" })
        assert.equal("*/*", find { "*/*", operations = { "UPDATE" } })
        assert.is_nil(find { "ingresses" })
        assert.is_nil(find { "pods", operations = { "DELETE" } })
        assert.is_nil(find { "pods/exec", operations = { "CONNECT" } })
        assert.is_nil(find { "pods", failure_policy = "Ignore" })
    end)

    it("is not one if it leaves that namespace out", function()
        assert.is_nil(find { "pods", namespaces = { "web" } })
        assert.equal("pods", find { "pods", namespaces = { "web", "own" } })
        assert.is_nil(find { "pods", namespace_selector = select("NotIn", "own", "kube-system") })
        assert.equal("pods", find { "pods", namespace_selector = select("NotIn", "kube-system") })
        assert.equal("pods", find { "pods", namespace_selector = select("Exists") })
        -- Of other labels only the administrator knows.
        assert.is_nil(find { "pods", namespace_selector = { matchLabels = { team = "a" } } })
        assert.is_nil(find { "pods", object_selector = { matchLabels = { team = "a" } } })
    end)
end)
