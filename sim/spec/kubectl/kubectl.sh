#!/bin/sh
# Drives kubectl against the simulator on a port, and where there is a real
# API server (spec/cluster) against that too: exit status and what kubectl
# prints are to be the same, but for ages, times, UIDs and the like. Prints
# TAP. Usage, in the root of a tree that is built:
#     sim/spec/kubectl/kubectl.sh [KUBECTL]
# KUBELUA_CLUSTER names the folder of a cluster that runs; else one is started
# if KUBELUA_CLUSTER_BIN has its programs, which have a kubectl as well.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
binaries=${KUBELUA_CLUSTER_BIN:-build/cluster}
kubectl=${1:-$binaries/kubectl}
if ! "$kubectl" version --client >/dev/null 2>&1; then
    echo "there is no kubectl; spec/cluster/build.sh builds one"
    exit 77
fi
work=$(mktemp -d)
simulator=
started=
trap 'finish' EXIT

finish() {
    [ -z "$simulator" ] || kill "$simulator"
    [ -z "$started" ] || spec/cluster/cluster.sh stop "$started" >/dev/null
    rm -rf "$work"
}

# start_simulator FLAGS...
start_simulator() {
    rm -rf "$work/sim"
    mkdir "$work/sim"
    bin/kubelua sim --tls --listen 127.0.0.1:0 "$@" \
        --write-kubeconfig "$work/sim/kubeconfig" >"$work/sim.log" 2>&1 &
    simulator=$!
    tries=0
    until [ -s "$work/sim/kubeconfig" ] || [ $tries = 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}

stop_simulator() {
    kill "$simulator"
    wait "$simulator"
    simulator=
}

start_real() {
    real=${KUBELUA_CLUSTER:-}
    if [ -z "$real" ] && [ -x "$binaries/kube-apiserver" ]; then
        real=$work/cluster
        started=$real
        spec/cluster/cluster.sh start --owner $$ "$real" >/dev/null || exit 1
    fi
    [ -z "$real" ] || { mkdir "$work/real" &&
        cp "$real/kubeconfig" "$work/real/kubeconfig"; }
}

# on SERVER ARGS...: kubectl with nothing of the user's own, for at most 30 s.
on() {
    config=$work/$1/kubeconfig
    cache=$work/$1/cache
    shift
    KUBECONFIG=$config KUBERC=off KUBECACHEDIR=$cache HOME=$work \
        KUBE_EDITOR="${editor:-false}" \
        timeout 30 "$kubectl" --namespace "$namespace" "$@"
}

# without_repairs FILE: the real server looks after the addresses and ports of
# Services. When it sees a new Service before its address, it says so in an Event,
# now and then; without that, a list of Events may be empty.
without_repairs() {
    awk -v namespace="$namespace" '
        /Warning +(ClusterIP|IPAddress|Port)(NotAllocated|WrongReference) / {
            dropped = 1
            next
        }
        { line[++n] = $0 }
        END {
            if (dropped && n == 1 && line[1] ~ /^LAST SEEN/)
                line[1] = "No events found in " namespace " namespace."
            if (dropped && line[n] ~ /^ +---/ && line[n - 2] ~ /^Events:/) {
                n -= 2
                line[n] = "Events:  <none>"
            }
            for (i = 1; i <= n; i++)
                print line[i]
        }' "$1"
}

# Without what two clusters differ in by nature.
normalize() {
    without_repairs "$1" | sed -E -e 's/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/<uid>/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z/<time>/g' \
        -e 's/[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} [-+][0-9]{4}/<time>/g' \
        -e 's/("?resourceVersion"?: )"[0-9]+"/\1<version>/' \
        -e 's/(Resource Version: +)[0-9]+/\1<version>/' \
        -e 's/\b10\.[0-9]+\.[0-9]+\.[0-9]+\b/<ip>/g' \
        -e 's#https://127[0-9.:]+#<url>#g' -e 's/\b3[0-9]{4}\b/<port>/g' \
        -e 's/\b([0-9]+[smh])+\b/<age>/g' \
        -e "s#$work/(sim|real)/##g" -e 's#[^ ]*/(LIVE|MERGED)-[0-9]+#\1#g' \
        -e 's/  +/  /g' -e 's/[ \t]+$//' |
        grep -vE '^-{3}$|^[=+-]{3} |^diff '
}

count=0
bad=0
# verdict OK NAME: TAP.
verdict() {
    count=$((count + 1))
    if [ "$1" = yes ]; then
        echo "ok $count - $2"
    else
        bad=$((bad + 1))
        echo "not ok $count - $2"
    fi
}

# expect NAME STATUS PATTERN ARGS...: of the simulator the exit status, and a
# pattern in what kubectl prints; then that the real server has the same.
expect() {
    name=$1
    wanted=$2
    pattern=$3
    shift 3
    if [ -n "$real" ]; then
        on real "$@" >"$work/real.out" 2>&1 <"$input" &
        other=$!
    fi
    on sim "$@" >"$work/sim.out" 2>&1 <"$input"
    got=$?
    right=yes
    if [ $got -ne "$wanted" ] || { [ -n "$pattern" ] &&
        ! grep -qE -e "$pattern" "$work/sim.out"; }; then
        right=no
    fi
    verdict $right "$name"
    if [ $right = no ]; then
        echo "# kubectl $*: exit status $got, not $wanted; /$pattern/"
        sed 's/^/#   /' "$work/sim.out" | head -n 30
    fi
    if [ -n "$real" ]; then
        wait $other
        same "$name" $got $?
    fi
    input=/dev/null
}

# equip NAMESPACE: the real server has no controllers, which would give a new
# namespace what is in every one.
equip() {
    [ -n "$real" ] || return
    for object in configmap/kube-root-ca.crt serviceaccount/default; do
        on sim get --namespace "$1" "$object" -o json |
            on real create -f - >"$work/equip" 2>&1
    done
}

# same NAME STATUS REAL-STATUS
same() {
    normalize "$work/sim.out" >"$work/sim.norm"
    normalize "$work/real.out" >"$work/real.norm"
    diff "$work/real.norm" "$work/sim.norm" >"$work/diff"
    if [ "$2" -eq "$3" ] && [ ! -s "$work/diff" ]; then
        verdict yes "$1, as the real server has it"
    elif grep -qE -e "^$1: " "$here/differences"; then
        verdict yes "$1, otherwise than the real server has it # known"
    else
        verdict no "$1, as the real server has it"
        echo "# exit status $3 (real) and $2; < real, > simulator"
        sed 's/^/#   /' "$work/diff" | head -n 40
    fi
}

# given COMMAND...: what it prints is what the next command reads.
given() {
    "$@" >"$work/input"
    input=$work/input
}

start_simulator
start_real
namespace=default
input=/dev/null
for part in "$here"/[0-9]*.sh; do
    # shellcheck source=/dev/null
    . "$part"
done
echo "1..$count"
[ $bad -eq 0 ]
