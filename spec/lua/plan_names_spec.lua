-- kubelua plan: which names and namespaces are constant, so that a rule is restricted to them.
local planned = require "planned"

local WATCHES, cluster_of, make, tell, write =
    planned.WATCHES, planned.cluster_of, planned.make, planned.tell, planned.write

describe("a name in a plan #processes", function()
    after_each(planned.clean)

    it("restricts by a name that the script writes", function()
        local result = assert(make(
            'assert(kubelua.connect()):get("configmaps", "web/settings")'))
        assert.same({}, result.rules.cluster)
        assert.same({ "get configmaps [settings]" }, tell(result.rules.namespaces.web))
    end)

    it("does not restrict by a name that came out of an object", function()
        local rules = cluster_of(WATCHES .. [[
            local name = client:get("configmaps", "web/other"):get("data.target")
            local linked = "linked" -- the same text, by accident
            client:get("configmaps", "web/" .. name) ]])
        assert.same({ "get configmaps", "list,watch pods" }, rules)
    end)

    it("does not restrict by the name of an object that was listed", function()
        local rules = cluster_of [[
            local client, known = assert(kubelua.connect()), "settings"
            for _, found in ipairs(client:list("configmaps")) do
                client:patch(found, { data = { x = known } })
            end ]]
        assert.same({ "get,list,patch configmaps" }, rules)
    end)

    it("takes a name of an argument for constant", function()
        local result = assert(make('kubelua.connect():delete("configmaps", "web/" .. arg[1])',
            { args = { "settings" }, namespace = "web" }))
        assert.same({ "delete configmaps [settings]" }, tell(result.rules.namespaces.web))
    end)

    -- A script that does `call` for each ConfigMap of the cluster: web/settings, web/other.
    local function for_each(call)
        return [[local client = assert(kubelua.connect())
            for _, d in ipairs(client:list("configmaps", { namespace = "*" })) do
                ]] .. call .. " end"
    end

    it("does not take a name beside the object's own for its name", function()
        assert.same({ "create,patch deployments.apps", "list pods" }, cluster_of [[
            local client = assert(kubelua.connect())
            for _, d in ipairs(client:list("pods", { namespace = "*" })) do
            client:apply { apiVersion = "apps/v1", kind = "Deployment",
                metadata = { name = d.name, namespace = d.namespace },
                spec = { selector = { matchLabels = { a = "b" } }, template = {
                    metadata = { labels = { a = "b" } },
                    spec = { containers = { { name = "shop-1", image = "x" } } } } } }
            end ]])
    end)

    it("takes the name in the metadata of a call for constant", function()
        local result = assert(make(for_each [[
            client:apply { apiVersion = "v1", kind = "Secret",
                metadata = { name = "settings", namespace = "web" } } ]]))
        assert.same({ "create secrets", "patch secrets [settings]" },
            tell(result.rules.namespaces.web))
    end)

    it("does not restrict by a name that is one of several", function()
        assert.same({ "get secrets", "list configmaps" }, cluster_of(for_each [[
            client:get("secrets", d.namespace .. "/" .. (d.spec or "defaults")) ]]))
        assert.same({ "get secrets", "list configmaps" }, cluster_of(for_each [[
            client:get("secrets", d.spec and "web/one" or "web/two") ]]))
    end)

    it("takes a whole argument for constant, but none of another call in its line", function()
        local result = assert(make(for_each [[ client:get("secrets", "web/settings") ]]))
        assert.same({ "get secrets [settings]" }, tell(result.rules.namespaces.web))
        assert.same({ "get secrets", "list configmaps" }, cluster_of(for_each [[
            client:get("secrets", d.key) client:get("secrets", "web/settings") ]]))
    end)

    it("does not restrict by a namespace that an object of one namespace names", function()
        assert.same({ "get secrets" }, cluster_of([[
            local client = assert(kubelua.connect())
            for _, d in ipairs(client:list("configmaps", { namespace = "web" })) do
                client:get("secrets", (d:get("data.target") or "linked") .. "/fixed")
            end
            local linked = "linked" ]]))
    end)

    it("keeps the client's namespace, even if an object has a word like it", function()
        local result = assert(make(WATCHES, { namespace = "web", sim_load = { write([[
            {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: web, labels: {app: web}},
             spec: {containers: [{name: c, image: c}]}}]], ".yaml") } }))
        assert.same({}, result.rules.cluster)
        assert.same({ "list,watch pods" }, tell(result.rules.namespaces.web))
    end)
end)
