-- kube.metrics with what scripts count, and kube.collect for nginx-lua-prometheus.
package.path = "spec/resty/?.lua;" .. package.path
local kubelua = require "kubelua"
local world = require "world"

-- An object with the calls of nginx-lua-prometheus: name, help and labels as it takes them.
local function new_prometheus()
    local values, helps = {}, {}
    local function make(kind)
        return function(_, name, help, labels)
            assert.is_nil(helps[name], "registered twice: " .. name)
            helps[name] = kind .. " " .. help
            local function key(given)
                assert.equal(#labels, #given)
                return name .. "|" .. table.concat(given, "|")
            end
            return {
                set = function(_, value, given)
                    assert.equal("gauge", kind)
                    values[key(given)] = value
                end,
                inc = function(_, by, given)
                    assert.equal("counter", kind)
                    assert.is_true(by >= 0)
                    values[key(given)] = (values[key(given)] or 0) + by
                end,
            }
        end
    end
    return { gauge = make("gauge"), counter = make("counter") }, values, helps
end

describe("metrics in nginx", function()
    local kube

    setup(function()
        kube = world.open()
    end)

    teardown(world.close)

    it("have what kubelua.metric counts, behind those of the map", function()
        kubelua.metric.counter("spec_resty_total", "Orders.", { "shop" }):inc(2, "a")
        local text = kube.metrics()
        assert.truthy(text:find("\nkubelua_synced ", 1, true))
        assert.truthy(text:find('\nspec_resty_total{shop="a"} 2\n', 1, true))
        assert.truthy(text:find("\nprocess_open_fds ", 1, true))
    end)

    it("are handed to nginx-lua-prometheus, counters by what was added", function()
        local prometheus, values, helps = new_prometheus()
        local counter = kubelua.metric.counter("spec_collect_total", "Orders.", { "shop" })
        local seconds = kubelua.metric.histogram("spec_collect_seconds", "Time.")
        counter:inc(2, 'a "b"\\\n')
        kubelua.metric.gauge("spec_collect", "Open."):set(3)
        seconds:observe(4)
        kube.collect(prometheus)
        counter:inc(3, 'a "b"\\\n')
        seconds:observe(1)
        kubelua.metric.gauge("spec_collect", "Open."):set(1)
        kube.collect(prometheus)
        assert.equal(5, values['spec_collect_total|a "b"\\\n'])
        assert.equal(1, values["spec_collect|"])
        assert.equal(5, values["spec_collect_seconds_sum|"])
        assert.equal(2, values["spec_collect_seconds_count|"])
        assert.equal("counter Orders.", helps.spec_collect_total)
        assert.is_number(values["kubelua_left_out|"])
        assert.is_nil(helps.process_open_fds)
        assert.is_nil(helps.spec_collect_seconds_bucket)
    end)

    it("are refused to anything else", function()
        local ok, problem = pcall(kube.collect, {})
        assert.is_false(ok)
        assert.match("object of nginx%-lua%-prometheus expected", problem)
    end)
end)
