-- The Ingresses in the owner: when they are compiled anew.
local ingresses = require "resty.kubelua.gateway.ingresses"

local function object_of(version, more)
    local object = { metadata = { namespace = "web", name = "shop", uid = "u",
        resourceVersion = version, generation = 1 }, spec = { ports = { { port = 80 } } } }
    for key, value in pairs(more or {}) do
        object[key] = value
    end
    return object
end

describe("the Ingresses of the owner", function()
    for _, kind in ipairs { "Ingress", "Service", "IngressClass" } do
        it("are compiled anew if the spec or an annotation changed: " .. kind, function()
            local all = ingresses.new {}
            local compiler = { contribute = function() end }
            local function is_dirty(object)
                all:run(compiler)
                all:set(kind, "web/shop", object)
                return all.is_dirty
            end
            assert.truthy(is_dirty(object_of "1"))
            assert.falsy(is_dirty(object_of("2", { status = { loadBalancer = {} } })))
            assert.truthy(is_dirty(object_of("3", { spec = { ports = { { port = 81 } } } })))
            local annotated = object_of("4", { spec = { ports = { { port = 81 } } } })
            annotated.metadata.annotations = { a = "b" }
            assert.truthy(is_dirty(annotated))
            assert.truthy(is_dirty(nil))
        end)
    end
end)
