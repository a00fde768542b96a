-- Kubeconfigs that others have written: what a fleet takes from them, and what it refuses.
local kubelua = require "kubelua"
local untrusted = require "kubelua.fleet.untrusted"

local SECRET = "c2VjcmV0LW1hdGVyaWFs"

-- A kubeconfig with a cluster "c" and a user "u", each YAML on one line.
local function config(cluster, user)
    return ("apiVersion: v1\nkind: Config\ncurrent-context: x\n"
        .. "contexts: [{name: x, context: {cluster: c, user: u, namespace: web}}]\n"
        .. "clusters: [{name: c, cluster: %s}]\nusers: [{name: u, user: %s}]\n"):format(
        cluster or '{server: "https://s"}', user or "{token: " .. SECRET .. "}")
end

local function take(text, allowed)
    local taken = assert(untrusted.kubeconfig(text, "eu", allowed or {}))
    return kubelua.decode(taken)
end

local function refused(text, why, allowed)
    local taken, message = untrusted.kubeconfig(text, "eu", allowed or {})
    assert.is_nil(taken)
    assert.equal(why, message)
    assert.is_nil(message:find(SECRET, 1, true))
end

describe("an untrusted kubeconfig", function()
    it("gives its server, what verifies it, and its credentials", function()
        local taken = take(config('{server: "https://s", tls-server-name: "n", proxy-url: '
            .. '"http://p", certificate-authority-data: QQ==}', "{token: t, username: a, password: "
            .. "b, client-certificate-data: QQ==, client-key-data: Qg==, as: jane, as-groups: "
            .. "[dev]}"))
        assert.same({ server = "https://s", ["tls-server-name"] = "n", ["proxy-url"] = "http://p",
            ["certificate-authority-data"] = "QQ==" }, taken.clusters[1].cluster)
        assert.same({ token = "t", username = "a", password = "b",
            ["client-certificate-data"] = "QQ==", ["client-key-data"] = "Qg==", as = "jane",
            ["as-groups"] = { "dev" } }, taken.users[1].user)
        assert.same({ cluster = "eu", user = "eu", namespace = "web" }, taken.contexts[1].context)
    end)

    it("gives nothing else, whatever it has", function()
        local taken = take(config('{server: "https://s", extensions: [{name: a}], unknown: 1}',
            "{token: t, unknown: {exec: {command: sh}}}"))
        assert.same({ server = "https://s" }, taken.clusters[1].cluster)
        assert.same({ token = "t" }, taken.users[1].user)
    end)

    it("is the same text for the same value", function()
        local one = untrusted.kubeconfig(config(nil, "{username: a, password: b}"), "eu", {})
        local other = untrusted.kubeconfig(config(nil, "{password: b, username: a}"), "eu", {})
        assert.equal(one, other)
    end)

    it("runs no program, unless that is allowed", function()
        local text = config(nil, "{exec: {apiVersion: v1, command: sh, args: [-c, id]}}")
        refused(text, 'user "u" runs a program (exec), which a Secret must not decide; allow it '
            .. "for all Secrets of this source with exec = true")
        assert.same({ apiVersion = "v1", command = "sh", args = { "-c", "id" } },
            take(text, { exec = true }).users[1].user.exec)
    end)

    it("reads no file", function()
        for name, instead in pairs { tokenFile = "token",
            ["client-certificate"] = "client-certificate-data",
            ["client-key"] = "client-key-data" } do
            refused(config(nil, "{" .. name .. ": /etc/shadow, token: " .. SECRET .. "}"),
                ('user "u": %s reads a file of this machine, which a Secret must not name; put its '
                .. "content into %s"):format(name, instead), { exec = true, insecure = true })
        end
        refused(config('{server: "https://s", certificate-authority: /etc/ca}'),
            'cluster "c": certificate-authority reads a file of this machine, which a Secret must '
            .. "not name; put its content into certificate-authority-data", { insecure = true })
    end)

    it("is verified and encrypted, unless that is allowed", function()
        local unverified = config('{server: "https://s", insecure-skip-tls-verify: true}')
        refused(unverified, 'cluster "c" is not verified (insecure-skip-tls-verify); give '
            .. "certificate-authority-data, or allow it with insecure = true")
        assert.is_true(take(unverified, { insecure = true })
            .clusters[1].cluster["insecure-skip-tls-verify"])
        refused(config('{server: "HTTP://s"}'), 'cluster "c": its server is not encrypted; use '
            .. "https, or allow it with insecure = true")
        assert.equal("http://s", take(config('{server: "http://s"}'), { insecure = true })
            .clusters[1].cluster.server)
    end)

    it("has a server, of a known scheme", function()
        refused(config("{}"), 'cluster "c" has no server')
        refused(config('{server: "s:6443"}'), 'cluster "c": its server must begin with https://')
        refused(config('{server: "file:///etc/shadow"}'),
            'cluster "c": its server must begin with https://', { insecure = true })
        refused(config("{server: 1}"), 'cluster "c": server must be text')
    end)

    it("has no plugin that is built in", function()
        refused(config(nil, "{auth-provider: {name: gcp}}"),
            'user "u": auth-provider is not supported; use a token')
    end)

    it("is refused if it is broken, in words that have nothing of it", function()
        for text, why in pairs {
            [""] = "it is no kubeconfig",
            [SECRET] = "it is no kubeconfig",
            ["a: b"] = "it names no current-context",
            ["current-context: x"] = 'context "x" is not in it',
            ["current-context: x\ncontexts: 1"] = "contexts must be a map or a list",
            ["current-context: x\ncontexts: [{name: x, context: {cluster: c}}]"] =
                'cluster "c" of context "x" is not in it',
            ["current-context: x\ncontexts: [{name: x, context: 1}]"] =
                'context "x" must be a map or a list',
        } do
            refused(text, why)
        end
        local taken, message = untrusted.kubeconfig("a: [" .. SECRET, "eu", {})
        assert.is_nil(taken)
        assert.is_nil(message:find(SECRET, 1, true))
        refused(config(nil, "{token: [" .. SECRET .. "]}"), 'user "u": token must be text')
    end)

    it("is cut where a name is long", function()
        local text = config():gsub("current%-context: x", "current-context: " .. ("y"):rep(5000))
        refused(text, 'context "' .. ("y"):rep(80) .. '..." is not in it')
    end)

    it("is anonymous without a user", function()
        local text = config():gsub("user: u,", "")
        assert.is_nil(next(take(text).users[1].user))
    end)
end)
