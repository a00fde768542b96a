-- Reads what a soak printed, from standard input, and judges it: after the first third, which is
-- for warming up, nothing may grow; and at the end nothing may be left. Exit status 1 on a breach.
--
-- Resident memory is noisy: allocators keep memory, threads come and go. So the median of the
-- slopes between any two samples is judged (Theil and Sen), over the time after the first third: it
-- may rise by what ALLOWED has for the column, or by a share of the column's level. Where nothing
-- trims the allocator (a script cannot), resident memory grows in steps of up to 6 MB: there the
-- objects alive and the heap show a leak. Allocated memory (the heap of C, or of Lua) is much
-- quieter, except the two buffers of a watch's stream: each keeps the size of its largest burst,
-- here up to 256 KB, until the stream ends. So the heap may rise by 512 KB without a leak. No
-- object may be alive beside those of the cache.
local UNTRIMMED_KB = 12288
local ALLOWED = {
    -- What a watch brings stays plain for 3 s, 10 MB of it after a storm: so in runs of 13 s the
    -- slope was between -6 and +3.1 MB, in one of 100 s it was 0.2. A leak shows in the heap first.
    resident = { amount = 6144, share = 0.02, unit = " KB" },
    heap = { amount = 512, share = 0.002, unit = " KB" },
    maps = { amount = 8 }, descriptors = { amount = 2 }, threads = { amount = 2 },
}
local COLUMNS = {
    "changes", "seconds", "resident", "heap", "maps", "descriptors", "threads", "extra",
}

local samples, breaches, fields = {}, {}, {}

local function breach(message, ...)
    breaches[#breaches + 1] = string.format(message, ...)
end

local function read_line(line)
    local kind, rest = line:match("^(%w+)\t(.*)$")
    if kind == "sample" then
        local sample, i = {}, 0
        for number in rest:gmatch("[^\t]+") do
            i = i + 1
            sample[COLUMNS[i]] = tonumber(number)
        end
        samples[#samples + 1] = sample
    elseif kind == "fault" then
        breach("%s", rest)
    elseif kind == "alive" then
        local name, count = rest:match("^(.-)\t(.*)$")
        breach("at the end %s %s were alive", count, name)
    elseif kind then
        fields[kind] = rest
    end
end

-- The rise over all samples, by the median slope.
local function rise(values)
    local slopes = {}
    for a = 1, #values do
        for b = a + 1, #values do
            slopes[#slopes + 1] = (values[b] - values[a]) / (b - a)
        end
    end
    table.sort(slopes)
    return slopes[math.floor((#slopes + 1) / 2)] * (#values - 1)
end

local function column(name)
    local values = {}
    for i = math.floor(#samples / 3) + 1, #samples do
        values[#values + 1] = samples[i][name]
    end
    return values
end

local function judge_growth(name)
    local allowed, grown = ALLOWED[name], rise(column(name))
    local amount = math.max(allowed.amount, (allowed.share or 0) * samples[#samples][name])
    local unit = allowed.unit or ""
    if name == "resident" and not fields.trims then
        amount = math.max(amount, UNTRIMMED_KB)
    end
    print(string.format("%-12s %+8.1f%s after the first third; allowed: %.0f", name, grown, unit,
        amount))
    if grown > amount then
        breach("%s grew by %.0f%s after the first third", name, grown, unit)
    end
end

local function print_table()
    print(string.format("%-5s %9s %9s %10s %9s %6s %12s %8s %6s", "", "events", "seconds",
        "VmRSS, KB", "heap, KB", "maps", "descriptors", "threads", "extra"))
    for _, point in ipairs { { "1/3", 3 }, { "2/3", 1.5 }, { "end", 1 } } do
        local sample = samples[math.max(1, math.floor(#samples / point[2]))]
        print(string.format("%-5s %9d %9.1f %10d %9d %6d %12d %8d %6d", point[1], sample.changes,
            sample.seconds, sample.resident, sample.heap, sample.maps, sample.descriptors,
            sample.threads, sample.extra))
    end
end

for line in io.lines() do
    read_line(line)
end
if #samples < 12 then
    breach("only %d samples: it did not come to its end", #samples)
else
    print_table()
    for _, name in ipairs { "resident", "heap", "maps", "descriptors", "threads" } do
        judge_growth(name)
    end
    for _, sample in ipairs(samples) do
        if sample.extra ~= 0 then
            breach("after %d events, %d objects lived beside the cache's", sample.changes,
                sample.extra)
            break
        end
    end
end
if fields["end"] ~= fields.begin then
    breach("descriptors and threads: %s at first, %s at the end", fields.begin or "?",
        fields["end"] or "?")
end
print(fields.done or "it did not end by itself")
for _, message in ipairs(breaches) do
    print("BREACH  " .. message)
end
os.exit(#breaches == 0 and fields.done ~= nil)
