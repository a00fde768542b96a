-- Passwords of htpasswd files. The hashes come from openssl passwd and from libcrypt.
local htpasswd = require "resty.kubelua.gateway.htpasswd"

describe("a file of users", function()
    it("has a line for each; of two the first counts", function()
        assert.same({ ann = "$apr1$a$b", bob = "{SHA}x=" }, htpasswd.read("# people\n\n"
            .. "ann:$apr1$a$b:Ann\r\nbob:{SHA}x=\nann:other\n:nobody\nno colon\n"))
        assert.same({}, htpasswd.read(""))
    end)
end)

describe("a hash", function()
    it("is supported if its kind is known, and if it does not cost too much", function()
        for hash, expected in pairs { ["$apr1$x$y"] = true, ["{SHA}x"] = true, ["{SSHA}x"] = true,
            ["{PLAIN}x"] = true, ["$2y$10$" .. ("a"):rep(53)] = true, ["$6$salt$x"] = true,
            ["$5$rounds=50000$x$y"] = true, abNANd1rDfiNc = true,
            ["$2y$31$" .. ("a"):rep(53)] = false, ["$6$rounds=999999999$x$y"] = false,
            ["$y$j9T$x$y"] = false, ["{MD5}x"] = false, [""] = false, secret = false } do
            assert.equal(expected, (htpasswd.is_supported(hash)) == true, hash)
        end
        assert.match("costs too much", select(2, htpasswd.is_supported("$2b$31$x")), 1, true)
    end)

    it("that is not supported fits no password", function()
        assert.is_nil((htpasswd.check("secret", "secret", {})))
        assert.is_nil((htpasswd.check("$6$x$y", "secret", {})))
    end)
end)

if jit then
    local ffi = require "ffi"
    local crypt = require "resty.kubelua.gateway.crypt"
    ffi.cdef "int gnutls_hash_fast(int algorithm, const void *text, size_t length, void *digest);"
    local gnutls = ffi.load("libgnutls.so.30") -- the simulator needs it
    local buffer = ffi.new("char[20]")
    local function digest(algorithm, length)
        return function(text)
            assert(gnutls.gnutls_hash_fast(algorithm, text, #text, buffer) == 0)
            return ffi.string(buffer, length)
        end
    end
    local DIGESTS = { md5 = digest(2, 16), sha1 = digest(3, 20), crypt = crypt.hash }

    local LONG = "a much longer password than sixteen bytes"
    local HASHES = { { "secret", "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/" },
        { LONG, "$apr1$xy$KWmjAYxMqmqTjytotPjDu." },
        { "", "$apr1$abcdefgh$L.PT565ESX4Tp2bqNs7Ie." },
        { "secret", "$1$abcd$Oy8OD9LGKv7H9yIMreLNV1" }, { "secret", "{PLAIN}secret" },
        { "secret", "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=" },
        { "secret", "{SSHA}8bX4JQDfZqtTfvnQ4ssDmWb17/FTQUxU" },
        { "secret", "$5$abcd$BgCbKzckrgGdFcL/gWllSOkKJCXQV5rwJeTh9xnsJ1D" },
        { "secret", "$6$abcd$2xnokga/nDtRjwwaEJ4P2es2v4q8kfckDGncd4naCsE699Y0JnDNWStYgMPa.X."
            .. "VcIxFM3oLKIRKkAYD33oqG." }, { "secret", "abNANd1rDfiNc" },
        { "secret", "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a" } }

    describe("a password", function()
        it("fits the hash that other programs made of it", function()
            for _, each in ipairs(HASHES) do
                assert.is_true(htpasswd.check(each[2], each[1], DIGESTS), each[2])
            end
        end)

        it("does not fit if it is another one", function()
            for _, each in ipairs(HASHES) do
                for _, wrong in ipairs { each[1] .. "x", "Secret", "\0", each[1] .. "\0",
                    each[2] } do
                    assert.is_false(htpasswd.check(each[2], wrong, DIGESTS), each[2])
                end
            end
        end)

        it("fits no broken hash", function()
            for _, hash in ipairs { "$apr1$", "$apr1$abcdefgh", "$apr1$abcdefgh$", "{SHA}",
                "{SSHA}", "{SSHA}!!!!", "{SSHA}AAAA", "$6$", "$2y$05$short" } do
                assert.is_not_true((htpasswd.check(hash, "secret", DIGESTS)), hash)
                assert.is_not_true((htpasswd.check(hash, "", DIGESTS)), hash)
            end
        end)
    end)
end
