#!/bin/sh
# Gateway API's conformance suite against the gateway in nginx, with a real API
# server. Prints TAP: a line for each test of the suite. Usage, in the root of a
# tree that is built: spec/gateway-api/gateway.sh [OPTION...]; the options are
# those of the suite, such as -run-test=HTTPRouteWeight. KUBELUA_CHANNEL and
# KUBELUA_FEATURES try features of the experimental channel. See README.md.
# Exit status 77, with the reason, if this machine cannot run it.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
KUBELUA_BUILD=${KUBELUA_BUILD:-$root/build}
KUBELUA_CLUSTER_BIN=${KUBELUA_CLUSTER_BIN:-$KUBELUA_BUILD/cluster}
export KUBELUA_BUILD KUBELUA_CLUSTER_BIN
build=$KUBELUA_BUILD/gateway-api
cd "$root" || exit 1

skip() {
    echo "$1"
    exit 77
}

# try COMMAND...: shows what it says only if it fails.
try() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log"
        exit 1
    }
}

kubectl() {
    try spec/cluster/cluster.sh kubectl "$work/cluster" "$@"
}

# run_inside OPTION...: in a network of our own, where ports 80 and 443 are free
# and every address of Pods and Gateways is ours.
run_inside() {
    work=$(mktemp -d)
    pods=
    trap 'finish' EXIT
    trap 'exit 1' INT TERM
    try "$build/suite" network
    try spec/cluster/cluster.sh start --owner $$ "$work/cluster"
    KUBECONFIG=$work/cluster/kubeconfig
    export KUBECONFIG
    for file in "$build"/crds/gateway*.yaml; do # beside a kustomization.yaml
        kubectl create -f "$file"
    done
    kubectl wait crd --all --for condition=established --timeout 30s
    kubectl create -f spec/gateway-api/class.yaml
    bin/kubelua run --for 600 spec/gateway-api/pods.lua >"$build/pods.log" 2>&1 &
    pods=$!
    luajit spec/gateway-api/run.lua "$@"
}

finish() {
    [ -z "$pods" ] || kill "$pods"
    spec/cluster/cluster.sh stop "$work/cluster" >/dev/null 2>&1
    rm -rf "$work"
}

if [ "${1:-}" = inside ]; then
    shift
    run_inside "$@"
    exit
fi

command -v go >/dev/null || skip "there is no Go"
mkdir -p "$build"
(cd "$here" && go test -c -o "$build/suite" . &&
    crds=$(go list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)/config/crd &&
    ln -sfn "$crds/${KUBELUA_CHANNEL:-standard}" "$build/crds") >"$build/log" 2>&1 ||
    skip "the suite was not built: $(tail -n 1 "$build/log")"
spec/cluster/build.sh "$KUBELUA_CLUSTER_BIN" || exit
said=$(sh spec/nginx/packages.sh "${KUBELUA_NGINX:-build/nginx}") || skip "$said"
for options in -n -rn; do
    if unshare $options "$build/suite" network 2>/dev/null; then
        exec unshare $options sh "$0" inside "$@"
    fi
done
skip "this machine gives us no network of our own (unshare -n)"
