-- Two clusters in one nginx: two instances of resty.kubelua, each with its own map, owner and
-- scripts.
local eventually = require "eventually"
local nginx = require "nginx"
local Sim = require "kubelua.sim"
local slices = require "slices"

local HTTP = [[
    init_by_lua_block {
        kube = require "resty.kubelua"
        assert(kube.init { connect = { server = "%s" } })
        b = assert(kube.init { name = "b", connect = { server = "%s" } })
        one, other = kube.service("web/shop:http"), b.service("web/shop:http")
    }
    init_worker_by_lua_block {
        for _, each in ipairs { kube, b } do
            each.owner(function(kubelua)
                local services = assert(kubelua.connect():informer { "services" })
                services:on { add = function(service)
                    each.put("labels", service.key, service:get("metadata.labels.cluster"))
                    each.put("labels", "owner", ngx.worker.pid())
                end, synced = function() each.complete("labels") end }
            end)
        end
        assert(kube.init_worker { wait = 10 })
        assert(b.init_worker { wait = 10 })
    }
]]

local SERVER = [[
    location = /pick { content_by_lua_block {
        ngx.say((one:pick()), " ", (other:pick()), " ", (kube.pick("web/shop:http")), " ",
            (b.pick("web/shop:http")), " ", tostring(kube.pick("web/mine:http")), " ",
            tostring(b.pick("web/mine:http")))
    } }
    location = /labels { content_by_lua_block {
        ngx.say(tostring(kube.lookup("labels", "web/shop")), " ",
            tostring(b.lookup("labels", "web/shop")))
    } }
    location = /metrics { content_by_lua_block { ngx.print(kube.metrics()) } }
    location / { content_by_lua_block { ngx.exit(kube.synced() and b.synced() and 200 or 503) } }
]]

describe("two clusters in one nginx", function()
    local sims, one = {}, nil

    setup(function()
        local urls = {}
        for i = 1, 2 do
            sims[i] = assert(Sim.new { no_controllers = true })
            local service = slices.service("web", "shop"):gsub('"metadata":{',
                '"metadata":{"labels":{"cluster":"c' .. i .. '"},', 1)
            assert(sims[i]:load(service))
            assert(sims[i]:load(slices.slice("web", "shop", "shop-1", { "10.0.0." .. i }, 8080)))
            urls[i] = assert(sims[i]:listen { address = "127.0.0.1", port = 0 })
        end
        assert(sims[2]:load(slices.service("web", "mine")))
        assert(sims[2]:load(slices.slice("web", "mine", "mine-1", { "10.0.0.3" }, 8080)))
        one = nginx.start { workers = 2, http = HTTP:format(urls[1], urls[2]), server = SERVER }
    end)

    teardown(function()
        one:close()
        for _, sim in ipairs(sims) do
            sim:close()
        end
    end)

    local function says(path, text)
        local said
        eventually(function()
            local _
            _, said = one:get(path)
            return said == text
        end, function()
            return path .. " says " .. text .. ", not " .. tostring(said) .. "\n" .. one:said()
        end, 20)
    end

    it("each instance picks from its own cluster", function()
        says("/pick", "10.0.0.1 10.0.0.2 10.0.0.1 10.0.0.2 nil 10.0.0.3")
        assert(sims[1]:load(slices.slice("web", "shop", "shop-1", { "10.0.0.9" }, 8080)))
        says("/pick", "10.0.0.9 10.0.0.2 10.0.0.9 10.0.0.2 nil 10.0.0.3")
    end)

    it("each instance runs its own scripts, on its own cluster and tables", function()
        says("/labels", "c1 c2")
    end)

    it("metrics name the instance", function()
        local _, text = one:get("/metrics")
        assert.match("\nkubelua_synced 1\nkubelua_synced{name=\"b\"} 1\n", text)
        assert.match("\nkubelua_age_seconds [%d.]+\nkubelua_age_seconds{name=\"b\"} [%d.]+\n", text)
    end)

    it("a reload finds both maps as they are", function()
        local before = one:workers()
        one:reload()
        eventually(function()
            local said = select(2, one:get("/pick"))
            assert.equal("10.0.0.9 10.0.0.2 10.0.0.9 10.0.0.2 nil 10.0.0.3", said)
            local now = one:workers()
            return #now == 2 and now[1] ~= before[1] and now[2] ~= before[2]
        end, "the old workers exit")
        says("/labels", "c1 c2")
    end)

    it("one cluster that is away leaves the other as it is; a killed worker is replaced", function()
        sims[1]:close()
        assert(sims[2]:load(slices.slice("web", "shop", "shop-1", { "10.0.0.8" }, 8080)))
        says("/pick", "10.0.0.9 10.0.0.8 10.0.0.9 10.0.0.8 nil 10.0.0.3")
        one:signal("KILL", one:workers()[1])
        one:signal("KILL", one:workers()[1])
        assert(sims[2]:load(slices.slice("web", "shop", "shop-1", { "10.0.0.7" }, 8080)))
        says("/pick", "10.0.0.9 10.0.0.7 10.0.0.9 10.0.0.7 nil 10.0.0.3")
        says("/labels", "c1 c2")
    end)
end)
