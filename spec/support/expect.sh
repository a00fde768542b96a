# expect.sh - for specs in shell that run a program and look at what it prints. A spec sets `work`, a
# folder of its own, and `bad`, the number of its failures; `limit` is how many seconds a command may
# take (30).

# expect NAME STATUS PATTERN COMMAND...: exit status, and a pattern in what it
# printed on either stream.
expect() {
    name=$1
    status=$2
    pattern=$3
    shift 3
    timeout "${limit:-30}" "$@" >"$work/output" 2>&1 </dev/null
    got=$?
    if [ $got -ne "$status" ] || ! grep -qE -- "$pattern" "$work/output"; then
        bad=$((bad + 1))
        echo "FAILED: $name (exit status $got, not $status; /$pattern/)"
        cat "$work/output"
    else
        echo "ok: $name"
    fi
}
