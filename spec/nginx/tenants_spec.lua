-- The example of kube.owner in docs/NGINX.md, as it stands there, in a real nginx: two tenants name
-- one host, and the first keeps it.
local eventually = require "eventually"
local nginx = require "nginx"
local page = require "page"
local Sim = require "kubelua.sim"
local slices = require "slices"

local HTTP = [[
    init_by_lua_block {
        kube = require "resty.kubelua"
        assert(kube.init { connect = { server = "%s" } })
    }
    init_worker_by_lua_block {
        %s
        assert(kube.init_worker { wait = 10 })
    }
]]

local SERVER = [[
    location = /owner { content_by_lua_block {
        local tenant = kube.lookup("tenants", ngx.var.arg_host)
        ngx.say(tenant and tenant.namespace or "none")
    } }
    location = /route { content_by_lua_block {
        %s
        ngx.say(tostring(host), " ", tostring(port))
    } }
    location / { content_by_lua_block { ngx.exit(kube.synced() and 200 or 503) } }
]]

-- The code of the page that begins with `first`.
local function block(first)
    local text = page.read("docs/NGINX.md")
    local from = assert(text:find("```lua\n" .. first, 1, true), first)
    return assert(text:match("```lua\n(.-)\n```", from))
end

describe("two tenants of the example of kube.owner", function()
    local sim, one

    setup(function()
        sim = assert(Sim.new { no_controllers = true })
        for i, namespace in ipairs { "alice", "bob" } do
            assert(sim:load(slices.service(namespace, "shop")))
            assert(sim:load(slices.slice(namespace, "shop", "shop-1", { "10.0.0." .. i }, 8080)))
        end
        local url = assert(sim:listen { address = "127.0.0.1", port = 0 })
        one = nginx.start { workers = 2,
            http = HTTP:format(url, block("kube.owner(function(kubelua) -- which tenant")),
            server = SERVER:format(block("-- in access_by_lua")) }
    end)

    teardown(function()
        one:close()
        sim:close()
    end)

    local function claim(namespace, name, data)
        assert(sim:apply { apiVersion = "v1", kind = "ConfigMap", data = data,
            metadata = { name = name, namespace = namespace, labels = { tenants = "yes" } } })
    end

    local function drop(namespace, name)
        assert(sim:delete("configmaps", namespace .. "/" .. name))
    end

    local function has(host, owner)
        local said
        eventually(function()
            local _
            _, said = one:get("/owner?host=" .. host)
            return said == owner
        end, function()
            return host .. " belongs to " .. owner .. ", not to " .. tostring(said) .. "\n"
                .. one:said()
        end, 10)
    end

    -- A map that is applied last, and is seen: then what was applied before it is seen too.
    local marks = 0
    local function see_all()
        marks = marks + 1
        claim("marks", "mark-" .. marks, { host = "mark-" .. marks })
        has("mark-" .. marks, "marks")
    end

    local function conflicts(text)
        see_all()
        return one:count(text)
    end

    it("the first keeps the name, and the conflict is logged once", function()
        claim("alice", "site", { host = "shop.example.com", service = "shop:http" })
        has("shop.example.com", "alice")
        sim:advance(2)
        claim("bob", "theft", { host = "shop.example.com", service = "shop:http" })
        assert.equal(1, conflicts("bob/theft names shop.example.com, which alice/site has"))
        has("shop.example.com", "alice")
        for i = 1, 3 do
            claim("bob", "theft", { host = "SHOP.Example.com", service = "shop:http", n = "" .. i })
        end
        assert.equal(1, conflicts("bob/theft names shop.example.com"))
        has("shop.example.com", "alice")
    end)

    it("the other cannot remove it, neither by a delete nor by another name", function()
        claim("bob", "theft", { host = "bob.example.com", service = "shop:http" })
        has("bob.example.com", "bob")
        see_all()
        has("shop.example.com", "alice")
        claim("bob", "theft", { host = "shop.example.com" })
        has("bob.example.com", "none")
        assert.equal(2, conflicts("bob/theft names shop.example.com"))
        drop("bob", "theft")
        see_all()
        has("shop.example.com", "alice")
    end)

    it("a tenant routes to his own namespace only", function()
        local function route(host)
            local said = require("nginx_copies").shell("curl -s -H 'Host: " .. host
                .. "' http://127.0.0.1:" .. one.port .. "/route")
            return said
        end
        assert.equal("10.0.0.1 8080", route("shop.example.com"))
        claim("bob", "odd", { host = "odd.example.com", service = "../alice/shop:http" })
        claim("bob", "none", { host = "none.example.com" })
        has("none.example.com", "bob")
        assert.equal("nil unknown", route("odd.example.com"))
        assert.equal("nil unknown", route("none.example.com"))
        assert.equal("nil nil", route("other.example.com"))
    end)

    it("the next one has the name when the first is deleted, and then keeps it", function()
        claim("bob", "late", { host = "shop.example.com", service = "shop:http" })
        see_all()
        has("shop.example.com", "alice")
        drop("alice", "site")
        has("shop.example.com", "bob")
        sim:advance(2)
        claim("alice", "site", { host = "shop.example.com", service = "shop:http" })
        see_all()
        has("shop.example.com", "bob")
        drop("bob", "late")
        has("shop.example.com", "alice")
    end)

    it("of two that were created in one second, the lower UID has the name", function()
        sim:advance(2)
        for _, namespace in ipairs { "alice", "bob" } do
            claim(namespace, "twin", { host = "twin.example.com" })
        end
        see_all()
        local alice, bob = sim:get("configmaps", "alice/twin"), sim:get("configmaps", "bob/twin")
        local first, second = alice, bob
        if alice.metadata.creationTimestamp == bob.metadata.creationTimestamp
            and bob.uid < alice.uid then
            first, second = bob, alice
        end
        has("twin.example.com", first.namespace)
        drop(first.namespace, "twin")
        has("twin.example.com", second.namespace)
    end)

    it("names that cannot be keep no other map from its turn", function()
        claim("bob", "long", { host = ("x"):rep(600) })
        claim("bob", "empty", { host = "" })
        claim("alice", "other", { host = "other.example.com" })
        has("other.example.com", "alice")
        has("", "none")
    end)

    it("the next owner knows the same", function()
        local _, before = one:get("/owner?host=shop.example.com")
        one:signal("KILL", one:workers()[1])
        one:signal("KILL", one:workers()[1])
        see_all()
        has("shop.example.com", before)
        assert.equal(0, one:count("handler failed"))
    end)
end)
