-- Who pulls the events of what: a registration's, or an index's, by the id that the poller returns.
local sources = {}

-- Sources that one round looks at, before timers get their turn again.
local TURNS = 64

local pulls = {} -- id -> function that pulls its events
local background = setmetatable({}, { __mode = "v" }) -- the same, of what keeps no run going
local last_id = 0

---An id for a source, not used before.
---@return integer id
function sources.new_id()
    last_id = last_id + 1
    return last_id
end

---Registers who pulls events when the poller returns the id. One in the background, such as an
---index, does not keep a run going by itself; nor is it kept, but by whom it belongs to.
---@param id integer
---@param pull fun()
---@param in_background boolean?
function sources.add(id, pull, in_background)
    if in_background then
        background[id] = pull
    else
        pulls[id] = pull
    end
end

---@param id integer
function sources.remove(id)
    pulls[id] = nil
    background[id] = nil
end

-- What each of them waited for stayed in the parent at a fork: they look, and hear so.
local function pull_all()
    local all = {}
    for _, pull in pairs(pulls) do
        all[#all + 1] = pull
    end
    for _, pull in ipairs(all) do
        pull()
    end
end

---Has those pull that have something.
---@param poller userdata
function sources.pull(poller)
    for _ = 1, TURNS do
        local id = poller:next()
        if not id then
            break
        end
        if id == 0 then
            pull_all()
        end
        local pull = pulls[id] or background[id]
        if pull then
            pull()
        end
    end
end

---Whether one is not in the background.
---@return boolean
function sources.keep_going()
    return next(pulls) ~= nil
end

return sources
