-- kubelua.fleet with a folder of kubeconfigs: files come, change and go; a change of credentials
-- alone leaves all else as it is.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local world = require "fleet_world"

local w, folder

before_each(function()
    w = world.new()
    folder = os.tmpname()
    os.remove(folder)
    assert(core.make_folder(folder))
end)

after_each(function()
    w:close()
    for _, file in ipairs(assert(core.list_folder(folder))) do
        if file ~= "." and file ~= ".." then
            os.remove(folder .. "/" .. file)
        end
    end
    os.remove(folder)
end)

-- As kubectl and editors do: a new file takes the place of the old one.
local function write(name, text)
    local file = assert(io.open(folder .. "/." .. name .. ".new", "w"))
    file:write(text)
    file:close()
    assert(os.rename(folder .. "/." .. name .. ".new", folder .. "/" .. name))
end

-- A simulated server with TLS, whose two users may do everything; and the kubeconfig of one.
local function serve()
    local sim = w:sim { token = "first", users = { { name = "second", token = "second-token" },
        { name = "none", token = "no-token" } }, rbac = true }
    assert(sim:listen { tls = true })
    assert(sim:apply { apiVersion = "rbac.authorization.k8s.io/v1", kind = "ClusterRoleBinding",
        metadata = { name = "second" }, subjects = { { kind = "User", name = "second",
            apiGroup = "rbac.authorization.k8s.io" } }, roleRef = { kind = "ClusterRole",
            name = "cluster-admin", apiGroup = "rbac.authorization.k8s.io" } })
    local text = assert(sim:kubeconfig())
    assert(text:find("first", 1, true))
    return sim, function(token)
        return (text:gsub("token: *\"?first\"?", "token: " .. token))
    end
end

local function count_lists(sim)
    return #sim:requests { resource = "configmaps", verb = "list" }
        + #sim:requests { resource = "configmaps", verb = "watch" }
end

describe("a fleet of a folder of kubeconfigs", function()
    local function start(f)
        return w:fleet(f or w:noting(), { source = { folder = folder .. "/" }, interval = 5 })
    end

    it("has a cluster for each file, by its name without the ending", function()
        local a, kubeconfig = serve()
        world.apply(a, "x")
        write("eu.yaml", kubeconfig "first")
        write("us.west", kubeconfig "first")
        write("README.md", "no kubeconfig")
        write(".hidden.yaml", "no kubeconfig")
        assert(core.make_folder(folder .. "/folder"))
        local fleet = start()
        w:noted("eu web/x")
        assert.equal(1, #fleet:status().clusters)
        assert.equal("file " .. folder .. "/eu.yaml", fleet:status().clusters[1].origin)
        write("plain", kubeconfig "first")
        w:noted("plain web/x")
        os.remove(folder .. "/eu.yaml")
        w:until_in(fleet, "eu", nil)
        w:until_in(fleet, "plain", "running")
    end)

    it("gives the client new credentials, and nothing is listed or reconciled again", function()
        local sim, kubeconfig = serve()
        world.apply(sim, "x")
        write("eu.yaml", kubeconfig "first")
        local memos = {}
        local fleet = start(function(cluster)
            kubelua.controller { "configmaps", namespace = "web", reconcile = function(object, run)
                run.memo.count = (run.memo.count or 0) + 1
                memos[object.name] = run.memo.count
                w:note("%s %s %s", cluster.name, object.key, object.data.value)
            end }
        end)
        w:noted("eu web/x 1")
        local lists, client = count_lists(sim), fleet:cluster("eu").client
        write("eu.yaml", kubeconfig "second-token")
        w:logged("eu: fleet shop: it has new credentials")
        local reply = assert(client:request { method = "POST",
            path = "/apis/authentication.k8s.io/v1/selfsubjectreviews", body = {
                apiVersion = "authentication.k8s.io/v1", kind = "SelfSubjectReview" } })
        assert.equal("second", kubelua.decode(reply.body).status.userInfo.username)
        world.apply(sim, "x", "2")
        w:noted("eu web/x 2")
        assert.same({ x = 2 }, memos)
        assert.equal(lists, count_lists(sim))
        assert.is_true(fleet:cluster("eu").client == client)
    end)

    it("goes on by itself once refused credentials are replaced", function()
        local sim, kubeconfig = serve()
        world.apply(sim, "x")
        write("eu.yaml", kubeconfig "wrong")
        local fleet = start()
        eventually(function() return (w.of(fleet, "eu") or {}).code == "unauthorized" end,
            "the server refuses it", 20)
        assert.equal("running", w.of(fleet, "eu").state)
        write("eu.yaml", kubeconfig "first")
        w:noted("eu web/x")
    end)

    it("begins anew for another server", function()
        local a, of_a = serve()
        local b, of_b = serve()
        world.apply(a, "x")
        world.apply(b, "y")
        write("eu.yaml", of_a "first")
        start()
        w:noted("eu web/x")
        write("eu.yaml", of_b "first")
        w:logged("it begins anew")
        w:noted("eu web/y")
    end)

    it("goes on with what it had while a file cannot be read", function()
        local sim, kubeconfig = serve()
        write("eu.yaml", kubeconfig "first")
        local fleet = start()
        w:until_in(fleet, "eu", "running")
        write("eu.yaml", "clusters:\n- name: [\n")
        w:logged("it goes on as it was")
        assert.equal("running", w.of(fleet, "eu").state)
        world.apply(sim, "x")
        w:noted("eu web/x")
        write("eu.yaml", kubeconfig "second-token")
        w:logged("it has new credentials")
    end)

    it("goes on while the folder cannot be read", function()
        local sim, kubeconfig = serve()
        write("eu.yaml", kubeconfig "first")
        local fleet = w:fleet(w:noting(), { source = { folder = folder }, interval = 0.02 })
        w:until_in(fleet, "eu", "running")
        assert(os.rename(folder, folder .. ".away"))
        w:logged("the clusters go on as they are")
        assert(os.rename(folder .. ".away", folder))
        w:logged("it can be read again")
        world.apply(sim, "x")
        w:noted("eu web/x")
    end)

    it("is not watched any more once it has ended", function()
        local function count_watches()
            local count = 0
            for _, descriptor in ipairs(assert(core.list_folder("/proc/self/fdinfo"))) do
                local file = io.open("/proc/self/fdinfo/" .. descriptor)
                count = count + (file and (file:read("*a") or ""):find("inotify") and 1 or 0)
                if file then
                    file:close()
                end
            end
            return count
        end
        local before = count_watches()
        local fleet = start()
        assert.equal(before + 1, count_watches())
        w.stop(fleet)
        eventually(function() return count_watches() == before end, "the watch is closed")
    end)
end)
