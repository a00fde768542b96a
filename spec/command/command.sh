#!/bin/sh
# The command line as a user types it: what it prints, and how it exits.
# Usage, in the root of a tree that is built: sh spec/command/command.sh
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# expect NAME STATUS PATTERN COMMAND...: exit status, and a pattern in what it
# printed on either stream.
expect() {
    name=$1
    status=$2
    pattern=$3
    shift 3
    timeout 30 "$@" >"$work/output" 2>&1 </dev/null
    got=$?
    if [ $got -ne "$status" ] || ! grep -qE -- "$pattern" "$work/output"; then
        bad=$((bad + 1))
        echo "FAILED: $name (exit status $got, not $status; /$pattern/)"
        cat "$work/output"
    else
        echo "ok: $name"
    fi
}

# signal NAME SIGNAL: a run ends within a second, with exit status 0.
signal() {
    bin/kubelua run --sim "$work/wait.lua" >"$work/output" 2>&1 &
    pid=$!
    tries=0
    until grep -q ready "$work/output" 2>/dev/null || [ $tries = 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
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
cat >"$work/handler.lua" <<'END'
kubelua.connect():informer { "namespaces" }:on {
    add = function(ns) error("cannot bear " .. ns.name) end,
    synced = function() kubelua.stop() end,
}
END
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [}\n' >"$work/bad.yaml"

expect "version" 0 '^kubelua [0-9]+\.[0-9]+\.[0-9]+' bin/kubelua version
expect "help names the commands" 0 'Run a script' bin/kubelua --help
expect "help of run names --sim" 0 '--sim' bin/kubelua run --help
expect "no command is a usage error" 2 'Try' bin/kubelua
expect "an unknown command is a usage error" 2 'Try' bin/kubelua dance
expect "an unknown flag is a usage error" 2 'Try' bin/kubelua run --no-such x
expect "arguments reach the script" 0 'args.*2.*-a.*b' \
    bin/kubelua run "$work/args.lua" -- -a b
expect "a missing script is named" 1 'nowhere.lua' bin/kubelua run nowhere.lua
expect "a script that fails shows its traceback" 1 'my own fault' \
    bin/kubelua run "$work/fails.lua"
expect "a script that does not parse shows its line" 1 'broken.lua:1' \
    bin/kubelua run "$work/broken.lua"
expect "a failing handler is reported with its object, and the run goes on" 0 \
    'Namespace default failed.*cannot bear default' \
    bin/kubelua run --sim "$work/handler.lua"
expect "a manifest that does not parse is named, with its line" 1 \
    'bad.yaml.*line 3' bin/kubelua run --sim="$work/bad.yaml" "$work/wait.lua"
expect "a kubeconfig that is not there is named" 1 'no-config' \
    bin/kubelua run --kubeconfig "$work/no-config" "$work/wait.lua"
expect "--for ends a run" 0 'ready' \
    bin/kubelua run --sim --for 1 "$work/wait.lua"
expect "a port that is no port is a usage error" 2 'ADDRESS:PORT' \
    bin/kubelua sim --listen nowhere
expect "sim serves, and writes a kubeconfig" 0 'Simulated API server on https' \
    bin/kubelua sim --tls --for 0.2 --load examples/cluster.yaml \
    --write-kubeconfig "$work/sim.kubeconfig"
expect "the kubeconfig has the CA" 0 'certificate-authority-data' \
    cat "$work/sim.kubeconfig"
signal "SIGINT ends a run" INT
signal "SIGTERM ends a run" TERM

[ $bad -eq 0 ] || echo "$bad failed"
[ $bad -eq 0 ]
