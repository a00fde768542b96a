-- kubelua.connect with a kubeconfig, a certificate and a key as texts: none of them is in a file.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local PEM = "-----BEGIN %s-----\nMAA=\n-----END %s-----\n"
local CERT, KEY = PEM:format("CERTIFICATE", "CERTIFICATE"), PEM:format("PRIVATE KEY", "PRIVATE KEY")

local function expect_refused(options, why)
    local client, message, code = kubelua.connect(options)
    assert.is_nil(client)
    assert.equal("config", code)
    assert.matches(why, message, 1, true)
    assert.is_nil(message:find("MAA=", 1, true))
end

describe("connect", function()
    local cluster, url, kubeconfig

    setup(function()
        cluster = assert(Sim.new { token = "secret" })
        url = assert(cluster:listen { tls = true })
        kubeconfig = assert(cluster:kubeconfig())
    end)

    teardown(function() cluster:close() end)

    it("takes a kubeconfig as text", function()
        local client = assert(kubelua.connect { kubeconfig_text = kubeconfig })
        assert.equal("default", assert(client:get("namespaces", "default")).name)
        assert.equal("default", client:namespace())
        client:close()
    end)

    it("takes the text out of a Secret", function()
        local client = assert(kubelua.connect { kubeconfig_text = kubeconfig })
        assert(client:create { apiVersion = "v1", kind = "Secret", metadata = { name = "member" },
            data = { kubeconfig = kubelua.base64(kubeconfig) } })
        local secret = assert(client:get("secrets", "member"))
        local member = assert(kubelua.connect {
            kubeconfig_text = kubelua.unbase64(secret.data.kubeconfig), namespace = "web" })
        assert.equal("member", assert(member:get("secrets", "default/member")).name)
        assert.equal("web", member:namespace())
        member:close()
        client:close()
    end)

    it("tells what is wrong with it by the option's name and line", function()
        expect_refused({ kubeconfig_text = "clusters:\n- name: [\n" }, "kubeconfig_text: ")
        expect_refused({ kubeconfig_text = "" }, "kubeconfig_text names no current-context")
        expect_refused({ kubeconfig_text = kubeconfig, context = "x" },
            "context \"x\" is not in kubeconfig_text")
        expect_refused({ kubeconfig_text = kubeconfig, kubeconfig = "/etc/c" },
            "both kubeconfig_text and kubeconfig are given")
    end)

    it("tells what is wrong with a certificate or key by the option's name", function()
        expect_refused({ server = url, cert_data = CERT }, "a client certificate without its key")
        expect_refused({ server = url, cert_data = CERT, key_data = CERT }, "key_data holds no PEM")
        expect_refused({ server = url, cert_data = kubelua.base64(CERT), key_data = KEY },
            "cert_data is base64 of a PEM text")
        expect_refused({ server = url, cert_data = CERT, cert_file = "crt", key_data = KEY },
            "both cert_data and cert_file are given")
        assert.is_false((pcall(kubelua.connect, { server = url, key_data = 1 })))
        assert.is_false((pcall(kubelua.connect, { server = url, key_data = "a\0b" })))
    end)

    it("tells at the first request that a certificate cannot be read", function()
        local ca = kubeconfig:match("certificate%-authority%-data: *\"?([%w+/=]+)")
        local client = assert(kubelua.connect { server = url, ca_data = kubelua.unbase64(ca),
            cert_data = CERT, key_data = KEY })
        local value, message, code = client:get("namespaces", "default", { timeout = 5 })
        assert.is_nil(value)
        assert.equal("tls", code)
        assert.matches("client certificate for %S+ is not usable: .* cert_data and key_data",
            message)
        client:close()
    end)

    it("shares a client only if the texts are the same", function()
        local one = assert(kubelua.connect { share = "fleet", kubeconfig_text = kubeconfig })
        local two = assert(kubelua.connect { share = "fleet", kubeconfig_text = kubeconfig })
        local _, message = kubelua.connect { share = "fleet", kubeconfig_text = kubeconfig .. "\n" }
        assert.matches("opened with another 'kubeconfig_text'", message, 1, true)
        one:close()
        two:close()
    end)
end)
