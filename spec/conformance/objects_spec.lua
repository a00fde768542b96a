-- Objects of an informer: they are whole, exact and read-only copies of the server's.
local conformance = require "conformance"
local core = require "kubelua.core"
local kubelua = require "kubelua"

-- The values of an object in the server's own answer, without those that informers leave out.
local function bare(object)
    object.metadata.managedFields = nil
    return object
end

conformance.describe("An object", function(it)
    it("out of a list has kind and apiVersion", function(scene)
        scene:create("a")
        for _, streaming in ipairs { true, false } do
            local informer = scene:informer {
                streaming_list = streaming, labels = "!x" .. #scene.informers,
            }
            assert.is_true(informer:wait_synced(60))
            local object = informer:get(scene.namespace .. "/a")
            assert.equal("ConfigMap", object.kind)
            assert.equal("v1", object.apiVersion)
            assert.equal("ConfigMap " .. scene.namespace .. "/a", tostring(object))
        end
    end)

    it("is what the server has, listed, streamed or watched", function(scene)
        scene:create("a", "1", { app = "shop" })
        local listed = scene:informer { streaming_list = false, labels = "!nothing" }
        local streamed = scene:informer()
        assert.is_true(listed:wait_synced(60))
        assert.is_true(streamed:wait_synced(60))
        local watched = scene:record(streamed)
        watched:starts_with { "add a=1 initial" }
        scene:create("b", "2", { app = "shop" })
        watched:sees { "add b=2" }
        local a = bare(scene.admin:get("configmaps", scene.namespace, "a"))
        local b = bare(scene.admin:get("configmaps", scene.namespace, "b"))
        assert.same(a, listed:get(scene.namespace .. "/a"):table())
        assert.same(a, streamed:get(scene.namespace .. "/a"):table())
        assert.same(b, watched.last:table())
    end)

    it("has no managedFields, unless they are asked for", function(scene)
        scene.admin:create("configmaps", scene.namespace, {
            metadata = {
                name = "a",
                managedFields = core.array {
                    {
                        manager = "spec", operation = "Update", apiVersion = "v1",
                        fieldsType = "FieldsV1", fieldsV1 = { ["f:data"] = { ["f:v"] = {} } },
                    },
                },
            },
            data = { v = "1" },
        })
        local key = scene.namespace .. "/a"
        assert.is_table(scene.admin:get("configmaps", scene.namespace, "a").metadata.managedFields)
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        assert.is_nil(watched.informer:get(key).metadata.managedFields)
        scene:update("a", "2")
        watched:sees { "update a 1>2" }
        assert.is_nil(watched.last.metadata.managedFields)
        local keeping = scene:informer { managed_fields = true, labels = "!nothing" }
        assert.is_true(keeping:wait_synced(60))
        assert.truthy(keeping:get(key).metadata.managedFields)
    end)

    it("cannot be assigned to", function(scene)
        scene:create("a")
        local informer = scene:informer()
        assert.is_true(informer:wait_synced(60))
        local object = informer:get(scene.namespace .. "/a")
        for _, assign in ipairs {
            function() object.data = {} end,
            function() object.data.v = "2" end,
            function() object.metadata.labels = nil end,
        } do
            local ok, message = pcall(assign)
            assert.is_false(ok)
            assert.truthy(tostring(message):find("read%-only"), tostring(message))
        end
        assert.equal("1", object.data.v)
    end)

    it("does not change when the server's object changes", function(scene)
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        local first = watched.last
        local data = first.data
        scene:update("a", "2")
        scene:delete("a")
        watched:sees { "update a 1>2", "delete a=2" }
        watched.informer:stop()
        collectgarbage()
        assert.equal("1", first.data.v)
        assert.equal("1", data.v)
    end)

    it("keeps every digit, every null and every empty value of a custom resource", function(scene)
        local group = scene.name .. ".example.com"
        scene.admin:define("widgets", "Widget", group)
        local watched = scene:record(scene:informer { "widgets." .. group })
        watched:sees { "synced" }
        local spec = '{"big":9223372036854775807,"least":-9223372036854775808,'
            .. '"beyond53":9007199254740993,"zero":0,"half":0.5,"list":[],"object":{},'
            .. '"nested":[[],{},[1,[2]]],"text":"\\u00fc \\"quoted\\" \\\\ \\u20ac"}'
        local status, body = scene.admin:request("POST",
            scene.admin:path("widgets", scene.namespace),
            core.decode('{"apiVersion":"' .. group .. '/v1","kind":"Widget","metadata":{"name":"w",'
                .. '"annotations":{"id":"18446744073709551616"}},"spec":' .. spec .. "}"))
        assert.equal(201, status, body)
        watched:sees { "add w" }
        local widget = watched.last
        assert.same(core.decode(spec), core.decode(core.encode(widget.spec)))
        assert.equal("9223372036854775807", tostring(widget.spec.big))
        assert.equal("9007199254740993", tostring(widget.spec.beyond53))
        assert.equal("18446744073709551616", widget.metadata.annotations.id)
        assert.equal('ü "quoted" \\ €', widget.spec.text)
        assert.equal(0, #widget.spec.list)
        assert.same({ "zero" }, { widget.spec.zero == 0 and "zero" })
    end)

    it("of half a megabyte arrives whole", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        local text = string.rep("0123456789abcdef", 32768)
        scene.admin:create("configmaps", scene.namespace, {
            metadata = { name = "a" },
            data = { text = text },
        })
        watched:sees { "add a" }
        assert.equal(text, watched.last.data.text)
    end)

    it("that is absent, or a field that is, reads as nil", function(scene)
        scene:create("a")
        local informer = scene:informer()
        assert.is_true(informer:wait_synced(60))
        assert.is_nil(informer:get(scene.namespace .. "/b"))
        local object = informer:get(scene.namespace .. "/a")
        assert.is_nil(object.spec)
        assert.is_nil(object:get("spec.containers[*].image"))
        assert.is_false(pcall(function() return object.spec.containers end))
        assert.equal("1", kubelua.get(object.data, "v"))
    end)
end)
