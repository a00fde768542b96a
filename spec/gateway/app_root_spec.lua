-- Where the requests for "/" of a host with app-root go.
local ingress = require "resty.kubelua.gateway.ingress"

local function make(namespace, name, path, root)
    return { metadata = { namespace = namespace, name = name, annotations = {
            ["nginx.ingress.kubernetes.io/app-root"] = root } },
        spec = { ingressClassName = "nginx", rules = { { host = "shop.example.com", http = {
            paths = { { path = path, pathType = "Prefix", backend = { service = {
                name = "shop", port = { number = 80 } } } } } } } } } }
end

-- The app-root of the rule for "/", and the problems.
local function compile(...)
    local result = ingress.compile({ ingresses = { ... } }, { nginx = true })
    local found
    for _, list in pairs(result.contributions) do
        for _, each in ipairs(list) do
            for _, match in ipairs(each.matches) do
                local settings = each.rules[match.rule].settings or {}
                if match.path == "/" then
                    found = settings.app_root
                end
            end
        end
    end
    return found, result.problems
end

describe("app-root", function()
    it("holds for / of a host, also where no path fits it", function()
        assert.equal("/app", (compile(make("web", "a", "/app", "/app"))))
        assert.equal("/app", (compile(make("web", "a", "/", "/app"))))
    end)

    it("holds for / of another Ingress of the namespace", function()
        assert.equal("/app", (compile(make("web", "a", "/app", "/app"), make("web", "b", "/"))))
    end)

    it("is that of the longest path", function()
        assert.equal("/long", (compile(make("web", "a", "/a", "/short"),
            make("web", "b", "/long", "/long"))))
    end)

    it("does not hold for / of another namespace, and says so", function()
        local found, problems = compile(make("web", "a", "/app", "/app"), make("db", "b", "/"))
        assert.is_nil(found)
        assert.equal("Ingress web/a", problems[1].object)
        assert.equal("/ of shop.example.com is that of Ingress db/b, which has its requests",
            problems[1].message)
    end)
end)
