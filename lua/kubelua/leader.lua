-- Leader election by a Lease: of all processes that name it, one at a time leads. What to ask, and
-- what an answer means, is in leader/election.lua; leader/candidate.lua asks, for all controllers
-- of this process that name one Lease. docs/CONTROLLERS.md says what Kubernetes cannot fence.
local Candidate = require "kubelua.leader.candidate"
local core = require "kubelua.core"
local loop = require "kubelua.loop"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"
local scheduler = require "kubelua.scheduler"

---@class kubelua.LeaderOptions
---@field name string of the Lease
---@field namespace? string of the Lease; default: the client's
---@field identity? string of this process, as its only one; default: the host's name and random
---digits
---@field lease? number seconds after which others take a Lease that is not renewed; default: 15
---@field renew? number seconds without a renewal after which this process stops; default: 10
---@field retry? number seconds between renewals, or tries; default: 2
local TYPES = { name = "string", namespace = "string", identity = "string", lease = "number",
    renew = "number", retry = "number" }

local leader = {}

-- The elections of clusters over the network, by what tells them apart. The elections of a
-- simulated cluster are in its state.
local by_server = {}

-- What tells this process from all others.
local own_identity

local function check_times(all)
    if not (all.retry > 0 and all.retry < all.renew and all.renew < all.lease
        and all.lease < 2 ^ 31) then
        misuse("leader: seconds with 0 < retry < renew < lease expected, such as retry = 2, "
            .. "renew = 10, lease = 15; here retry = %g, renew = %g, lease = %g", all.retry,
            all.renew, all.lease)
    end
end

---Checks options, raising what is wrong with them; returns them in full.
---@param given string|kubelua.LeaderOptions
---@return kubelua.LeaderOptions
function leader.options(given)
    if type(given) == "string" then
        given = { name = given }
    end
    options_of.check("leader", given, TYPES)
    local name = given.name
    if not name then
        misuse("leader: the name of a Lease expected, such as leader = \"foo-controller\"")
    elseif #name > 253 or not name:find("^[a-z0-9]") or not name:find("[a-z0-9]$")
        or name:find("[^a-z0-9.-]") then
        misuse("leader: '%s' cannot be the name of a Lease: small letters, digits, '-' and '.'",
            name)
    elseif given.identity == "" then
        misuse("leader: the identity is empty, which stands for a Lease without a holder")
    end
    core.check_namespace("leader", given.namespace)
    local all = { name = name, namespace = given.namespace, identity = given.identity,
        lease = given.lease or 15, renew = given.renew or 10, retry = given.retry or 2 }
    check_times(all)
    return all
end

-- The candidates for the Leases of a cluster.
local function candidates_at(client)
    local sim = core.state(client, "kubelua.client").sim
    if sim then
        local state = package.loaded["kubelua.simcore"].state(sim)
        state.candidates = state.candidates or {}
        return state.candidates
    end
    local server = core.client_server(client)
    by_server[server] = by_server[server] or {}
    return by_server[server]
end

local candidates = setmetatable({}, { __mode = "k" }) -- all of them
local leaving = 0 -- those that give their Lease back

-- Leases are given back at the end of a run: others need not wait until they are over.
loop.on_end(function()
    local tasks = {}
    for candidate in pairs(candidates) do
        tasks[#tasks + 1] = scheduler.task("the end of a leader", candidate.end_run, candidate)
    end
    local function is_done()
        for _, task in ipairs(tasks) do
            if not task.is_over then
                return false
            end
        end
        return leaving == 0
    end
    while not is_done() do
        loop.sleep(0.01)
    end
end)

-- The one that there is, or a new one.
local function candidate_of(client, options)
    local all = candidates_at(client)
    -- Explicit identities stand for processes of their own.
    local key = options.namespace .. "/" .. options.name .. "/" .. (options.identity or "")
    local found = all[key]
    if found then
        for _, name in ipairs { "lease", "renew", "retry" } do
            if found.options[name] ~= options[name] then
                misuse("leader: the Lease %s/%s has %s = %g in another use: one Lease has one set "
                    .. "of times", options.namespace, options.name, name, found.options[name])
            end
        end
        return found
    end
    own_identity = own_identity or core.hostname() .. "_" .. core.random(8)
    options.identity = options.identity or own_identity
    found = Candidate.new(options, {
        leaves = function()
            all[key], candidates[found] = nil, nil
            leaving = leaving + 1
        end,
        left = function() leaving = leaving - 1 end,
    })
    all[key], candidates[found] = found, true
    return found
end

---Takes part in the election for a Lease, at once and in the background. What it returns has no
---methods but functions:
---  is_leader(): this process leads, by its clock now
---  on_gain(f), on_loss(f): f(), which must not wait, each time that begins or ends; f of on_gain
---    is called at once where this process leads already
---  while_busy(f): the end of a run of the loop gives the Lease back once f() is false
---  before_write(write): for scopes; true, and write.timeout so that it ends before the lease does;
---    or nil, message, "not_leader"
---  guard(): a before_write for as long as the present leadership lasts, and no later one
---  release(): takes no part any more, after its last write; the last one that named the Lease
---    gives it back. Does not wait
---  status(): for people
---@param client kubelua.Client
---@param given string|kubelua.LeaderOptions
---@return kubelua.Leader
function leader.join(client, given)
    local options = leader.options(given)
    options.namespace = options.namespace or client:namespace()
    return candidate_of(client, options):join(client)
end

return leader
