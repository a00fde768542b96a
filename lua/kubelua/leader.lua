-- Leader election by a Lease: of all processes that name the same Lease, one at a time leads.
-- leader/election.lua has the rules: when to ask, and what a reply means. leader/candidate.lua
-- sends the requests, for all controllers of this process that name the same Lease.
-- docs/CONTROLLERS.md says what Kubernetes cannot fence.
local Candidate = require "kubelua.leader.candidate"
local core = require "kubelua.core"
local loop = require "kubelua.loop"
local members = require "kubelua.leader.member"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"
local Teller = require "kubelua.leader.teller"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

---@class kubelua.LeaderOptions
---@field name string of the Lease
---@field namespace? string of the Lease; default: the client's
---@field identity? string of this process, unique; default: the host's name and random
---digits
---@field lease? number seconds without a renewal after which others take the Lease; default: 15
---@field renew? number seconds without a renewal after which this process stops; default: 10
---@field retry? number seconds between renewals, and between attempts; default: 2

local TYPES = { name = "string", namespace = "string", identity = "string", lease = "number",
    renew = "number", retry = "number" }

local leader = {
    -- Set by kubelua run --dry-run: every process leads, and no Lease is taken. It is called with
    -- the name of each Lease, and with what this process does instead.
    without_lease = nil, ---@type fun(lease: string, role: string)?
}

-- The candidates in clusters over the network, by the URL of the server. Those in a simulated
-- cluster are in its state.
local by_server = {}

-- The default identity of this process.
local own_identity

local WORDS = { gained = "%s leads", lost = "%s does not lead any more: %s",
    left = "%s has ended, and releases the Lease", holder = "%s leads; %s stands by",
    refused = "this process does not lead (%s); the write was not sent" }

---@type kubelua.leader.Use
local ELECTION = { teller = function(options)
    return Teller.new(options, "leader election by Lease " .. options.namespace .. "/"
        .. options.name, WORDS)
end }

local function check_times(call, all)
    if not (all.retry > 0 and all.retry < all.renew and all.renew < all.lease
        and all.lease < 2 ^ 31) then
        misuse("%s: seconds with 0 < retry < renew < lease expected, such as retry = 2, "
            .. "renew = 10, lease = 15; here retry = %g, renew = %g, lease = %g", call, all.retry,
            all.renew, all.lease)
    end
end

---Checks options; returns them with their defaults. Raises if they are wrong.
---@param given string|kubelua.LeaderOptions
---@param call string? for messages; default: "leader"
---@return kubelua.LeaderOptions
function leader.options(given, call)
    call = call or "leader"
    if type(given) == "string" then
        given = { name = given }
    end
    options_of.check(call, given, TYPES)
    local name = given.name
    if not name then
        misuse("%s: the name of a Lease expected, such as %s = \"foo-controller\"", call, call)
    elseif #name > 253 or not name:find("^[a-z0-9]") or not name:find("[a-z0-9]$")
        or name:find("[^a-z0-9.-]") then
        misuse("%s: '%s' cannot be the name of a Lease: use lower-case letters, digits, "
            .. "'-' and '.'", call, name)
    elseif given.identity == "" then
        misuse("%s: the identity is empty; give this process a name, or leave 'identity' out",
            call)
    end
    core.check_namespace(call, given.namespace)
    local all = { name = name, namespace = given.namespace, identity = given.identity,
        lease = given.lease or 15, renew = given.renew or 10, retry = given.retry or 2 }
    check_times(call, all)
    return all
end

-- The candidates of this process in the cluster of a client.
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

local candidates = setmetatable({}, { __mode = "k" }) -- all candidates, a set
local leaving = {} -- candidates that are releasing their Lease, a set: it keeps their tasks

-- The end of a run releases the Leases, so that other processes need not wait until they expire.
loop.on_end(function()
    local ends = {}
    for candidate in pairs(candidates) do
        ends[#ends + 1] = tasks.task("the end of a leader", candidate.end_run, candidate)
    end
    local function is_done()
        for _, task in ipairs(ends) do
            if not task.is_over then
                return false
            end
        end
        return next(leaving) == nil
    end
    while not is_done() do
        waiting.sleep(0.01)
    end
end)

-- Returns the candidate for a Lease; makes it if there is none.
local function find_or_make_candidate(client, options, use)
    local all = candidates_at(client)
    -- Different identities count as different processes.
    local key = options.namespace .. "/" .. options.name .. "/" .. (options.identity or "")
    local found = all[key]
    if found then
        for _, name in ipairs { "lease", "renew", "retry" } do
            if found.options[name] ~= options[name] then
                misuse("leader: another controller here uses the Lease %s/%s with %s = %g; give "
                    .. "both the same times", options.namespace, options.name, name,
                    found.options[name])
            end
        end
        return found
    end
    options.identity = options.identity or leader.identity()
    found = Candidate.new(options, {
        leaves = function()
            all[key], candidates[found] = nil, nil
            leaving[found] = true
        end,
        left = function() leaving[found] = nil end,
    }, use)
    all[key], candidates[found] = found, true
    return found
end

---The default identity of this process.
---@return string
function leader.identity()
    own_identity = own_identity or core.hostname() .. "_" .. core.random(8)
    return own_identity
end

---True while a Lease is being released: its client must stay open.
---@return boolean
function leader.is_leaving()
    return next(leaving) ~= nil
end

---Joins the election for a Lease; it starts at once, in the background. The result has functions,
---not methods:
---  is_leader(): true while this process leads, by its clock
---  on_gain(f), on_loss(f): f() is called when leading begins or ends, and must not wait; on_gain
---    calls f at once if this process leads already
---  while_busy(f): the end of a run waits until f() is false before it releases the Lease
---  before_write(write): for scopes; true, and lowers write.timeout so that the write ends before
---    the lease does; or nil, message, "not_leader"
---  guard(): a before_write that allows writes during the present leadership only
---  release(): leaves the election after its last write; does not wait. The last user of the Lease
---    releases it
---  status(): a table, for people
---@param client kubelua.Client
---@param given string|kubelua.LeaderOptions
---@return kubelua.Leader
function leader.join(client, given)
    local options = leader.options(given)
    options.namespace = options.namespace or client:namespace()
    if leader.without_lease then
        leader.without_lease(options.namespace .. "/" .. options.name, "acts as the leader")
        return members.without_lease(options)
    end
    return find_or_make_candidate(client, options, ELECTION):join(client)
end

---Holds a Lease for another use than an election; see join.
---@param client kubelua.Client
---@param options kubelua.LeaderOptions with all defaults
---@param use kubelua.leader.Use
---@return kubelua.Leader
function leader.hold(client, options, use)
    return find_or_make_candidate(client, options, use):join(client)
end

return leader
