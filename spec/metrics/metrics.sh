#!/bin/sh
# What `kubelua run --serve` serves on /metrics, read by the linter that
# `promtool check metrics` runs (promlint of client_golang): it must find
# nothing. Prints TAP. Usage, in the root of a tree that is built:
# spec/metrics/metrics.sh. Exit status 77 if there is no Go, or its modules
# cannot be fetched.
set -eu
command -v go >/dev/null || { echo "there is no Go"; exit 77; }
work=$(mktemp -d)
trap 'kill "$run" 2>/dev/null || true; rm -rf "$work"' EXIT
run=
(cd spec/metrics && go build -o "$work/promlint" .) >"$work/log" 2>&1 || {
    echo "the Go program was not built: $(tail -n 1 "$work/log")"
    exit 77
}

bin/kubelua run --sim=examples/cluster.yaml --serve 127.0.0.1:0 --for 60 --reload \
    spec/metrics/all.lua >"$work/out" 2>&1 &
run=$!
port=
for _ in $(seq 300); do
    port=$(sed -n 's/.* on 127\.0\.0\.1:\([0-9]*\)$/\1/p' "$work/out")
    [ -z "$port" ] || ! grep -q '^all counted' "$work/out" || break
    sleep 0.1
done
curl -sf "http://127.0.0.1:$port/metrics" >"$work/text"

for name in shop_orders_total shop_open shop_seconds_bucket \
    controller_runtime_reconcile_total workqueue_queue_duration_seconds_bucket \
    leader_election_master_status rest_client_requests_total \
    informer_processing_latency_seconds_bucket process_open_fds \
    kubelua_informer_reconnects_total kubelua_loop_blocked_seconds \
    kubelua_script_info kubelua_script_reloads_total; do
    grep -q "^$name[{ ]" "$work/text" || { echo "no $name"; exit 1; }
done
"$work/promlint" <"$work/text" >"$work/found"
cat "$work/found"
[ ! -s "$work/found" ]
# The linter finds what is wrong.
printf '# TYPE wrong counter\nwrong 1\n' | "$work/promlint" | grep -q 'wrong '
echo "ok 1 - promtool finds nothing in what --serve serves"
echo "1..1"
