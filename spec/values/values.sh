#!/bin/sh
# kubelua.quantity, duration and cron beside Go's resource.Quantity,
# time.Duration and robfig/cron, on random texts. Prints TAP. Usage, in the root
# of a tree that is built: spec/values/values.sh [SEED [COUNT]]
# Exit status 77 if there is no Go, or its modules cannot be fetched.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=${KUBELUA_BUILD:-build}
seed=${1:-$(date +%s)}
mkdir -p "$build/values"
build=$(CDPATH='' cd -- "$build" && pwd)
command -v go >/dev/null || {
    echo "there is no Go"
    exit 77
}
(cd "$here/go" && go build -o "$build/values/values" .) \
    >"$build/values/log" 2>&1 || {
    echo "the Go program was not built: $(tail -n 1 "$build/values/log")"
    exit 77
}
echo "# seed $seed"
"$build/values/values" "$seed" "${2:-20000}" >"$build/values/lines" || exit 1
status=0
for lua in lua5.4 luajit; do
    abi=5.4
    [ $lua = lua5.4 ] || abi=5.1
    LUA_PATH="lua/?.lua;lua/?/init.lua;;" \
        LUA_CPATH="$build/lua/$abi/?.so;;" \
        "$lua" "$here/values.lua" <"$build/values/lines" || status=1
done
exit $status
