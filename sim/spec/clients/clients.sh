#!/bin/sh
# Other people's clients against the simulator: client-go and controller-runtime
# (go/), Python's kubernetes and kopf (python/); and the
# controller of Foos twice, sample-controller and ours (foo/), and the others
# of examples/. Prints TAP. Usage, in the root of a tree that is built:
#     sim/spec/clients/clients.sh go|python|foo|examples
# Exit status 77 if the toolchain or its packages cannot be fetched. With
# KUBECONFIG set, the clients use that server instead of the simulator.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=${KUBELUA_BUILD:-build}
mkdir -p "$build/clients"
build=$(CDPATH='' cd -- "$build" && pwd)
work=$(mktemp -d)
simulator=
trap 'finish' EXIT

finish() {
    stop_simulator
    rm -rf "$work"
}

stop_simulator() {
    [ -n "$simulator" ] || return 0
    kill "$simulator"
    wait "$simulator" 2>/dev/null
    simulator=
    rm -f "$KUBECONFIG"
    unset KUBECONFIG
}

skip() {
    echo "$1"
    exit 77
}

start_simulator() {
    [ -z "${KUBECONFIG:-}" ] || return
    KUBECONFIG=$work/kubeconfig
    export KUBECONFIG
    bin/kubelua sim --tls --listen 127.0.0.1:0 \
        --write-kubeconfig "$KUBECONFIG" >"$work/sim.log" 2>&1 &
    simulator=$!
    tries=0
    until [ -s "$KUBECONFIG" ] || [ $tries = 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}

# Makes TAP of the output of `go test -v`; $1 names the program.
as_tap() {
    sed -nE -e "s/^ *--- PASS: ([^ ]*).*/ok - $1: \\1/p" \
        -e "s/^ *--- FAIL: ([^ ]*).*/not ok - $1: \\1/p" \
        -e 's/^( +[a-z_]+\.go:[0-9]+: .*)/#\1/p' -e 's/^panic: /# panic: /p' \
        "$work/output" >"$work/tap"
    cat "$work/tap"
    ! grep -q '^not ok' "$work/tap" && grep -q '^ok' "$work/tap"
}

run_go() {
    command -v go >/dev/null || skip "there is no Go"
    test=$build/clients/go.test
    (cd "$here/go" && go test -c -o "$test" .) >"$work/output" 2>&1 ||
        skip "the Go client was not built: $(tail -n 1 "$work/output")"
    start_simulator
    timeout 120 "$test" -test.v >"$work/output" 2>&1
    as_tap client-go
}

# Python runs in a virtual environment, made once for each list of packages.
run_python() {
    command -v python3 >/dev/null || skip "there is no Python"
    home=$build/clients/python
    if ! cmp -s "$here/python/requirements.txt" "$home/installed"; then
        rm -rf "$home"
        { python3 -m venv "$home" && "$home/bin/pip" install --quiet \
            --requirement "$here/python/requirements.txt"; } \
            >"$work/output" 2>&1 ||
            skip "the Python client is not to be had: $(tail -n 1 \
                "$work/output")"
        cp "$here/python/requirements.txt" "$home/installed"
    fi
    start_simulator
    status=0
    for script in clients operators; do
        timeout 120 "$home/bin/python" "$here/python/$script.py" || status=1
    done
    return $status
}

# Without Go, only our controller runs. KUBELUA_BACKEND=real uses a real API
# server, here and below.
run_foo() {
    if command -v go >/dev/null; then
        program=$build/clients/sample-controller
        (cd "$here/go" && go build -o "$program" k8s.io/sample-controller) \
            >"$work/output" 2>&1 ||
            echo "# no sample-controller: $(tail -n 1 "$work/output")"
    fi
    KUBELUA_BUILD=$build lua5.4 spec/run.lua -o TAP sim/spec/clients/foo/foo_spec.lua
}

run_examples() {
    KUBELUA_BUILD=$build lua5.4 spec/run.lua -o TAP sim/spec/clients/examples_spec.lua
}

case ${1:-} in
go) run_go ;;
python) run_python ;;
foo) run_foo ;;
examples) run_examples ;;
*)
    echo "usage: clients.sh go|python|foo|examples" >&2
    exit 2
    ;;
esac
