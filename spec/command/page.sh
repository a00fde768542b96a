#!/bin/bash
# Runs the commands of a page of docs/ as they stand there: bash spec/command/page.sh PAGE COMMAND
# COMMAND is the kubelua that a reader would have got. In a block ```console a line "$ ..." is a
# command, "> ..." goes on with it, and other lines are what it prints: each is looked for in its
# output, "..." is anything. All of them run in one shell, in an empty folder. One that fails is
# tried again for ten seconds, as what a former one began may not be there yet.
# A block ```console PROGRAM is left out where the program is missing.
set -u
page=$PWD/$1
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
PATH=$PATH:${KUBELUA_CLUSTER_BIN:-$PWD/build/cluster}:${KUBELUA_HELM_BIN:-$PWD/build/helm}
export HOME=$work/home NO_COLOR=1
unset KUBECONFIG KUBELUA_LOG LUA_PATH LUA_CPATH
mkdir "$HOME" "$work/empty" "$work/commands"
cp "$2" "$work/empty/kubelua-linux-amd64" || exit 1

# A file for each command, NUMBER.sh, and NUMBER.out with what is to be printed.
awk -v folder="$work/commands" '
    /^```console/ { inside = 1; needs = $2; next }
    /^```/ { inside = 0; next }
    !inside { next }
    /^\$ / {
        name = sprintf("%s/%03d", folder, ++count)
        print needs >(name ".needs")
        print FILENAME ":" FNR >(name ".line")
        printf "" >(name ".out")
        print substr($0, 3) >(name ".sh")
        next
    }
    /^>/ { print substr($0, 3) >(name ".sh"); next }
    { print >(name ".out") }' "$page"

# printed FILE: each expected line of the file is in "$work/output".
printed() {
    while IFS= read -r line; do
        [ "$line" = ... ] && continue
        pattern=$(printf '%s' "$line" | sed 's/[][\\.*^$]/\\&/g; s/\\\.\\\.\\\./.*/g')
        grep -q -- "^$pattern" "$work/output" || return 1
    done <"$1"
}

cd "$work/empty" || exit 1
bad=0
for file in "$work"/commands/*.sh; do
    name=${file%.sh}
    needs=$(cat "$name.needs")
    said="$(sed 's,.*/docs/,docs/,' "$name.line"): $(head -n 1 "$file")"
    if [ -n "$needs" ] && ! command -v "$needs" >/dev/null; then
        echo "skipped: $said (no $needs)"
        continue
    fi
    for _ in $(seq 40); do
        eval "$(cat "$file")" >"$work/output" 2>&1
        status=$?
        [ $status = 0 ] && printed "$name.out" && break
        sleep 0.25
    done
    if [ $status = 0 ] && printed "$name.out"; then
        echo "ok: $said"
    else
        bad=$((bad + 1))
        echo "FAILED: $said (exit status $status)"
        cat "$work/output"
    fi
done
ls "$work"/commands/*.sh >/dev/null && echo "$bad failed"
[ $bad -eq 0 ]
