-- The clusters of the soak of a fleet: a folder of kubeconfigs, one a cluster. All lead to the one
-- API server, each to a namespace of its own, with a service account that has rights nowhere else
-- and tokens that live for a few seconds.
--   local clusters = dofile("clusters.lua")(FOLDER, CLUSTER.SH, shell, client)
local COUNT = tonumber(os.getenv "CLUSTERS" or "12")
local LIVES = 20 -- seconds of a token; each cluster gets a new one twice as often

local TEXT = [[
apiVersion: v1
kind: Config
current-context: c
clusters: [{ name: c, cluster: { server: "%s", certificate-authority: "%s" } }]
contexts: [{ name: c, context: { cluster: c, user: c, namespace: "%s" } }]
users: [{ name: c, user: { token: "%s" } }]
]]

---@class soak.Clusters
---@field names string[] also of the namespaces
---@field away table<string, number> those that the folder does not name now, and since when
---@field where table<string, integer> by name: through which address it is reached
local Clusters = {}
Clusters.__index = Clusters

local function path_of(self, name)
    return self.folder .. "/clusters/" .. name .. ".yaml"
end

local function put(path, text)
    local file = assert(io.open(path, "w"))
    assert(file:write(text))
    assert(file:close())
end

---Gives a cluster a new token, in a new file.
---@param name string
function Clusters:write(name)
    local token = self.shell(("%s service-token %s/c %s soak %s %d"):format(self.script,
        self.folder, name, self.uids[name], LIVES))
    if self.away[name] then
        return -- it has left meanwhile
    end
    local path = path_of(self, name)
    put(path .. ".new", TEXT:format(self.addresses[self.where[name]], self.env.CA, name,
        token:match("%S+")))
    assert(os.rename(path .. ".new", path))
end

---A cluster leaves.
---@param name string
function Clusters:take(name)
    self.away[name] = kubelua.now()
    assert(os.remove(path_of(self, name)))
end

---A cluster comes back.
---@param name string
function Clusters:give(name)
    self.away[name] = nil
    self:write(name)
end

---All clusters come back.
function Clusters:give_all()
    for _, name in ipairs(self.names) do
        if self.away[name] then
            self:give(name)
        end
    end
end

local function random_name(self, is_away)
    local list = {}
    for _, name in ipairs(self.names) do
        if (self.away[name] ~= nil) == is_away then
            list[#list + 1] = name
        end
    end
    return list[1] and list[math.random(#list)], #list
end

---What may happen to clusters.
---@return fun()[]
function Clusters:troubles()
    local function leave()
        local name, left = random_name(self, false)
        if left > COUNT / 2 then
            self:take(name)
        end
    end
    local function come()
        local name = random_name(self, true)
        if name then
            self:give(name)
        end
    end
    local function leave_and_come() -- perhaps before its life has ended
        local name = random_name(self, false)
        self:take(name)
        kubelua.sleep(math.random() ^ 4 * 5)
        self:give(name)
    end
    local function move() -- its server has another address: it begins anew
        local name = random_name(self, false)
        self.where[name] = self.where[name] % #self.addresses + 1
        self:write(name)
    end
    local function spoil() -- a file that cannot be read changes nothing
        local name = random_name(self, false)
        put(path_of(self, name), TEXT:sub(1, math.random(0, #TEXT - 2)))
        kubelua.sleep(math.random() * 3)
        self:write(name)
    end
    local function cut() -- connections of the clusters that are reached through the proxy
        self.shell(("%s proxy %s/c cut"):format(self.script, self.folder))
    end
    local function refuse() -- such clusters are away, the fleet's home is not
        self.shell(("%s proxy %s/c refuse"):format(self.script, self.folder))
        cut()
        kubelua.sleep(math.random() * 5)
        self.shell(("%s proxy %s/c accept"):format(self.script, self.folder))
    end
    local list = { leave, come, leave_and_come, move, spoil }
    if self.env.PROXY ~= "" then
        list[#list + 1], list[#list + 2] = cut, refuse
    end
    return list
end

-- Makes a cluster: its namespace, and an account with all rights there.
local function make(self, client, name)
    assert(client:create { apiVersion = "v1", kind = "Namespace", metadata = { name = name } })
    local account = assert(client:create { apiVersion = "v1", kind = "ServiceAccount",
        metadata = { name = "soak", namespace = name } })
    assert(client:create { apiVersion = "rbac.authorization.k8s.io/v1", kind = "RoleBinding",
        metadata = { name = "soak", namespace = name },
        roleRef = { apiGroup = "rbac.authorization.k8s.io", kind = "ClusterRole",
            name = "cluster-admin" },
        subjects = { { kind = "ServiceAccount", name = "soak", namespace = name } } })
    self.uids[name] = account.uid
    self:write(name)
end

local function read_env(path)
    local env = {}
    for line in io.lines(path) do
        local name, value = line:match("^(%u+)=(.*)$")
        env[name or ""] = value
    end
    return env
end

-- Changes the credentials of all clusters, one after the other, for ever.
local function renew(self)
    while true do
        for _, name in ipairs(self.names) do
            kubelua.sleep(LIVES / 2 / COUNT)
            if not self.away[name] then
                self:write(name)
                self.renewed = self.renewed + 1
            end
        end
    end
end

return function(folder, script, shell, client)
    local self = setmetatable({ folder = folder, script = script, shell = shell, names = {},
        uids = {}, away = {}, where = {}, renewed = 0, env = read_env(folder .. "/c/env") },
        Clusters)
    local port = self.env.SERVER:match(":(%d+)$")
    self.addresses = { self.env.SERVER, "https://localhost:" .. port }
    if self.env.PROXY ~= "" then
        table.insert(self.addresses, "https://" .. self.env.PROXY)
    end
    shell("mkdir -p " .. folder .. "/clusters")
    for i = 1, COUNT do
        local name = "soak-" .. i - 1
        self.names[i], self.where[name] = name, i % #self.addresses + 1
        make(self, client, name)
    end
    kubelua.spawn(renew, self)
    return self
end
