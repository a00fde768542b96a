-- What the gateway counts of each request: by its route, and by the Service that it was sent to.
-- Workers count together, in memory that they share (kubelua/shared_count.h): by some atomic
-- additions, without a lock. series.lua makes the text of it.
--
-- The name of a series is "R KIND NAMESPACE/NAME" for a route, "U NAMESPACE/NAME:PORT" for a
-- Service. Those of OTHER have what found no room, and the requests that no route took.
local cold = require "resty.kubelua.cold"
local ffi = require "ffi"
local library = require "resty.kubelua.library"

local counts = {
    OTHER = { route = "R other", none = "R none", service = "U other" },
    -- the kinds of counters
    OUTCOMES = { ok = 0, failed = 1, cancelled = 2 }, -- of a Service; of a route: the status / 100
    limit = 0, -- series that have room; 0: nothing is counted
}

local SERIES, STRIPES = 4096, 8
local NONE = 4294967295 -- KL_COUNTS_NONE

local area ---@type ffi.cdata*? kl_counts *
local stripe = 0
local problem = ffi.new("kl_error")
local other ---@type table<string, ffi.cdata*> kl_count_row by the keys of counts.OTHER

local function find(name)
    local row = ffi.new("kl_count_row")
    library.kl_counts_find(area, name, #name, library.kl_loads_now(), row)
    return row.row ~= NONE and row or nil
end

---Makes the memory that the workers share; a reload finds it again. Call it in init_by_lua.
---@param options { series: integer|boolean|nil, workers: integer? }
---@return boolean?, string? message
function counts.open(options)
    if options.series == false then
        area, counts.limit = nil, 0
        return true
    end
    local wanted = ffi.new("kl_counts_options")
    local series = options.series
    wanted.name, wanted.series = "gateway", type(series) == "number" and series or SERIES
    wanted.stripes = math.min(options.workers or 1, STRIPES)
    local opened = library.kl_counts_open(wanted, problem)
    if opened == nil then
        return nil, ffi.string(problem.message)
    end
    area, other, counts.limit = opened, {}, library.kl_counts_rows(opened)
    for key, name in pairs(counts.OTHER) do
        other[key] = find(name)
    end
    return true
end

---The worker's own stripe of cells. Call it in init_worker_by_lua.
---@param worker integer
function counts.join(worker)
    stripe = worker
end

-- "HTTPRoute web/shop 1": the number, or a word, is of the rule.
local function name_of_plan(plan)
    return "R " .. plan.source:match("^%S+ %S+")
end

local function name_of_service(service)
    return "U " .. service.name
end

-- The series was not known yet, or was forgotten meanwhile.
local find_and_add = cold(function(owner, name, fallback, kind, ms)
    local row = find(name(owner)) or other[fallback]
    if row then
        owner.series = row
        library.kl_counts_add(area, row, stripe, kind, ms)
    end
end)

-- Counts in the series of a plan or a Service, which gets a field with it.
local function add(owner, name, fallback, kind, ms)
    local row = owner.series
    if not (row and library.kl_counts_add(area, row, stripe, kind, ms)) then
        find_and_add(owner, name, fallback, kind, ms)
    end
end

---Counts a request that has ended.
---@param plan resty.kubelua.gateway.Plan? of its rule; nil: no route took it
---@param status integer
---@param seconds number since it came
function counts.request(plan, status, seconds)
    if not area then
        return
    end
    local kind = (status - status % 100) / 100
    kind = kind > 0 and kind < 6 and kind or 0
    local ms = seconds > 0 and seconds * 1000 + 0.5 or 0
    if plan then
        add(plan, name_of_plan, "route", kind, ms)
    elseif other.none then
        library.kl_counts_add(area, other.none, stripe, kind, ms)
    end
end

---Counts one try of a request at a Service.
---@param service resty.kubelua.Service
---@param outcome "ok"|"failed"|"cancelled"
---@param seconds number? until the answer began
function counts.try(service, outcome, seconds)
    if area then
        add(service, name_of_service, "service", counts.OUTCOMES[outcome],
            seconds and (seconds > 0 and seconds * 1000 + 0.5 or 0) or -1)
    end
end

local series = ffi.new("kl_count_series")

---Reads the series of a row, in a table that the next call fills again; nil: it has none.
---@param row integer from 0 to counts.limit - 1
---@return ffi.cdata*? kl_count_series
---@return string? name
function counts.read(row)
    if library.kl_counts_read(area, row, series) then
        return series, ffi.string(series.name, series.length)
    end
end

---The upper bounds of the histograms, in seconds.
---@return number[]
function counts.bounds()
    local bounds, list = library.kl_counts_bounds(), {}
    for i = 1, 13 do
        list[i] = bounds[i - 1] / 1000
    end
    return list
end

---How often a series was not made, as there was no room.
---@return number
function counts.full()
    return tonumber(library.kl_counts_full(area))
end

local row_to_forget = ffi.new("kl_count_row")

---Forgets the series of what is gone. For the owner: it may wait in `pace`.
---@param is_there { route: (fun(key: string): boolean), service: (fun(name: string): boolean) }
---@param pace fun()
function counts.sweep(is_there, pace)
    for row = 0, counts.limit - 1 do
        local read, name = counts.read(row)
        local kind, of = (name or ""):match("^([RU]) (.*[ /].*)$") -- the others are never gone
        local exists = kind == "R" and is_there.route or kind and is_there.service
        if read and exists and not exists(of) then
            row_to_forget.row, row_to_forget.key = row, read.key
            library.kl_counts_forget(area, row_to_forget, library.kl_loads_now())
        end
        pace()
    end
end

return counts
