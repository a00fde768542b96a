-- The catalogue of the kinds that a server serves, in its order of preference. It finds a kind by a
-- name as people type it, with kubectl's rules. survey.lua fills it, one group and version at a
-- time: what is known of a version is kept until its next reply has come.
local core = require "kubelua.core"
local options = require "kubelua.options"
local readings = require "kubelua.verbs.readings"

---What is known of a version of a group.
---@class kubelua.Slot
---@field group string
---@field version string
---@field kinds kubelua.Kind[] the kinds in the server's last reply about this version
---@field state "new"|"asked"|"answered"|"silent"|"failed" silent: it gave no reply, or an error
---@field is_unlisted boolean? the server's list leaves its group out, which was asked by its name
---@field is_doubtful boolean? it was silent when it was last asked
---@field sent_at number? a time of core.now, while it is asked
---@field message string? why it failed
---@field code string?

---@class kubelua.Catalogue
---@field slots kubelua.Slot[]
---@field by_key table<string, kubelua.Slot>
---@field open integer how many slots are asked or have failed
---@field places table<kubelua.Kind, integer>? the index of a kind's slot; nil: it must be made
---@field by_word table<string, kubelua.Kind[]> the kinds that have that name
---@field found table<string, kubelua.Kind> by name, of earlier calls
local Catalogue = {}
Catalogue.__index = Catalogue

-- Seconds: a kind that was found by a short name is taken although another group, which might have
-- the name too, has been silent for so long.
local PATIENCE = 1

-- The message for an unknown name is about so many names at most, and names so many versions that
-- have not answered.
local WORDS, SILENT = 5000, 20

---@return kubelua.Catalogue
function Catalogue.new()
    return setmetatable({ slots = {}, by_key = {}, open = 0, by_word = {}, found = {} }, Catalogue)
end

local function forget_index(self)
    self.places, self.found = nil, {}
end

-- Takes over what the server says of a version. True: its kinds must be asked for.
local function update_slot(self, slot, served)
    if served.kinds then
        slot.state = served.is_stale and "silent" or "answered"
        local is_less = served.is_stale and #served.kinds == 0
        slot.kinds = is_less and slot.kinds or served.kinds
        return false
    end
    self.open = self.open + 1
    if slot.state == "asked" then
        return false
    end
    slot.is_doubtful, slot.state = slot.state == "silent", "asked"
    return true
end

-- Adds versions that the server serves. Of those that it had before, what was known is kept.
-- Returns those that have to be asked.
local function add_served(self, former, served, is_unlisted)
    local unasked = {}
    for _, each in ipairs(served) do
        local key = each.group .. "/" .. each.version
        if not self.by_key[key] then
            local slot = former[key] or { group = each.group, version = each.version, kinds = {},
                state = "new" }
            slot.is_unlisted = is_unlisted
            self.by_key[key] = slot
            self.slots[#self.slots + 1] = slot
            if update_slot(self, slot, each) then
                unasked[#unasked + 1] = slot
            end
        end
    end
    return unasked
end

-- Keeps a version as it is. If its question has failed, the next one is for its group.
local function keep_slot(self, slot)
    slot.state = slot.is_unlisted and slot.state == "failed" and "silent" or slot.state
    self.by_key[slot.group .. "/" .. slot.version] = slot
    self.slots[#self.slots + 1] = slot
    if slot.state == "asked" or slot.state == "failed" then
        self.open = self.open + 1
    end
end

-- Forgets all versions, and returns them: in their order, and by name.
local function take_slots(self)
    local slots, by_key = self.slots, self.by_key
    self.slots, self.by_key, self.open = {}, {}, 0
    forget_index(self)
    return slots, by_key
end

---Takes over the server's groups and versions, in its order of preference. What is known of those
---that have to be asked is kept until they have answered. A group that the server lists no more is
---forgotten, unless it was found by its name.
---@param served kubelua.ServedVersion[]
---@return kubelua.Slot[] unasked those that have to be asked
function Catalogue:replace(served)
    local slots, former = take_slots(self)
    local unasked, listed = add_served(self, former, served, nil), {}
    for _, each in ipairs(served) do
        listed[each.group] = true
    end
    for _, slot in ipairs(slots) do
        if slot.is_unlisted and not listed[slot.group] then
            keep_slot(self, slot)
        end
    end
    return unasked
end

---Takes over the versions of a group that was asked for by its name. If the server lists it by now,
---nothing changes.
---@param group string
---@param served kubelua.ServedVersion[] none: there is no such group
---@return kubelua.Slot[] unasked those that have to be asked
function Catalogue:replace_group(group, served)
    for _, slot in ipairs(self.slots) do
        if slot.group == group and not slot.is_unlisted then
            return {}
        end
    end
    local slots, former = take_slots(self)
    for _, slot in ipairs(slots) do
        if slot.group ~= group then
            keep_slot(self, slot)
        end
    end
    return add_served(self, former, served, true)
end

---Notes the reply to a question, or why there is none.
---@param slot kubelua.Slot
---@param state "answered"|"silent"|"failed"
---@param kinds kubelua.Kind[]? nil: what was known is kept
function Catalogue:settle(slot, state, kinds)
    if slot.state ~= "asked" then
        return -- a reply in the aggregated form came first
    end
    slot.state, slot.sent_at, slot.kinds = state, nil, kinds or slot.kinds
    if self:slot(slot.group, slot.version) == slot then
        self.open = state == "failed" and self.open or self.open - 1
        forget_index(self)
    end
end

---The slot of a version, if the server has it.
---@param group string
---@param version string
---@return kubelua.Slot?
function Catalogue:slot(group, version)
    return self.by_key[group .. "/" .. version]
end

local function add_words(by_word, kind, words)
    for word in pairs(words) do
        local list = by_word[word]
        if not list then
            list = {}
            by_word[word] = list
        end
        if list[#list] ~= kind then
            list[#list + 1] = kind
        end
    end
end

local function make_index(self)
    if self.places then
        return
    end
    self.places, self.by_word = {}, {}
    for place, slot in ipairs(self.slots) do
        for _, kind in ipairs(slot.kinds) do
            self.places[kind] = place
            add_words(self.by_word, kind, kind.names)
            add_words(self.by_word, kind, kind.short_names)
        end
    end
end

local function matches_reading(kind, wanted, by_prefix, short, stale)
    local group = kind.group:lower()
    return (kind.is_stale or false) == stale
        and (not wanted.version or kind.version:lower() == wanted.version)
        and (not wanted.group or group == wanted.group
            or by_prefix and group:sub(1, #wanted.group) == wanted.group)
        and (short and kind.short_names or kind.names)[wanted.word] ~= nil
end

-- The first match; a kind that can be watched comes before one that cannot.
local function run_pass(self, ...)
    local found
    for _, kind in ipairs(self.by_word[(...).word] or {}) do
        if matches_reading(kind, ...) then
            if kind.can_watch then
                return kind
            end
            found = found or kind
        end
    end
    return found
end

-- Full names come before short ones, exact groups before beginnings of groups, and kinds that the
-- server is sure of before stale ones.
local function find_kind(self, name)
    make_index(self)
    for _, wanted in ipairs(readings.of(name:lower())) do
        for _, by_prefix in ipairs { false, wanted.prefix } do
            for _, short in ipairs { false, true } do
                local found = run_pass(self, wanted, by_prefix, short, false)
                    or run_pass(self, wanted, by_prefix, short, true)
                if found then
                    return found
                end
            end
        end
    end
    return nil
end

---Finds the kind that a name means.
---@param name string
---@return kubelua.Kind?
function Catalogue:find(name)
    local found = self.found[name] or find_kind(self, name)
    self.found[name] = found
    return found
end

-- True if the reply of a slot may change what a name means, now that `found` is known.
local function may_change(self, place, slot, meanings, found)
    for _, wanted in ipairs(meanings) do
        local may, is_named = readings.fits(wanted, slot.group, slot.version)
        if may and (is_named or not slot.is_doubtful or wanted.group ~= nil) then
            local group = found and self.slots[self.places[found]].group
            return not found or not found.names[wanted.word] or place < self.places[found]
                or is_named and group ~= slot.group
        end
    end
    return false
end

---The group of a name, if it is one that the server's list leaves out: of the kind that was found,
---or as the name says. nil: it is listed, is no DNS name, or there is none.
---@param name string
---@return string?
function Catalogue:unlisted_group(name)
    local found = self:find(name)
    if found then
        local slot = self.slots[self.places[found]]
        return slot.is_unlisted and slot.group or nil
    end
    local group, is_prefix = readings.group(name)
    local wanted = { group = group, prefix = is_prefix }
    for _, slot in ipairs(group and self.slots or {}) do
        if not slot.is_unlisted and readings.fits(wanted, slot.group) then
            return nil
        end
    end
    return group
end

---True if the name, as people type it, names the group of the slot.
---@param slot kubelua.Slot
---@param name string
---@return boolean
function Catalogue.is_named(slot, name)
    for _, wanted in ipairs(readings.of(name:lower())) do
        if wanted.group and readings.fits(wanted, slot.group, slot.version) then
            return true
        end
    end
    return false
end

---The slot that must be waited for before a name's meaning is certain; nil: none. The second result
---is the time of core.now at which it is not waited for any more, if there is one.
---@param name string
---@param anew boolean? what earlier replies said does not count
---@return kubelua.Slot?, number?
function Catalogue:awaited(name, anew)
    if self.open == 0 then
        return nil
    end
    local meanings = readings.of(name:lower())
    local found = self:find(name)
    if found and anew and self.slots[self.places[found]].state ~= "answered" then
        found = nil
    end
    local is_short = found and #meanings == 1 and not meanings[1].group
    for place, slot in ipairs(self.slots) do
        if (slot.state == "asked" or slot.state == "failed")
            and may_change(self, place, slot, meanings, found) then
            local till = is_short and (slot.sent_at or core.now()) + PATIENCE or nil
            if not till or till > core.now() then
                return slot, till
            end
        end
    end
    return nil
end

---The kind that a name means, if no reply can change that any more.
---@param name string
---@param builtin kubelua.Kind|false the built-in kind of that name; it counts while its group has
---not answered
---@return kubelua.Kind?
function Catalogue:find_certain(name, builtin)
    local slot = builtin and self:slot(builtin.group, builtin.version)
    if slot and slot.state ~= "answered" and #slot.kinds == 0 then
        return builtin or nil
    end
    local found = self:find(name)
    return found and not self:awaited(name) and found or nil
end

-- The versions whose API server gave no reply, for a message.
local function list_silent(self)
    local silent = {}
    for _, slot in ipairs(self.slots) do
        if slot.state == "silent" and #silent < SILENT then
            silent[#silent + 1] = slot.group .. "/" .. slot.version
        end
    end
    return silent
end

-- What the message for an unknown name is made of: the nearest name; the apiVersion of a kind of
-- that name; and true if its group is there.
local function look_around(self, wanted)
    local field = wanted.word:find("^%u") and "kind" or "plural"
    local words, served_as, has_group = {}, nil, not (wanted.group or ""):find(".", 1, true)
    for _, kind in ipairs(self.by_word[wanted.word:lower()] or {}) do
        served_as = served_as or kind.names[wanted.word:lower()] and kind.api_version
    end
    for _, slot in ipairs(self.slots) do
        has_group = has_group or slot.group == wanted.group
        for _, kind in ipairs(#words < WORDS and slot.kinds or {}) do
            words[#words + 1] = kind[field]
        end
    end
    return not served_as and options.nearest(wanted.word, words), served_as, has_group
end

---The message for an unknown name: with the nearest name, or the remedy.
---@param name string
---@return nil, string, string
function Catalogue:refuse(name)
    -- In "foos.example.com", example.com is not a version.
    local wanted = table.remove(readings.of(name))
    if not wanted or wanted.word == "" then
        return nil, "\"" .. name:sub(1, 100) .. "\" names no resource; write it as \"pods\", "
            .. "\"deployments.apps\" or \"apps/v1/Deployment\"", "unknown_kind"
    end
    make_index(self)
    local nearest, served_as, has_group = look_around(self, wanted)
    local hint
    if not served_as and not has_group then
        hint = ", and nothing of the group " .. wanted.group .. ": install its CRD "
            .. "(CustomResourceDefinition) or API server"
    elseif served_as and wanted.version then
        local api_version = wanted.group == "" and wanted.version
            or wanted.group .. "/" .. wanted.version
        return nil, api_version .. " has no " .. wanted.word .. "; it is served as " .. served_as,
            "unknown_kind"
    elseif served_as then
        hint = "; it is served as " .. served_as
    elseif nearest then
        hint = "; do you mean \"" .. nearest .. "\"?"
    else
        hint = "; if it is a custom one, its CustomResourceDefinition is not installed yet"
    end
    local unreachable = list_silent(self)
    if #unreachable > 0 then
        hint = hint .. "; it does not know " .. table.concat(unreachable, ", ")
            .. ", whose API server does not answer (kubectl get apiservices)"
    end
    return nil, "the server serves no resource \"" .. name .. "\"" .. hint, "unknown_kind"
end

return Catalogue
