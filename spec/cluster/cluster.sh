#!/bin/sh
# Starts, breaks and stops a Kubernetes control plane for specs: etcd, a
# kube-apiserver and a TCP proxy before it. Everything that it writes is in
# one folder DIR; what it started ends with `stop`, with its owner, with its
# time, or with the folder. Binaries: see build.sh.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/process.sh"
. "$here/credentials.sh"

usage() {
    cat >&2 <<'TEXT'
usage: cluster.sh start [--owner PID] [--for SECONDS] DIR [FLAGS...]
       cluster.sh stop|compact|kill-apiserver DIR
       cluster.sh start-apiserver|restart-apiserver DIR [FLAGS...]
       cluster.sh set-token DIR NEWTOKEN
       cluster.sh service-token DIR NAMESPACE NAME UID SECONDS
       cluster.sh proxy DIR COMMAND
       cluster.sh record-etcd DIR
       cluster.sh kubectl DIR ARGS...
start ends the cluster by itself with process PID, or after SECONDS (7200).
FLAGS are further ones of kube-apiserver, until others are given.
TEXT
    exit 2
}

fail() {
    echo "cluster: $*" >&2
    exit 1
}

# Admission that the simulator does not have: with it, answers about pods, claims
# and nodes would differ (sim/spec/truth).
PLUGINS_OFF=ServiceAccount,Priority,DefaultTolerationSeconds,RuntimeClass
PLUGINS_OFF=$PLUGINS_OFF,DefaultStorageClass,StorageObjectInUseProtection
PLUGINS_OFF=$PLUGINS_OFF,PersistentVolumeClaimResize,DefaultIngressClass
PLUGINS_OFF=$PLUGINS_OFF,TaintNodesByCondition

# Where build.sh put the programs, unless the environment knows better.
find_binaries() {
    BIN=${KUBELUA_CLUSTER_BIN:-$here/../../build/cluster}
    for name in etcd kube-apiserver kubectl; do
        [ -x "$BIN/$name" ] ||
            fail "no $BIN/$name; run build.sh DIR, set KUBELUA_CLUSTER_BIN=DIR"
    done
    BIN=$(CDPATH='' cd -- "$BIN" && pwd)
}

write_env() {
    cat >"$dir/env.new" <<TEXT
SERVER=$SERVER
CA=$dir/ca.crt
CERT=$dir/admin.crt
KEY=$dir/admin.key
TOKEN=$TOKEN
NOBODY_TOKEN=$NOBODY_TOKEN
ETCD=$ETCD
PROXY=$PROXY
CONTROL=$CONTROL
BIN=$BIN
TEXT
    mv "$dir/env.new" "$dir/env"
}

read_env() {
    [ -r "$dir/env" ] || fail "no cluster in $dir; see cluster.sh start"
    . "$dir/env"
}

# kubectl NAME ARGS...: with DIR/NAME, and nothing of the user's own.
kubectl() {
    config=$dir/$1
    shift
    KUBECONFIG=$config KUBERC=off KUBECACHEDIR=$dir/kubectl-cache \
        "$BIN/kubectl" "$@"
}

launch_etcd() {
    launch etcd "$BIN/etcd" --name=kubelua --data-dir="$dir/etcd" \
        --listen-client-urls="$ETCD" --advertise-client-urls="$ETCD" \
        --listen-peer-urls=http://127.0.0.1:0 \
        --unsafe-no-fsync
}

# keep_flags FLAGS...: for this and later starts of kube-apiserver.
keep_flags() {
    for flag in "$@"; do
        printf '%s\n' "$flag"
    done >"$dir/flags"
}

# kube-apiserver compacts etcd every five minutes; here specs decide when. Wholly
# switched off (0), it would not notice their compactions either.
launch_apiserver() {
    set --
    while IFS= read -r flag; do
        set -- "$@" "$flag"
    done <"$dir/flags"
    launch apiserver "$BIN/kube-apiserver" \
        --etcd-servers="$ETCD" --etcd-compaction-interval=24h \
        --bind-address=127.0.0.1 --secure-port="${SERVER##*:}" \
        --advertise-address=127.0.0.1 --endpoint-reconciler-type=none \
        --cert-dir="$dir" --client-ca-file="$dir/ca.crt" \
        --tls-cert-file="$dir/server.crt" \
        --tls-private-key-file="$dir/server.key" \
        --token-auth-file="$dir/tokens.csv" \
        --service-account-issuer=https://kubernetes.default.svc \
        --service-account-key-file="$dir/service-account.pub" \
        --service-account-signing-key-file="$dir/service-account.key" \
        --service-cluster-ip-range=10.0.0.0/24 --authorization-mode=RBAC \
        --disable-admission-plugins="$PLUGINS_OFF" \
        --shutdown-watch-termination-grace-period=5s \
        --allow-privileged=true --profiling=false "$@"
}

# await WHAT NAMES COMMAND...: until COMMAND succeeds; fails as soon as one of
# the processes NAMES is gone, or when the time is over.
await() {
    what=$1 needed=$2
    shift 2
    deadline=$(($(date +%s) + ${KUBELUA_CLUSTER_TIMEOUT:-60}))
    until "$@" >/dev/null 2>&1; do
        for name in $needed; do
            runs "$name" || return 1
        done
        if [ "$(date +%s)" -ge "$deadline" ]; then
            echo "cluster: no $what after" \
                "${KUBELUA_CLUSTER_TIMEOUT:-60} seconds" >&2
            return 1
        fi
        sleep 0.1
    done
    for name in $needed; do # another server may have answered
        runs "$name" || return 1
    done
}

# By its own word: a port that answers could be another's.
etcd_serves() {
    grep -q 'serving.* client' "$dir/etcd.log"
}

# The last thing that a new server does is to make the first namespaces.
apiserver_ready() {
    kubectl kubeconfig get --request-timeout=2s --raw /readyz &&
        kubectl kubeconfig get --request-timeout=2s \
            --raw /api/v1/namespaces/default
}

await_apiserver() {
    await "ready kube-apiserver" "etcd apiserver" apiserver_ready
}

show_logs() {
    for name in etcd apiserver proxy; do
        [ -s "$dir/$name.log" ] || continue
        echo "--- the end of $dir/$name.log" >&2
        tail -n 20 "$dir/$name.log" >&2
    done
}

launch_proxy() {
    PROXY='' CONTROL=''
    [ -x "$BIN/kubelua-cluster" ] || return 0
    launch proxy "$BIN/kubelua-cluster" proxy --target "${SERVER#https://}" \
        --addr-file "$dir/proxy.addr"
    await proxy proxy test -f "$dir/proxy.addr" || return 1
    . "$dir/proxy.addr"
}

# try_start: on fresh ports; etcd first, lest kube-apiserver write to another's.
try_start() {
    rm -rf "$dir/etcd" "$dir"/*.log "$dir/proxy.addr"
    ETCD=http://127.0.0.1:$(free_port)
    launch_etcd
    await etcd etcd etcd_serves || return 1
    SERVER=https://127.0.0.1:$(free_port)
    launch_apiserver
    launch_proxy || return 1
    write_kubeconfigs
    write_env
    await_apiserver
}

start() {
    find_binaries
    command -v openssl >/dev/null || fail "openssl is missing: install it"
    mkdir -p "$dir"
    dir=$(CDPATH='' cd -- "$dir" && pwd)
    case $dir in
    *[!A-Za-z0-9_./+@%:,-]*) fail "blanks and the like in the path $dir" ;;
    esac
    for name in guard etcd apiserver; do
        ! runs "$name" || fail "one runs in $dir already; stop it first"
    done
    umask 077
    keep_flags "$@"
    make_pki
    TOKEN=$(random_token) NOBODY_TOKEN=$(random_token)
    write_tokens
    trap 'stop; exit 1' INT TERM
    launch guard "$here/cluster.sh" guard "$dir" "$owner" "$seconds"
    for attempt in 1 2 3 4 5; do
        if try_start; then
            return
        fi
        end KILL apiserver etcd proxy
        grep -qs 'address already in use' "$dir"/*.log || break
        echo "cluster: port taken meanwhile, attempt $attempt" >&2
    done
    show_logs
    stop
    fail "it did not start"
}

stop() {
    end KILL guard apiserver etcd proxy
    rm -rf "$dir/etcd" "$dir/env"
}

# guard OWNER SECONDS: stops the cluster when its owner has ended. It remembers
# which processes run, in case the folder is removed.
guard() {
    owner=$1 deadline=$(($(date +%s) + $2)) born_owner='' known=''
    [ "$owner" = 0 ] || born_owner=$(birth "$owner") || born_owner=gone
    while [ "$(date +%s)" -lt "$deadline" ]; do
        sleep 1
        is_guard || break
        known=$(cat "$dir/apiserver.pid" "$dir/etcd.pid" "$dir/proxy.pid" \
            2>/dev/null || true)
        [ "$owner" = 0 ] || lives "$owner" "$born_owner" || break
    done
    echo "$known" | while read -r pid born; do
        finish KILL 20 "$pid" "$born"
    done
    if is_guard; then
        rm -f "$dir/guard.pid" # stop would end this process first
        stop
    fi
}

# is_guard: whether this process guards the folder, and the folder is there.
is_guard() {
    { read -r pid born <"$dir/guard.pid"; } 2>/dev/null && [ "$pid" = $$ ]
}

start_apiserver() {
    [ $# -eq 0 ] || keep_flags "$@"
    ! runs apiserver || fail "kube-apiserver runs already"
    launch_apiserver
    await_apiserver || {
        show_logs
        fail "kube-apiserver did not start"
    }
}

restart_apiserver() {
    end TERM apiserver
    start_apiserver "$@"
}

# ask_etcd PATH JSON: through its HTTP gateway; kubectl serves as HTTP client.
ask_etcd() {
    printf '%s' "$2" | kubectl no-such-file --server="$ETCD" \
        create --raw "/v3/$1" -f -
}

# tell_compaction REVISION: to kube-apiserver, whose cached lists would outlive
# it otherwise. The key is kube-apiserver's own. Prints the revision of this.
tell_compaction() {
    key=$(printf compact_rev_key | base64)
    value=$(printf %s "$1" | base64)
    ask_etcd kv/put "{\"key\":\"$key\",\"value\":\"$value\"}" |
        sed -n 's/.*"revision":"\([0-9]*\)".*/\1/p'
}

# record_etcd: each change of an object, the past ones too, until etcd ends;
# JSON as etcd's watch sends it. No end of kube-apiserver leaves a gap in it.
record_etcd() {
    first=$(printf /registry/ | base64) last=$(printf /registry0 | base64)
    range="\"key\":\"$first\",\"range_end\":\"$last\",\"start_revision\":1"
    ask_etcd watch "{\"create_request\":{$range}}"
}

# Done when this returns. It is at a revision of its own, which changes no
# object: a watch that resumes exactly at a compacted deletion gets no 410 but
# an ERROR event with code 500 (PrevKv=nil, kube-apiserver 1.36).
compact() {
    revision=$(tell_compaction 0)
    [ -n "$revision" ] || fail "etcd does not tell its revision"
    ask_etcd kv/compaction "{\"revision\":\"$revision\",\"physical\":true}" \
        >/dev/null
    tell_compaction "$revision" >/dev/null
    echo "$revision"
}

# kube-apiserver reads its token file at start only: a new token means a new
# server. A reader of DIR/token sees the new one only when it is valid.
set_token() {
    TOKEN=$1
    case $TOKEN in
    '' | *[!A-Za-z0-9_.-]*) fail "a token is of letters, digits, _ . -" ;;
    esac
    write_tokens
    restart_apiserver
    write_kubeconfigs
    write_env
}

control_proxy() {
    if [ -z "$CONTROL" ]; then
        echo "cluster: no proxy: it is built with Go; see build.sh" >&2
        exit 77
    fi
    "$BIN/kubelua-cluster" control "$CONTROL" "$@"
}

[ $# -ge 2 ] || usage
action=$1 owner=0 seconds=7200
shift
while [ "$action" = start ] && [ $# -ge 3 ]; do
    case $1 in
    --owner) owner=$2 ;;
    --for) seconds=$2 ;;
    *) break ;;
    esac
    shift 2
done
dir=$1
case $owner$seconds:$dir in
*[!0-9]*:* | *:-*) usage ;;
esac
shift
if [ "$action" != start ] && [ -d "$dir" ]; then
    dir=$(CDPATH='' cd -- "$dir" && pwd)
fi
case $action in
start) start "$@" ;;
stop) stop ;;
guard) guard "$@" ;;
*)
    read_env
    case $action in
    kill-apiserver) end KILL apiserver ;;
    start-apiserver) start_apiserver "$@" ;;
    restart-apiserver) restart_apiserver "$@" ;;
    compact) compact ;;
    set-token) [ $# -eq 1 ] || usage; set_token "$1" ;;
    service-token) [ $# -eq 4 ] || usage; service_token "$@" ;;
    proxy) [ $# -ge 1 ] || usage; control_proxy "$@" ;;
    record-etcd) record_etcd ;;
    kubectl) kubectl kubeconfig "$@" ;;
    *) usage ;;
    esac
    ;;
esac
