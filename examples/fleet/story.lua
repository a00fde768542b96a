-- What examples/fleet/banner.lua does in three simulated clusters: a home cluster, and two that its
-- Secrets name. One is new, its banner is torn down, and then it goes.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local home = assert(Sim.new())
local folder = arg[0]:match("^(.*)/") or "."

-- A cluster with TLS, and the Secret of Argo CD that names it.
local function register(name)
    local cluster = assert(Sim.new { token = "token-of-" .. name })
    local server = assert(cluster:listen { tls = true })
    local ca = assert(cluster:kubeconfig()):match("certificate%-authority%-data: *\"?([%w+/=]+)")
    assert(home:apply { apiVersion = "v1", kind = "Secret",
        metadata = { name = name, namespace = "argocd",
            labels = { ["argocd.argoproj.io/secret-type"] = "cluster" } },
        stringData = { name = name, server = server, config = kubelua.json {
            bearerToken = "token-of-" .. name, tlsClientConfig = { caData = ca } } } })
    return cluster
end

local function write_banner(text)
    assert(home:apply { apiVersion = "v1", kind = "ConfigMap", data = { text = text },
        metadata = { name = "banner", namespace = "argocd" } })
end

local function expect(cluster, text)
    local copy = assert(cluster:wait("configmaps", "default/banner", { data = { text = text } }))
    print(copy.key .. " says: " .. copy.data.text)
end

assert(home:apply { apiVersion = "v1", kind = "Namespace", metadata = { name = "argocd" } })
write_banner("hello")
local eu = register("eu")
home:run(folder .. "/banner.lua")
expect(eu, "hello, eu")
local us = register("us")
expect(us, "hello, us")
write_banner("good morning")
expect(eu, "good morning, eu")
expect(us, "good morning, us")
assert(eu:delete("configmaps", "default/banner"))
expect(eu, "good morning, eu")
assert(home:delete("secrets", "argocd/us"))
assert(home:settle())
print("the story of the fleet is over")
kubelua.stop()
