-- kube.put and kube.lookup: the script's own tables, as every worker reads them; and how the module
-- is loaded.
package.path = "spec/resty/?.lua;" .. package.path
local world = require "world"

describe("lookup", function()
    local kube

    setup(function()
        kube = world.open()
    end)

    teardown(world.close)

    it("finds strings, numbers, booleans and tables", function()
        world.write({ "put", "sites", "a", "sshop.example.com" }, { "put", "sites", "n", "j17" },
            { "put", "sites", "b", "jfalse" }, { "put", "sites", "t", 'j{"hosts":["x","y"]}' },
            { "put", "sites", "", "sempty key" })
        assert.equal("shop.example.com", kube.lookup("sites", "a"))
        assert.equal(17, kube.lookup("sites", "n"))
        assert.equal(false, kube.lookup("sites", "b"))
        assert.same({ hosts = { "x", "y" } }, kube.lookup("sites", "t"))
        assert.equal("empty key", kube.lookup("sites", ""))
        assert.is_nil(kube.lookup("sites", "none"))
        assert.is_nil(kube.lookup("none", "a"))
        assert.is_nil(kube.lookup("sites", ("x"):rep(600)))
    end)

    it("decodes a value once, until it changes", function()
        world.write({ "put", "sites", "t", 'j{"n":1}' })
        local first = kube.lookup("sites", "t")
        assert.equal(first, kube.lookup("sites", "t"))
        world.write({ "put", "sites", "t", 'j{"n":2}' })
        assert.same({ n = 2 }, kube.lookup("sites", "t"))
        world.write({ "remove", "sites", "t" })
        assert.is_nil(kube.lookup("sites", "t"))
        assert.is_nil(kube.lookup("sites", "t"))
        world.write({ "put", "sites", "t", "sagain" })
        assert.equal("again", kube.lookup("sites", "t"))
    end)

    it("remembers that there is no value, until there is one", function()
        assert.is_nil(kube.lookup("sites", "later"))
        assert.is_nil(kube.lookup("sites", "later"))
        world.write({ "put", "sites", "later", "snow" })
        assert.equal("now", kube.lookup("sites", "later"))
    end)

    it("reads values of any size", function()
        local long = ("long text "):rep(9000)
        world.write({ "put", "sites", "long", "s" .. long })
        assert.equal(long, kube.lookup("sites", "long"))
    end)

    it("remembers a bounded number of names", function()
        local caches = require "resty.kubelua.cache"
        local cache = caches.new(10)
        for i = 1, 1000 do
            cache:set("name-" .. i, i)
            assert.equal(i, cache:get("name-" .. i))
            if i > 1 then
                assert.equal(i - 1, cache:get("name-" .. i - 1))
            end
        end
        local count = 0
        for _, half in ipairs { cache.young, cache.old } do
            for _ in pairs(half) do
                count = count + 1
            end
        end
        assert.is_true(count <= 20)
    end)

    it("accepts puts of the owner only", function()
        local ok, message, code = kube.put("sites", "a", "b")
        assert.is_nil(ok)
        assert.equal("closed", code)
        assert.is_string(message)
        assert.error_matches(function() kube.put("services", "a", "b") end, "choose another name")
        assert.error_matches(function() kube.put("", "a", "b") end, "name of a table")
        assert.error_matches(function() kube.put("sites", {}, "b") end, "a key is a string")
    end)

    it("lists in kube.status what does not fit into the map, and counts it", function()
        local large = "s" .. ("x"):rep(90000)
        for _, key in ipairs { "a", "b", "c" } do
            world.write({ "put", "large", key, large }, { "put", "large", "small", "s" })
        end
        local status = kube.status()
        assert.same({ 1, 1, "large", "c" }, { status.left_out_count, #status.left_out,
            status.left_out[1].table, status.left_out[1].key })
        assert.match("^needs 9%d+ bytes, more than its share", status.left_out[1].why)
        assert.is_true(status.used < status.room and status.room < status.size)
        assert.is_truthy(kube.metrics():find("kubelua_left_out 1\n", 1, true))
        assert.is_truthy(kube.metrics():find("kubelua_kept_endpoints 0\n", 1, true))
        assert.equal("", kube.lookup("large", "small"))
        assert.is_nil(kube.lookup("large", "c"))
        world.write({ "remove", "large", "a" }, { "remove", "large", "b" })
        assert.same({ 0, {} }, { kube.status().left_out_count, kube.status().left_out })
        assert.error_matches(function() kube.put("kubelua", "a", 1) end, "belongs to")
    end)
end)

describe("kube.run", function()
    it("calls outside of tasks, and raises in a task that has no dispatcher", function()
        local kube, kubelua = require "resty.kubelua", require "kubelua"
        assert.same({ 3, nil, 4 }, { kube.run(function(a) return a, nil, 4 end, 3) })
        assert.error_matches(function() kube.run(error, "its own") end, "^its own$")
        local ok, problem
        kubelua.spawn(function() ok, problem = pcall(kube.run, print) end):wait(5)
        assert.is_false(ok)
        assert.match("this task is of no script of kube.owner", problem)
        assert.error_matches(function() kube.run(1) end, "a function expected, not a number")
    end)
end)

describe("the module", function()
    local function run(script, cpath)
        local file = os.tmpname()
        local out = assert(io.open(file, "w"))
        out:write(string.format("package.path, package.cpath = %q, %q\n", package.path,
            cpath or package.cpath), script)
        out:close()
        local pipe = io.popen("luajit " .. file .. " 2>&1")
        local said = pipe:read("*a")
        pipe:close()
        os.remove(file)
        return said
    end

    it("names both ways to get a library that is missing", function()
        local said = run("require 'resty.kubelua'", "/nowhere/?.so")
        assert.match("luarocks %-%-lua%-version=5%.1 install kubelua", said)
        assert.match("cmake %-%-install build", said)
        assert.match("lua_package_cpath", said)
    end)

    it("can be loaded twice in one lua_State", function()
        assert.match("^fine", run([[
            require "resty.kubelua"
            for name in pairs(package.loaded) do
                if name:find("^resty%.kubelua") then package.loaded[name] = nil end
            end
            local kube = require "resty.kubelua"
            assert(kube.init { size = 1048576 } and kube.init {})
            assert(select(2, kube.pick("a/b:c")) == "not_synced")
            print "fine"]]))
    end)

    it("raises for wrong options of kube.init", function()
        local kube = require "resty.kubelua"
        assert.error_matches(function() kube.init { emtpy = "keep" } end, "do you mean 'empty'")
        assert.error_matches(function() kube.init { empty = "kept" } end, 'do you mean "keep"')
        assert.error_matches(function() kube.init { keep = 0 } end, "above 0")
        assert.error_matches(function() kube.init { empty = "clear", keep = 5 } end, "nothing to")
        assert.error_matches(function() kube.init { services = { name_space = "a" } } end,
            "do you mean 'namespace'")
        local ok, message, code = kube.init { name = "small", size = 1000 }
        assert.same({ nil, "invalid_argument" }, { ok, code })
        assert.is_string(message)
    end)
end)
