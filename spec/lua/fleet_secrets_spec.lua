-- kubelua.fleet with Secrets of Argo CD, of Cluster API and with a key, and with ClusterProfiles.
local eventually = require "eventually"
local kubelua = require "kubelua"
local world = require "fleet_world"

local w, home, client

before_each(function()
    w = world.new()
    home = w:sim()
    client = assert(home:connect())
    assert(home:apply { apiVersion = "v1", kind = "Namespace", metadata = { name = "argocd" } })
end)

after_each(function()
    w:close()
    client:close()
end)

-- A simulated cluster with TLS: its URL, its CA in base64, and its kubeconfig.
local function serve(token)
    local sim = w:sim { token = token or "secret" }
    local url = assert(sim:listen { tls = true })
    local kubeconfig = assert(sim:kubeconfig())
    return sim, url, kubeconfig:match("certificate%-authority%-data: *\"?([%w+/=]+)"), kubeconfig
end

local function secret(name, labels, texts, kind)
    local data = {}
    for key, text in pairs(texts) do
        data[key] = kubelua.base64(text)
    end
    return assert(home:apply { apiVersion = "v1", kind = "Secret", type = kind, data = data,
        metadata = { name = name, namespace = "argocd", labels = labels } })
end

local ARGO = { ["argocd.argoproj.io/secret-type"] = "cluster", env = "test" }

local function argo(name, url, config, cluster)
    return secret(name, ARGO, { name = cluster or name, server = url,
        config = type(config) == "table" and kubelua.json(config) or config })
end

local function start(source, f)
    source.namespace = source.namespace or "argocd"
    return w:fleet(f or w:noting(), { source = source, client = client })
end

describe("a fleet of Argo CD's Secrets", function()
    it("has a cluster for each, with its labels and namespaces", function()
        local eu, url, ca = serve()
        world.apply(eu, "x")
        secret("one", ARGO, { name = "eu", server = url, namespaces = "web, db", config =
            kubelua.json { bearerToken = "secret", tlsClientConfig = { caData = ca } } })
        secret("other", { a = "b" }, { name = "us", server = url, config = "{}" })
        local seen
        local fleet = start({ secrets = "argocd" }, function(cluster)
            seen = cluster
            w:noting()(cluster)
        end)
        w:noted("eu web/x")
        assert.equal("test", seen.labels.env)
        assert.same({ "web", "db" }, seen.namespaces)
        assert.equal("Secret argocd/one", seen.origin)
        assert.equal(1, #fleet:status().clusters)
        assert(client:delete("secrets", "argocd/one"))
        w:until_in(fleet, "eu", nil)
    end)

    it("gives new credentials to the client that is there", function()
        local _, url, ca = serve()
        local function write(token)
            argo("eu", url, { bearerToken = token, tlsClientConfig = { caData = ca } })
        end
        write("secret")
        local fleet = start { secrets = "argocd" }
        w:until_in(fleet, "eu", "running")
        local before = fleet:cluster("eu").client
        write("other")
        w:logged("eu: fleet shop: it has new credentials (Secret argocd/eu)")
        local _, _, code = before:get("namespaces", "default")
        assert.equal("unauthorized", code)
        write("secret")
        eventually(function() return before:get("namespaces", "default") end, "it has the old ones")
    end)

    it("refuses what a Secret must not decide, and runs the others", function()
        local eu, url, ca = serve()
        world.apply(eu, "x")
        local tls = { caData = ca }
        argo("eu", url, { bearerToken = "secret", tlsClientConfig = tls })
        argo("exec", url, { execProviderConfig = { command = "touch", args = { "/tmp/ran" },
            apiVersion = "client.authentication.k8s.io/v1" }, tlsClientConfig = tls })
        argo("insecure", url, { bearerToken = "secret", tlsClientConfig = { insecure = true } })
        argo("aws", url, { awsAuthConfig = { clusterName = "a" }, tlsClientConfig = tls })
        argo("own", "https://kubernetes.default.svc", { tlsClientConfig = { insecure = false } })
        argo("broken", url, "{ no JSON")
        argo("list", url, "[]")
        secret("empty", ARGO, { name = "empty", server = url })
        local fleet = start { secrets = "argocd" }
        w:noted("eu web/x")
        for name, why in pairs { exec = "allow it for all Secrets of this source with exec = true",
            insecure = "allow it with insecure = true", aws = "awsAuthConfig is not supported",
            own = "it has no credentials: bearerToken, username, or tlsClientConfig.certData",
            broken = "key config: ", list = "it has no credentials",
            empty = "it has no key config" } do
            assert.matches(why, w:until_in(fleet, name, "refused").problem, 1, true)
        end
    end)

    it("goes on with a cluster whose Secret is broken, also without its name", function()
        local eu, url, ca = serve()
        argo("eu", url, { bearerToken = "secret", tlsClientConfig = { caData = ca } })
        local fleet = start { secrets = "argocd" }
        w:until_in(fleet, "eu", "running")
        assert(client:patch("secrets", "argocd/eu", { data = { name = kubelua.null,
            server = kubelua.null, config = kubelua.base64("{") } }))
        w:logged("it goes on as it was")
        world.apply(eu, "x")
        w:noted("eu web/x")
        assert.equal("running", w.of(fleet, "eu").state)
        assert.matches("key config: ", w.of(fleet, "eu").problem, 1, true)
    end)

    it("has one cluster of two Secrets with one name: the first", function()
        local eu, url, ca = serve()
        world.apply(eu, "x")
        argo("a", url, { bearerToken = "secret", tlsClientConfig = { caData = ca } }, "eu")
        argo("b", "https://127.0.0.1:1", { bearerToken = "b", tlsClientConfig = { caData = ca } },
            "eu")
        local fleet = start { secrets = "argocd" }
        w:noted("eu web/x")
        w:logged("Secret argocd/b: the name 'eu' is that of Secret argocd/a; give one of them "
            .. "another")
        local clusters = fleet:status().clusters
        assert.equal("running", clusters[1].state)
        assert.equal("refused", clusters[2].state)
        assert.equal("conflict", clusters[2].code)
        assert(client:delete("secrets", "argocd/a"))
        eventually(function() return w.of(fleet, "eu").origin == "Secret argocd/b" end,
            "the other one has the name")
    end)

    it("takes the labels of the source, too", function()
        local _, url, ca = serve()
        argo("eu", url, { bearerToken = "secret", tlsClientConfig = { caData = ca } })
        local fleet = start { secrets = "argocd", labels = "env=prod" }
        local same = start { secrets = "argocd", labels = "env=test" }
        w:until_in(same, "eu", "running")
        assert.same({}, fleet:status().clusters)
    end)
end)

describe("a fleet of other Secrets", function()
    it("has the clusters of Cluster API", function()
        local eu, _, _, kubeconfig = serve()
        world.apply(eu, "x")
        local labels, kind = { ["cluster.x-k8s.io/cluster-name"] = "eu" }, "cluster.x-k8s.io/secret"
        secret("eu-kubeconfig", labels, { value = kubeconfig }, kind)
        secret("eu-ca", labels, { ["tls.crt"] = "a" }, kind)
        secret("other-kubeconfig", labels, { value = kubeconfig }, kind)
        local fleet = start { secrets = "cluster-api", namespace = "*" }
        w:noted("argocd/eu web/x")
        assert.equal(1, #fleet:status().clusters)
    end)

    it("has clusters of a key, and says which Secret has no such key", function()
        local eu, _, _, kubeconfig = serve()
        world.apply(eu, "x")
        secret("eu", { fleet = "shop" }, { config = kubeconfig })
        secret("us", { fleet = "shop" }, { kubeconfig = kubeconfig })
        local fleet = start { secrets = "config", labels = "fleet=shop" }
        w:noted("argocd/eu web/x")
        assert.equal("it has no key config", w:until_in(fleet, "argocd/us", "refused").problem)
    end)

    it("tells that it may not read them", function()
        local reader = w:sim { users = { { name = "shop", token = "t" } }, rbac = true,
            token = "a" }
        local mine = assert(reader:connect { user = "shop" })
        local fleet = w:fleet(w:noting(), { source = { secrets = "argocd", namespace = "argocd" },
            client = mine })
        eventually(function() return fleet:status().source.code == "forbidden" end, function()
            return kubelua.json(fleet:status())
        end, 20)
        w.stop(fleet)
        mine:close()
    end)
end)

describe("a fleet of ClusterProfiles", function()
    local EXEC = "client.authentication.k8s.io/exec"

    local function define()
        local schema = { openAPIV3Schema = { type = "object",
            ["x-kubernetes-preserve-unknown-fields"] = true } }
        assert(home:apply { kind = "CustomResourceDefinition",
            apiVersion = "apiextensions.k8s.io/v1",
            metadata = { name = "clusterprofiles.multicluster.x-k8s.io" },
            spec = { group = "multicluster.x-k8s.io", scope = "Namespaced",
                names = { plural = "clusterprofiles", singular = "clusterprofile",
                    kind = "ClusterProfile", listKind = "ClusterProfileList" },
                versions = { { name = "v1alpha1", served = true, storage = true,
                    schema = schema } } } })
    end

    local function profile(name, field, providers)
        return assert(home:apply { apiVersion = "multicluster.x-k8s.io/v1alpha1",
            kind = "ClusterProfile", metadata = { name = name, namespace = "argocd" },
            spec = { clusterManager = { name = "m" } }, status = { [field] = providers } })
    end

    -- A plugin that gives the token, if it gets the extension of the provider.
    local function plugin()
        local path = os.tmpname()
        local file = assert(io.open(path, "w"))
        file:write([[
case $KUBERNETES_EXEC_INFO in *'"cluster":"eu-id"'*) token=secret ;; *) token=none ;; esac
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",'
echo '"status":{"token":"'$token'"}}'
]])
        file:close()
        return path
    end

    it("runs the script's program for the provider of a profile #processes", function()
        define()
        local eu, url, ca = serve()
        world.apply(eu, "x")
        local path = plugin()
        local cluster = { server = url, ["certificate-authority-data"] = ca,
            extensions = { { name = EXEC, extension = { cluster = "eu-id" } } } }
        profile("eu", "accessProviders", { { name = "other", cluster = cluster },
            { name = "reader", cluster = cluster } })
        profile("us", "credentialProviders", { { name = "other", cluster = cluster } })
        profile("none", "accessProviders", kubelua.array {})
        local fleet = start { profiles = { reader = { command = "/bin/sh", args = { path } } } }
        w:noted("argocd/eu web/x")
        assert.equal("none of its providers is known here: it offers other, and `profiles` has "
            .. "reader", w:until_in(fleet, "argocd/us", "refused").problem)
        assert.equal("its status names no accessProviders yet",
            w:until_in(fleet, "argocd/none", "refused").problem)
        os.remove(path)
    end)

    it("never lets a profile read a file or leave out verification", function()
        define()
        profile("a", "accessProviders", { { name = "reader", cluster = { server = "https://s",
            ["insecure-skip-tls-verify"] = true } } })
        profile("b", "accessProviders", { { name = "reader", cluster = { server = "https://s",
            ["certificate-authority"] = "/etc/shadow" } } })
        local fleet = start { profiles = { reader = { command = "/bin/false" } } }
        assert.matches("insecure = true", w:until_in(fleet, "argocd/a", "refused").problem, 1, true)
        assert.matches("reads a file", w:until_in(fleet, "argocd/b", "refused").problem, 1, true)
    end)
end)

describe("the options of a fleet of objects", function()
    it("are checked", function()
        local function refused(source, why)
            local ok, problem = pcall(kubelua.fleet, { function() end, source = source,
                client = client })
            assert.is_false(ok)
            assert.matches(why, problem, 1, true)
        end
        refused({ secrets = "kubeconfig" }, "a key of Secrets that labels = ... chooses")
        refused({ secrets = "argocd", lables = "a=b" }, "do you mean 'labels'?")
        refused({ secrets = "argocd", folder = "/x" }, "not both")
        refused({ profiles = {} }, "which program gets the credentials?")
        refused({ profiles = { a = {} } }, "profiles.a: a table such as { command =")
        refused({ profiles = { a = { command = "x", arg = {} } } }, "do you mean 'args'?")
    end)
end)
