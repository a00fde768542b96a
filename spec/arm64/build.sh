#!/bin/sh
# build.sh FOLDER: makes in FOLDER what the step arm64 builds and runs with, once:
# a sysroot of Debian 13 for arm64, qemu for one process, the interpreters, and
# the toolchain file. It fetches 120 MB of packages and installs nothing. Exit
# status 77, with the reason, if that cannot be done on this machine.
set -u
mkdir -p "$1" || exit 1
folder=$(CDPATH='' cd -- "$1" && pwd) || exit 1
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd) || exit 1
stamp=$(cat "$0" "$root/scripts/sysroot" | cksum)
[ "$(cat "$folder/stamp" 2>/dev/null)" != "$stamp $folder" ] || exit 0

skip() {
    echo "no arm64: $1"
    exit 77
}

for tool in apt-get clang ld.lld; do
    command -v $tool >/dev/null 2>&1 || skip "this machine has no $tool"
done
host=$(dpkg --print-architecture)
[ "$host" != arm64 ] || skip "this machine is one: the other steps check it"
[ "$host" = amd64 ] || skip "qemu is fetched for amd64 only, this is $host"

rm -rf "$folder/sysroot" "$folder/unpacked" "$folder/host"
"$root/scripts/sysroot" --all "$folder" trixie arm64 libc6-dev libgcc-14-dev \
    libcurl4-openssl-dev libyyjson-dev libyaml-dev zlib1g-dev libzstd-dev \
    libmicrohttpd-dev libgnutls28-dev libpcre2-dev libcmocka-dev lua5.4 \
    liblua5.4-dev luajit libluajit-5.1-dev lua-cjson lua-argparse lua-luassert \
    >"$folder/fetch.log" 2>&1 &&
    "$root/scripts/sysroot" "$folder/host" trixie amd64 qemu-user \
        >>"$folder/fetch.log" 2>&1 ||
    skip "$(grep -m 1 -E '^(E|W):' "$folder/fetch.log" ||
        tail -n 1 "$folder/fetch.log")"
mv "$folder/host/sysroot/usr/bin/qemu-aarch64" "$folder/qemu-aarch64"
rm -rf "$folder/host" "$folder/debs"

mkdir -p "$folder/bin"
for name in lua5.4 luajit; do
    printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$root/spec/arm64/run" \
        "$folder" "$folder/sysroot/usr/bin/$name" >"$folder/bin/$name"
    chmod +x "$folder/bin/$name"
done
pkgconfig=$folder/sysroot/usr/lib/aarch64-linux-gnu/pkgconfig
cat >"$folder/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER clang)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_SYSROOT $folder/sysroot)
set(CMAKE_EXE_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR "$root/spec/arm64/run;$folder")
set(KUBELUA_RUN_lua5.4 $folder/bin/lua5.4 CACHE FILEPATH "")
set(KUBELUA_RUN_luajit $folder/bin/luajit CACHE FILEPATH "")
set(ENV{PKG_CONFIG_LIBDIR} $pkgconfig:$folder/sysroot/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} $folder/sysroot)
END
echo "$stamp $folder" >"$folder/stamp"
