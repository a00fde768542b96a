-- The options of kube.init: those that are refused, and where the API server is without any.
package.path = "spec/resty/?.lua;" .. package.path
local world = require "world"

describe("kube.init", function()
    local kube

    setup(function()
        kube = world.open()
    end)

    teardown(world.close)

    it("raises for namespaces that cannot be", function()
        local function refused(text, services)
            local ok, problem = pcall(function() kube.init { services = services } end)
            assert.is_false(ok)
            assert.match("init_spec%.lua:%d+: .*" .. text, problem)
        end
        refused("list of namespaces is empty", { namespace = {} })
        refused("'Web' cannot be a namespace", { namespace = { "shop", "Web" } })
        refused("'' cannot be a namespace", { namespace = "" })
        refused("there is no option 'namespaces'", { namespaces = "web" })
        refused("'services' is a table", true)
    end)

    it("makes another instance for another name, beside the first", function()
        local other = assert(kube.init { name = "other", size = 1048576 })
        assert.are_not.equal(kube, other)
        assert.equal(other, assert(kube.init { name = "other", zone = "a" }))
        assert.equal(kube, assert(kube.init { path = world.path }))
        world.write({ "endpoints", "web/shop:http", "10.0.0.1" }, { "put", "sites", "a", "sone" })
        assert.equal("10.0.0.1", (kube.pick "web/shop:http"))
        assert.same({ nil, "not_synced" }, { other.pick "web/shop:http" })
        assert.same({ nil, "not_synced" }, { other.service("web/shop:http"):pick() })
        assert.equal("one", kube.lookup("sites", "a"))
        assert.is_nil(other.lookup("sites", "a"))
        assert.is_false(other.synced())
        local all, own = kube.metrics(), other.metrics()
        assert.match("\nkubelua_entries %d+\nkubelua_entries{name=\"other\"} 0\n", all)
        assert.match("\nkubelua_entries{name=\"other\"} 0\n", own)
        assert.is_nil(own:find("\nkubelua_entries %d"))
        for name in all:gmatch("# TYPE (%S+)") do -- a family stands in one place
            assert.equal(1, select(2, all:gsub("# TYPE " .. name .. " ", "")))
        end
    end)

    it("keeps the first instance if another one cannot be opened", function()
        local made, message, code = kube.init { name = "small", size = 1000 }
        assert.same({ nil, "invalid_argument" }, { made, code })
        assert.is_string(message)
        assert.equal("10.0.0.1", (kube.pick "web/shop:http"))
    end)

    it("refuses a file for the map that another user could change, and says why", function()
        os.execute("chmod 0666 " .. world.path)
        assert(kube.init { path = world.path, name = "again" }) -- this process has it open
        local script = world.path .. ".lua"
        local out = assert(io.open(script, "w"))
        out:write(string.format("package.path, package.cpath = %q, %q "
            .. "print(require('resty.kubelua').init { path = %q })", package.path, package.cpath,
            world.path))
        out:close()
        local pipe = io.popen("luajit " .. script)
        local said = pipe:read("*a")
        pipe:close()
        os.remove(script)
        os.execute("chmod 0600 " .. world.path)
        assert.match("^nil\t" .. world.path .. ": the file has mode 0666: other users could "
            .. "change the map; [^\t]+\tconfig\n$", said)
    end)

    -- The options by an environment that has nothing else.
    local function resolved(environment)
        local script = string.format("package.path = %q "
            .. "local found = require('resty.kubelua.connection').resolve() "
            .. "print(found.server, found.kubeconfig, found.ca_file, found.namespace)",
            package.path)
        local file = world.path .. ".lua"
        local out = assert(io.open(file, "w"))
        out:write(script)
        out:close()
        local pipe = io.popen("env -i PATH=\"$PATH\" " .. environment .. " luajit " .. file)
        local line = pipe:read("*l")
        pipe:close()
        os.remove(file)
        return line
    end

    it("finds the API server and the namespace of a pod", function()
        local ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
        local mounted = io.open(ca_file) -- if this spec runs in a pod
        assert.equal("https://10.0.0.1:6443\tnil\t" .. (mounted and ca_file or "nil") .. "\tweb",
            resolved("HOME=/ POD_NAMESPACE=web KUBERNETES_SERVICE_HOST=10.0.0.1 "
                .. "KUBERNETES_SERVICE_PORT=6443"))
        assert.match("^https://%[fd00::1%]:443\t", resolved("KUBERNETES_SERVICE_HOST=fd00::1"))
    end)

    it("prefers a kubeconfig", function()
        assert.equal("nil\t/a:/b\tnil\tnil",
            resolved("KUBECONFIG=/a:/b KUBERNETES_SERVICE_HOST=10.0.0.1"))
    end)

    it("looks for nothing beside a kubeconfig that is given as text", function()
        local given = { kubeconfig_text = "current-context: a" }
        assert.same(given, (require("resty.kubelua.connection").resolve(given)))
    end)
end)
