-- PATCH: strategic merge patch; lists are merged by their keys, and directives say otherwise.
local objects = require "objects"

local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local ONE = "PATCH " .. MAPS .. "/one"
local WEB = "PATCH /apis/apps/v1/namespaces/{ns}/deployments/web"

local STRATEGIC = "application/strategic-merge-patch+json"

local CONTAINERS = {
    objects.container {
        env = { { name = "A", value = "1" }, { name = "B", value = "2" } },
        ports = { { containerPort = 80 }, { containerPort = 443 } },
    },
    { name = "side", image = "side:1", args = { "a", "b" } },
}

local requests = {
    {
        "made", "POST " .. MAPS,
        objects.configmap("one", {
            data = { a = "1", b = "2" },
            metadata = { labels = { app = "shop" }, annotations = { note = "x" } },
        }),
        save = { rv = "metadata.resourceVersion", uid = "metadata.uid" },
    },
    {
        "made: a deployment", "POST /apis/apps/v1/namespaces/{ns}/deployments",
        objects.deployment("web", { spec = { template = { spec = { containers = CONTAINERS } } } }),
    },
}

local function ask(media, target, sentence, body, only)
    requests[#requests + 1] = { sentence, target, body, type = media, only = only }
end

ask(STRATEGIC, WEB, "strategic: a container more", {
    spec = { template = { spec = { containers = { { name = "more", image = "more:1" } } } } },
})
ask(STRATEGIC, WEB, "strategic: a container's image", {
    spec = { template = { spec = { containers = { { name = "more", image = "more:2" } } } } },
})
ask(STRATEGIC, WEB, "strategic: environment", {
    spec = {
        template = {
            spec = {
                containers = {
                    {
                        name = "more",
                        env = { { name = "A", value = "1" }, { name = "B", value = "2" } },
                    },
                },
            },
        },
    },
})
ask(
    STRATEGIC, WEB, "strategic: an item deleted",
    '{"spec":{"template":{"spec":{"containers":[{"name":"more","env":[{"$patch":"delete","na'
        .. 'me":"A"}]}]}}}}'
)
ask(
    STRATEGIC, WEB, "strategic: a list replaced",
    '{"spec":{"template":{"spec":{"containers":[{"name":"more","env":[{"$patch":"replace"},{'
        .. '"name":"Z","value":"9"}]}]}}}}'
)
ask(
    STRATEGIC, WEB, "strategic: an object replaced",
    '{"spec":{"strategy":{"$patch":"replace","type":"Recreate"}}}'
)
ask(
    STRATEGIC, WEB, "strategic: keys retained",
    '{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}'
)
ask(
    STRATEGIC, WEB, "strategic: an order",
    '{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"more"},{"name":"on'
        .. 'ly"}],"containers":[{"name":"only","image":"only:2"}]}}}}'
)
ask(
    STRATEGIC, WEB, "strategic: an order without its items",
    '{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"x"}],"containers":'
        .. '[{"name":"only","image":"only:2"}]}}}}'
)
ask(STRATEGIC, WEB, "strategic: primitives", {
    metadata = { finalizers = { "example.com/a", "example.com/b" } },
})
ask(STRATEGIC, WEB, "strategic: primitives merge", {
    metadata = { finalizers = { "example.com/c" } },
})
ask(
    STRATEGIC, WEB, "strategic: primitives deleted",
    '{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/a","example.com/b","ex'
        .. 'ample.com/c"]}}'
)
ask(STRATEGIC, WEB, "strategic: an item without its key", {
    spec = { template = { spec = { containers = { { image = "x" } } } } },
})
ask(
    STRATEGIC, WEB, "strategic: a directive that is none",
    '{"spec":{"template":{"spec":{"containers":[{"$patch":"swap","name":"more"}]}}}}'
)
ask(
    STRATEGIC, WEB, "strategic: null removes",
    '{"spec":{"template":{"spec":{"containers":[{"name":"more","env":null}]}}}}'
)
ask(
    STRATEGIC, WEB, "strategic: ports have two keys",
    '{"spec":{"template":{"spec":{"containers":[{"name":"more","ports":[{"containerPort":53,'
        .. '"protocol":"UDP"},{"containerPort":53,"protocol":"TCP"}]}]}}}}'
)
ask(STRATEGIC, WEB, "strategic: a wrong type", { spec = { replicas = "three" } })
ask(STRATEGIC, WEB, "strategic: an object where a list belongs", {
    spec = { template = { spec = { containers = { name = "x" } } } },
})
ask(STRATEGIC, WEB, "strategic: an unknown field", { spec = { nothing = true } })
ask(STRATEGIC, ONE, "strategic: of a map", '{"data":{"a":"s","mine":null}}')
ask(STRATEGIC, ONE, "strategic: rubbish", "{")
ask(STRATEGIC, ONE, "strategic: an array", "[]", "status")
ask(STRATEGIC, ONE, "strategic: the whole deleted", '{"$patch":"delete"}')

return requests
