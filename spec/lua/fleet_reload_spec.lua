-- Fleets of a script that kubelua run --reload replaces: the former script's fleet is gone, with
-- its clusters and its place in the ring.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"
local world = require "reload_world"

local await, run, save_good = world.await, world.run, world.save_good
local witness, member

before_each(function()
    witness = world.begin()
    member = assert(Sim.new { no_controllers = true })
    witness.member, witness.fleets = member, {}
end)

after_each(function()
    member:close()
    world.finish()
end)

local TEXT = [[
local kubelua = require "kubelua"
local witness = require "witness"
local fleet = assert(kubelua.fleet { name = "shop", interval = 0.02,
    shards = { name = "spec", lease = 3, renew = 2, retry = 0.2 },
    source = function() return { eu = { sim = witness.member } } end,
    function(cluster)
        kubelua.controller { "configmaps", namespace = "default", reconcile = function(o)
            witness.note("NAME " .. cluster.name .. " " .. o.name)
        end }
    end })
witness.fleets[NAME] = fleet
]]

local function text_of(number)
    return (TEXT:gsub("NAME", tostring(number)))
end

local function put(name)
    assert(member:apply { apiVersion = "v1", kind = "ConfigMap", data = { n = "1" },
        metadata = { name = name, namespace = "default" } })
end

describe("a script with a fleet that is replaced", function()
    it("leaves its clusters to the fleet of the next one", function()
        local notes = world.take_notes()
        put("a")
        run(text_of(1), function()
            await(function() return witness.has("1 eu a") end, "the first run")
            save_good(text_of(2))
            await(function() return witness.has("2 eu a") end, "the run of the new one")
            assert.same({}, witness.fleets[1]:status().clusters)
            assert.is_nil(witness.fleets[1]:status().shards)
            local count = #notes
            put("b")
            await(function() return witness.has("2 eu b") end, "the run of a later change")
            assert.equal(count + 1, #notes)
            assert.equal("running", witness.fleets[2]:status().clusters[1].state)
        end)
        assert.is_nil(kubelua.metric.text():find('kubelua_fleet_cluster{fleet="shop"', 1, true))
    end)

    it("goes on with its clusters if the next one cannot start", function()
        local notes = world.take_notes()
        run(text_of(1), function()
            await(function() return #notes == 0 and witness.fleets[1]:cluster("eu") end, "it runs")
            world.save_broken(text_of(2) .. "error('no luck')\n")
            put("a")
            await(function() return witness.has("1 eu a") end, "the old one runs it")
            assert.equal(1, #notes)
        end)
    end)
end)
