#!/bin/sh
# Runs one example as a person would, and checks what it prints. Usage, in the
# root of a tree that is built:
#   example.sh shows TEXT FILE ARG...      an example prints TEXT
#   example.sh renders TEXT FILE ARG...    the last ARG is a file that then has TEXT
#   example.sh sends REQUEST NAME MANIFEST a controller sends this request
#   example.sh alone TEXT FILE             an example that brings a cluster prints TEXT
#   example.sh nginx                       examples/nginx/run, which leaves nothing behind
#   example.sh gateway [--real]            examples/gateway/run, the same
#   example.sh gateway_cluster             examples/gateway/run --cluster, of a server on a port
#   example.sh c-controller                the controller in C, which ends at SIGTERM
# KUBELUA_INTERPRETER names the interpreter; the last two have none.
set -u
build=${KUBELUA_BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect TEXT STATUS: what is in $work/output, of a command that ended so.
expect() {
    cat "$work/output"
    [ "$2" = 0 ] && grep -q -- "$1" "$work/output"
}

shows() { # TEXT FILE ARG...
    text=$1
    shift
    timeout 60 bin/kubelua run --for 2 --sim=examples/cluster.yaml "$@" \
        >"$work/output" 2>&1
    expect "$text" $?
}

renders() { # TEXT FILE ARG
    rm -f "$3"
    shows upstreams.conf "$2" "$3" && grep -q -- "$1" "$3"
}

sends() { # REQUEST NAME MANIFEST
    KUBELUA_LOG=debug timeout 60 bin/kubelua run --for 3 \
        --sim="examples/$3" "examples/$2.lua" >"$work/output" 2>&1
    expect "$1" $?
}

alone() { # TEXT FILE
    timeout 60 bin/kubelua run "$2" >"$work/output" 2>&1
    expect "$1" $?
}

gateway() { # [OPTION]
    nginx examples/gateway/run "$@"
}

gateway_cluster() {
    KUBECONFIG=$(mktemp)
    export KUBECONFIG
    bin/kubelua sim --load examples/gateway/crds.yaml \
        --load examples/gateway/objects.yaml --write-kubeconfig "$KUBECONFIG" &
    trap 'kill $!; rm -rf "$work" "$KUBECONFIG"' EXIT
    until [ -s "$KUBECONFIG" ]; do sleep 0.1; done
    nginx examples/gateway/run --cluster >"$KUBECONFIG.said"
    status=$?
    mkdir -p "$work" && mv "$KUBECONFIG.said" "$work/output"
    expect '^shop.example.com/ .*500 .*HTTPRoute default/shop' $status
}

# free_ports: prints the first of three on which nothing listens. None of them is
# given to outgoing connections.
free_ports() {
    while :; do
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        hex=$(printf '%04X|%04X|%04X' $port $((port + 1)) $((port + 2)))
        cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
            grep -qE ":($hex) 0*:0000 0A" || break
    done
    echo $port
}

# The program ends before ctest's limit, which would leave its processes behind.
nginx() { # [PROGRAM OPTION]
    port=$(free_ports)
    TMPDIR=$work EXAMPLE_PORT=$port EXAMPLE_POD_PORT=$((port + 2)) \
        timeout 500 "${1:-examples/nginx/run}" ${2:+"$2"}
    status=$?
    [ $status != 124 ] || echo "it had not ended after 500 s"
    [ $status = 0 ] || return $status
    # The arguments of every process of the example name the folder.
    if grep -sl "[/]${work#/}" /proc/[0-9]*/cmdline; then
        echo "these processes are left behind"
        return 1
    fi
    rmdir "$work"
}

c_controller() {
    export KUBECONFIG="$work/kubeconfig"
    bin/kubelua sim --load examples/cluster.yaml \
        --write-kubeconfig "$KUBECONFIG" >"$work/sim" 2>&1 &
    trap 'kill $!; rm -rf "$work"' EXIT
    timeout 60 sh -s "$build" "$work" <<'END'
    until [ -s "$KUBECONFIG" ]; do sleep 0.1; done
    "$1/examples/controller" >"$2/output" 2>&1 &
    until [ "$(grep -c "^wrote " "$2/output")" = 3 ]; do
        kill -0 $! || exit 1
        sleep 0.1
    done
    kill -TERM $!
    wait $!
END
    expect '^wrote ' $?
}

what=$1
shift
case $what in
shows | renders | sends | alone | nginx | gateway | gateway_cluster) "$what" "$@" ;;
c-controller) c_controller ;;
*)
    echo "example.sh: no way $what" >&2
    exit 2
    ;;
esac
