-- The Secrets of auth-secret, in the owner. Of Opaque Secrets only the metadata is watched; those
-- that an Ingress names are read one by one, and published as the text of a htpasswd file. A Secret
-- that is gone or broken has no entry, and then its paths answer 503.
local publish = require "resty.kubelua.gateway.publish"

local users = {}

local MOST_BYTES = 256 * 1024 -- 3,000 users: a worker reads a new version at once
local AGAIN = 1 -- seconds until a Secret is read again that could not be read

---@class resty.kubelua.gateway.Users
---@field versions table<string, string> of the Opaque Secrets, by "namespace/name"
---@field wanted table<string, resty.kubelua.gateway.WantedUsers> by the key of the entry
---@field read table<string, string> the versions that were read, by the key of the entry
---@field fresh table[] problems that are new
---@field is_due boolean something may have to be read
---@field is_running boolean a task reads
---@field is_complete boolean all that was named was read once
local Users = {}
Users.__index = Users

---@class resty.kubelua.gateway.WantedUsers
---@field secret string "namespace/name"
---@field map boolean? each key of the Secret is a user
---@field ingress string "namespace/name" of an Ingress that names it

---@param kube resty.kubelua.Instance
---@param kubelua table
---@param client kubelua.Client
---@param tell fun(problem: table)
---@return resty.kubelua.gateway.Users
function users.new(kube, kubelua, client, tell)
    return setmetatable({ kube = kube, kubelua = kubelua, client = client, tell = tell,
        versions = {}, wanted = {}, read = {}, is_due = false, is_running = false,
        is_complete = false }, Users)
end

-- The lines for a Secret whose keys are the users.
local function lines_of(data, unbase64)
    local lines = {}
    for user, hash in pairs(data) do
        hash = unbase64(hash) or ""
        lines[#lines + 1] = ("%s:%s"):format(user, hash:match("^%s*([^%c:]*)") or "")
    end
    table.sort(lines)
    return table.concat(lines, "\n")
end

-- The text of a Secret; nil and why it has none.
local function text_of(secret, wanted, unbase64)
    local data = type(secret.data) == "table" and secret.data or {}
    local text
    if wanted.map then
        text = lines_of(data, unbase64)
    else
        text = type(data.auth) == "string" and unbase64(data.auth) or nil
    end
    if not text or text == "" then
        return nil, wanted.map and "has no keys: each is a user" or "has no key auth with the "
            .. "lines of a htpasswd file"
    elseif #text > MOST_BYTES then
        return nil, ("has more than %d bytes"):format(MOST_BYTES)
    end
    return text
end

function Users:complain(wanted, message)
    local namespace, name = wanted.ingress:match("^([^/]+)/(.+)$")
    self.tell { kind = "Ingress", namespace = namespace, name = name, reason = "Annotation",
        message = ("auth-secret: the Secret %s %s: the paths answer 503"):format(wanted.secret,
            message) }
end

function Users:put(key, text)
    local ok, message = self.kube.put(publish.USERS, key, text)
    if not ok then
        self.kubelua.log("error", "gateway: the Secret %s: %s", key, message)
        self.kube.put(publish.USERS, key, nil) -- rather no users than former ones
    end
end

-- Reads one Secret. False: the server did not say what it has; what was published stays.
function Users:read_one(key, wanted, version)
    if version == "" then
        self:put(key, nil)
        self:complain(wanted, "is not there, or not of the type Opaque")
        return true
    end
    local secret, message, code = self.client:get("secrets", wanted.secret)
    if not secret and code ~= "not_found" and code ~= "forbidden" then
        self.kubelua.log("warn", "gateway: the Secret %s: %s", wanted.secret, message)
        return false
    end
    local text, why = nil, "cannot be read: " .. tostring(message)
    if secret then
        text, why = text_of(secret:table { nulls = false }, wanted, self.kubelua.unbase64)
    end
    if self.wanted[key] then
        self:put(key, text)
    end
    if not text then
        self:complain(wanted, why)
    end
    return true
end

-- Reads what is named and has changed; true: all of it.
function Users:read_all()
    local is_done = true
    for key, wanted in pairs(self.wanted) do
        local version = self.versions[wanted.secret] or ""
        if self.read[key] ~= version then
            if self:read_one(key, wanted, version) then
                self.read[key] = version
            else
                is_done = false
            end
            return self:read_all() and is_done -- the tables may have changed meanwhile
        end
    end
    return is_done
end

function Users:work()
    while self.is_due do
        self.is_due = false
        if not self:read_all() then
            self.is_due = true
            self.kubelua.sleep(AGAIN)
        elseif not self.is_complete then
            self.is_complete = true
            self.kube.complete(publish.USERS)
        end
    end
end

-- Reads soon, in a task of its own: one Secret at a time.
function Users:plan()
    self.is_due = true
    if self.is_running then
        return
    end
    self.is_running = true
    self.kubelua.spawn(function()
        local ok, problem = xpcall(self.work, debug.traceback, self)
        self.is_running = false
        if not ok then
            error(problem, 0)
        end
    end)
end

---A Secret that is new or has changed.
---@param view table its metadata
function Users:set(view)
    self.versions[view.key] = view.resource_version
    self:plan_if_named(view.key)
end

---@param view table
function Users:delete(view)
    self.versions[view.key] = nil
    self:plan_if_named(view.key)
end

function Users:plan_if_named(secret)
    if self.wanted[secret] or self.wanted[secret .. " map"] then
        self:plan()
    end
end

---Says which Secrets Ingresses name now; called once all objects are known.
---@param wanted table<string, resty.kubelua.gateway.WantedUsers>
function Users:refer(wanted)
    for key in pairs(self.wanted) do
        if not wanted[key] then
            self.kube.put(publish.USERS, key, nil)
            self.read[key] = nil
        end
    end
    self.wanted = wanted
    self:plan()
end

return users
