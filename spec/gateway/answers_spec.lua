-- What an Ingress changes in answers: redirects, and paths and domains of cookies.
local answers = require "resty.kubelua.gateway.answers"

local function changed(change, given)
    answers.change({ change }, function(name) return given[name] end,
        function(name, value) given[name] = value end)
    return given
end

describe("changes of answers", function()
    local to_site = { kind = "redirect", from = "http://shop:8080/", to = "https://example.com/" }

    it("replace how Location and Refresh begin", function()
        assert.same({ Location = "https://example.com/a?b=http://shop:8080/",
            Refresh = "5; url=https://example.com/c" }, changed(to_site, {
            Location = "http://shop:8080/a?b=http://shop:8080/",
            Refresh = "5; url=http://shop:8080/c" }))
        for _, given in ipairs { { Location = "/a" }, { Refresh = "5" }, {},
            { Location = "https://other/?to=http://shop:8080/" } } do
            local before = { Location = given.Location, Refresh = given.Refresh }
            assert.same(before, changed(to_site, given))
        end
    end)

    it("replace the beginning of cookies' paths", function()
        local change = { kind = "cookie_path", from = "/two/", to = "/" }
        assert.same({ "a=/two/; Path=/x; HttpOnly", "b=1; path=/; Secure", "c=1" },
            changed(change, { ["Set-Cookie"] = { "a=/two/; Path=/two/x; HttpOnly",
                "b=1; path=/two/; Secure", "c=1" } })["Set-Cookie"])
        assert.same({ "a=1; Path=/twofold" },
            changed(change, { ["Set-Cookie"] = "a=1; Path=/twofold" })["Set-Cookie"])
        assert.same({}, changed(change, {}))
    end)

    it("replace cookies' domains", function()
        local change = { kind = "cookie_domain", from = "shop.internal", to = "example.com" }
        for before, after in pairs { [".Shop.Internal"] = "example.com",
            ["shop.internal"] = "example.com", ["a.shop.internal"] = "a.shop.internal" } do
            assert.same({ "a=1; Domain=" .. after .. "; Path=/" },
                changed(change, { ["Set-Cookie"] = "a=1; Domain=" .. before .. "; Path=/" })
                    ["Set-Cookie"])
        end
    end)
end)
