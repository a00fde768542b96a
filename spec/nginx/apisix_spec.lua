-- Three faults of the discovery in APISIX: its published algorithm shows them here, on the
-- simulator. KubeLua has none of them in the same situations: see faults_spec.lua.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"
local slices = require "slices"

-- The Kubernetes discovery of APISIX as its documentation and reviews describe it, in a few lines.
-- One process lists pages into a dictionary that workers share; a worker keeps the nodes of a
-- service while its version is the same.
local discovery = {}

---@class spec.Discovery
---@field dictionary table<string, string|number> stands for lua_shared_dict
---@field on_write fun(key: string)? called after each write to the dictionary
local Discovery = {}
Discovery.__index = Discovery

local PATH = "/apis/discovery.k8s.io/v1/endpointslices"

---@param client kubelua.Client
---@param page_size integer
---@return spec.Discovery
function discovery.new(client, page_size)
    return setmetatable({
        client = client, page_size = page_size, dictionary = {}, slices = {}, dirty = {},
    }, Discovery)
end

local function write(self, key, value)
    self.dictionary[key] = value
    if self.on_write then
        self.on_write(key)
    end
end

-- The nodes of a service, merged from the slices seen so far.
local function nodes_of(of_service)
    local nodes = {}
    for _, slice in pairs(of_service) do
        for _, endpoint in ipairs(slice.endpoints) do
            nodes[#nodes + 1] = endpoint.addresses[1]
        end
    end
    table.sort(nodes)
    return table.concat(nodes, " ")
end

-- Puts one slice into the dictionary: its version first, then its content.
local function add_slice(self, slice)
    local key = slice.metadata.namespace .. "/"
        .. slice.metadata.labels["kubernetes.io/service-name"]
    self.slices[key] = self.slices[key] or {}
    self.slices[key][slice.metadata.name] = slice
    local content = nodes_of(self.slices[key])
    write(self, key .. "#version", kubelua.hash(content))
    write(self, key, content)
    self.dirty[key] = nil
end

-- Handles one page, then the next ones. As in the published code, the results of single slices are
-- not checked.
local function list_pages(self, continue)
    local reply = self.client:request {
        path = PATH, query = { limit = tostring(self.page_size), continue = continue },
    }
    if not reply then
        return false
    end
    local list = kubelua.decode(reply.body)
    for _, slice in ipairs(list.items) do
        add_slice(self, slice)
    end
    if list.metadata.continue and list.metadata.continue ~= "" then
        list_pages(self, list.metadata.continue)
    end
    return true
end

---Lists everything and deletes what is not in the list. False if a request failed.
function Discovery:relist()
    self.slices, self.dirty = {}, {}
    for key in pairs(self.dictionary) do
        if not key:find("#", 1, true) then
            self.dirty[key] = true
        end
    end
    if not list_pages(self) then
        return false
    end
    for key in pairs(self.dirty) do
        self.dictionary[key], self.dictionary[key .. "#version"] = nil, nil
    end
    return true
end

---Handles a slice from a watch.
function Discovery:change(slice)
    add_slice(self, slice)
end

---A worker's cache: a function from a service to its nodes, "10.0.0.1 10.0.0.2", or nil.
function Discovery:worker()
    local cache = {}
    return function(key)
        local version = self.dictionary[key .. "#version"]
        local kept = cache[key]
        if not kept or kept.version ~= version then
            kept = { version = version, nodes = self.dictionary[key] }
            cache[key] = kept
        end
        return kept.nodes
    end
end

describe("The published algorithm of APISIX", function()
    local cluster, theirs

    before_each(function()
        cluster = assert(Sim.new { no_controllers = true })
        for _, name in ipairs { "a", "b", "c" } do
            assert(cluster:load(slices.slice("web", name, name .. "-1", { "10.0.0.1" }, 80)))
        end
        theirs = discovery.new(assert(cluster:connect()), 2)
    end)

    after_each(function()
        theirs.client:close()
        cluster:close()
    end)

    it("takes a list whose second page failed as complete: drops live services", function()
        assert.is_true(theirs:relist())
        local resolve = theirs:worker()
        assert.equal("10.0.0.1", resolve("web/c"))
        cluster:fault { action = "fail", status = 500, verb = "list", resource =
            "endpointslices.discovery.k8s.io", page = 2, count = 0 }
        assert.is_true(theirs:relist())
        assert.equal("10.0.0.1", resolve("web/a"))
        assert.is_nil(resolve("web/c"))
    end)

    it("keeps old nodes under the new version for ever, if resolved between both writes", function()
        theirs:relist()
        local resolve = theirs:worker()
        theirs.on_write = function(key)
            if key == "web/a#version" then
                resolve("web/a")
            end
        end
        theirs:change(kubelua.decode(slices.slice("web", "a", "a-1", { "10.0.0.2" }, 80)))
        theirs.on_write = nil
        assert.equal("10.0.0.2", theirs.dictionary["web/a"])
        assert.equal("10.0.0.1", resolve("web/a"))
        theirs:relist() -- a relist does not help, because the version is right
        assert.equal("10.0.0.1", resolve("web/a"))
    end)

    it("shows a part of a service while a relist is between two pages", function()
        assert(cluster:load(slices.slice("web", "a", "z-2", { "10.0.0.3" }, 80)))
        theirs:relist()
        local resolve = theirs:worker()
        assert.equal("10.0.0.1 10.0.0.3", resolve("web/a"))
        local shown = {}
        theirs.on_write = function(key)
            if key == "web/b" then
                shown[#shown + 1] = resolve("web/a")
            end
        end
        theirs:relist()
        assert.same({ "10.0.0.1" }, shown)
    end)
end)
