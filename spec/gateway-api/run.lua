-- Runs the suite's program against an nginx with the gateway: luajit spec/gateway-api/run.lua
-- [OPTION...]. Prints TAP. gateway.sh starts it, in a network of our own, with an API server.
package.path = "spec/gateway-api/?.lua;spec/support/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = assert(os.getenv("KUBELUA_BUILD")) .. "/lua/5.1/?.so;" .. package.cpath
local plane = require "plane"
local results = require "results"

local build = os.getenv("KUBELUA_BUILD") .. "/gateway-api"

local function profiles_of(copy)
    if plane.has_both(copy) then
        return "GATEWAY-HTTP,GATEWAY-GRPC"
    end
    print("# without GATEWAY-GRPC: nginx " .. copy.VERSION
        .. " does not serve HTTP/1.1 and HTTP/2 on one port")
    return "GATEWAY-HTTP"
end

local function command_of(copy)
    local words = { build .. "/suite", "-test.v", "-test.timeout=8m", "-gateway-class=kubelua",
        "-conformance-profiles=" .. profiles_of(copy), "-report-output=" .. build .. "/report.yaml",
        "-organization=kubelua", "-project=kubelua", "-url=https://kubelua.dev", "-version=test",
        "-contact=none", "-usable-address=10.43.0.200",
        "-unusable-address=192.0.2.1" }
    for _, option in ipairs(arg) do
        words[#words + 1] = "'" .. option .. "'"
    end
    return table.concat(words, " ") .. " 2>&1"
end

local function run_suite(command)
    local reader = results.reader()
    local log = assert(io.open(build .. "/log", "w"))
    local output = assert(io.popen(command))
    for line in output:lines() do
        log:write(line, "\n")
        reader:read(line)
    end
    output:close()
    log:close()
    return reader:results()
end

local function print_results(list)
    local failed = #list == 0
    for i, result in ipairs(list) do
        local is_good = result.outcome == "PASS"
        failed = failed or not is_good
        print(("%sok %d - %s (%.1f s)"):format(is_good and "" or "not ", i, result.name,
            result.seconds))
        for _, line in ipairs(result.reasons) do
            print("# " .. line)
        end
    end
    print("1.." .. #list)
    return failed
end

local gateway = plane.start()
local list = run_suite(command_of(assert(require("nginx_copies").find())))
local failed = print_results(list)
if failed then
    print("# the suite's log: " .. build .. "/log; nginx says:")
    print("# " .. gateway:said():gsub("\n", "\n# "))
end
gateway:close()
os.exit(failed and 1 or 0)
