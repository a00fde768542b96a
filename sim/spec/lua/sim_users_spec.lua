-- The users of a simulated cluster: how they authenticate, and what they may do.
local clients = require "kubelua.client"
local Sim = require "kubelua.sim"

local ROLES = [[
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: viewers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}]
]]

local function write(text)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    return path
end

local PODS, SECRETS = "/api/v1/namespaces/default/pods", "/api/v1/secrets"

local function ask(client, method, target)
    local reply, message, _, refusal = client:request { method = method, path = target }
    reply = assert(reply or refusal, message)
    return reply.status, reply.body
end

describe("a user of a simulated cluster", function()
    local cluster

    before_each(function()
        cluster = assert(Sim.new {
            rbac = true, users = { { name = "jane", token = "secret", groups = { "dev", "ops" } } },
        })
        assert(cluster:load(ROLES))
    end)

    after_each(function()
        cluster:close()
    end)

    it("may do what a role allows, and gets 403 for the rest", function()
        local client = assert(cluster:connect { user = "jane" })
        assert.equal(200, (ask(client, "GET", PODS)))
        local status, body = ask(client, "DELETE", PODS .. "/x")
        assert.equal(403, status)
        assert.matches('User \\"jane\\" cannot delete resource \\"pods\\"', body, 1, true)
        client:close()
    end)

    it("that does not exist is named", function()
        assert.has_error(function()
            cluster:connect { user = "joe" }
        end, 'sim: there is no user "joe"; name it in users = { { name = "joe", token = ... } }')
    end)

    it("can connect with the certificate in a kubeconfig made for it", function()
        assert(cluster:listen { tls = true })
        local path = write(assert(cluster:kubeconfig { name = "joe", groups = { "dev" } }))
        local client = assert(clients.connect { kubeconfig = path })
        assert.equal(200, (ask(client, "GET", PODS)))
        local status, body = ask(client, "GET", SECRETS)
        assert.equal(403, status)
        assert.matches('User \\"joe\\" cannot list resource \\"secrets\\"', body, 1, true)
        client:close()
        os.remove(path)
    end)

    it("cannot connect with a certificate that another authority has signed", function()
        local other = assert(Sim.new())
        assert(cluster:listen { tls = true })
        assert(other:listen { tls = true })
        local user = { name = "joe", groups = { "dev" } }
        local theirs = assert(other:kubeconfig(user))
        local forged = assert(cluster:kubeconfig(user))
        for _, member in ipairs { "client%-certificate%-data", "client%-key%-data" } do
            local pattern = member .. ": ([%w+/=]+)"
            forged = forged:gsub(pattern, (member:gsub("%%", "")) .. ": " .. theirs:match(pattern))
        end
        local path = write(forged)
        local client = assert(clients.connect { kubeconfig = path })
        local status, body = ask(client, "GET", PODS)
        assert.equal(403, status)
        assert.matches('User \\"system:anonymous\\" cannot list', body, 1, true)
        client:close()
        os.remove(path)
        other:close()
    end)

    it("without a token gets no kubeconfig for a port without TLS", function()
        assert(cluster:listen())
        local text, message = cluster:kubeconfig { name = "joe" }
        assert.is_nil(text)
        assert.matches("client certificates need TLS", message, 1, true)
    end)
end)

describe("a token", function()
    local function refusal(options)
        local none, message, code = Sim.new(options)
        assert.is_nil(none)
        assert.equal("invalid_argument", code)
        return message
    end

    it("has only characters that a header can have", function()
        assert.matches("one word of ASCII", refusal { token = "" }, 1, true)
        assert.matches("one word of ASCII", refusal { token = "a\nb" }, 1, true)
        assert.matches("token of user \"jane\"", refusal { users = {
            { name = "jane", token = "a b" } } }, 1, true)
    end)

    it("belongs to one user", function()
        assert.matches("user \"joe\" has the same token as another user", refusal { users = {
            { name = "jane", token = "a" }, { name = "joe", token = "a" } } }, 1, true)
        refusal { token = "a", users = { { name = "jane", token = "a" } } }
    end)
end)

describe("the administrator of a cluster with rules", function()
    it("has a token in the kubeconfig and needs none in-process", function()
        local cluster = assert(Sim.new { rbac = true })
        local client = assert(cluster:connect())
        assert.equal(200, (ask(client, "GET", SECRETS)))
        client:close()
        assert(cluster:listen { tls = true })
        local path = write(assert(cluster:kubeconfig()))
        client = assert(clients.connect { kubeconfig = path })
        assert.equal(200, (ask(client, "GET", SECRETS)))
        client:close()
        os.remove(path)
        cluster:close()
    end)
end)
