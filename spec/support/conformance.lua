-- Runs one description of how informers behave against each kind of API server: the simulator
-- in-process ("inprocess") and over loopback TLS ("tls"), and a real one ("real"). KUBELUA_BACKEND
-- lists the ones to use, separated by commas; default: both of the simulator.
local busted = require "busted"
local core = require "kubelua.core"
local eventually = require "eventually"
local Scene = require "scene"

local conformance = {}

if not os.getenv("KUBELUA_LOG") then
    core.set_log_level("off")
end

local BACKENDS = {
    inprocess = function() return require("backend_sim").inprocess end,
    tls = function() return require("backend_sim").tls end,
    real = function() return require("backend_real") end,
}

-- The scheduler of this module instance. Busted loads modules anew for each file; old instances are
-- collected at some time.
assert(require("kubelua.tasks").poller:open())
local at_rest = core.live()

local function chosen()
    local names = {}
    for name in (os.getenv("KUBELUA_BACKEND") or "inprocess,tls"):gmatch("[^,]+") do
        assert(BACKENDS[name], "KUBELUA_BACKEND=" .. name .. ": use inprocess, tls or real")
        names[#names + 1] = name
    end
    return names
end

-- An `it` whose function gets a scene of its own; the scene is closed after it.
local function make_it(cluster)
    return function(sentence, f)
        busted.it(sentence, function()
            local scene = Scene.new(cluster:start())
            local ok, problem = pcall(f, scene)
            scene.calm = not ok
            local closed, trouble = pcall(scene.close, scene)
            if not ok then
                error(problem, 0)
            elseif not closed then
                error(trouble, 0)
            end
        end)
    end
end

-- LuaJIT keeps constants of compiled code alive, and takes values that earlier calls left on the
-- stack for references.
local function forget()
    local jit = rawget(_G, "jit")
    if jit then
        jit.flush()
        select("#", rawget(_G, "unpack")({}, 1, 1000))
    end
end

local function add_last(cluster)
    busted.it("leaves nothing alive", function()
        cluster:stop()
        forget()
        eventually(function()
            collectgarbage()
            collectgarbage()
            for kind, count in pairs(core.live()) do
                if count > at_rest[kind] then
                    return false
                end
            end
            return true
        end, function()
            local lines = {}
            for kind, count in pairs(core.live()) do
                lines[#lines + 1] = kind .. " " .. count .. ", at rest " .. at_rest[kind]
            end
            return table.concat(lines, "; ")
        end, 2)
    end)
end

---Describes once for each backend: calls `f(it, cluster)`. Functions passed to `it` get a scene.
---@param title string
---@param f fun(it: fun(sentence: string, f: fun(scene: table)), cluster: table)
function conformance.describe(title, f)
    for _, name in ipairs(chosen()) do
        busted.describe(title .. " (" .. name .. "):", function()
            local cluster = BACKENDS[name]()
            f(make_it(cluster), cluster)
            add_last(cluster)
        end)
    end
end

return conformance
