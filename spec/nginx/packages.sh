#!/bin/sh
# Fetches private copies of Debian's nginx with its Lua module, of luajit2 and of
# the libraries that they need and this machine lacks. Nothing is installed, so
# luajit and luajit2 do not conflict. Usage: spec/nginx/packages.sh [FOLDER];
# default: build/nginx. Unpacks once, and prints the folder: FOLDER/root has the
# files, FOLDER/env the variables to run nginx with. Exit status 77, with the
# reason, if the packages cannot be fetched.
set -u
folder=${1:-build/nginx}

skip() {
    echo "no nginx: $1"
    exit 77
}

mkdir -p "$folder" || exit 1
folder=$(CDPATH='' cd -- "$folder" && pwd) || exit 1
if [ -e "$folder/env" ]; then
    echo "$folder"
    exit 0
fi
for tool in apt-get apt-cache dpkg dpkg-deb; do
    command -v $tool >/dev/null 2>&1 || skip "this machine has no $tool"
done

# One process unpacks; other processes wait for it.
exec 8>"$folder/lock"
flock 8
if [ -e "$folder/env" ]; then
    echo "$folder"
    exit 0
fi
rm -rf "$folder/root" "$folder/debs"
mkdir -p "$folder/root" "$folder/debs"

as_user=
[ "$(id -u)" != 0 ] || as_user="-o APT::Sandbox::User=root"

# fetch PACKAGE...: downloads into debs, and unpacks into root.
fetch() {
    # shellcheck disable=SC2086 # options
    (cd "$folder/debs" && apt-get -qq $as_user download "$@") \
        >"$folder/fetch.log" 2>&1 || return 1
    for file in "$folder"/debs/*.deb; do
        dpkg-deb -x "$file" "$folder/root" || return 1
        rm "$file"
    done
}

# known PACKAGE...: prints the first of these packages that apt can install.
known() {
    for candidate in "$@"; do
        if [ -n "$(apt-cache madison "$candidate" 2>/dev/null)" ]; then
            echo "$candidate"
            return
        fi
    done
    echo "$1"
}

# Debian 12 has OpenResty's LuaJIT as luajit2; in Debian 13 it is the only
# LuaJIT.
fetch_all() {
    fetch nginx libnginx-mod-http-lua libnginx-mod-http-ndk lua-resty-core \
        lua-resty-lrucache "$(known libluajit2-5.1-2 libluajit-5.1-2)"
}
if ! fetch_all; then
    # The machine's package lists may be missing, or old.
    [ "$(id -u)" != 0 ] || apt-get -qq update >/dev/null 2>&1
    fetch_all || skip "apt-get download: $(tail -n 1 "$folder/fetch.log")"
fi

# Where nginx's files are in Debian's packages.
nginx=$folder/root/usr/sbin/nginx
modules=$folder/root/usr/lib/nginx/modules
share=$folder/root/usr/share/lua/5.1
library=$(dirname "$(find "$folder/root/usr/lib" -name 'libluajit-5.1.so.2' |
    head -n 1)")
[ -x "$nginx" ] && [ -e "$modules/ngx_http_lua_module.so" ] &&
    [ -e "$share/resty/core.lua" ] && [ -e "$library/libluajit-5.1.so.2" ] ||
    skip "its packages are laid out otherwise"

# Prints the package of a library that is not on this machine.
package_of_library() {
    case $1 in
    libpcre.so.3) echo libpcre3 ;;
    libpcre2-8.so.0) echo libpcre2-8-0 ;;
    libcrypt.so.1) echo libcrypt1 ;;
    libssl.so.3 | libcrypto.so.3) known libssl3t64 libssl3 ;;
    libz.so.1) echo zlib1g ;;
    libzstd.so.1) echo libzstd1 ;;
    libgcc_s.so.1) echo libgcc-s1 ;;
    *) echo "$1" ;;
    esac
}
lacking=$(LD_LIBRARY_PATH=$library ldd "$nginx" "$modules"/*.so 2>/dev/null |
    awk '/=> not found/ { print $1 }' | sort -u)
for name in $lacking; do
    fetch "$(package_of_library "$name")" || skip "it lacks $name"
done
paths=$library
for place in "$folder/root/lib/"*-linux-gnu; do
    [ ! -d "$place" ] || paths=$paths:$place
done

# Describes the copies, as shell words; Lua's harness reads them too.
said=$(LD_LIBRARY_PATH=$paths "$nginx" -v 2>&1) ||
    skip "it does not start: $said"
cat >"$folder/env.new" <<END
NGINX=$nginx
MODULES=$modules
SHARE=$share
LIBRARIES=$paths
VERSION=${said##*nginx/}
END
mv "$folder/env.new" "$folder/env"
rmdir "$folder/debs"
echo "$folder"
