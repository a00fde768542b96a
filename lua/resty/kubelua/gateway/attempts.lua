-- How much time of a worker the checks of passwords may take: a check by bcrypt stops it for up to
-- 0.3 s, and every client may send wrong ones. Each Secret has a tenth of the time, all of them a
-- half; a request beyond it waits, and only so many wait.
local caches = require "resty.kubelua.cache"

local attempts = {}

local SHARE, SHARE_OF_ALL = 0.1, 0.5 -- of a worker's time
local MOST_CREDIT = 0.5 -- seconds of work at once, after a time without any
local MOST_WAITING, LONGEST_WAIT = 50, 5 -- requests, seconds

local function new_account(share)
    return { credit = MOST_CREDIT, share = share, at = 0, waiting = 0 }
end

local accounts = caches.new(1000)
local all = new_account(SHARE_OF_ALL)

local function account_of(name)
    local account = accounts:get(name)
    if not account then
        account = new_account(SHARE)
        accounts:set(name, account)
    end
    return account
end

-- Seconds until an account has credit; 0: it has.
local function time_until_credit(account)
    local now = ngx.now()
    account.credit = math.min(MOST_CREDIT,
        account.credit + (now - account.at) * account.share)
    account.at = now
    return account.credit > 0 and 0 or 0.01 - account.credit / account.share
end

---Runs a check once there is time for it. `known` is asked before, and again after each wait:
---another request may have found out meanwhile.
---@param name string of the Secret
---@param known fun(): boolean
---@param check fun(): boolean
---@return boolean? result nil: there is no time
function attempts.run(name, known, check)
    local account, until_ = account_of(name), ngx.now() + LONGEST_WAIT
    while true do
        local wait = math.max(time_until_credit(account), time_until_credit(all))
        if wait == 0 then
            break
        elseif account.waiting >= MOST_WAITING or ngx.now() + wait > until_ then
            return nil
        end
        account.waiting = account.waiting + 1
        ngx.sleep(wait)
        account.waiting = account.waiting - 1
        if known() then
            return true
        end
    end
    local before = os.clock()
    local result = check()
    local seconds = os.clock() - before
    account.credit, all.credit = account.credit - seconds, all.credit - seconds
    return result
end

return attempts
