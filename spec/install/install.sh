#!/bin/sh
# What an installation holds, used as a stranger would: the library through
# pkg-config and through CMake, the command, the rock.
# Usage, in the root of the tree: sh spec/install/install.sh
set -eu
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work" "$root/build.luarocks"' EXIT
prefix=$work/prefix

cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DKUBELUA_TESTS=OFF -DCMAKE_INSTALL_PREFIX="$prefix" >/dev/null
ninja -C "$work/build" >/dev/null
cmake --install "$work/build" >/dev/null
echo "ok: installs"

library=$(find "$prefix" -name 'libkubelua.so')
libdir=$(dirname "$library")
strangers=$(nm -D --defined-only "$library" | awk '{print $3}' |
    grep -v '^kl_[a-z]' || true)
if [ -n "$strangers" ]; then
    echo "FAILED: symbols without the kl_ prefix: $strangers"
    exit 1
fi
if nm -D --defined-only "$library" | grep -q ' kl__'; then
    echo "FAILED: internal symbols are exported"
    exit 1
fi
echo "ok: nothing but kl_ is exported"

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
add_executable(shared watch.c)
target_link_libraries(shared kubelua::kubelua)
add_executable(static watch.c)
target_link_libraries(static kubelua::kubelua_static)
END
cp examples/c/watch.c "$work/user/"
cmake -S "$work/user" -B "$work/user/build" -G Ninja \
    -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
ninja -C "$work/user/build" >/dev/null
echo "ok: find_package(kubelua), shared and static"

cd "$work"
"$prefix/bin/kubelua" version
"$prefix/bin/kubelua" run --for 0.5 --sim="$root/examples/cluster.yaml" \
    "$root/examples/watch.lua" | grep -q 'shop-1'
echo "ok: the installed command"
cd "$root"

if command -v luarocks >/dev/null 2>&1; then
    luarocks --lua-version 5.4 --tree "$work/rocks" make --deps-mode none \
        rockspec/kubelua-scm-1.rockspec >"$work/rock.log" 2>&1 || {
        tail -n 30 "$work/rock.log"
        exit 1
    }
    cd "$work"
    LUA_PATH="$work/rocks/share/lua/5.4/?.lua;$work/rocks/share/lua/5.4/?/init.lua;;" \
        LUA_CPATH="$work/rocks/lib/lua/5.4/?.so;;" \
        lua5.4 -e 'print(require("kubelua")._VERSION)'
    echo "ok: the rock"
fi
