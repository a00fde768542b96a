-- Programs that a worker of nginx runs: nginx's handler of SIGCHLD takes the exit status of every
-- child.
local Sim = require "kubelua.sim"
local copies = require "nginx_copies"
local eventually = require "eventually"
local guest = require "nginx_guest"

-- Runs a program in a task, and keeps its result until /said asks for it.
local RUNS = [[
    init_worker_by_lua_block {
        said = {}
        local function tell(name, argv, options)
            kubelua.spawn(function()
                local result, message, code, failed = kubelua.exec(argv, options)
                result = result or failed or {}
                said[name] = table.concat({ name, tostring(code), tostring(result.status),
                    tostring(result.signal), tostring(result.stdout), tostring(message) }, "|")
            end)
        end
        tell("zero", { "sh", "-c", "printf text" })
        tell("three", { "sh", "-c", "cat; exit 3" }, { stdin = "input" })
        tell("signal", { "sh", "-c", "kill -TERM $$" })
        tell("missing", { "/nonexistent/program" })
        tell("late", { "sleep", "600" }, { timeout = 0.05 })
        local canceled = kubelua.spawn(function()
            local ok = pcall(kubelua.exec, { "sleep", "600" })
            said.canceled = "canceled|" .. tostring(ok)
        end)
        kubelua.spawn(function() kubelua.sleep(0.05) canceled:cancel() end)
        assert(ngx.timer.every(0.005, function() kubelua.step(0) end))
    }
]]

local SAID = [[
    location /said { content_by_lua_block {
        local lines = {}
        for _, text in pairs(said) do lines[#lines + 1] = text end
        table.sort(lines)
        ngx.print(table.concat(lines, "\n"))
    } }
]]

local EXPECTED = table.concat({
    "canceled|false",
    "late|timeout|nil|nil|nil|sleep did not end within 0.05 s",
    "missing|io|nil|nil|nil|cannot run /nonexistent/program: No such file or directory",
    "signal|exit_status|nil|15||sh: ended by signal 15",
    "three|exit_status|3|nil|input|sh: exit status 3",
    "zero|nil|0|nil|text|nil",
}, "\n")

local KUBECONFIG = [[
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "URL", insecure-skip-tls-verify: true}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      interactiveMode: Never
      command: sh
      args:
      - -c
      - COMMAND
]]

local ANSWER = [[echo '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
        "status": {"token": "secret"}}']]

-- The text of a file, or "".
local function read_file(path)
    local file = io.open(path, "rb")
    local text = file and file:read("*a") or ""
    if file then
        file:close()
    end
    return text
end

describe("A program that a worker of nginx runs", function()
    local world, one, cluster, path

    before_each(function()
        world = guest.new()
    end)

    after_each(function()
        world:close()
        if cluster then
            cluster:close()
            os.remove(path)
            cluster = nil
        end
    end)

    -- The states of a worker's child processes; a zombie is "Z".
    local function states_of(worker)
        local states = {}
        local pids = copies.shell("cat /proc/" .. worker .. "/task/*/children 2>/dev/null")
        for pid in pids:gmatch("%d+") do
            states[#states + 1] = read_file("/proc/" .. pid .. "/stat"):match("%) (%a)")
        end
        return table.concat(states)
    end

    it("has its exit status, signal, timeout and cancellation told", function()
        one = world:start { workers = 2, http = RUNS, server = SAID }
        for _ = 1, 3 do
            world:says("/said", EXPECTED)
            local workers = one:workers()
            assert.equal(2, #workers)
            for _, worker in ipairs(workers) do
                eventually(function()
                    return states_of(worker) == ""
                end, "no child of worker " .. worker .. " is left", 60)
            end
            one:reload()
            eventually(function()
                local now = one:workers()
                return #now == 2 and now[1] ~= workers[1] and now[2] ~= workers[2]
            end, "the workers are new", 60)
        end
        assert.equal(0, one:count("unknown process"))
    end)

    local function start_with_plugin(command)
        cluster = assert(Sim.new { token = "secret" })
        for i = 1, 3 do
            assert(cluster:load("{apiVersion: v1, kind: Pod, metadata: {name: p" .. i .. "}}"))
        end
        path = os.tmpname()
        local file = assert(io.open(path, "w"))
        local values = { URL = assert(cluster:listen { tls = true }),
            COMMAND = string.format("%q", command):gsub("\\\n", "\\n") }
        file:write((KUBECONFIG:gsub("%u%u%u+", values)))
        file:close()
        one = world:start { workers = 1, server = [[
            location /pods { content_by_lua_block {
                local status = pods:status()
                ngx.print(pods:count(), " ", tostring(status.error))
            } }
        ]], http = ([[
            init_worker_by_lua_block {
                client = assert(kubelua.connect { kubeconfig = "PATH" })
                pods = assert(client:informer "pods")
                pods:on { add = function() end, error = function() end }
                assert(ngx.timer.every(0.005, function() kubelua.step(0) end))
            }
        ]]):gsub("PATH", path) }
    end

    it("gives a client its credentials, as the plugin of a kubeconfig", function()
        start_with_plugin(ANSWER)
        world:says("/pods", "3 nil")
    end)

    it("tells its failure, as the plugin of a kubeconfig that exits with 3", function()
        start_with_plugin("echo no such user >&2; exit 3")
        local _, body
        eventually(function()
            _, body = one:get("/pods")
            return body and body:find("failed (exit status 3): no such user", 1, true)
        end, function()
            return "the plugin's status is told: " .. tostring(body) .. one:said()
        end, 60)
    end)
end)
