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
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
server=
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

    # Over TLS, by name and by a kubeconfig, as one process and another.
    "$program" sim --tls --write-kubeconfig "$work/kubeconfig" \
        --load cluster.yaml >"$work/server" 2>&1 &
    server=$!
    tries=0
    until [ -s "$work/kubeconfig" ] || [ $tries = 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    expect "a script lists over TLS" 0 'shop-1' "$program" run --kubeconfig "$work/kubeconfig" pods.lua
    kill $server
    wait $server 2>/dev/null
    rm -f "$work/kubeconfig"
done
echo "$bad failed"
[ $bad -eq 0 ]
