-- Every call that may block is cancelled in spec/*/cancel: a prototype that takes a token, a
-- timeout or a deadline, or whose comment says that it blocks or waits, has a row there, by its
-- name, or stands below with the reason why not. Usage, in the root of the tree:
-- lua5.4 spec/lint/blocking.lua
local EXEMPT = {
    kl_event_queue_wake = "ends the wait of another thread",
    kl__clock_after = "computes a deadline",
    kl__clock_wait = "how the others wait",
    kl__cond_wait = "how the others wait",
    kl__sim_clock_deadline = "computes a deadline",
    kl__clock_await_waiters = "of specs",
    kl__listener_wait = "a handler's thread; kl_registration_remove ends it",
    kl__listener_wait_synced = "within kl_registration_wait_synced",
    kl__exec_run = "within kl__config_credentials",
    kl__search_wait = "within kl__discovery_resolve",
    kl__client_log_in = "within kl__discovery_resolve",
    kl__file_refresh = "within kl__config_credentials",
    kl__client_refused = "waits for files alone: kl__config_rejected",
    kl__client_may_retry = "waits for files alone: kl__config_rejected",
    kl__client_send = "waits for credentials alone: kl__config_credentials",
    kl__list_watch_list = "waits for credentials alone: kl__config_credentials",
    kl__list_watch_watch = "waits for credentials alone: kl__config_credentials",
    kl__http_source_list = "within kl__list_watch_list",
    kl__http_source_watch = "within kl__list_watch_watch",
    kl__http_source_answer = "within kl__list_watch_answer",
    kl__http_source_correct = "begins a lookup, no thread waits",
    kl__http_source_found = "within kl__list_watch_answer",
    kl__http_source_next = "within kl__list_watch_next",
    kl__delta_fifo_on_news = "its argument is called, which does not block",
    kl__http_source_retract = "within kl__list_watch_retract",
    kl__registration_close = "within kl_registration_remove",
    kl__registration_finish = "within kl_registration_remove",
    kl__processor_remove_owner = "within kl_informer_close",
    kl__shared_informer_wait_synced = "within kl_informer_wait_synced",
    kl__health_wait_synced = "within kl_informer_wait_synced",
    kl__health_cancel_waits = "within kl_informer_close",
    kl__shared_informer_stop = "within kl_informer_close",
    kl__reflector_rest_lent = "lends a turn, no thread waits",
    kl__reflector_step = "a turn of a task; kl_informer_close ends it",
    kl__sim_answer_begin = "within the simulator's streams",
    kl__sim_answer_read = "within the simulator's streams",
    kl__sim_answer_await = "notes what the streams wait for",
    kl__sim_options_await = "notes what the streams wait for",
    kl__sim_owners_hold = "marks an object: the owner stays, no thread waits",
    kl__config_plugin_ms = "looks at what other threads wait for",
    kl__mutex_outlive_fork = "registers a function for fork()",
    kl__sim_connections_end = "within kl_sim_unlisten: what it waits for, it ends",
    kl__wakeup_wait = "within kl_event_queue_wait",
    kl__mem_ahead = "a block of memory",
    kl__shared_view_look = "a block of words",
    kl_report_set_watchdog = "names what blocks the loop",
    kl__report_blocked_ms_locked = "tells what blocks the loop",
}

-- What a comment says of a call that blocks, and of one that does not.
local SAYS = { "blocks?%f[%W]", "waits? until", "waits? for them", "waits? for it%f[%W]" }
local DENIES = { "not block", "never blocks?", "not wait", "never waits?" }

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

local function lines_of(command)
    local pipe = assert(io.popen(command))
    local lines = {}
    for line in pipe:lines() do
        lines[#lines + 1] = line
    end
    pipe:close()
    return lines
end

local function says_that_it_blocks(comment)
    local text = comment:lower():gsub("%s*\n%s*%*?%s*", " ")
    for _, denial in ipairs(DENIES) do
        text = text:gsub(denial, "")
    end
    for _, word in ipairs(SAYS) do
        if text:find(word) then
            return true
        end
    end
    return false
end

-- Calls f(name, parameters, comment) for each prototype; a comment is of the first one below it.
local function each_prototype(text, f)
    local comment, at = "", 1
    while at <= #text do
        local first, last = text:find("^%s+", at)
        if first then
            at = last + 1
        elseif text:find("^/%*", at) then
            last = select(2, text:find("%*/", at))
            comment, at = text:sub(at, last), last + 1
        elseif text:find("^#[^\n]*", at) then
            at = select(2, text:find("^#[^\n]*", at)) + 1
        else
            last = text:find("[;{}]", at) or #text
            local name, parameters = text:sub(at, last):match("(kl_[%w_]+)%s*(%b())[%s%w_()%d,]*;$")
            if name and not text:sub(at, last):find("typedef") then
                f(name, parameters, comment)
            end
            comment = ""
            at = last + 1
        end
    end
end

local function may_block(name, parameters, comment)
    return not name:match("^kl__cancel_") and (parameters:find("kl__cancel %*") or
        parameters:find("timeout_ms") or parameters:find("deadline_ms") or
        says_that_it_blocks(comment))
end

local known, missing = {}, 0
for _, path in ipairs(lines_of("ls spec/*/cancel/*.c")) do
    for name in read(path):gmatch('"(kl_[%w_]+)"') do
        known[name] = true
    end
end
local exists = {}
local HEADERS = "core/include/kubelua/*.h core/*/*.h sim/core/include/kubelua/*.h sim/core/*.h " ..
    "sim/core/*/*.h"
for _, path in ipairs(lines_of("ls " .. HEADERS)) do
    each_prototype(read(path), function(name, parameters, comment)
        exists[name] = true
        if may_block(name, parameters, comment) and not known[name] and not EXEMPT[name] then
            missing = missing + 1
            print(path .. ": " .. name .. " may block: cancel it in spec/*/cancel, or say in "
                .. "spec/lint/blocking.lua why not")
        end
    end)
end
for name in pairs(EXEMPT) do
    if not exists[name] then
        missing = missing + 1
        print("spec/lint/blocking.lua: there is no " .. name)
    end
end
os.exit(missing == 0)
