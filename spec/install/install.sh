#!/bin/sh
# What an installation holds, used as a stranger would: the library through
# pkg-config and through CMake, the command, the rock; and what is refused.
# Usage, in the root of the tree: sh spec/install/install.sh
set -eu
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

# refused NAME TEXT COMMAND...: the command fails, and its output has the text,
# however its lines are broken.
refused() {
    name=$1
    text=$2
    shift 2
    if "$@" >"$work/refused.log" 2>&1 ||
        ! tr -s ' \n' ' ' <"$work/refused.log" | grep -qF -- "$text"; then
        echo "FAILED: $name: this should fail, with \"$text\": $*"
        tail -n 20 "$work/refused.log"
        exit 1
    fi
    echo "ok: $name"
}

# As on a machine that ran only scripts/demo: pkg-config knows all but cmocka.
mkdir "$work/pc"
pkg-config --variable pc_path pkg-config | tr ':' '\n' | while read -r folder; do
    find "$folder" -name '*.pc' ! -name cmocka.pc \
        -exec ln -sf {} "$work/pc" \; 2>/dev/null || true
done
PKG_CONFIG_LIBDIR=$work/pc
export PKG_CONFIG_LIBDIR
cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" >"$work/configure.log"
grep -q 'No cmocka or GnuTLS: the C tests are not built' "$work/configure.log"
refused "tests that are asked for need cmocka" "scripts/packages test" \
    cmake -S . -B "$work/tests" -G Ninja -DKUBELUA_TESTS=ON
unset PKG_CONFIG_LIBDIR
ninja -C "$work/build" >/dev/null
cmake --install "$work/build" >/dev/null
echo "ok: installs"

library=$(find "$prefix" -name 'libkubelua.so')
libdir=$(dirname "$library")
fail() {
    echo "FAILED: $*"
    exit 1
}

# Names with their versions: "kl_client_new@@KUBELUA_0".
exported() {
    nm -D --defined-only --with-symbol-versions "$1" | awk '{print $3}' |
        grep -v '^KUBELUA_' | sort
}
strangers=$(exported "$library" | grep -vE \
    '^(kl_[a-z][a-z_0-9]*@@KUBELUA_[0-9]+|kl__[a-z_0-9]*@@KUBELUA_PRIVATE_.*)$' || true)
[ -z "$strangers" ] || fail "exported without need: $strangers"
private=$(exported "$library" | sed -n 's/@@KUBELUA_PRIVATE_.*//p')
used=$(nm -D --undefined-only "$libdir/libkubelua-sim.so" |
    awk '{print $2}' | sed -n 's/^\(kl__[^@]*\).*/\1/p' | sort)
[ "$private" = "$used" ] || fail "what the simulator uses is not what is" \
    "exported to it: $(printf '%s\n%s\n' "$private" "$used" | sort | uniq -u)"
[ -z "$(exported "$libdir/libkubelua-sim.so" | grep -v '^kl_sim_')" ] ||
    fail "the simulator exports more than kl_sim_"
echo "ok: public names, and what the simulator uses of the core, are exported"

needed=$(objdump -p "$library" | awk '$1 == "NEEDED" {print $2}')
case $needed in
*microhttpd* | *gnutls* | *pcre2*) fail "libkubelua.so needs $needed" ;;
esac
strip -o "$work/stripped" "$library"
size=$(wc -c <"$work/stripped")
# Far more would be a library that was linked into it, or a level like -O3.
[ "$size" -le 680000 ] || fail "libkubelua.so has $size bytes"
echo "ok: libkubelua.so needs nothing of the simulator and has $size bytes"

# shellcheck disable=SC2046 # paths without blanks
sh spec/install/hardening.sh $(find "$prefix" -type f -name '*.so*') ||
    fail "the Release build is not hardened"
echo "ok: a Release build is hardened"

if [ -e "$work/build/lua/5.1" ]; then
    find "$prefix" -path '*/lua/5.1/resty/kubelua.lua' | grep -q . ||
        fail "lua/resty is not installed"
    find "$prefix" -path '*/lua/5.4/resty/*.lua' ! -path '*/resty/kubelua/gateway/*' |
        grep -q . && fail "lua/resty needs LuaJIT, and is installed for Lua 5.4"
    echo "ok: lua/resty, for LuaJIT; for Lua 5.4 what kubelua gateway needs of it"
fi
[ "$(sed -n 's/^version = //p' dist.ini)" = "$("$prefix/bin/kubelua" version |
    grep -o '[0-9.]*[0-9]' | head -n 1)" ] || fail "dist.ini has another version"

PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # words are meant
cc -std=c11 -o "$work/watch" examples/c/watch.c \
    $(pkg-config --cflags --libs kubelua) "-Wl,-rpath,$libdir"
status=0
KUBECONFIG=$work/none "$work/watch" 0 2>"$work/error" || status=$?
if [ $status -ne 1 ] || ! grep -q 'watch: ' "$work/error"; then
    echo "FAILED: the C example without a configuration: status $status"
    cat "$work/error"
    exit 1
fi
echo "ok: pkg-config, and an error instead of a crash"

mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(user C)
find_package(kubelua REQUIRED)
find_package(kubelua-sim REQUIRED)
add_executable(shared watch.c)
target_link_libraries(shared kubelua::kubelua)
add_executable(static watch.c)
target_link_libraries(static kubelua::kubelua_static)
add_executable(simulated simulated.c)
target_link_libraries(simulated kubelua::kubelua_sim)
add_executable(simulated_static simulated.c)
target_link_libraries(simulated_static kubelua::kubelua_sim_static)
END
cat >"$work/user/simulated.c" <<'END'
#include <kubelua/sim.h>

#include <stdio.h>

int main(void)
{
    kl_sim *sim = kl_sim_new(&(kl_sim_options){0}, NULL);
    kl_transport *transport = kl_sim_transport(sim, NULL);
    kl_client *client =
        kl_client_new(&(kl_client_options){.transport = transport}, NULL);
    kl_call call = {.method = "GET", .target = "/api/v1/namespaces/default"};
    kl_reply reply = {0};

    if (kl_client_call(client, &call, &reply, NULL) != KL_OK) {
        return 1;
    }
    printf("%d\n", reply.status);
    kl_reply_clear(&reply);
    kl_client_unref(client);
    kl_transport_unref(transport);
    kl_sim_unref(sim);
    return 0;
}
END
cp examples/c/watch.c "$work/user/"
cmake -S "$work/user" -B "$work/user/build" -G Ninja \
    -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
ninja -C "$work/user/build" >/dev/null
[ "$("$work/user/build/simulated")" = 200 ] || fail "simulated, shared"
[ "$("$work/user/build/simulated_static")" = 200 ] || fail "simulated, static"
echo "ok: find_package(kubelua) and (kubelua-sim), shared and static"

cd "$work"
"$prefix/bin/kubelua" version
"$prefix/bin/kubelua" run --for 0.5 --sim="$root/examples/cluster.yaml" \
    "$root/examples/watch.lua" | grep -q 'shop-1'
echo "ok: the installed command"
(cd "$root" && "$prefix/bin/kubelua" test examples/label-pods_spec.lua) 2>&1 |
    grep -q '^examples/label-pods_spec.lua: [1-9][0-9]* passed, 0 failed$' ||
    fail "the installed kubelua test"
echo "ok: the installed kubelua test"
for page in kubelua kubelua-run kubelua-test kubelua-sim; do
    sed 's/\\//g' "$prefix/share/man/man1/$page.1" | grep -q "^$page - " ||
        fail "the man page $page"
done
grep -q '^complete -F _kubelua' "$prefix/share/bash-completion/completions/kubelua" &&
    grep -q '^#compdef kubelua' "$prefix/share/zsh/site-functions/_kubelua" &&
    grep -q '^complete -c kubelua' "$prefix/share/fish/vendor_completions.d/kubelua.fish" ||
    fail "completion for shells"
echo "ok: man pages and completion"
mkdir -p "$work/planted/kubelua"
for name in argparse kubelua/init kubelua/client kubelua/log kubelua/simcore; do
    echo 'print("planted") os.exit(9)' >"$work/planted/$name.lua"
done
cd "$work/planted"
echo 'print(pcall(require, "kubelua.planted"))' >"$work/requires.lua"
echo 'print("planted")' >"$work/planted/kubelua/planted.lua"
for interpreter in lua5.4 luajit; do
    command -v $interpreter >/dev/null || continue
    sed "1s/.*/#!\/usr\/bin\/env $interpreter/" "$prefix/bin/kubelua" >"$work/command"
    chmod +x "$work/command"
    "$work/command" run "$work/requires.lua" >"$work/planted.log" 2>&1 ||
        fail "the command, in a folder that someone has filled"
    grep -q "module 'kubelua.planted' not found" "$work/planted.log" ||
        fail "a module of the current folder"
done
cd "$work"
echo "ok: no module of the current folder is KubeLua's"
cd "$root"

# make_rock VERSION: builds and installs it in $work/rocks$VERSION, as on a machine
# without CMake; in a copy of the tree, since LuaRocks leaves its objects there.
make_rock() {
    rm -rf "$work/tree"
    mkdir "$work/tree"
    tar -c --exclude '*.o' CMakeLists.txt core lua sim/core sim/lua rockspec |
        tar -x -C "$work/tree"
    (cd "$work/tree" && rockspec=$(lua5.4 rockspec/rockspec.lua) &&
        PATH=$work/no-cmake:$PATH luarocks --lua-version="$1" \
            --tree "$work/rocks$1" make --deps-mode none "$rockspec" \
            CC="${CMAKE_C_COMPILER_LAUNCHER:-} gcc") \
        >"$work/rock.log" 2>&1 || {
        tail -n 30 "$work/rock.log" | cut -c 1-300
        exit 1
    }
    LUA_PATH="$work/rocks$1/share/lua/$1/?.lua;$work/rocks$1/share/lua/$1/?/init.lua;;"
    LUA_CPATH="$work/rocks$1/lib/lua/$1/?.so;;"
    strangers=$(nm -D --defined-only "$work/rocks$1/lib/lua/$1/kubelua/"*.so |
        awk 'NF == 3 && $3 !~ /^(kl_|luaopen_kubelua_)/ { print $3 }')
    [ -z "$strangers" ] || fail "a rock's modules export $strangers"
}
mkdir "$work/no-cmake"
printf '#!/bin/sh\necho "there is no $0 here"\nexit 127\n' >"$work/no-cmake/cmake"
chmod +x "$work/no-cmake/cmake"
cp "$work/no-cmake/cmake" "$work/no-cmake/make"

if command -v luarocks >/dev/null 2>&1; then
    make_rock 5.4
    cd "$work"
    LUA_PATH=$LUA_PATH LUA_CPATH=$LUA_CPATH \
        lua5.4 -e 'print(require("kubelua")._VERSION)'
    ln -s "$work/rocks5.4/bin/kubelua" "$work/linked"
    "$work/linked" run --for 0.5 --serve 127.0.0.1:0 \
        --sim="$root/examples/cluster.yaml" "$root/examples/watch.lua" |
        grep -q 'shop-1'
    refused "a rock without its interpreter" "install lua5.4 or luajit" \
        env KUBELUA_INTERPRETER=luajit "$work/rocks5.4/bin/kubelua" version
    cd "$root"
    echo "ok: the rock, and its command"
fi

# As docs/NGINX.md has it: LuaRocks' Lua 5.1 is LuaJIT, though Debian's LuaRocks
# names the headers and the interpreter of plain Lua 5.1.
if command -v luarocks >/dev/null 2>&1 && command -v luajit >/dev/null 2>&1; then
    make_rock 5.1
    cd "$work"
    LUA_PATH=$LUA_PATH LUA_CPATH=$LUA_CPATH \
        luajit -e 'assert(require("resty.kubelua").init { size = 2^20 })
            for line in io.lines("/proc/self/maps") do
                assert(not line:find("libkubelua"), line)
            end'
    echo 'print(jit and jit.version)' >"$work/which.lua"
    "$work/rocks5.1/bin/kubelua" run "$work/which.lua" | grep -q '^LuaJIT' ||
        fail "the command of the rock for LuaJIT runs in another Lua"
    "$work/rocks5.1/bin/kubelua" run --for 0.5 \
        --sim="$root/examples/cluster.yaml" "$root/examples/watch.lua" |
        grep -q 'shop-1'
    cd "$root"
    echo "ok: the rock for LuaJIT, and its command"
fi

# The line for this Debian in docs/NGINX.md: each package has a candidate, and
# nothing is in its way.
release=$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-}")
line=$(sed -n "s/^# apt-get install \(.*[^ ]\)  *# Debian ${release#debian }\$/\1/p" \
    docs/NGINX.md)
if [ "${release%% *}" = debian ] && [ -n "$line" ] &&
    [ -n "$(apt-cache madison nginx 2>/dev/null)" ]; then
    # shellcheck disable=SC2086 # words are meant
    apt-get install -s $line >"$work/apt.log" 2>&1 || {
        tail -n 20 "$work/apt.log"
        fail "docs/NGINX.md: apt-get install $line"
    }
    echo "ok: the packages that docs/NGINX.md names"
fi

mkdir "$work/lua5.3"
echo '#define LUA_VERSION_NUM	503' >"$work/lua5.3/lua.h"
refused "no build for Lua 5.3" "has the headers of Lua 5.3" \
    cmake -S . -B "$work/lua5.3/build" -G Ninja \
    -DKUBELUA_LUA_INCLUDE_DIR="$work/lua5.3"
refused "no module in Lua 5.3" "busted --lua=lua5.4" \
    env LUA_PATH='lua/?.lua;lua/?/init.lua' \
    lua5.4 -e '_VERSION = "Lua 5.3"; require "kubelua"'

# A build folder that does not fit any more.
mkdir "$work/moved" "$work/gone"
sed 's#^\(CMAKE_HOME_DIRECTORY:INTERNAL\)=.*#\1=/elsewhere#' \
    "$work/build/CMakeCache.txt" >"$work/moved/CMakeCache.txt"
refused "a build folder of another tree" "rm -rf $work/moved" \
    scripts/stale "$work/moved"
sed -e 's#^\(CMAKE_C_COMPILER:[A-Z]*\)=.*#\1=/elsewhere/cc#' \
    -e "s#^\(CMAKE_CACHEFILE_DIR:INTERNAL\)=.*#\1=$work/gone#" \
    "$work/build/CMakeCache.txt" >"$work/gone/CMakeCache.txt"
refused "a build folder whose compiler is gone" "rm -rf $work/gone" \
    scripts/stale "$work/gone"
scripts/stale "$work/build"
mkdir -p "$work/stale/kubelua"
echo 'no library' >"$work/stale/kubelua/core.so"
refused "a module that does not load" "Remove its build folder" \
    env LUA_PATH='lua/?.lua;lua/?/init.lua' LUA_CPATH="$work/stale/?.so" \
    lua5.4 -e 'require "kubelua"'

ninja -C "$work/build" uninstall >/dev/null
if [ -n "$(find "$prefix" ! -type d)" ]; then
    echo "FAILED: this is left:"
    find "$prefix" ! -type d
    exit 1
fi
echo "ok: uninstalls"
refused "uninstalling twice" "Nothing was installed from this build folder" \
    ninja -C "$work/build" uninstall
