#!/bin/sh
# The command as one file, on its own: in a folder without KubeLua's tree, with
# no LUA_PATH. Usage: sh spec/program/program.sh PROGRAM...
# --specs PROGRAM: the Lua specs in it, but those that start an interpreter, which
# would need KubeLua's modules in files.
set -u
if [ "$1" = --specs ]; then
    LUA_PATH='spec/support/?.lua;;' exec "$2" test -o tap \
        --exclude-tags=many,processes --exclude-pattern='^fork_spec' \
        --exclude-pattern='^hosted_spec' spec/lua
fi
root=$PWD
work=$(mktemp -d)
trap 'kill $server $dns 2>/dev/null; rm -rf "$work"' EXIT
server=
dns=
bad=0
limit=60
unset LUA_PATH LUA_CPATH LUA_PATH_5_4 KUBELUA_TREE KUBELUA_CTREE KUBELUA_BUILD

# shellcheck source=spec/support/expect.sh
. spec/support/expect.sh

mkdir -p "$work/script/kubelua" "$work/modules"
cp examples/cluster.yaml examples/index-query.lua "$work/script/"
cp -R examples "$work/examples"
cd "$work/script" || exit 1
echo 'return { word = "mine" }' >mine.lua
echo 'return { word = "of LUA_PATH" }' >"$work/modules/theirs.lua"
for name in argparse luassert say; do
    echo "error 'the command takes $name of LUA_PATH'" >"$work/modules/$name.lua"
done
echo 'error "a module of the current folder is KubeLua"' >kubelua/client.lua
echo 'error "a module of the current folder is KubeLua"' >kubelua/init.lua
cat >modules.lua <<'END'
local kubelua = require "kubelua"
print(require("mine").word, require("theirs").word)
print(require("cjson").encode { a = 1 }, require("cjson.safe").decode "{" == nil)
print(type(require "argparse"), kubelua._VERSION)
kubelua.stop()
END
cat >missing.lua <<'END'
require "lfs"
END
cat >fails.lua <<'END'
local kubelua = require "kubelua"
kubelua.spawn(function() error "on purpose" end)
END
cat >pods.lua <<'END'
local kubelua = require "kubelua"
local client = assert(kubelua.connect())
for _, pod in ipairs(assert(client:list("pods", { namespace = "web" }))) do
    print(pod.metadata.name)
end
kubelua.stop()
END

# wait_for FILE PATTERN: ten seconds.
wait_for() {
    tries=0
    until grep -q "$2" "$1" 2>/dev/null || [ $tries = 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
}

# A pod's resolv.conf, and a script that connects by a name that is made whole by
# a search domain. Static: in an empty root, as in the image; else in a mount
# namespace.
mkdir -p "$work/root/etc"
# Of this process alone: two runs of this file may go on side by side.
dns_address=127.$(($$ / 65536 + 1)).$(($$ / 256 % 256)).$(($$ % 256))
echo "nameserver $dns_address
search shop.svc.cluster.local svc.cluster.local cluster.local corp.example
options ndots:5 timeout:10 attempts:2" >"$work/root/etc/resolv.conf"
cat >"$work/root/by-name.lua" <<'END'
local kubelua = require "kubelua"
local client = assert(kubelua.connect { server = "http://kubernetes.default.svc:" .. arg[1] })
-- The simulator refuses this name in the header Host: it has been reached.
print(select(2, client:list("pods", { namespace = "web" })))
kubelua.stop()
END
# in_pod COMMAND...
in_pod() {
    if ldd "$program" 2>&1 | grep -qE 'statically linked|not a dynamic'; then
        cp "$program" "$work/root/kubelua" && chroot "$work/root" /kubelua "$@"
    else
        # shellcheck disable=SC2016 # for the inner shell
        unshare -m sh -c 'mount --bind "$0/etc/resolv.conf" /etc/resolv.conf &&
            cd "$0" && exec "$@"' "$work/root" "$program" "$@"
    fi
}
# resolves MODE PATTERN: the script connects, and the server has been asked so.
resolves() {
    : >"$work/asked"
    : >"$work/dns" # else the former server's "ready" could be read
    python3 "$root/spec/program/dns.py" "$dns_address" "$1" "$work/asked" >"$work/dns" 2>&1 &
    dns=$!
    wait_for "$work/dns" ready
    in_pod run by-name.lua "$port" >"$work/by-name" 2>&1
    got=$?
    kill $dns
    wait $dns 2>/dev/null
    expect "a name is found behind search domains: $1" 0 '^0 HTTP 403: .*Host is no name of this simulator' \
        echo "$got $(cat "$work/by-name" "$work/dns")"
    expect "the domains were asked in their order: $1" 0 "$2" sh -c "tr '\n' ' ' <'$work/asked'"
}
# No root, or no mounts in a container: nothing of this can be tried.
can_resolve=
if [ "$(id -u)" = 0 ] && command -v python3 >/dev/null &&
    unshare -m mount --bind "$work/root/etc/resolv.conf" /etc/resolv.conf 2>/dev/null; then
    can_resolve=yes
else
    echo "skipped: names in a pod (needs root, python3 and mounts)"
fi

for program; do
    case $program in
    /*) ;;
    *) program=$root/$program ;;
    esac
    echo "# $program"
    expect "it tells version and interpreter" 0 '^kubelua [0-9.]+ \(Lua(JIT)? ' "$program" version
    expect "it has its own help" 0 '^Usage: .*kubelua' "$program" --help
    expect "an example runs in the simulator" 0 'shop-1' "$program" run --for 0.5 --sim=cluster.yaml index-query.lua
    expect "own modules and those of LUA_PATH are found" 0 'mine.*of LUA_PATH' \
        env LUA_PATH="$work/modules/?.lua;;" "$program" run --sim modules.lua
    expect "lua-cjson and argparse are in the file" 0 '"a":1.*true' \
        env LUA_PATH="$work/modules/?.lua;;" "$program" run --sim modules.lua
    expect "a module in C is refused with what to do" 1 'cannot load modules in C' "$program" run --sim missing.lua
    expect "a failing task names the script's line" 1 'fails.lua:2: on purpose' "$program" run --sim fails.lua
    expect "a script that is not there is named" 1 'nothing.lua' "$program" run --sim nothing.lua

    expect "it prints completion" 0 '^complete -F _kubelua' "$program" completion bash
    expect "it prints a man page" 0 '^.SH OPTIONS' "$program" man run

    limit=120
    expect "it passes the specs of the examples, with no busted or luassert" 0 'all [0-9]+ files: [0-9]+ passed, 0 failed$' \
        sh -c "cd '$work' && LUA_PATH='$work/modules/?.lua;;' '$program' test examples/"
    limit=60

    expect "it serves its metrics and health" 0 'serves /metrics, .* on 127.0.0.1' \
        "$program" run --sim=cluster.yaml --serve 127.0.0.1:0 --for 0.5 index-query.lua

    if [ -n "$can_resolve" ]; then
        "$program" sim --load cluster.yaml >"$work/server" 2>&1 &
        server=$!
        wait_for "$work/server" http:
        port=$(sed -n 's/.*http:[^ ]*:\([0-9]*\) .*/\1/p' "$work/server")
        whole=kubernetes.default.svc
        for mode in nxdomain servfail empty; do
            resolves $mode "udp $whole.shop.svc.cluster.local .*udp $whole.svc.cluster.local .*udp $whole.cluster.local "
        done
        resolves truncated "udp $whole.svc.cluster.local .*tcp $whole.cluster.local"
        kill $server
        wait $server 2>/dev/null
    fi

    # Over TLS, by name and by a kubeconfig, as one process and another.
    "$program" sim --tls --write-kubeconfig "$work/kubeconfig" \
        --load cluster.yaml >"$work/server" 2>&1 &
    server=$!
    wait_for "$work/kubeconfig" server:
    expect "a script lists over TLS" 0 'shop-1' "$program" run --kubeconfig "$work/kubeconfig" pods.lua
    kill $server
    wait $server 2>/dev/null
    rm -f "$work/kubeconfig"
done
echo "$bad failed"
[ $bad -eq 0 ]
