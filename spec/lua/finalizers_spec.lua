-- Finalizers (__gc) of scripts. They may run after the finalizers of objects that they use, and in
-- the middle of a call.
local process_of = require("processes").output_of

-- Runs a text in a process, to its normal end; returns its output, and true if it got there.
local function said_by(text)
    return process_of([[
        local core, kubelua, Sim = require "kubelua.core", require "kubelua", require "kubelua.sim"
        local simcore = require "kubelua.simcore"
        local at_collection = require "at_collection"
        ]] .. text)
end

describe("a finalizer at the end of a script #processes", function()
    it("finds an informer that was collected before it stopped", function()
        assert.equal("0 nil closed\nstatus 0\n", said_by [[
            local pods
            guard = at_collection(function()
                local _, _, code = pods:list()
                io.stdout:write(pods:count(), " ", tostring(pods:get("a/b")), " ", code, "\n")
                pods:stop()
            end)
            local cluster = assert(Sim.new())
            pods = assert(assert(cluster:connect()):informer { "pods" })
            assert(pods:wait_synced(10))
        ]])
    end)

    it("reads objects by paths that were compiled before", function()
        assert.equal("n1\nstatus 0\n", said_by [[
            local pod = assert(core.object('{"metadata":{"name":"p"},"spec":{"nodeName":"n1"}}'))
            guard = at_collection(function()
                io.stdout:write(pod:get("spec.nodeName"), "\n")
            end)
            assert(pod:get("spec.nodeName"))
        ]])
    end)
end)

-- A busy collector: a small heap, and finalizers that read more texts than stay open.
describe("a finalizer during a read of several paths #processes", function()
    it("changes nothing of what is read", function()
        assert.equal("3000 read, others meanwhile\nstatus 0\n", said_by [[
            local text = '{"metadata":{"name":"%s"},"spec":{"list":[{"a":1}]},"status":{"is":"%s"}}'
            local read = 0
            local function pod(name)
                return assert(core.object(text:format(name, name)))
            end
            local function arm()
                at_collection(function()
                    for i = 1, 5 do
                        read = read + #pod("other").status.is
                    end
                end)
            end
            collectgarbage("setpause", 0)
            collectgarbage("setstepmul", 1000)
            collectgarbage() -- begins a cycle with these
            local same = 0
            for i = 1, 3000 do
                arm()
                local list, phase, name, none, element = pod("p" .. i):get("spec.list", "status.is",
                    "metadata.name", "none", "spec.list[1]")
                local is_same = phase == "p" .. i and name == phase and none == nil
                    and list[1] == element and element.a == 1
                same = same + (is_same and 1 or 0)
            end
            print(same .. " read, " .. (read > 0 and "others meanwhile" or "no others"))
        ]])
    end)
end)

-- Runs the text of a call for many handles of one informer; a finalizer stops each handle at some
-- moment of a call. `pods` is the handle, `call` the function that the text defines.
local function stopped_meanwhile(text)
    return said_by([[
        local cluster = assert(Sim.new())
        local client = assert(cluster:connect())
        local all = assert(client:informer { "namespaces", indexes = { name = "metadata.name" } })
        assert(all:wait_synced(10))
        local function call(pods)
            ]] .. text .. [[

        end
        local function arm(pods)
            at_collection(function() pods:stop() end)
        end
        collectgarbage("setpause", 0)
        collectgarbage("setstepmul", 400)
        local junk = {}
        for n = 1, 150 do
            local pods = assert(client:informer { "namespaces" })
            arm(pods)
            for i = 1, n % 37 do
                junk[i] = {}
            end
            for _ = 1, 6 do
                call(pods)
            end
            pods:stop()
        end
        client:close()
        io.stdout:write("done\n")
    ]])
end

describe("a finalizer that stops an informer in the middle of a call #processes", function()
    for name, text in pairs {
        get = "pods:get('default')",
        list = "pods:list { namespace = 'default' }",
        by = "pods:by('name', 'default')",
        values = "pods:values('name')",
        on = "pods:on { add = function() end }",
    } do
        it("ends it: " .. name, function()
            assert.equal("done\nstatus 0\n", stopped_meanwhile(text))
        end)
    end
end)

describe("a finalizer that closes what a text belongs to #processes", function()
    for name, texts in pairs {
        ["a client"] = {
            [[kubelua.connect { server = "http://127.0.0.1:1", namespace = ("n"):rep(40) }]],
            [[owner:namespace() == ("n"):rep(40)]],
        },
        ["a simulator"] = {
            [[require("kubelua.sim").new()]],
            [[(simcore.url(owner) or owner:listen {}):find("^http://127%.0%.0%.1:%d+$")]],
        },
    } do
        it("does not change it: " .. name, function()
            assert.equal("done\nstatus 0\n", said_by([[
                collectgarbage("setpause", 0)
                collectgarbage("setstepmul", 400)
                local junk, closed = {}, false
                local function arm(owner)
                    at_collection(function()
                        closed = true
                        owner:close()
                    end)
                end
                for n = 1, 60 do
                    local owner = assert(]] .. texts[1] .. [[)
                    closed = false
                    arm(owner)
                    for i = 1, n % 37 do
                        junk[i] = {}
                    end
                    for i = 1, 8 do
                        local ok, is_right = pcall(function() return ]] .. texts[2] .. [[ end)
                        assert(closed or ok, is_right)
                        assert(not ok or is_right)
                        junk[0] = n .. "x" .. i
                    end
                    owner:close()
                end
                io.stdout:write("done\n")
            ]]))
        end)
    end
end)

describe("an informer and its registrations that are collected together #processes", function()
    it("end in any order, even if a finalizer uses them meanwhile", function()
        assert.equal("done\nstatus 0\n", said_by [[
            local cluster = assert(Sim.new())
            local client = assert(cluster:connect())
            local poller = core.poller()
            local function use(n)
                local pods = assert(client:informer { "namespaces" })
                assert(pods:wait_synced(10))
                local one = assert(core.subscribe(pods, poller, n, {}))
                local two = assert(core.subscribe(pods, poller, n + 1, {}))
                if n % 2 == 0 then
                    assert(core.registration_next(one))
                end
                local function finish()
                    core.registration_next(two)
                    core.registration_remove(n % 3 == 0 and one or two)
                    pods:count()
                    if n % 5 == 0 then
                        pods:stop()
                    end
                    core.registration_done(one)
                    tostring(one)
                end
                at_collection(finish)
                return n % 7 == 0 and at_collection(finish)
            end
            for n = 1, 60 do
                use(n)
                if n % 4 == 0 then
                    collectgarbage()
                end
            end
            use(60) -- a finalizer that runs at the end of the script
            if jit then jit.flush() end
            collectgarbage()
            collectgarbage()
            client:close()
            io.stdout:write("done\n")
        ]])
    end)
end)

describe("a finalizer that removes a registration during its event #processes", function()
    it("ends it", function()
        assert.equal("done\nstatus 0\n", said_by [[
            local cluster = assert(Sim.new())
            local client = assert(cluster:connect())
            local all = assert(client:informer { "namespaces" })
            assert(all:wait_synced(10))
            local poller = core.poller()
            local function arm(box)
                at_collection(function() core.registration_remove(box) end)
            end
            local function touch(value)
                assert(cluster:apply { apiVersion = "v1", kind = "Namespace",
                    metadata = { name = "n", labels = { touched = value } } })
            end
            collectgarbage("setpause", 0)
            collectgarbage("setstepmul", 400)
            local junk = {}
            for n = 1, 150 do
                touch("a" .. n)
                local box = assert(core.subscribe(all, poller, n, {}))
                touch("b" .. n)
                local deadline = core.now() + 0.05
                while box:backlog() < 7 and core.now() < deadline do
                    poller:wait(0.01)
                    poller:next()
                end
                arm(box)
                for i = 1, n % 37 do
                    junk[i] = {}
                end
                local event, first, second = core.registration_next(box)
                while event do
                    assert(event == "synced" or first.metadata.name)
                    assert(event ~= "update" or second.metadata.name)
                    event, first, second = core.registration_next(box)
                end
                core.registration_remove(box)
            end
            client:close()
            io.stdout:write("done\n")
        ]])
    end)
end)
