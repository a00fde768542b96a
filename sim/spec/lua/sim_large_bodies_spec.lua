-- Bodies of megabytes take time in proportion to their size, because one request delays all others
-- of a cluster. The time for four times as many members is compared; with time in proportion to the
-- square, it would be sixteen times as long.
local Sim = require "kubelua.sim"

local FEW, MANY = 6000, 24000

local MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
local MAPS = "/api/v1/namespaces/default/configmaps"
local DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

-- "begin, a piece for each number, end", backwards if asked: a search from the front then finds
-- each piece last.
local function join(count, begin, piece, ending, backwards)
    local pieces = {}
    for i = 1, count do
        pieces[i] = piece:format(backwards and count + 1 - i or i)
    end
    return begin .. table.concat(pieces, ",") .. ending
end

local function definition(schema)
    return [[{"metadata":{"name":"things.x.io"},"spec":{"group":"x.io","scope":"Namespaced",
        "names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,
        "storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
        "spec":]] .. schema .. "}}}}]}}"
end

local THINGS = "/apis/x.io/v1/namespaces/default/things"

local function thing(spec)
    return '{"apiVersion":"x.io/v1","kind":"Thing","metadata":{"name":"a"},"spec":' .. spec .. "}"
end

local function a_map(count)
    local body = join(count, '{"metadata":{"name":"a"},"data":{', '"k%06d":""', "}}")
    return { { "POST", MAPS, body } }
end

local function all_required(count)
    return "POST", DEFINITIONS, definition(
        join(count, '{"type":"object","properties":{', '"f%06d":{"type":"string"}', "},")
        .. join(count, '"required":[', '"f%06d"', "]}"))
end

-- Each: its name, requests to prepare it, the request, and the status.
local bodies = {
    {
        "$setElementOrder of lists that are not there",
        a_map,
        function(count)
            return "PATCH", MAPS .. "/a",
                join(count, '{"data":{', '"$setElementOrder/x%06d":[]', "}}"), STRATEGIC
        end, 200,
    },
    {
        "$deleteFromPrimitiveList of lists that are not there",
        a_map,
        function(count)
            return "PATCH", MAPS .. "/a",
                join(count, '{"data":{', '"$deleteFromPrimitiveList/x%06d":[]', "}}"),
                STRATEGIC
        end, 200,
    },
    {
        "texts that become an object to be deleted",
        a_map,
        function(count)
            return "PATCH", MAPS .. "/a",
                join(count, '{"data":{', '"k%06d":{"$patch":"delete"}', "}}", true),
                STRATEGIC
        end, 200,
    },
    {
        "fields that a client says it manages", nil,
        function(count)
            return "POST", MAPS, [[{"metadata":{"name":"a","managedFields":[{"manager":"m",
                "operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":]]
                .. join(count, '{"f:data":{', '"f:k%06d":{}', "}}}]}}")
        end, 201,
    },
    {
        "managers that a client names", nil,
        function(count)
            return "POST", MAPS, join(count, '{"metadata":{"name":"a","managedFields":[',
                '{"manager":"m%06d","operation":"Update","apiVersion":"v1",'
                .. '"fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}}}', "]}}")
        end, 201,
    },
    {
        "properties of a definition that are all required", nil,
        function(count)
            return all_required(count)
        end, 201,
    },
    {
        "members that are properties, and required",
        function(count)
            return { { all_required(count) } }
        end,
        function(count)
            return "POST", THINGS, thing(join(count, "{", '"f%06d":""', "}", true))
        end, 201,
    },
    {
        "members of a map that were there before, one of them wrong",
        function(count)
            return {
                { "POST", DEFINITIONS,
                    definition '{"type":"object","additionalProperties":{"type":"string"}}' },
                { "POST", THINGS, thing(join(count, "{", '"f%06d":""', "}")) },
            }
        end,
        function(count)
            return "PATCH", THINGS .. "/a",
                join(count, '{"spec":{', '"f%06d":"x"', ',"wrong":1}}', true), MERGE
        end, 422,
    },
}

-- The processor's time that a body of so many members takes.
local function cost(body, count)
    local cluster = assert(Sim.new { no_controllers = true })
    local function ask(request)
        return (assert(cluster:call {
            method = request[1], target = request[2], body = request[3], type = request[4],
        }))
    end
    for _, request in ipairs(body[2] and body[2](count) or {}) do
        assert.equal(201, ask(request))
    end
    local request = { body[3](count) }
    local began = os.clock()
    local status = ask(request)
    local taken = os.clock() - began
    cluster:close()
    assert.equal(body[4], status)
    return taken
end

-- The least of some: others use the machine too.
local function least(body, count)
    local best = math.huge
    for _ = 1, 3 do
        best = math.min(best, cost(body, count))
    end
    return best
end

describe("a large body takes time in proportion to its size:", function()
    for _, body in ipairs(bodies) do
        it(body[1], function()
            local few, many = least(body, FEW), least(body, MANY)
            assert.is_true(many < 9 * few, ("%.3f s, %.3f s"):format(few, many))
        end)
    end
end)
