#!/bin/sh
# The command line as a user types it: what it prints, and how it exits.
# Usage, in the root of a tree that is built: sh spec/command/command.sh
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# shellcheck source=spec/support/expect.sh
. spec/support/expect.sh

# until_true COMMAND...: tried for ten seconds.
until_true() {
    tries=0
    until "$@" || [ $tries = 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
}

# start SCRIPT: in the background, until it has said "ready".
start() {
    : >"$work/output"
    bin/kubelua run --sim "$work/$1" >"$work/output" 2>&1 &
    pid=$!
    until_true grep -q ready "$work/output"
}

# signal NAME SIGNAL SCRIPT: a run ends within a second, with exit status 0.
signal() {
    start "$3"
    kill -"$2" $pid
    before=$(date +%s)
    wait $pid
    got=$?
    took=$(($(date +%s) - before))
    if [ $got -ne 0 ] || [ $took -gt 1 ]; then
        bad=$((bad + 1))
        echo "FAILED: $1 (exit status $got after $took s)"
        cat "$work/output"
    else
        echo "ok: $1"
    fi
}

# catches_none: neither SIGINT nor SIGTERM has a handler in $pid any more.
catches_none() {
    mask=$(sed -n 's/^SigCgt:.*\(....\)$/\1/p' "/proc/$pid/status")
    [ $((0x$mask & 0x4002)) -eq 0 ]
}

# insist NAME FIRST SECOND STATUS SCRIPT: a script that never returns outlives
# the first signal and dies of the second.
insist() {
    start "$5"
    kill -"$2" $pid
    until_true catches_none
    kill -"$3" $pid
    wait $pid
    got=$?
    if [ $got -ne "$4" ]; then
        bad=$((bad + 1))
        echo "FAILED: $1 (exit status $got, not $4)"
    else
        echo "ok: $1"
    fi
}

cat >"$work/args.lua" <<'END'
print("args", select("#", ...), ..., arg[2])
END
echo 'error("my own fault")' >"$work/fails.lua"
echo 'x = = 1' >"$work/broken.lua"
cat >"$work/wait.lua" <<'END'
assert(kubelua.connect()):informer { "pods" }:on {
    synced = function() print("ready") io.stdout:flush() end,
}
END
cat >"$work/busy.lua" <<'END'
assert(kubelua.connect()):informer { "pods" }:on {
    synced = function() print("ready") while true do end end,
}
END
cat >"$work/outage.lua" <<'END'
local pods = kubelua.connect { server = "http://127.0.0.1:1" }:informer { "pods" }
print("ready")
pods:wait_synced()
print("not reached")
END
cat >"$work/stubborn.lua" <<'END'
local pods = kubelua.connect { server = "http://127.0.0.1:1" }:informer { "pods" }
print("ready")
while true do pcall(pods.wait_synced, pods) end
END
cat >"$work/spin.lua" <<'END'
kubelua.spawn(function()
    print("ready")
    while true do kubelua.sleep(0) end
end)
END
echo 'kubelua.every(0.1, print) kubelua.run() print("on its own")' >"$work/runs.lua"
echo 'error({})' >"$work/throws.lua"
echo 'kubelua.log("warn", "look")' >"$work/warns.lua"
cat >"$work/streams.lua" <<'END'
local ok = os.execute("cd /proc/$PPID/fd && test 0 -ef /dev/null && test 1 -ef /dev/null")
os.exit((ok == true or ok == 0) and 5 or 6)
END
cat >"$work/handler.lua" <<'END'
kubelua.connect():informer { "namespaces" }:on {
    add = function(ns) error("cannot bear " .. ns.name) end,
    synced = function() kubelua.stop() end,
}
END
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [}\n' >"$work/bad.yaml"

printf 'apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\n' \
    >"$work/old.yaml"

expect "version" 0 '^kubelua [0-9]+\.[0-9]+\.[0-9]+' bin/kubelua version
expect "help names the commands" 0 'Run a Lua script' bin/kubelua --help
expect "help of run names --sim" 0 '--sim' bin/kubelua run --help
expect "no command is a usage error" 2 'Try' bin/kubelua
expect "an unknown command is a usage error" 2 'Try' bin/kubelua dance
expect "an unknown flag is a usage error" 2 'Try' bin/kubelua run --no-such x
expect "--version is the version too" 0 '^kubelua [0-9]' bin/kubelua --version
expect "help run is run --help" 0 '--sim' bin/kubelua help run
expect "a time that is none is a usage error" 2 "'soon' is not a number" \
    bin/kubelua run --for soon "$work/wait.lua"
expect "a script that has its answer ends" 0 '^2 of 3 pods are ready' \
    bin/kubelua run --sim=examples/cluster.yaml examples/index-query.lua
expect "two servers are a usage error" 2 'choose one' \
    bin/kubelua run --sim --server http://127.0.0.1:1 "$work/wait.lua"
echo 'print(kubelua.connect():namespace())' >"$work/namespace.lua"
expect "a namespace counts in a simulated cluster too" 0 '^web$' \
    bin/kubelua run --sim -n web "$work/namespace.lua"
cat >"$work/scope.lua" <<'END'
local client = kubelua.connect()
for _, wanted in ipairs { { "configmaps" }, { "configmaps", namespace = "*" },
    { "configmaps", namespace = "default" }, { "namespaces" } } do
    local informer = assert(client:informer(wanted))
    assert(informer:wait_synced(10))
    local seen = {}
    for _, object in ipairs(informer:list()) do
        seen[#seen + 1] = object.key
    end
    print(wanted[1], wanted.namespace, table.concat(seen, " "))
end
END
cat >"$work/scope.yaml" <<'END'
{apiVersion: v1, kind: Namespace, metadata: {name: web}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default}}
END
for line in 'configmaps nil web/a' 'configmaps \* default/b web/a' \
    'configmaps default default/b' 'namespaces nil .*default.* web'; do
    expect "-n is the namespace of informers that name none: $line" 0 "^$line\$" \
        sh -c "bin/kubelua run --sim='$work/scope.yaml' -n web '$work/scope.lua' |
            tr -s '\t' ' ' | sed 's, [^ ]*/kube-root-ca.crt,,g'"
done
expect "without -n they watch all" 0 '^configmaps.nil.*default/b.*web/a' \
    bin/kubelua run --sim="$work/scope.yaml" "$work/scope.lua"
expect "a namespace that cannot be is a usage error" 2 "'a,b' cannot be a namespace" \
    bin/kubelua run --sim -n a,b "$work/scope.lua"
for line in 'GET /api/v1/pods[^ ]*: HTTP 200 in [0-9]+ ms' 'pods: resolving' \
    'pods: watching'; do
    expect "KUBELUA_LOG=debug shows $line" 0 "debug $line" \
        env KUBELUA_LOG=debug bin/kubelua run --for 1 \
        --sim=examples/cluster.yaml examples/watch.lua
done
echo 'kubelua.log("info", "hi", { a = 1 })' >"$work/log.lua"
expect "--log json writes records with fields" 0 \
    '"level":"info","logger":"script","msg":"hi","line":"[^"]*:1","a":1}' \
    bin/kubelua run --log json --sim "$work/log.lua"
expect "KUBELUA_LOG_FORMAT=json does so too" 0 '"logger":"script","msg":"hi"' \
    env KUBELUA_LOG_FORMAT=json bin/kubelua run --sim "$work/log.lua"
expect "--log text wins over KUBELUA_LOG_FORMAT" 0 'info  hi a=1$' \
    env KUBELUA_LOG_FORMAT=json bin/kubelua run --log text --sim "$work/log.lua"
expect "--log-level wins over KUBELUA_LOG" 0 'debug GET ' \
    env KUBELUA_LOG=error bin/kubelua run --log-level debug --for 1 \
    --sim=examples/cluster.yaml examples/watch.lua
echo 'error("oops")' >"$work/log.lua"
expect "a script's error is a record with --log json" 1 \
    '"level":"error",.*"msg":"[^"]*log.lua:1: oops".*"traceback":"' \
    bin/kubelua run --log json --sim "$work/log.lua"
expect "--log has two formats" 2 "must be one of 'text', 'json'" bin/kubelua run --log xml "$work/log.lua"
expect "KUBELUA_LOG=debug shows a retry and why" 1 \
    'debug pods: streaming in [0-9]+ ms, after: .*refused the connection' \
    env KUBELUA_LOG=debug bin/kubelua run --for 1 --server http://127.0.0.1:9 \
    examples/watch.lua
expect "a manifest in the script's place is understood" 1 'write --sim=' \
    bin/kubelua run --sim examples/cluster.yaml "$work/wait.lua"
expect "arguments reach the script" 0 'args.*2.*-a.*b' \
    bin/kubelua run "$work/args.lua" -- -a b
expect "a missing script is named" 1 'nowhere.lua' bin/kubelua run nowhere.lua
expect "a script that fails shows its traceback" 1 'my own fault' \
    bin/kubelua run "$work/fails.lua"
expect "the traceback ends where the script does" 0 'fails.lua:1: in main' \
    sh -c "bin/kubelua run '$work/fails.lua' 2>&1 | tail -n 1"
expect "an error that is no text shows its traceback" 1 'throws.lua:1: in' \
    bin/kubelua run "$work/throws.lua"
expect "a script that does not parse shows its line" 1 'broken.lua:1' \
    bin/kubelua run "$work/broken.lua"
expect "a failing handler is reported with its object, and the run goes on" 0 \
    'Namespace default failed.*cannot bear default' \
    bin/kubelua run --sim "$work/handler.lua"
expect "a manifest that does not parse is named, with its line" 1 \
    'bad.yaml.*line 3' bin/kubelua run --sim="$work/bad.yaml" "$work/wait.lua"
expect "a kubeconfig that is not there is named" 1 'no-config' \
    bin/kubelua run --kubeconfig "$work/no-config" "$work/wait.lua"
expect "without a kubeconfig, --sim is at hand" 1 'without a cluster: .* --sim ' \
    env HOME=/nonexistent KUBECONFIG= bin/kubelua run examples/watch.lua
cat >"$work/touch.lua" <<'END'
kubelua.connect():informer { "namespaces" }:on {
    synced = function() print("synced") kubelua.stop() end,
}
END
expect "a run can be recorded" 0 'synced' bin/kubelua run --sim \
    --record "$work/run.ndjson" "$work/touch.lua"
expect "a recording has what was there" 0 '"type":"ADDED","initial":true.*default' \
    cat "$work/run.ndjson"
expect "a recording can be played" 0 'Simulated API server on http:' \
    bin/kubelua sim --replay "$work/run.ndjson" --speed 0 --for 0.2
expect "a file that is not a recording is refused" 1 'line 1 is not a line of a recording' \
    bin/kubelua sim --replay examples/cluster.yaml --for 0.2
bin/kubelua sim --load "$work/scope.yaml" --write-kubeconfig "$work/scope.config" \
    >"$work/output" 2>&1 &
pid=$!
until_true test -s "$work/scope.config"
bin/kubelua record --kubeconfig "$work/scope.config" -n web --for 1 \
    --output "$work/scope.ndjson" configmaps namespaces
kill $pid
expect "record -n takes all of a kind without namespaces" 0 '"name":"default"' grep '"kind":"Namespace"' \
    "$work/scope.ndjson"
expect "record -n takes nothing of another namespace" 1 '^0$' grep -c '"name":"b"' "$work/scope.ndjson"
expect "record says what it cannot reach" 1 'no-config' \
    bin/kubelua record --kubeconfig "$work/no-config" pods
expect "--for ends a run" 0 'ready' \
    bin/kubelua run --sim --for 1 "$work/wait.lua"
expect "--for ends a script that dispatches by itself" 0 'on its own' \
    bin/kubelua run --for 0.3 "$work/runs.lua"
expect "--for ends a script that waits for a server, which is a failure" 1 'ready' \
    bin/kubelua run --for 0.3 "$work/outage.lua"
cat >"$work/away.lua" <<'END'
local client = kubelua.connect { server = "http://127.0.0.1:1" }
client:informer { "pods" }:on { add = print }
if arg[1] then kubelua.run() end
END
expect "a server that was never reached is a failure, which says why" 1 \
    'no informer had its first list within the 0.3 seconds of --for: .*pods.*127.0.0.1:1' \
    bin/kubelua run --for 0.3 "$work/away.lua"
expect "also in a script that dispatches by itself" 1 'no informer had its first list' \
    bin/kubelua run --for 0.3 "$work/away.lua" itself
# Every example that reacts to a cluster; rollout.lua brings its own.
for example in examples/*.lua; do
    case $example in
    *_spec.lua | examples/rollout.lua) continue ;;
    esac
    for wrong in '--kubeconfig /nope' '--context nope'; do
        # shellcheck disable=SC2086 # two words
        expect "$example $wrong is a failure at its line" 1 "$example:[0-9]+: " \
            bin/kubelua run $wrong "$example"
    done
done
expect "a controller without a configuration is one, and --sim is at hand" 1 \
    'without a cluster: .* --sim examples/foo-controller.lua' \
    env HOME=/nonexistent KUBECONFIG= bin/kubelua run examples/foo-controller.lua
cat >"$work/selects.lua" <<'END'
kubelua.controller { "configmaps", labels = "app in shop", reconcile = print }
END
expect "a selector that does not parse is one, at its line" 1 \
    'selects.lua:1: controller: configmaps: label selector' \
    bin/kubelua run --sim "$work/selects.lua"
cat >"$work/both.lua" <<'END'
kubelua.controller { "configmaps", name = "good", reconcile = print,
    client = assert(require("kubelua.sim").new()):connect() }
kubelua.controller { "configmaps", name = "bad", reconcile = print }
END
expect "one of two controllers that can never work makes a run a failure" 1 \
    '^kubelua: controller bad can never work' \
    bin/kubelua run --kubeconfig /nope --for 0.2 "$work/both.lua"
cat >"$work/control.lua" <<'END'
kubelua.controller { arg[1], name = "late", owns = { arg[2] }, reconcile = print }
END
expect "a controller that never had its first list is a failure, which says why" 1 \
    'has not begun within the 0.3 seconds of --for: controller late: foos.example.com has not synced: .*127.0.0.1:1' \
    bin/kubelua run --for 0.3 --server http://127.0.0.1:1 "$work/control.lua" foos.example.com
expect "also if only one of its sources has none" 1 \
    'controller late: foos.example.com has not synced' \
    bin/kubelua run --sim --for 0.5 "$work/control.lua" configmaps foos.example.com
expect "with all of them it is none" 0 '^ended$' sh -c \
    "bin/kubelua run --sim --for 0.5 '$work/control.lua' configmaps secrets && echo ended"
echo 'kubelua.connect():informer { "pods" }' >"$work/unheard.lua"
expect "a script that ends at once says which informers have no handlers" 0 \
    'its informers have no handlers \(pods\)' \
    bin/kubelua run --sim "$work/unheard.lua"
cat >"$work/heard.lua" <<'END'
local pods = kubelua.connect():informer { "pods" }
pods:wait_synced()
print(pods:count() .. " pods")
END
expect "one that has waited for them just ends" 0 '^0 pods$' \
    bin/kubelua run --sim "$work/heard.lua"
expect "and says nothing more" 1 '^0$' sh -c \
    "bin/kubelua run --sim '$work/heard.lua' 2>&1 | grep -c 'no handlers'"
cat >"$work/spawned.lua" <<'END'
kubelua.spawn(function()
    local pods = kubelua.connect():informer { "pods" }
    pods:no { add = print }
end)
if arg[1] then kubelua.every(0.1, kubelua.stop) end
END
expect "a failed spawned function ends a run that it leaves nothing to" 1 \
    'a function of kubelua.spawn failed, and nothing is left' \
    bin/kubelua run --sim "$work/spawned.lua"
expect "but no run that has something else" 0 'kubelua.spawn.*failed' \
    bin/kubelua run --sim "$work/spawned.lua" more
echo 'kubelua.spawn(error, "spawned") kubelua.run()' >"$work/forever.lua"
expect "a run for ever of nothing says so" 124 'no handler, timer or spawned' \
    timeout 1 bin/kubelua run "$work/forever.lua"
echo 'kubelua.spawn(kubelua.sleep, 0.1)' >"$work/short.lua"
expect "a run ends with what it waits for" 0 '^$' sh -c \
    "bin/kubelua run '$work/short.lua'; echo"
expect "a terminal gets colours" 0 "$(printf '^\033\\[33m.*warn')" \
    script -qec "bin/kubelua run '$work/warns.lua'" /dev/null
printf 'kubelua.log("warn", "look\\n  twice\\n")\n' >"$work/lines.lua"
expect "lines are joined, but for a break at the end" 0 'warn  look; twice$' \
    bin/kubelua run "$work/lines.lua"
printf 'error("x\\27[2J\\r\\nkubelua: forged\\226\\128\\174")\n' >"$work/forged.lua"
expect "what a script fails with is one line, which a terminal shows" 1 \
    '^kubelua: .*forged.lua:1: x\\x1b\[2J\\r\\nkubelua: forged\\u202e; stack traceback:; ' \
    bin/kubelua run "$work/forged.lua"
expect "an argument that is wrong is shown, not obeyed" 2 '\\x1b\[2J' \
    bin/kubelua run --for "$(printf '\033[2J')" "$work/forged.lua"
expect "NO_COLOR is heeded" 0 '^20.*warn' \
    env NO_COLOR=1 script -qec "bin/kubelua run '$work/warns.lua'" /dev/null
expect "what cannot be printed is an error" 1 'standard output' \
    sh -c 'bin/kubelua version >/dev/full'
expect "a closed stream's number goes to no socket" 5 '' \
    sh -c "echo '' >&2; bin/kubelua run '$work/streams.lua' <&- >&-"
expect "a port that is no port is a usage error" 2 'ADDRESS:PORT' \
    bin/kubelua sim --listen nowhere
expect "a port that cannot be is a usage error" 2 'a port is a number from 0 to 65535' \
    bin/kubelua sim --listen 127.0.0.1:99999999999999999999
expect "a wrong option leads to the help of its command" 2 'kubelua sim --help' \
    bin/kubelua sim --nonsense
expect "help of no command is a usage error" 2 "unknown command 'dance'" \
    bin/kubelua help dance
expect "a simulator and a cluster's context are a usage error" 2 'choose one' \
    bin/kubelua run --sim --context staging "$work/wait.lua"
expect "a manifest without a name is a usage error" 2 'needs a file' \
    bin/kubelua run --sim= "$work/wait.lua"
expect "a folder is no manifest" 1 'name the files in it' \
    bin/kubelua sim --load "$work"
expect "a folder is no recording" 1 'is empty, or a folder' \
    bin/kubelua sim --replay "$work"
expect "a kind of another version is told which" 1 'it is served as apps/v1' \
    bin/kubelua sim --load "$work/old.yaml"
expect "a token of two users is refused" 1 'same token as another user' \
    bin/kubelua sim --user jane:same --user joe:same
expect "an address of IPv6 stands in brackets" 0 'http://\[::1\]:' \
    bin/kubelua sim --listen '[::1]:0' --for 0.1
expect "sim names the remedy of an address of another machine" 1 \
    'write an address of this machine' bin/kubelua sim --listen 192.0.2.1:0
expect "sim names the remedy of no address" 1 'write one of this machine' \
    bin/kubelua sim --listen nowhere.invalid:0
expect "a number below 0 is read as one" 2 "'-1' is not a number of seconds" \
    bin/kubelua sim --for -1
expect "a speed is a factor" 2 "'fast' is not a speed: write a number such as 10" \
    bin/kubelua sim --replay "$work/run.ndjson" --speed fast
expect "a speed is of a replay" 2 '--speed needs --replay' \
    bin/kubelua sim --speed 2
expect "a token that no header can have is none" 2 'not a bearer token' \
    bin/kubelua sim --token 'a b'
expect "a clock may be behind" 0 'Simulated API server on http:' \
    bin/kubelua sim --clock-offset -86400 --for 0.1
expect "a clock is of this age" 2 'within a hundred years' \
    bin/kubelua sim --clock-offset 1e300
expect "a mistake is told where its help is" 2 'kubelua sim --help' \
    bin/kubelua sim --nope
expect "sim serves, and writes a kubeconfig" 0 'Simulated API server on https' \
    bin/kubelua sim --tls --for 0.2 --load examples/cluster.yaml \
    --write-kubeconfig "$work/sim.kubeconfig"
expect "over plain HTTP it serves too" 0 'Simulated API server on http:' \
    bin/kubelua sim --for 0.1 --write-kubeconfig "$work/plain.kubeconfig"
expect "sim can be brought to life" 0 'Simulated API server on http:' \
    bin/kubelua sim --controllers --clock-offset 3600 --for 0.2
expect "a token implies TLS" 0 'Simulated API server on https:' \
    bin/kubelua sim --controllers --token secret --for 0.2 \
    --write-kubeconfig "$work/token.kubeconfig"
expect "the token is in the kubeconfig" 0 'secret' \
    cat "$work/token.kubeconfig"
echo "hers" >"$work/token"
expect "a token may stand in a file" 0 'control token [0-9a-f]{32}\)' \
    bin/kubelua sim --token-file "$work/token" --for 0.2 \
    --write-kubeconfig "$work/token.kubeconfig"
expect "it is the token of the kubeconfig" 0 'hers' cat "$work/token.kubeconfig"
echo "not a token" >"$work/token"
expect "what a file has instead of a token is not shown" 2 \
    '^kubelua: .*token: one line expected' \
    bin/kubelua sim --token-file "$work/token"
printf 'jane:hers:dev,ops\n\njoe:his\n' >"$work/users"
expect "users may stand in a file" 0 'Simulated API server on https:' \
    bin/kubelua sim --rbac --user-file "$work/users" --for 0.2
expect "an open server is for this machine only" 1 'asks for no credentials' \
    bin/kubelua sim --listen 0.0.0.0:0 --for 0.2
expect "with a token it may serve others" 0 'server on https://0.0.0.0:' \
    bin/kubelua sim --listen 0.0.0.0:0 --token secret --for 0.2
echo 'kubelua.connect():informer("pods"):on { add = print }' >"$work/watches.lua"
for made in "sim --for 0.2 --write-kubeconfig" \
    "run --sim --for 0.2 --record"; do
    script=
    [ "${made%% *}" = sim ] || script=$work/watches.lua
    echo victim >"$work/victim"
    chmod 666 "$work/victim"
    ln -s victim "$work/link"
    # shellcheck disable=SC2086 # several words, or none
    expect "no file is written through a link" 1 'is a symbolic link' \
        bin/kubelua $made "$work/link" $script
    expect "the file behind it stays" 0 '^victim$' cat "$work/victim"
    ln -f "$work/victim" "$work/hard"
    expect "a file is made anew" 0 'done' \
        sh -c "bin/kubelua $made '$work/victim' $script && echo done"
    expect "only its owner can read it" 0 '^600$' stat -c %a "$work/victim"
    expect "another name of the old one stays" 0 '^victim$' cat "$work/hard"
    rm -f "$work/link" "$work/hard" "$work/victim"
done
expect "users and rules imply TLS" 0 'Simulated API server on https:' \
    bin/kubelua sim --rbac --user jane:hers:dev,ops --user joe:his --for 0.2
expect "a user that is none is a usage error" 2 'write NAME:TOKEN' \
    bin/kubelua sim --user jane
expect "without a token that nobody asks for" 0 'user: \{\}' \
    cat "$work/plain.kubeconfig"

# One descriptor more each time, until there are enough: before that it fails,
# and says at least once (Lua's own words count for less) which limit to raise.
# 127: not even the interpreter could be loaded.
# shellcheck disable=SC2016 # for the inner shell
expect "what to do about too few descriptors" 0 'ulimit -n' sh -c '
    for limit in $(seq 12 40); do
        (ulimit -n "$limit" && exec bin/kubelua sim --for 0.1 3<&0 4<&0 5<&0 \
            6<&0 7<&0 8<&0 9<&0) && exit 0
        case $? in 1 | 2 | 127) ;; *) exit 9 ;; esac
    done
    exit 8'
expect "a kubeconfig that cannot be written is named" 1 '/dev/full: No space' \
    bin/kubelua sim --for 0.1 --write-kubeconfig /dev/full
expect "the kubeconfig has the CA" 0 'certificate-authority-data' \
    cat "$work/sim.kubeconfig"
# It waits for its manifest: the first thing that Lua does then is to end.
mkfifo "$work/pipe"
: >"$work/output"
bin/kubelua sim --load "$work/pipe" >"$work/output" 2>&1 &
pid=$!
until_true grep -qE 'wait_for_partner|fifo_open' "/proc/$pid/wchan"
kill -INT $pid
timeout 10 sh -c "echo '---' >'$work/pipe'"
wait $pid
got=$?
if [ $got -ne 130 ] || [ -s "$work/output" ]; then
    bad=$((bad + 1))
    echo "FAILED: SIGINT ends a simulator that loads (exit status $got)"
    cat "$work/output"
else
    echo "ok: SIGINT ends a simulator that loads"
fi
signal "SIGINT ends a run" INT wait.lua
signal "SIGTERM ends a run" TERM wait.lua
signal "SIGINT ends a script that waits for a server" INT outage.lua
signal "SIGTERM ends a script that waits for a server" TERM outage.lua
signal "SIGINT ends a run of a task that never rests" INT spin.lua
insist "a second SIGINT ends at once" INT INT 130 busy.lua
insist "a second SIGINT ends a script that waits again" INT INT 130 stubborn.lua
insist "a SIGINT behind a SIGTERM ends at once" TERM INT 130 busy.lua

cat >"$work/grace.lua" <<'END'
local controller = kubelua.controller { name = "grace", reconcile = function()
    print(pcall(function()
        kubelua.exec { "sh", "-c", "kill -TERM " .. (arg[1] or "$PPID") }
        kubelua.sleep(0.2)
    end) and "whole" or "cut")
end }
controller:enqueue("key")
END
expect "a run of a controller has time to end after SIGTERM" 0 '^whole' \
    bin/kubelua run --sim "$work/grace.lua"
expect "--grace 0 gives it none" 0 '^cut' \
    bin/kubelua run --sim --grace 0 "$work/grace.lua"
expect "a grace is a number" 2 "'-1' is not a number of seconds" \
    bin/kubelua run --grace -1 "$work/grace.lua"

echo 'print(collectgarbage("incremental"), collectgarbage("setpause", 200))' >"$work/collector.lua"
expect "Lua 5.4 collects in small steps" 0 '^incremental.200$' \
    env KUBELUA_INTERPRETER=lua5.4 bin/kubelua run "$work/collector.lua"

# A script of several files, run from another folder.
mkdir -p "$work/parts/kubelua" "$work/elsewhere"
echo 'print(require "sibling", require("parts.one"), (pcall(require, "kubelua.two")))' \
    >"$work/several.lua"
echo 'return "sibling"' >"$work/sibling.lua"
echo 'return "one"' >"$work/parts/one.lua"
mkdir "$work/kubelua"
echo 'return "two"' >"$work/kubelua/two.lua"
root=$PWD
expect "a script requires the files of its own folder" 0 '^sibling.*one.*false$' \
    sh -c "cd '$work/elsewhere' && '$root/bin/kubelua' run ../several.lua"
rm -r "$work/kubelua"

mkdir -p "$work/specs/later" "$work/none"
cat >"$work/specs/good_spec.lua" <<'END'
local Sim = require "kubelua.sim"
local order = {}
rawset(_G, "stray", true)
setmetatable(_G, { __index = function() error("strict") end, __newindex = function() error("strict") end })
describe("a cluster", function()
    local cluster
    setup(function() order[#order + 1] = "setup" end)
    before_each(function() cluster = assert(Sim.new()) order[#order + 1] = "before" end)
    after_each(function() cluster:close() order[#order + 1] = "after" end)
    teardown(function() print(table.concat(order, " ")) end)
    it("has namespaces", function()
        finally(function() order[#order + 1] = "finally" end)
        assert.equal("default", cluster:get("namespaces", "default").name)
    end)
    it("is slow #slow", function() assert.has_error(function() error("oops") end, "oops") end)
    pending("is not there yet")
end)
END
cat >"$work/specs/later/bad_spec.lua" <<'END'
describe("what fails", function()
    it("is compared", function() assert.equal(1, 2) end)
    it("is undefined", function() return nothing.here end)
    it("has a wrong place", function() describe("inner", print) end)
    it("leaves no global", function() assert.is_nil(rawget(_G, "stray")) end)
    describe("before", function()
        setup(function() error("cannot set up") end)
        it("is not run", print)
    end)
end)
END
echo 'it(' >"$work/specs/broken_spec.lua"
echo 'print "no spec"' >"$work/specs/other.lua"
specs=$work/specs
expect "test runs a spec without busted, and counts" 0 'good_spec.lua: 2 passed, 0 failed, 1 pending' \
    bin/kubelua test "$specs/good_spec.lua"
expect "hooks run from outside inwards, and back" 0 '^setup before finally after before after$' \
    bin/kubelua test "$specs/good_spec.lua"
for line in 'ok      a cluster has namespaces' 'pending a cluster is not there yet'; do
    expect "test -v names the cases: $line" 0 "^$line" bin/kubelua test -v "$specs/good_spec.lua"
done
expect "a failed case has its line and both values" 1 'bad_spec.lua:2: Expected objects to be equal' \
    bin/kubelua test "$specs"
for line in 'FAILED  what fails is undefined .*bad_spec.lua:3' 'bad_spec.lua:4: describe: not inside' \
    'FAILED  what fails before \(setup\)' 'cannot set up' 'broken_spec.lua:2: unexpected symbol' \
    'all 3 files: 3 passed, 5 failed, 1 pending'; do
    expect "of a folder it runs all specs: $line" 1 "$line" bin/kubelua test "$specs"
done
expect "test -o tap is TAP" 1 '^not ok 1 - what fails is compared' \
    bin/kubelua test -o TAP "$specs/later/bad_spec.lua"
expect "TAP ends with its plan" 1 '^1\.\.5$' bin/kubelua test -o tap "$specs/later"
expect "--filter chooses cases" 0 '1 passed, 0 failed$' bin/kubelua test --filter 'no.global' "$specs/later"
expect "--filter-out leaves cases out" 0 '1 passed, 0 failed$' \
    bin/kubelua test --filter-out compared --filter-out undefined --filter-out wrong --filter-out before "$specs/later"
expect "--tags chooses cases" 0 '1 passed, 0 failed$' bin/kubelua test -t slow "$specs/good_spec.lua"
expect "--exclude-tags leaves cases out" 0 '1 passed, 0 failed, 1 pending$' \
    bin/kubelua test --exclude-tags=other,slow "$specs/good_spec.lua"
expect "--exclude-pattern leaves files out" 0 'good_spec.lua: 2 passed' \
    bin/kubelua test --exclude-pattern bad --exclude-pattern broken "$specs"
expect "a seed gives one order" 0 '^same$' sh -c "
    bin/kubelua test --seed 3 -v --filter has '$specs' >'$work/one' 2>&1
    bin/kubelua test --seed 3 -v --filter has '$specs' >'$work/two' 2>&1
    grep -v seconds '$work/one' | sed 's/0x[0-9a-f]*//' >'$work/one.text'
    grep -v seconds '$work/two' | sed 's/0x[0-9a-f]*//' | cmp - '$work/one.text' && echo same"
# What docs/TESTING.md says of busted: the same files, with the same words.
expect "busted runs the same specs, and as many cases" 0 '^[1-9][0-9]* of busted, 0 failed$' sh -c "
    cases=\$(LUA_PATH='$root/lua/?.lua;$root/lua/?/init.lua;$root/sim/lua/?.lua;$root/lua/cli/?.lua;;' \
        LUA_CPATH='${KUBELUA_BUILD:-build}/lua/5.4/?.so;;' busted --lua=lua5.4 \
        examples/label-pods_spec.lua examples/ordered-set_spec.lua 2>'$work/busted' | sed -n 's|^\([0-9]*\) successes / 0 failures / 0 errors.*|\1|p')
    bin/kubelua test examples/label-pods_spec.lua examples/ordered-set_spec.lua 2>&1 |
        sed -n \"s/.*: \$cases passed, 0 failed/\$cases of busted, 0 failed/p\""
expect "no case left is a failure" 1 'no case of these specs is selected' \
    bin/kubelua test --filter nothing-of-this "$specs/good_spec.lua"
expect "a folder without specs is a failure" 1 'no spec found in .*: name files, or folders' \
    bin/kubelua test "$work/none"
expect "a spec that is not there is named" 1 'nowhere_spec.lua: No such file' \
    bin/kubelua test "$work/nowhere_spec.lua"
expect "a pattern that does not parse is named" 1 "'%' is not a Lua pattern" \
    bin/kubelua test --filter % "$specs"
if command -v luajit >/dev/null; then
    mkdir "$work/ffi"
    cat >"$work/ffi/1_spec.lua" <<'EOF'
it("declares a type", function() require("ffi").cdef "struct one { int a; };" end)
EOF
    cat >"$work/ffi/2_spec.lua" <<'EOF'
it("knows it", function() assert.equal(4, require("ffi").sizeof "struct one") end)
EOF
    expect "in LuaJIT, the module ffi stays for the next file" 0 '2 passed, 0 failed$' \
        env KUBELUA_COLLECT=always luajit spec/run.lua "$work/ffi"
fi
expect "test without a spec is a usage error" 2 "missing argument 'specs'" bin/kubelua test
expect "a seed is a number" 2 "'x' is not a seed" bin/kubelua test --seed x "$specs"
echo 'it("waits", function() print("ready") while true do end end) it("runs", function() print("on") end)' \
    >"$work/busy_spec.lua"
: >"$work/output"
bin/kubelua test "$work/busy_spec.lua" >"$work/output" 2>&1 &
pid=$!
until_true grep -q ready "$work/output"
kill -INT $pid
wait $pid
expect "SIGINT ends a test run as the shell expects" 0 '^130 0$' \
    echo "$? $(grep -c '^on' "$work/output")"

# Completion and man pages know what the parser knows.
# complete WORD...: what bash offers for the last word.
complete() {
    # shellcheck disable=SC2016 # for the inner shell
    bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _kubelua; printf "%s\n" "${COMPREPLY[@]}"' "$work/completion" "$@"
}
bin/kubelua completion bash >"$work/completion"
complete kubelua '' | grep -vx help >"$work/commands"
expect "bash completes commands" 0 '^run .*sim .*man' sh -c "tr '\n' ' ' <'$work/commands'"
while read -r command; do
    complete kubelua "$command" - | sort -u >"$work/offered"
    # The names of options in its help: at the beginning of a line.
    bin/kubelua "$command" --help | grep -oE '^ {1,12}(-[a-zA-Z][ ,][^-]*)?--[a-z-]+' |
        grep -oE -- '--[a-z-]+' | sort -u >"$work/named"
    expect "bash completes the options of $command" 0 '^none missing$' \
        sh -c "[ -s '$work/named' ] && comm -13 '$work/offered' '$work/named' | grep . || echo none missing"
    bin/kubelua man "$command" >"$work/page.1"
    expect "$command has a man page with its name" 0 "^kubelua.*-$command .*- [a-z]" cat "$work/page.1"
    expect "the man page of $command has its options" 0 '^none missing$' \
        sh -c "while read -r option; do
            sed 's/[\\\\]//g' '$work/page.1' | grep -qF -- \"fB\$option\" || exit 1
        done <'$work/named' && echo none missing"
    if command -v man >/dev/null; then
        expect "man warns of nothing in the page of $command" 0 '^0$' \
            sh -c "LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 '$work/page.1' 2>&1 >/dev/null | wc -l"
    fi
done <"$work/commands"
expect "the man page of the command names all others" 0 "kubelua.*-man" bin/kubelua man
complete kubelua run --log '' >"$work/values"
expect "bash completes the values of an option" 0 '^text json' sh -c "tr '\n' ' ' <'$work/values'"
complete kubelua completion z >"$work/shells"
expect "bash completes the words of completion" 0 '^zsh$' cat "$work/shells"
complete kubelua run --kubeconfig exam >"$work/files"
expect "bash completes files by itself, and sees folders" 0 '^complete .*-o default .*kubelua.*[.]' \
    sh -c "grep -v . '$work/files' >/dev/null && bash --norc -c '. \"\$0\"; complete -p kubelua' '$work/completion' |
        sed 's/\$/./'"
for shell in zsh fish; do
    bin/kubelua completion $shell >"$work/completion.$shell"
    expect "$shell completion has each command" 0 '^none missing$' \
        sh -c "while read -r command; do
            grep -qw -- \"\$command\" '$work/completion.$shell' || exit 1
        done <'$work/commands' && echo none missing"
    command -v $shell >/dev/null || continue
    expect "$shell reads its completion" 0 '^read$' \
        sh -c "$shell -n '$work/completion.$shell' && echo read"
done
expect "an unknown shell is a usage error" 2 "must be one of 'bash', 'zsh', 'fish'" bin/kubelua completion csh
expect "a page that is not there is a usage error" 2 "must be one of 'run'" bin/kubelua man dance

# --reload: what a user sees. spec/lua/reload_spec.lua has what happens inside.
mkdir "$work/reload"
says() {
    printf 'print("says", "%s")\nkubelua.connect():informer { "pods" }:on { add = print }\n' "$1"
}
# reloading ARGUMENTS...: starts the command, and waits until the script has run.
reloading() {
    bin/kubelua run "$@" >"$work/reload/output" 2>&1 &
    pid=$!
    until_true grep -q 'a change reloads it' "$work/reload/output"
}
reloaded() {
    until_true grep -q "$1" "$work/reload/output"
}
says one >"$work/reload/shop.lua"
reloading --reload --sim --log json --serve 127.0.0.1:0 "$work/reload/shop.lua"
says two >"$work/reload/new"
mv "$work/reload/new" "$work/reload/shop.lua"
reloaded '"reloaded .*shop.lua (version'
echo 'print = = 1' >"$work/reload/shop.lua"
reloaded 'shop.lua was not reloaded'
kill -HUP $pid
until_true sh -c "[ \$(grep -c 'was not reloaded' '$work/reload/output') = 2 ]"
says three >"$work/reload/shop.lua"
reloaded '^says.*three'
echo 'error "no start"' >"$work/reload/shop.lua"
reloaded 'no start'
rm "$work/reload/shop.lua"
reloaded 'No such file'
curl -s "http://127.0.0.1:$(sed -n 's/.* on 127\.0\.0\.1:\([0-9]*\)".*/\1/p' "$work/reload/output")/metrics" \
    >>"$work/reload/output"
kill -TERM $pid
wait $pid
expect "--reload ends with exit status 0" 0 '^0$' echo $?
for line in '^says.*one' '^says.*two' '"level":"error".*unexpected symbol' \
    '"error":"[^"]*no start' '^kubelua_script_reloads_total{result="success"} 2' \
    '^kubelua_script_reloads_total{result="failure"} 4' \
    '^kubelua_script_info{script="[^"]*shop.lua",version="[a-z0-9]*"} 1'; do
    expect "--reload: $line" 0 "$line" cat "$work/reload/output"
done
expect "--reload shows one version only" 0 '^1$' grep -c '^kubelua_script_info{' "$work/reload/output"

cat >"$work/busy.lua" <<'END'
while true do end
END
KUBELUA_WATCHDOG=1 reloading --reload --sim --for 60 "$work/several.lua"
cp "$work/busy.lua" "$work/several.lua"
reloaded 'the start of .*several.lua.*has blocked'
expect "--reload names a start that never returns" 0 'several.lua:1' cat "$work/reload/output"
kill -9 $pid
wait $pid 2>/dev/null

bin/kubelua sim --write-kubeconfig "$work/reload/kubeconfig" >"$work/reload/sim" &
sim=$!
until_true test -s "$work/reload/kubeconfig"
cat >"$work/reload/put.lua" <<'END'
local client = kubelua.connect()
if arg[1] == "delete" then
    return assert(client:delete("configmaps", "default", "shop"))
end
assert(client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "shop",
    namespace = "default" }, data = { [arg[1]] = arg[2], ["part.lua"] = arg[3] } },
    { manager = "spec" }))
END
put() {
    bin/kubelua run --kubeconfig "$work/reload/kubeconfig" "$work/reload/put.lua" "$@"
}
main='print("part", require("part"), ...) kubelua.every(9, print)'
put main.lua "$main" 'return 1'
reloading --kubeconfig "$work/reload/kubeconfig" --reload configmap/shop main.lua argument
reloaded '^part.*1.*argument'
put main.lua "$main" 'return 2'
reloaded '^part.*2.*argument'
put other.lua "$main" 'return 3'
reloaded "has no key 'main.lua'"
put delete
reloaded 'configmap/default/shop is not there'
put main.lua "$main" 'return 4'
reloaded '^part.*4.*argument'
kill $pid
wait $pid
for line in '^part.*1' '^part.*2' "no key 'main.lua'; it has other.lua, part.lua" 'is not there' \
    '^part.*4'; do
    expect "--reload configmap/NAME: $line" 0 "$line" cat "$work/reload/output"
done
expect "a ConfigMap that is not there is an error at the start" 1 'configmap/default/no is not there' \
    bin/kubelua run --kubeconfig "$work/reload/kubeconfig" --reload configmap/no
kill $sim
wait $sim
expect "--reload wants a file" 2 'standard input cannot be read again' \
    bin/kubelua run --sim --reload - </dev/null
expect "--reload wants a ConfigMap's name" 2 'write configmap/NAME' \
    bin/kubelua run --sim --reload=secret/a x.lua
expect "a script is needed" 2 "missing argument 'script'" bin/kubelua run --reload --sim
echo 'x = = 1' >"$work/reload/wrong.lua"
expect "a first start that fails ends --reload" 1 'unexpected symbol' \
    bin/kubelua run --sim --reload "$work/reload/wrong.lua"
expect "a first script that is not there ends --reload" 1 'No such file' \
    bin/kubelua run --sim --reload "$work/reload/none.lua"

# Process 1 of a container: it reaps orphans, and hands on signals and the exit status.
cat >"$work/orphans.lua" <<'END'
for _ = 1, 5 do
    assert(kubelua.exec { "sh", "-c", "sleep 0.05 &" })
end
repeat
    kubelua.sleep(0.05)
until not kubelua.exec { "pgrep", "-x", "-r", "S,R", "sleep" }
print("zombies:", assert(kubelua.exec { "sh", "-c", "ps -e -o stat= | grep -c Z || true" }).stdout)
END
if unshare -pf --mount-proc true 2>/dev/null; then
    expect "process 1 leaves no zombie" 0 '^zombies:.0' \
        unshare -pf --mount-proc bin/kubelua run "$work/orphans.lua"
    expect "process 1 hands on a signal" 0 '^whole' \
        unshare -pf --mount-proc bin/kubelua run --sim "$work/grace.lua" 1
    expect "process 1 has the exit status of the script" 1 'my own fault' \
        unshare -pf --mount-proc bin/kubelua run "$work/fails.lua"
else
    echo "skipped: process 1 (unshare is not allowed here)"
fi

# One pass: --dry-run and --once.
cat >"$work/shop.yaml" <<'END'
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {size: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default}, data: {size: "2"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}, data: {k: c2VjcmV0}}
END
cat >"$work/shop.lua" <<'END'
kubelua.controller { "configmaps", namespace = "default", name = "shop", leader = "shop",
    reconcile = function(map, run)
        if arg[1] == map.name then
            assert(run:patch(map, { data = { size = "9" } }))
        end
        if arg[2] and run.attempt < tonumber(arg[2]) then
            return nil, "not at attempt " .. run.attempt
        end
        print("saw", map.name, map.data.size)
        return 3600
    end }
END
cat >"$work/chain.lua" <<'END'
kubelua.controller { "configmaps", namespace = "default", name = "chain",
    reconcile = function(map, run)
        local n = tonumber(map.name:match("^c(%d)$"))
        print("at " .. map.name)
        if n and n < 5 then
            assert(run:create({ apiVersion = "v1", kind = "ConfigMap",
                metadata = { name = "c" .. n + 1 } }, { owner = false }))
        end
    end }
END
echo '{apiVersion: v1, kind: ConfigMap, metadata: {name: c0, namespace: default}}' \
    >"$work/chain.yaml"
cat >"$work/loose.lua" <<'END'
local all = kubelua.connect():informer { "configmaps", namespace = "default" }
local seen = 0
all:on { add = function(map)
    kubelua.sleep(0.1)
    seen = seen + 1
    if arg[1] == map.name then
        error("cannot bear " .. map.name)
    end
end, synced = function() print("saw " .. seen) end }
kubelua.every(3600, print)
kubelua.spawn(function() kubelua.sleep(0.5) print("slept") end)
if arg[1] == "run" then
    kubelua.run()
    print("after its own run")
end
END
cat >"$work/outside.lua" <<'END'
kubelua.http("http://127.0.0.1:1/hook", { method = "POST" })
END
cat >"$work/plain.lua" <<'END'
assert(kubelua.connect():patch("secrets", "default/s", { stringData = { k = "new" } }))
END
cat >"$work/list.lua" <<'END'
local cluster = kubelua.connect()
for _, resource in ipairs { "configmaps", "secrets", "leases", "events", "namespaces" } do
    for _, object in ipairs(assert(cluster:list(resource))) do
        print(resource, object:json())
    end
end
END
# dry NAME STATUS PATTERN ARGUMENTS..., and once: a pass over shop.yaml.
dry() {
    of=$1 want=$2 shown=$3
    shift 3
    expect "--dry-run $of" "$want" "$shown" bin/kubelua run --sim="$work/shop.yaml" --dry-run "$@"
}
once() {
    of=$1 want=$2 shown=$3
    shift 3
    expect "--once $of" "$want" "$shown" bin/kubelua run --sim="$work/shop.yaml" --once "$@"
}
dry "shows a change as a diff, and ends with 2" 2 '^\+  size: "9"' "$work/shop.lua" a
dry "reconciles all that is there, once" 0 '^saw.b.2' "$work/shop.lua"
dry "takes no Lease" 0 'the Lease default/shop is not taken' "$work/shop.lua"
dry "ends with 1 when a key fails" 1 'what needs it may fail' "$work/shop.lua" a 2
dry "does not try a key again" 1 'not at attempt 1$' "$work/shop.lua" none 2
dry "refuses what cannot be tried" 1 'outside.lua:1: POST http://127.0.0.1:1/hook was not sent' \
    "$work/outside.lua"
dry "masks a Secret, without a controller too" 2 '^\+  k: "\*\*\* \(after\)"' "$work/plain.lua"
dry "waits for handlers and functions, not for timers" 0 '^slept' "$work/loose.lua"
command="bin/kubelua run --sim=$work/shop.yaml --dry-run $work/shop.lua a"
expect "--dry-run has colours on a terminal" 2 '.\[32m\+  size: "9"' \
    env TERM=xterm script -qec "$command" /dev/null
expect "TERM=dumb has none" 2 '^\+  size: "9"' env TERM=dumb script -qec "$command" /dev/null
expect "NO_COLOR has none" 2 '^\+  size: "9"' \
    env TERM=xterm NO_COLOR=1 script -qec "$command" /dev/null
expect "a diff that cannot be written is a failure" 1 'cannot write to standard output' \
    sh -c "$command >/dev/full"
once "reconciles what is there, not what comes later" 0 '^saw.b.2' "$work/shop.lua"
once "tries a failed key again" 0 '^saw.a.1' "$work/shop.lua" none 3
once "ends with 1 if a key fails until --for" 1 'within the 1 seconds of --for: controller shop: ' \
    --for 1 "$work/shop.lua" none 99
once "waits for handlers" 0 '^saw [23]' "$work/loose.lua"
once "waits for functions, not for timers" 0 '^slept' "$work/loose.lua"
once "ends the script's own kubelua.run" 0 '^after its own run' "$work/loose.lua" run
once "ends with 1 if a handler fails" 1 'once: a handler has failed' "$work/loose.lua" a
expect "--once reconciles what its writes bring back" 0 '^at c5' \
    bin/kubelua run --sim="$work/chain.yaml" --once "$work/chain.lua"
{
    echo 'local cluster = assert(require("kubelua.sim").new())'
    echo 'assert(cluster:create(io.open(arg[1]):read("*a")))'
    echo 'cluster:delay { verb = "watch", resource = "configmaps", event = 0.3, count = 0 }'
    sed 's/name = "chain",/name = "chain", client = cluster:connect(),/' "$work/chain.lua"
} >"$work/slow.lua"
expect "--once waits for the events of its writes" 0 '^at c5' \
    bin/kubelua run --once "$work/slow.lua" "$work/chain.yaml"
cat >"$work/fleet.lua" <<'END'
local kubelua, Sim = require "kubelua", require "kubelua.sim"
local named = { eu = { sim = Sim.new() }, us = { sim = Sim.new() } }
for _, one in pairs(named) do
    assert(one.sim:apply { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "a", namespace = "default" } })
end
if arg[1] then named.wrong = { kubeconfig = "/nowhere" } end
kubelua.fleet { source = function() kubelua.sleep(0.2) return named end, function(cluster)
    kubelua.sleep(0.2)
    kubelua.controller { "configmaps", namespace = "default", fields = "metadata.name=a",
        reconcile = function(o) print("saw " .. cluster.name .. " " .. o.name) end }
end }
END
expect "--once waits for all clusters of a fleet" 0 '^saw eu a' \
    bin/kubelua run --once "$work/fleet.lua"
expect "--dry-run does, too" 0 '^saw us a' bin/kubelua run --dry-run "$work/fleet.lua"
expect "--once ends with 1 if a cluster of a fleet fails" 1 \
    'wrong: fleet fleet: cannot read /nowhere: ' \
    bin/kubelua run --once "$work/fleet.lua" wrong
expect "--once gives a server that is away the time of --for" 1 'not done within the 1 seconds' \
    bin/kubelua run --server http://127.0.0.1:1 --once --for 1 "$work/shop.lua"
cat >"$work/forbidden.lua" <<'END'
local cluster = assert(require("kubelua.sim").new())
for _, verb in ipairs { "list", "watch" } do
    cluster:fail { verb = verb, resource = "pods", status = 403, count = 0 }
end
kubelua.controller { "pods", name = "forbidden", client = kubelua.connect { sim = cluster },
    reconcile = print }
END
expect "--once does not wait for a right" 1 'once: pods: HTTP 403' \
    bin/kubelua run --once "$work/forbidden.lua"
echo 'require("kubelua.loop").on_end(function() os.execute("sleep 2") end)' >"$work/end.lua"
expect "--once may take longer than --for to end what is left" 0 '^0$' \
    sh -c 'bin/kubelua run --once --for 1.5 "$0"; echo $?' "$work/end.lua"
expect "but not to do what there is to do" 1 'within the 0.5 seconds of --for: kubelua.spawn' \
    bin/kubelua run --once --for 0.5 "$work/spin.lua"
cat >"$work/own.lua" <<'END'
kubelua.spawn(function()
    kubelua.sleep(0.01)
    print("ready")
    kubelua.sleep(3600)
end)
if arg[1] == "its" then
    kubelua.run()
elseif arg[1] == "no" then
    kubelua.sleep(3600)
end
END
for pass in --once --dry-run; do
    for of in the its no; do
        : >"$work/output"
        bin/kubelua run $pass "$work/own.lua" $of >"$work/output" 2>&1 &
        pid=$!
        until_true grep -q ready "$work/output"
        kill -TERM $pid
        wait $pid
        expect "$pass is interrupted by a signal in $of run" 0 \
            "^1 .*$pass: it was interrupted" \
            echo $? "$(tr '\n' ' ' <"$work/output")"
    done
done

# A server of its own: nothing is written, and a Lease is waited for.
bin/kubelua sim --load "$work/shop.yaml" --write-kubeconfig "$work/shop.kubeconfig" --for 60 \
    >/dev/null 2>&1 &
server=$!
until_true test -s "$work/shop.kubeconfig"
at_shop() { bin/kubelua run --kubeconfig "$work/shop.kubeconfig" "$@" 2>&1; }
at_shop "$work/list.lua" >"$work/before"
at_shop --dry-run "$work/shop.lua" a >/dev/null
at_shop --dry-run "$work/plain.lua" >/dev/null
at_shop "$work/list.lua" >"$work/after"
expect "a dry run leaves all objects as they were" 0 same \
    sh -c "cmp '$work/before' '$work/after' && echo same"
expect "and they were there" 0 'secrets.*c2VjcmV0' cat "$work/after"
cat >"$work/holder.lua" <<'END'
kubelua.controller { "configmaps", namespace = "default", name = "holder", leader = "shop",
    reconcile = function() print("ready") io.stdout:flush() end }
END
: >"$work/holder"
at_shop --for 3 "$work/holder.lua" >"$work/holder" &
until_true grep -q ready "$work/holder"
expect "--once waits for the Lease, and reconciles then" 0 '^saw.b.2' \
    bin/kubelua run --kubeconfig "$work/shop.kubeconfig" --once "$work/shop.lua"
cat >"$work/ring.yaml" <<'END'
apiVersion: v1
kind: ConfigMap
metadata: { name: a, namespace: web }
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: once-ghost
  namespace: default
  labels: { kubelua.dev/ring: once }
  annotations: { kubelua.dev/members: ghost, kubelua.dev/by: key }
spec: { holderIdentity: ghost, leaseDurationSeconds: 1 }
END
cat >"$work/ring.lua" <<'END'
kubelua.controller { "configmaps", namespace = "web", shards = "once",
    reconcile = function(object) print("saw", object.key) end }
END
expect "--once waits for its share of a ring, and reconciles it" 0 '^saw.web.a' \
    bin/kubelua run --sim="$work/ring.yaml" --once "$work/ring.lua"
expect "--once releases the Lease" 0 'leases.*"holderIdentity":""' \
    bin/kubelua run --kubeconfig "$work/shop.kubeconfig" "$work/list.lua"
kill $server

# --- kubelua plan ---

cat >"$work/planned.lua" <<'END'
print("from the script") io.write("written") io.stdout:write("too\n")
local client = assert(kubelua.connect())
client:informer { "secrets" }:on { add = function() end }
if arg[1] then client:delete("secrets", "web/" .. arg[1]) end
END
foo() {
    bin/kubelua plan "$@" --sim=examples/foos.yaml examples/foo-controller.lua
}
foo >"$work/plan"
expect "a plan names what is written, and the line" 0 \
    'patch +deployments.apps .*default/example-foo .*foo-controller.lua:11' cat "$work/plan"
expect "it names lines that were not reached" 0 'foo-controller.lua:17-18 was not' cat "$work/plan"
foo -o yaml --name other >"$work/plan" 2>"$work/unreached"
expect "-o yaml prints nothing but the roles" 0 '^---$' head -n 1 "$work/plan"
expect "--name names them" 0 '^  name: other$' cat "$work/plan"
expect "what was not reached is said apart" 0 'foo-controller.lua:17-18' cat "$work/unreached"
foo --strict >/dev/null 2>&1
expect "--strict fails then" 0 '^1$' echo $?
echo 'print(kubelua.connect():get("clusterroles", "other"))' >"$work/role.lua"
expect "an API server takes the roles" 0 '^ClusterRole other' \
    bin/kubelua run --sim="$work/plan" "$work/role.lua"
cat >"$work/outside.lua" <<'END'
kubelua.controller { "namespaces", reconcile = function()
    assert(os.execute("echo child"))
    error("it fails")
end }
END
bin/kubelua plan "$work/outside.lua" >"$work/plan" 2>/dev/null
expect "a program is refused, and named with its line" 0 \
    'outside.lua:2: os.execute was refused; --real allows it' cat "$work/plan"
bin/kubelua plan --strict --real -o yaml "$work/outside.lua" \
    >"$work/plan" 2>"$work/why"
expect "--strict fails if a controller fails" 0 '^1$' echo $?
expect "-o yaml says which" 0 'failing: controller namespaces: default: ' cat "$work/why"
expect "--real starts it; its output is not the command's" 0 '^child$' cat "$work/why"
expect "only roles are printed" 0 '^none$' \
    sh -c "grep child '$work/plan' || echo none"
bin/kubelua plan -o yaml "$work/planned.lua" >"$work/plan" 2>/dev/null
expect "the output of a script is not in it" 0 '^none$' \
    sh -c "grep -E 'from|written|too' '$work/plan' || echo none"
expect "arguments are the script's" 0 'delete +secrets +web/shop' \
    bin/kubelua plan "$work/planned.lua" shop
for bad_script in broken fails args; do
    bin/kubelua plan "$work/$bad_script.lua" >"$work/plan" 2>"$work/why"
    expect "nothing is printed if there is no role: $bad_script" 0 '^1 0$' \
        echo "$?" "$(wc -c <"$work/plan")"
    expect "but why: $bad_script" 0 "$bad_script.lua" cat "$work/why"
done
expect "a plan needs a file" 1 'standard input' bin/kubelua plan -
expect "a manifest that is not there is named" 1 '/none: No such' \
    bin/kubelua plan --sim=/none "$work/planned.lua"
expect "a name that no role can have is refused" 2 "'a b' cannot be" \
    bin/kubelua plan --name 'a b' "$work/planned.lua"

# A build folder that was not built again after a change of the binding.
mkdir -p "$work/old"
cp -a "${KUBELUA_BUILD:-build}/lua" "${KUBELUA_BUILD:-build}"/libkubelua*.so* \
    "$work/old/"
touch -d 2001-01-01 "$work/old/lua/5.4/kubelua/core.so"
expect "an old build folder is named" 0 "ninja -C $work/old" \
    env KUBELUA_BUILD="$work/old" bin/kubelua version

[ $bad -eq 0 ] || echo "$bad failed"
[ $bad -eq 0 ]
