-- The two servers that are compared: a real one of spec/cluster, and the simulator on a port of
-- this process. Each is { url =, options = lines of a curl configuration }.
local Sim = require "kubelua.sim"

local TOKEN = "truth"

local servers = {}

local function is_there(path)
    local file = io.open(path)
    if file then
        file:close()
    end
    return file ~= nil
end

local function read_environment(folder)
    local variables = {}
    for line in io.lines(folder .. "/env") do
        local name, value = line:match("^([%w_]+)=(.*)$")
        variables[name] = value
    end
    return variables
end

local function command(words)
    local pipe = assert(io.popen(words .. " 2>&1; echo \"status=$?\""))
    local said = pipe:read("*a")
    pipe:close()
    return said:match("status=0\n$") ~= nil, said
end

-- Its folder, and a function that ends it if it was started here.
local function start_cluster(folder)
    local given = os.getenv("KUBELUA_CLUSTER")
    if given then
        return given, function() end
    end
    local binaries = os.getenv("KUBELUA_CLUSTER_BIN") or "build/cluster"
    if not is_there(binaries .. "/kube-apiserver") then
        return nil, "no real API server in " .. binaries .. "; spec/cluster/build.sh builds one"
    end
    local cluster = folder .. "/cluster"
    local ok, said = command("spec/cluster/cluster.sh start --owner $PPID '" .. cluster .. "'")
    if not ok then
        error(said, 0)
    end
    return cluster, function()
        command("spec/cluster/cluster.sh stop '" .. cluster .. "'")
    end
end

---Both, in `real` and `sim`, with `folder` for files and `stop()`; or nil, why not.
function servers.start()
    local folder = assert(io.popen("mktemp -d")):read("l")
    local cluster, stop = start_cluster(folder)
    if not cluster then
        os.remove(folder)
        return nil, stop
    end
    local env = read_environment(cluster)
    local sim = assert(Sim.new { no_controllers = true, rbac = true, token = TOKEN })
    local url = assert(sim:listen {})
    return {
        folder = folder,
        real = {
            name = "real",
            url = env.SERVER,
            options = {
                'cacert = "' .. env.CA .. '"',
                'header = "Authorization: Bearer ' .. env.TOKEN .. '"',
            },
        },
        sim = {
            name = "simulator", url = url,
            options = { 'header = "Authorization: Bearer ' .. TOKEN .. '"' },
        },
        stop = function()
            stop()
            sim:close()
            command("rm -rf '" .. folder .. "'")
        end,
    }
end

return servers
