#!/bin/sh
# check.sh [BINARIES]: proves that cluster.sh does what README.md says, against
# what build.sh put into BINARIES. Takes a minute, and curl.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
KUBELUA_CLUSTER_BIN=${1:-${KUBELUA_CLUSTER_BIN:-$here/../../build/cluster}}
export KUBELUA_CLUSTER_BIN
top=$(mktemp -d) dir=$top/cluster
passed=0 failed=0
trap 'cluster stop "$dir"; rm -rf "$top"' EXIT
trap 'exit 1' INT TERM

cluster() {
    "$here/cluster.sh" "$@"
}

# it NAME COMMAND...: COMMAND must succeed.
it() {
    name=$1
    shift
    if "$@" >"$top/out" 2>&1; then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        sed 's/^/     /' "$top/out"
    fi
}

not() {
    ! "$@"
}

# api TOKEN PATH CURL-ARGS...
api() {
    token=$1 path=$2
    shift 2
    curl -sS -m 10 --cacert "$CA" -H "Authorization: Bearer $token" "$@" \
        "${base:-$SERVER}$path"
}

# answers STATUS TOKEN PATH
answers() {
    code=$(api "$2" "$3" -o /dev/null -w '%{http_code}')
    [ "$code" = "$1" ] || { echo "got $code" && false; }
}

# shows TEXT COMMAND...: COMMAND prints TEXT, however it ends.
shows() {
    text=$1
    shift
    "$@" >"$top/shown" 2>&1 || true
    grep -q -- "$text" "$top/shown" || { cat "$top/shown" && false; }
}

within() { # within SECONDS COMMAND...
    deadline=$(($(date +%s) + $1))
    shift
    until "$@"; do
        [ "$(date +%s)" -lt "$deadline" ] || return 1
        sleep 0.1
    done
}

# nothing_runs: no process, zombies apart, names the folder of this check.
nothing_runs() {
    for cmdline in /proc/[0-9]*/cmdline; do
        case $cmdline in "/proc/$$/cmdline") continue ;; esac
        if { tr '\0' ' ' <"$cmdline"; } 2>/dev/null | grep "$top/"; then
            return 1
        fi
    done
}

version() {
    api "$TOKEN" "/api/v1/namespaces/default/$1" |
        sed -n 's/^    "resourceVersion": "\(.*\)".*/\1/p;
            s/^    "uid": "\(.*\)".*/\1/p' | head -n "${2:-9}" | tail -n 1
}

starts() {
    cluster start "$@" || return 1
    . "$dir/env"
}

watch="/api/v1/namespaces/default/configmaps?watch=1"
streamed="$watch&sendInitialEvents=true&allowWatchBookmarks=true"
streamed="$streamed&resourceVersionMatch=NotOlderThan"

began=$(date +%s)
it "starts" starts --owner $$ "$dir"
echo "     in about $(($(date +%s) - began)) seconds"
it "refuses to start twice in one folder" not cluster start "$dir"
it "creates a pod" cluster kubectl "$dir" run p1 --image=x
it "gets a pod" shows p1 cluster kubectl "$dir" get pods
it "deletes a pod, wholly" cluster kubectl "$dir" delete pod p1 --timeout=5s
cluster kubectl "$dir" create configmap a >"$top/out"
it "streams a list" shows '"k8s.io/initial-events-end":"true"' \
    api "$TOKEN" "$streamed&timeoutSeconds=1"
it "speaks HTTP/2" shows '^2$' \
    api "$TOKEN" /readyz -o /dev/null -w '%{http_version}\n'
for kind in '' -token -token-file -proxy; do
    it "lets kubeconfig$kind in" env KUBECONFIG="$dir/kubeconfig$kind" \
        "$BIN/kubectl" get pods
done
it "forbids pods to nobody" answers 403 "$NOBODY_TOKEN" /api/v1/pods
it "rejects an unknown token" answers 401 wrong /api/v1/pods

old=$(version configmaps/a 2) uid=$(version configmaps/a 1)
it "kills kube-apiserver" cluster kill-apiserver "$dir"
it "is away then" not answers 200 "$TOKEN" /readyz
it "starts it again on the same port" cluster start-apiserver "$dir"
it "answers again" answers 200 "$TOKEN" /readyz
cluster kubectl "$dir" delete configmap a >"$top/out"
cluster kubectl "$dir" create configmap a >"$top/out"
it "gives a recreated object another uid" \
    not [ "$uid" = "$(version configmaps/a 1)" ]
it "kills it again" cluster kill-apiserver "$dir"
it "starts it without a watch cache of configmaps" cluster start-apiserver \
    "$dir" --watch-cache-sizes=configmaps#0
it "resumes a watch from etcd" shows DELETED \
    api "$TOKEN" "$watch&resourceVersion=$old&timeoutSeconds=1"
it "records the changes that etcd has made" shows '"type":"DELETE"' \
    timeout 2 "$here/cluster.sh" record-etcd "$dir"
it "compacts etcd" cluster compact "$dir"
it "answers 410 to a watch from before" shows '"code":410' \
    api "$TOKEN" "$watch&resourceVersion=$old&timeoutSeconds=1"
it "rotates the token" cluster set-token "$dir" second
it "rejects the old token" answers 401 "$TOKEN" /api/v1/pods
it "accepts the new one" answers 200 second /api/v1/pods
it "wrote it to DIR/token" grep -qx second "$dir/token"
TOKEN=second

base=https://$PROXY
it "answers through the proxy" answers 200 "$TOKEN" /readyz
api "$TOKEN" "$watch" >"$top/watched" 2>&1 &
watcher=$!
within 5 shows '"open":1' cluster proxy "$dir" stats
it "cuts" cluster proxy "$dir" cut
it "ended the watch by that" within 2 not kill -0 $watcher 2>/dev/null
it "has no connection left" shows '"open":0' cluster proxy "$dir" stats
it "freezes" cluster proxy "$dir" freeze
it "does not answer then" not answers 200 "$TOKEN" /readyz
it "thaws" cluster proxy "$dir" thaw
it "answers again through the proxy" answers 200 "$TOKEN" /readyz
it "refuses" cluster proxy "$dir" refuse
it "resets connections then" not answers 200 "$TOKEN" /readyz
cluster proxy "$dir" accept >"$top/out"
it "closes after some bytes" cluster proxy "$dir" close-after 3000
it "cuts a long answer then" not api "$TOKEN" /openapi/v2
cluster proxy "$dir" close-after off >"$top/out"
it "passes a long answer again" api "$TOKEN" /openapi/v2 -o /dev/null
it "rejects an unknown command" not cluster proxy "$dir" dance
base=''

it "stops" cluster stop "$dir"
it "leaves no process" nothing_runs
it "fails with the log when kube-apiserver does not start" \
    shows 'unknown flag: --nonsense' cluster start "$dir" --nonsense
it "leaves no process after that" nothing_runs
sleep 600 &
owner=$!
it "starts for an owner" starts --owner $owner "$dir"
kill $owner
it "ends with its owner" within 5 nothing_runs
it "starts for some seconds" starts --for 6 "$dir"
it "ends after its time" within 10 nothing_runs
it "starts once more" starts "$dir"
rm -rf "$dir"
it "ends with its folder" within 5 nothing_runs
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
