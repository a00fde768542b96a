-- Sources of events: registrations, indexes, requests. The poller returns the id of a source that
-- has events; the function registered here under that id pulls them.
local sources = {}

-- A round looks at this many sources at most; then timers are looked at.
local TURNS = 64

-- id -> what pulls its events: a function, or an object with a method `pull`.
local pulls = {}
-- The same, for sources that do not keep a run going.
local background = setmetatable({}, { __mode = "v" })
local last_id = 0

---A new id for a source.
---@return integer id
function sources.new_id()
    last_id = last_id + 1
    return last_id
end

---Registers the function that pulls events when the poller returns the id. A source in the
---background, such as an index, does not keep a run going, and only its owner keeps its function
---alive.
---@param id integer
---@param pull fun()|{ pull: fun(self) }
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

local function call_pull(pull)
    if type(pull) == "table" then
        pull:pull()
    else
        pull()
    end
end

-- In a child of fork(), looks at every source that is not in the background: no event will reach it
-- here, so it must report "forked".
local function pull_all()
    local all = {}
    for _, pull in pairs(pulls) do
        all[#all + 1] = pull
    end
    for _, pull in ipairs(all) do
        call_pull(pull)
    end
end

---Pulls the events of sources that have some.
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
            call_pull(pull)
        end
    end
end

---True if there is a source that is not in the background: a run goes on for it.
---@return boolean
function sources.keep_going()
    return next(pulls) ~= nil
end

return sources
