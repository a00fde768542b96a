-- Measures routing by the shared map inside of a real nginx. Prints a table with a row for each
-- figure: its value, its bound, and "ok" or "missed". Usage: bench/nginx/run [SECONDS].
package.path = "lua/?.lua;lua/?/init.lua;sim/lua/?.lua;spec/support/?.lua;bench/nginx/?.lua;"
    .. package.path
package.cpath = os.getenv("KUBELUA_BUILD") .. "/lua/5.1/?.so;" .. package.cpath

local measures = require "measures"
local requests = require "requests"
local nginx = require "nginx"

local missing = nginx.missing()
if missing then
    print("no nginx: " .. missing)
    os.exit(77)
end

local seconds = tonumber(arg[1]) or 5
local failed = 0

local function row(name, value, unit, bound, at_least)
    local verdict = ""
    if bound then
        local holds = at_least and value >= bound or not at_least and value <= bound
        verdict = string.format("%s %g: %s", at_least and "at least" or "at most", bound,
            holds and "holds" or "FAILS")
        failed = failed + (holds and 0 or 1)
    end
    print(string.format("| %s | %.4g %s | %s |", name, value, unit, verdict))
end

print("| figure | value | bound |\n|---|---|---|")
local reads = measures.reads()
row("FFI pick, 10,000 services", reads["ffi_pick 10000"], "ns", 60)
row("FFI pick, 100 services", reads["ffi_pick 100"], "ns")
row("table with version, 10,000 services", reads["table_with_version 10000"], "ns", 35)
row("table with version, 100 services", reads["table_with_version 100"], "ns")
row("pick by hash, 10,000 services", reads["pick_by_hash 10000"], "ns")
row("pick by name, 10,000 services", reads["pick_by_name 10000"], "ns")
row("shared dictionary, bare get, 10,000 services", reads["shared_dictionary 10000"], "ns")
row("shared dictionary's version and a cache, 10,000 services",
    reads["dictionary_and_cache 10000"], "ns")
row("that, over table with version",
    reads["dictionary_and_cache 10000"] / reads["table_with_version 10000"], "times", 10, true)

local rebuild = measures.rebuild()
row("publish of 10,000 services, p50", rebuild.p50, "ms", 3)
row("publish of 10,000 services, longest", rebuild.longest, "ms")

local cpu, ratio = requests.measure(seconds)
row("CPU a request, static upstream", cpu.static, "us")
row("CPU a request, empty balancer_by_lua", cpu.empty, "us")
row("CPU a request, balancer_by_lua that sets a constant peer", cpu.constant, "us")
row("CPU a request, pick in balancer_by_lua", cpu.balancer, "us")
row("CPU a request, empty access_by_lua and empty balancer_by_lua", cpu.phase, "us")
row("CPU a request, a constant peer handed over in ngx.ctx", cpu.handed, "us")
row("CPU a request, pick in access_by_lua, handed over in ngx.ctx", cpu.access, "us")
row("CPU a request, as docs/NGINX.md has it, with retries", cpu.documented, "us")
row("pick in balancer_by_lua over an empty one", ratio("balancer", "empty"), "times", 1.03)
row("pick in balancer_by_lua over a constant peer", ratio("balancer", "constant"), "times", 1.03)
row("pick in access_by_lua over a constant peer there", ratio("access", "handed"), "times", 1.03)
row("pick in access_by_lua over an empty balancer_by_lua", ratio("access", "empty"), "times")

local change = measures.changes(seconds)
row("API change to every worker, p50", change.p50 * 1e3, "ms", 5)
row("API change to every worker, p99", change.p99 * 1e3, "ms", 30)
local takeover = measures.takeovers(10)
row("kill -9 to the new owner, p50", takeover.p50 * 1e3, "ms")
row("kill -9 to the new owner, longest", takeover.longest * 1e3, "ms", 50)
local share = measures.shares(seconds)
row("a reader at 1,000 changes a second", share.reader, "cores", 0.01)
row("the owner at 1,000 changes a second", share.owner, "cores")
row("changes a second that were made", share.rate, "")
row("connections to the API server of 4 workers; HTTP/1.1 one a watch", share.connections, "", 2)
os.exit(failed == 0 and 0 or 1)
