-- The truth suite: sends the requests of sim/spec/truth/themes to a real kube-apiserver and to the
-- simulator, and compares what they answer. Usage, in the root of a tree that is built:
--     lua5.4 sim/spec/truth/run.lua [--list] [--unexpected] [--forget] [THEME ...]
-- KUBELUA_CLUSTER names the folder of a cluster that runs (spec/cluster); else one is started.
-- Prints TAP; sim/spec/truth/README.md says what a request looks like and what is compared.
local abi = jit and "5.1" or _VERSION:match("%d%.%d")
local build = os.getenv("KUBELUA_BUILD") or "build"
package.path = "lua/?.lua;lua/?/init.lua;sim/lua/?.lua;sim/spec/truth/?.lua;spec/support/?.lua;"
    .. package.path
package.cpath = build .. "/lua/" .. abi .. "/?.so;" .. package.cpath

local answers = require "answers"
local known = require "known"
local servers = require "servers"
local themes = require "themes"

local function parse(arguments)
    local options, chosen = {}, {}
    for _, argument in ipairs(arguments) do
        local name = argument:match("^%-%-(%l+)$")
        if name then
            options[name] = true
        else
            chosen[#chosen + 1] = argument
        end
    end
    return options, #chosen > 0 and chosen or themes.names()
end

local options, chosen = parse(arg)
local pair, reason = servers.start()
if not pair then
    print(reason)
    os.exit(77, true)
end

local counts = { asked = 0, same = 0, known = 0, bad = 0 }

local function report(name, parts)
    local unexpected, vanished, whys = known.judge(name, parts)
    local bad = #unexpected + #vanished > 0
    counts.asked = counts.asked + 1
    counts.same = counts.same + (#parts == 0 and 1 or 0)
    counts.known = counts.known + (#parts > 0 and not bad and 1 or 0)
    counts.bad = counts.bad + (bad and 1 or 0)
    if not (options.unexpected and not bad) then
        print(("%s %d - %s%s"):format(bad and "not ok" or "ok", counts.asked, name,
            whys and " # known: " .. whys or ""))
    end
    for _, part in ipairs(options.list and parts or unexpected) do
        print("#   " .. part.where .. ": " .. part.what)
    end
    for _, entry in ipairs(vanished) do
        print("#   " .. entry .. " is the same now: remove it from sim/spec/truth/differences.lua")
    end
    io.stdout:flush()
end

for _, theme in ipairs(chosen) do
    local run = answers.new(pair, theme)
    for _, request in ipairs(themes.load(theme)) do
        report(theme .. ": " .. request[1], run:ask(request))
    end
end
if #chosen == #themes.names() then
    for _, entry in ipairs(known.unasked()) do
        counts.bad = counts.bad + 1
        print("not ok - sim/spec/truth/differences.lua: nothing differs at " .. entry)
    end
    if options.forget then
        known.forget()
    end
end
print(("1..%d"):format(counts.asked))
print(("# %d requests: %d answered the same, %d with differences that are known, %d bad"):format(
    counts.asked, counts.same, counts.known, counts.bad))
pair.stop()
os.exit(counts.bad == 0, true)
