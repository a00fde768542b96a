-- kube.dump, and the series of the gateway's metrics, without nginx.
package.path = "spec/resty/?.lua;" .. package.path
local world = require "world"

describe("dump", function()
    local kube

    setup(function()
        kube = world.open()
    end)

    teardown(world.close)

    local function find(list, name)
        for _, item in ipairs(list) do
            if item.name == name then
                return item
            end
        end
    end

    it("shows a map that has no owner and no entries", function()
        local seen = kube.dump()
        assert.is_false(seen.owner.alive)
        assert.is_nil(seen.owner.since)
        assert.is_nil(seen.published)
        assert.is_false(seen.ready)
        assert.same({ "services" }, seen.missing)
        assert.same({}, seen.services)
        assert.same({}, seen.tables)
    end)

    it("shows what tables take, and not what is in them", function()
        world.write({ "put", "sites", "a", "ssecret" }, { "put", "sites", "b", "ssecret" })
        local seen = kube.dump()
        local sites = find(seen.tables, "sites")
        assert.equal(2, sites.entries)
        assert.is_true(sites.bytes >= 128)
        assert.is_false(sites.complete)
        assert.is_true(seen.published >= 0 and seen.owner.since >= 0)
        assert.is_false(seen.owner.alive, "it has ended")
        assert.is_nil(require("kubelua.values").json(seen):find("secret", 1, true))
    end)

    it("refuses sections and options that it does not know", function()
        assert.error_matches(function() kube.dump { show = "everything" } end,
            "there is no section 'everything'; there are: services, tables")
        assert.error_matches(function() kube.dump { namespace = 7 } end, "'namespace' is a text")
        assert.is_nil(kube.dump({ show = "tables" }).services)
    end)

    it("lists thousands of entries", function()
        local commands = {}
        for i = 1, 400 do
            commands[i] = { "put", "many", "key-" .. i, "s" .. i }
        end
        world.write(world.unpack(commands))
        assert.equal(400, find(kube.dump().tables, "many").entries)
    end)
end)

describe("the gateway's series", function()
    local counts = require "resty.kubelua.gateway.counts"
    local series = require "resty.kubelua.gateway.series"

    local function value(line)
        return tonumber(series.text():match("\n" .. line:gsub("%p", "%%%0") .. " (%S+)"))
    end

    it("are none without an area", function()
        assert(counts.open { series = false })
        counts.request({ source = "HTTPRoute web/a 1" }, 200, 1)
        counts.try({ name = "web/a:80" }, "ok", 1)
        assert.equal("", series.text())
    end)

    it("count requests by route, and tries by Service", function()
        assert(counts.open { series = 8, workers = 3 })
        local rule, other = { source = "HTTPRoute web/a 1" }, { source = "HTTPRoute web/a 2" }
        counts.request(rule, 200, 0.003)
        counts.request(other, 204, 7)
        counts.request(other, 99, -1)
        counts.request(nil, 404, 0)
        counts.try({ name = "web/a:80" }, "ok", 0.3)
        counts.try({ name = "web/a:80" }, "failed")
        local labels = '{kind="HTTPRoute",namespace="web",route="a"'
        assert.equal(2, value("kubelua_gateway_requests_total" .. labels .. ',code="2xx"}'))
        assert.equal(1, value("kubelua_gateway_requests_total" .. labels .. ',code="other"}'))
        local name = "kubelua_gateway_request_duration_seconds"
        assert.equal(3, value(name .. "_count" .. labels .. "}"))
        assert.equal(1, value(name .. "_bucket" .. labels .. ',le="0.001"}'))
        assert.equal(2, value(name .. "_bucket" .. labels .. ',le="0.005"}'))
        assert.equal(2, value(name .. "_bucket" .. labels .. ',le="5"}'))
        assert.equal(3, value(name .. "_bucket" .. labels .. ',le="+Inf"}'))
        assert.equal(7.003, value(name .. "_sum" .. labels .. "}"))
        labels = '{namespace="web",service="a",port="80"'
        name = "kubelua_gateway_upstream_requests_total"
        assert.equal(1, value(name .. labels .. ',outcome="ok"}'))
        assert.equal(1, value(name .. labels .. ',outcome="failed"}'))
        assert.equal(1, value("kubelua_gateway_upstream_header_seconds_count" .. labels .. "}"))
    end)

    it("count what finds no room as other, and say so", function()
        for i = 1, 20 do
            counts.request({ source = ("HTTPRoute web/more-%d 1"):format(i) }, 500, 0)
        end
        assert.is_true(value(
            'kubelua_gateway_requests_total{kind="other",namespace="",route="",code="5xx"}') > 10)
        assert.equal(8, value("kubelua_gateway_series"))
        assert.equal(8, value("kubelua_gateway_series_limit"))
        assert.is_true(value("kubelua_gateway_series_refused_total") > 0)
    end)

    it("are forgotten with their route, and with their Service", function()
        counts.sweep({ route = function(key) return key == "HTTPRoute web/a" end,
            service = function() return false end }, function() end)
        local text = series.text()
        assert.truthy(text:find('route="a"', 1, true))
        assert.is_nil(text:find('route="more', 1, true))
        assert.is_nil(text:find('service="a"', 1, true))
        assert.truthy(text:find('kind="other"', 1, true), "it is never gone")
    end)
end)
