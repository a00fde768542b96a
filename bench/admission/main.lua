-- Creates ConfigMaps on a real API server, in turns in a namespace whose webhook is asked and in
-- one without a webhook. Prints both, and what the webhook's process took: bench/admission/run.
local kubelua = require "kubelua"

local COUNT, ROUNDS = tonumber(os.getenv("COUNT") or 2000), tonumber(os.getenv("ROUNDS") or 5)
local WORKERS = tonumber(os.getenv("WORKERS") or 16)
local PID = assert(os.getenv("HOOK_PID"), "start bench/admission/run")

local client = assert(kubelua.connect())

-- Seconds of CPU that the webhook's process has taken.
local function cpu()
    local file = assert(io.open("/proc/" .. PID .. "/stat"))
    local text = file:read("*a"):match("%) (.*)")
    file:close()
    local fields = {}
    for field in text:gmatch("%S+") do
        fields[#fields + 1] = field
    end
    return (fields[12] + fields[13]) / 100
end

local function create_all(namespace, round, times)
    local next_one, tasks, failed = 0, {}, 0
    for i = 1, WORKERS do
        tasks[i] = kubelua.spawn(function()
            while next_one < COUNT do
                next_one = next_one + 1
                local name = ((os.getenv("TAG") or "r") .. "%d-%d"):format(round, next_one)
                local began = kubelua.now()
                local ok, message = client:create { apiVersion = "v1", kind = "ConfigMap",
                    metadata = { namespace = namespace, name = name }, data = { owner = name } }
                times[#times + 1] = kubelua.now() - began
                if not ok then
                    failed = failed + 1
                    print(message)
                end
            end
        end)
    end
    local began = kubelua.now()
    for _, task in ipairs(tasks) do
        task:wait()
    end
    return kubelua.now() - began, failed
end

local function show(namespace, seconds, times, failed)
    table.sort(times)
    local function at(part) return times[math.ceil(#times * part)] * 1000 end
    print(("%-6s %5d creates, %d failed: %4.0f a second; ms: half %.1f, p90 %.1f, p99 %.1f"):format(
        namespace, #times, failed, #times / seconds, at(0.5), at(0.9), at(0.99)))
    return { rate = #times / seconds, p99 = at(0.99), half = at(0.5) }
end

local function await_webhook()
    local is_asked
    for i = 1, 200 do
        local object = { apiVersion = "v1", kind = "ConfigMap", data = { owner = "probe" },
            metadata = { namespace = "asked", name = "probe" .. i } }
        local ok = client:create(object)
        if not ok then
            is_asked = true
            break
        end
        kubelua.sleep(0.1)
    end
    assert(is_asked, "the API server does not ask the webhook")
end

-- Asks the webhook itself 1,000 times a second, as the API server would: what it could do for a
-- server that is fast enough.
local function ask_directly()
    local RATE, SECONDS, times, failed, open = 1000, 5, {}, 0, {}
    local url = ("https://127.0.0.1:%s/admit/owner?timeout=10s"):format(os.getenv("HOOK_PORT"))
    local before, began = cpu(), kubelua.now()
    local function ask(number)
        local name = "direct-" .. number
        local sent = kubelua.now()
        local reply, problem = kubelua.http(url, { method = "POST", insecure = true, body = {
            apiVersion = "admission.k8s.io/v1", kind = "AdmissionReview", request = { uid = name,
                operation = "CREATE", namespace = "asked", name = name,
                kind = { group = "", version = "v1", kind = "ConfigMap" },
                resource = { group = "", version = "v1", resource = "configmaps" },
                object = { apiVersion = "v1", kind = "ConfigMap", data = { owner = name },
                    metadata = { namespace = "asked", name = name } } } } })
        times[#times + 1] = kubelua.now() - sent
        local answer = reply and kubelua.decode(reply.body)
        if not (answer and answer.response and answer.response.allowed) then
            failed = failed + 1
            if failed == 1 then
                print(reply and reply.body or problem)
            end
        end
    end
    while #open < RATE * SECONDS do
        while #open < math.min((kubelua.now() - began) * RATE, RATE * SECONDS) do
            local number = #open + 1
            open[number] = kubelua.spawn(function() ask(number) end)
        end
        kubelua.sleep(0.001)
    end
    for _, task in ipairs(open) do
        task:wait()
    end
    local taken = cpu() - before
    show("direct", kubelua.now() - began, times, failed)
    print(("the webhook's process: %.0f us of CPU a question"):format(taken / #times * 1e6))
end

kubelua.spawn(function()
    await_webhook()
    local all = { asked = { times = {}, seconds = 0, failed = 0 },
        plain = { times = {}, seconds = 0, failed = 0 } }
    local taken = 0
    for round = 0, ROUNDS do
        local is_even = round % 2 == 0
        for _, namespace in ipairs(is_even and { "plain", "asked" } or { "asked", "plain" }) do
            local one, times, before = all[namespace], {}, cpu()
            local seconds, failed = create_all(namespace, round, times)
            if round > 0 then -- the first warms up
                one.seconds, one.failed = one.seconds + seconds, one.failed + failed
                taken = taken + (namespace == "asked" and cpu() - before or 0)
                for _, time in ipairs(times) do
                    one.times[#one.times + 1] = time
                end
            end
        end
    end
    local asked = show("asked", all.asked.seconds, all.asked.times, all.asked.failed)
    local plain = show("plain", all.plain.seconds, all.plain.times, all.plain.failed)
    print(("asked/plain: rate %.2f, half %.2f, p99 %.2f; the webhook's process: %.0f us of CPU a "
        .. "question"):format(asked.rate / plain.rate, asked.half / plain.half,
        asked.p99 / plain.p99, taken / (COUNT * ROUNDS) * 1e6))
    ask_directly()
    kubelua.stop()
end)
