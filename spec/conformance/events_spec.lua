-- Events about objects: what the server keeps of them, as both of its groups show it.
local conformance = require "conformance"
local eventually = require "eventually"

conformance.describe("Events", function(it)
    local function events_of(client, namespace, object, group)
        local found = {}
        for _, event in ipairs(assert(client:list(group or "events.events.k8s.io",
            { namespace = namespace }))) do
            local about = event.regarding or event.involvedObject
            if about.uid == object.uid then
                found[#found + 1] = event
            end
        end
        return found
    end

    local function await(client, namespace, object, count)
        return eventually(function()
            local events = events_of(client, namespace, object)
            return #events == 1 and (count == 1 or events[1].series and
                events[1].series.count == count) and events[1]
        end, "one event, which happened " .. count .. " times")
    end

    it("are stored as they were recorded, and repeated ones as a series", function(scene)
        local client = scene:connect()
        local map = assert(client:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "a", namespace = scene.namespace } })
        client:event(map, "Warning", "Broken", ("ä"):rep(2000))
        local event = await(client, scene.namespace, map, 1)
        assert.equal("Warning", event.type)
        assert.equal("Broken", event.reason)
        assert.equal(1023, #event.note)
        client:event(map, "Warning", "Broken", ("ä"):rep(2000))
        await(client, scene.namespace, map, 2)
        local old = events_of(client, scene.namespace, map, "events")[1]
        assert.equal("kubelua", old.reportingComponent)
        assert.equal(2, old.series.count)
        assert.equal(event.note, old.message)
    end)

    it("about objects without a namespace are in the namespace default", function(scene)
        local client = scene:connect()
        local namespace = assert(client:get("namespaces", scene.namespace))
        client:event(namespace, "Normal", "Seen", "well")
        assert.equal("default", await(client, "default", namespace, 1).namespace)
    end)
end)
