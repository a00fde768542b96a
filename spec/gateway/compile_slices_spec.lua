-- A run in slices: what changes while it waits belongs to the next run, so that each run gives what
-- a fresh compile of the objects at its beginning would give.
package.path = "spec/gateway/?.lua;" .. package.path
local objects = require "gateway_objects"
local sorting = require "resty.kubelua.gateway.compile.sorting"

-- The same numbers in each interpreter.
local function numbers(seed)
    return function(most)
        seed = (seed * 16807) % 2147483647
        return seed % most + 1
    end
end

local function from_all(name, port)
    return objects.listener(name, port, { allowedRoutes = { namespaces = { from = "All" } } })
end

local MAKE = {}

function MAKE.Gateway(random)
    local listeners = { from_all("a", 80) }
    if random(2) == 1 then
        listeners[2] = from_all("b", 80 + random(2))
        listeners[2].hostname = "h1.com"
    end
    return objects.gateway("web/gate-" .. random(2), listeners)
end

local function refs(random)
    return { { name = "gate-" .. random(2), namespace = "web" },
        random(2) == 1 and { name = "gate-1", namespace = "web", sectionName = "b" } or nil }
end

local function rules_of(random)
    local rules = {}
    for i = 1, random(3) do
        rules[i] = { matches = { { path = { value = "/" .. random(4) } } },
            backendRefs = { { name = "s" .. random(3), namespace = "web", port = 80 } } }
    end
    return rules
end

function MAKE.HTTPRoute(random)
    local namespace = random(2) == 1 and "web" or "db"
    return objects.route(namespace .. "/r" .. random(8), { parentRefs = refs(random),
        rules = rules_of(random),
        hostnames = random(3) > 1 and { "h" .. random(3) .. ".com" } or nil },
        { creationTimestamp = ("2026-01-0%dT00:00:00Z"):format(random(9)) })
end

function MAKE.GRPCRoute(random)
    return objects.grpc_route("web/g" .. random(3), { parentRefs = refs(random),
        rules = { { backendRefs = { { name = "s" .. random(3), port = 80 } } } },
        hostnames = { "h" .. random(3) .. ".com" } })
end

function MAKE.Service(random)
    return objects.service("web/s" .. random(3), { 79 + random(2) })
end

local KINDS = { "Gateway", "HTTPRoute", "HTTPRoute", "HTTPRoute", "GRPCRoute", "Service" }

-- Objects that change at random, and the compilers that are told.
local function new_world(random)
    local world = { objects = {}, generation = 1 }
    function world.change(compiler)
        local kind = KINDS[random(#KINDS)]
        local object = MAKE[kind](random)
        local key = ("%s %s/%s"):format(kind, object.metadata.namespace, object.metadata.name)
        world.generation = world.generation + 1
        object.metadata.generation = world.generation
        if world.objects[key] and random(3) == 1 then
            world.objects[key] = nil
            compiler:delete(kind, object)
        else
            local before = world.objects[key]
            object.metadata.creationTimestamp = before and before.metadata.creationTimestamp
                or object.metadata.creationTimestamp
            world.objects[key] = object
            compiler:set(kind, object)
        end
    end
    function world.fresh(owned)
        local compiler = objects.compiler { matches = 4, room = 4000, owned = owned }
        for _, object in pairs(world.objects) do
            compiler:set(object.kind, object)
        end
        return compiler:run()
    end
    return world
end

local TABLES = { "hosts", "entries", "certificates" }

local function apply(published, result)
    for _, name in ipairs(TABLES) do
        for key, value in pairs(result[name]) do
            published[name][key] = value or nil
        end
    end
    for _, item in ipairs(result.statuses) do
        published.statuses[("%s %s/%s"):format(item.kind, item.namespace or "", item.name)]
            = item.status
    end
end

local function without_removals(result)
    local tables = { hosts = {}, entries = {}, certificates = {}, statuses = {} }
    apply(tables, result)
    return tables
end

describe("a run in slices", function()
    it("gives what its objects were at its beginning, whatever changes meanwhile", function()
        for seed = 1, 30 do
            local random = numbers(seed)
            local world, compiler, is_running = new_world(random), nil, false
            local owned = seed % 2 == 1
            compiler = objects.compiler { matches = 4, room = 4000, owned = owned, pace = function()
                if is_running and random(4) == 1 then
                    world.change(compiler)
                end
            end }
            local published = { hosts = {}, entries = {}, certificates = {}, statuses = {} }
            for _ = 1, 12 do
                for _ = 1, random(6) do
                    world.change(compiler)
                end
                local wanted = without_removals(world.fresh(owned))
                is_running = true
                apply(published, compiler:run())
                is_running = false
                for _, name in ipairs(TABLES) do
                    assert.same(wanted[name], published[name], ("seed %d, %s"):format(seed, name))
                end
                for key, status in pairs(wanted.statuses) do
                    assert.same(status, published.statuses[key], ("seed %d, %s"):format(seed, key))
                end
            end
        end
    end)

    it("is made of pieces: it can wait after each route", function()
        local pieces = 0
        local compiler = objects.compiler({ pace = function() pieces = pieces + 1 end },
            objects.gateway("web/gate", { objects.listener("a", 80) }))
        for i = 1, 100 do
            compiler:set("HTTPRoute", objects.route("web/r" .. i, { rules = { {} } }))
        end
        compiler:run()
        assert.truthy(pieces >= 500, pieces)
    end)

    it("leaves out what makes no sense, and tells it of its object only", function()
        local compiler = objects.compiler(nil, objects.gateway("web/gate",
            { objects.listener("a", 80) }), objects.route("web/good", { rules = { {} } }))
        local broken = objects.route("web/broken", { rules = { {} } })
        broken.status = { parents = { { controllerName = "kubelua.dev/gateway", parentRef = 1 } } }
        compiler:set("HTTPRoute", broken)
        compiler:set("Service", { metadata = { namespace = "web", name = "s" },
            spec = { ports = 1 } })
        local result = compiler:run()
        assert.equal("Accepted True Accepted",
            objects.of_parent(result, "HTTPRoute web/good", "Accepted"))
        local names = {}
        for i, problem in ipairs(result.problems) do
            names[i] = problem.kind .. " " .. problem.name .. " " .. problem.reason
        end
        table.sort(names)
        assert.same({ "HTTPRoute broken Invalid", "Service s Invalid" }, names)
    end)
end)

describe("a sort in slices", function()
    it("orders lists of any length, and keeps equal ones in their order", function()
        local random = numbers(7)
        for _, count in ipairs { 0, 1, 127, 128, 129, 1000, 1025 } do
            local list, paces = {}, 0
            for i = 1, count do
                list[i] = { value = random(50), place = i }
            end
            list = sorting.sort(list, function(a, b)
                if a.value ~= b.value then
                    return a.value < b.value
                end
                return a.place < b.place
            end, function() paces = paces + 1 end)
            assert.equal(count, #list)
            for i = 2, count do
                local a, b = list[i - 1], list[i]
                assert.truthy(a.value < b.value or a.value == b.value and a.place < b.place)
            end
            assert.truthy(paces >= count / 128, paces)
        end
    end)
end)
