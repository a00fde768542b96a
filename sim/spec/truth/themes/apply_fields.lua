-- The managers of fields after applies and updates by several clients: lists of maps with several
-- keys, sets, atomic fields, nested removal, reset.
local objects = require "objects"

local APPLY = "application/apply-patch+yaml"
local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local APPS = "/apis/apps/v1/namespaces/{ns}/deployments"
local SERVICES = "/api/v1/namespaces/{ns}/services"

local function apply(sentence, target, body)
    return { sentence, "PATCH " .. target, body, type = APPLY }
end

local function web(more, container)
    local object = objects.of("apps/v1", "Deployment", "web", {
        spec = {
            selector = { matchLabels = { app = "web" } },
            template = {
                metadata = { labels = { app = "web" } },
                spec = { containers = { objects.container(container) } },
            },
        },
    })
    for key, value in pairs(more or {}) do
        object.spec[key] = value
    end
    return object
end

-- Nothing but a container of that name, and what it has.
local function part(container)
    return objects.of("apps/v1", "Deployment", "web", {
        spec = { template = { spec = { containers = { container } } } },
    })
end

local function port(number, protocol, name)
    return { containerPort = number, protocol = protocol, name = name }
end

local function service(ports, more)
    return objects.of("v1", "Service", "s", { spec = { ports = ports, selector = more } })
end

local WEB = APPS .. "/web?fieldManager="

return {
    -- Lists of maps: containers by name, ports by number and protocol.
    apply("ports by two keys", WEB .. "a", web({}, {
        ports = { port(80, "TCP", "http"), port(80, "UDP"), port(81) },
    })),
    apply("another adds a port", WEB .. "b", part {
        name = "app", ports = { port(82, "TCP"), port(80, "TCP", "http") },
    }),
    apply("another names a port otherwise", WEB .. "b", part {
        name = "app", ports = { port(80, "TCP", "web") },
    }),
    apply("by force", WEB .. "b&force=true", part {
        name = "app", ports = { port(80, "TCP", "web") },
    }),
    apply("a port less", WEB .. "a", web({}, { ports = { port(80, "UDP") } })),
    apply("a port twice", WEB .. "a", web({}, { ports = { port(80, "UDP"), port(80, "UDP") } })),
    apply("a port without its key", WEB .. "a", web({}, { ports = { { name = "x" } } })),
    apply("a container more by another", WEB .. "c", part { name = "side", image = "side:1" }),
    apply("environment", WEB .. "c", part {
        name = "side", image = "side:1",
        env = { { name = "A", value = "1" }, { name = "B", value = "2" } },
    }),
    apply("environment in another order", WEB .. "c", part {
        name = "side", image = "side:1",
        env = { { name = "B", value = "2" }, { name = "A", value = "3" } },
    }),
    apply("arguments are one value", WEB .. "c", part {
        name = "side", image = "side:1", args = { "a", "b" },
    }),
    apply("other arguments by another", WEB .. "d", part { name = "side", args = { "a" } }),
    {
        "an update of a container", "PATCH " .. WEB .. "up",
        [[{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:2"}]}}}}]],
        type = "application/strategic-merge-patch+json",
    },
    apply("what an update has taken", WEB .. "c", part { name = "side", image = "side:1" }),
    apply("and takes back by force", WEB .. "c&force=true", part {
        name = "side", image = "side:1",
    }),
    apply("gives up its container", WEB .. "c", objects.of("apps/v1", "Deployment", "web")),
    apply("a selector is one value", WEB .. "d", web { selector = { matchLabels = { x = "y" } } }),
    apply("replicas, which were a default", WEB .. "e", web { replicas = 1 }),
    apply("other replicas, which were a default", WEB .. "f", web { replicas = 2 }),

    -- Services: ports by number and protocol, which has a default.
    apply("a service", SERVICES .. "/s?fieldManager=a", service({ { port = 80 } }, { a = "b" })),
    apply("its port with the default said", SERVICES .. "/s?fieldManager=b", service {
        { port = 80, protocol = "TCP" }, { port = 80, protocol = "UDP", name = "u" },
    }),
    apply("a port with names", SERVICES .. "/s?fieldManager=b", service {
        { port = 80, protocol = "TCP", name = "t" }, { port = 80, protocol = "UDP", name = "u" },
    }),
    apply("a selector is one, too", SERVICES .. "/s?fieldManager=b", service(nil, { a = "c" })),

    -- Finalizers are a set, owners are by their UID.
    apply("a set", MAPS .. "/set?fieldManager=a", objects.configmap("set", {
        metadata = { finalizers = { "example.com/a", "example.com/b" } },
    })),
    apply("another adds to it", MAPS .. "/set?fieldManager=b", objects.configmap("set", {
        metadata = { finalizers = { "example.com/c", "example.com/b" } },
    })),
    apply("the first gives up", MAPS .. "/set?fieldManager=a", objects.configmap("set")),
    apply("twice in a set", MAPS .. "/set?fieldManager=a", objects.configmap("set", {
        metadata = { finalizers = { "example.com/a", "example.com/a" } },
    })),
    {
        "an update takes one out", "PATCH " .. MAPS .. "/set?fieldManager=up",
        { metadata = { finalizers = { "example.com/c" } } },
    },
    apply("owners", MAPS .. "/set?fieldManager=a", objects.configmap("set", {
        metadata = {
            ownerReferences = {
                { apiVersion = "v1", kind = "Pod", name = "x", uid = "u1" },
                { apiVersion = "v1", kind = "Pod", name = "y", uid = "u2" },
            },
        },
    })),
    apply("an owner of another", MAPS .. "/set?fieldManager=b", objects.configmap("set", {
        metadata = {
            ownerReferences = {
                { apiVersion = "v1", kind = "Pod", name = "x", uid = "u1", controller = true },
            },
        },
    })),
    {
        "an update of owners", "PATCH " .. MAPS .. "/set?fieldManager=up",
        {
            metadata = {
                finalizers = require("kubelua.core").array {},
                ownerReferences = { { apiVersion = "v1", kind = "Pod", name = "y", uid = "u2" } },
            },
        },
    },
}
