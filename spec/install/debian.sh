#!/bin/sh
# The Debian packages on an empty Debian, as a user has them: installed by apt, the
# command, both Lua's modules, a program in C, nginx's tables; and purged, after
# which nothing is left. As root, where Debian's packages are reached:
#   debootstrap --variant=minbase trixie ROOT     (or bookworm; it is changed)
#   sh spec/install/debian.sh ROOT FOLDER         FOLDER has the .deb files
# scripts/release makes the packages, and does not run this.
set -eu
if [ "$1" != inside ]; then
    root=$1
    mkdir -p "$root/root/try"
    cp "$2"/*_"$(dpkg --print-architecture)".deb "$root/root/try/"
    cp examples/cluster.yaml examples/watch.lua examples/c/watch.c "$0" "$root/root/try/"
    unshare --mount --propagation private sh -c 'mount -t proc proc "$1/proc" &&
        mount --rbind /dev "$1/dev" && exec chroot "$1" env -i HOME=/root TERM=dumb \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C \
        sh /root/try/debian.sh inside' sh "$root"
    exit
fi
cd /root/try

fail() {
    echo "FAILED: $*"
    exit 1
}

# shows TEXT COMMAND...: it succeeds, and prints the text.
shows() {
    text=$1
    shift
    "$@" >log 2>&1 || { tail -n 20 log; fail "$*"; }
    grep -q -- "$text" log || { tail -n 20 log; fail "$*: does not print $text"; }
    echo "ok: $*"
}

install() {
    apt-get -qq -y --no-install-recommends install "$@" >apt.log 2>&1 || {
        tail -n 20 apt.log
        fail "apt-get install $*"
    }
}

apt-get -qq update
install ./kubelua_*.deb ./lua-kubelua_*.deb ./libkubelua[0-9]*.deb ./libkubelua-sim*.deb
echo "ok: apt-get install"
shows "^kubelua [0-9.]* (Lua 5.4)" kubelua version
shows shop-1 kubelua run --for 0.5 --sim=cluster.yaml watch.lua
shows "serves /metrics" kubelua run --for 0.5 --sim --serve 127.0.0.1:0 watch.lua
echo 'it("counts", function() assert.equal(2, 1 + 1) end)' >count_spec.lua
shows "1 passed, 0 failed" kubelua test count_spec.lua
shows '^[0-9]' lua5.4 -e 'print(require("kubelua")._VERSION, require("kubelua.sim"))'
[ -s /usr/share/doc/kubelua/copyright ] || fail "no copyright"
for page in /usr/share/man/man1/kubelua*; do
    [ -s "$page" ] || fail "no man page"
done

install luajit
shows '^[0-9]' luajit -e 'print(require("kubelua")._VERSION, require("kubelua.sim"))'
shows '^true' luajit -e 'print(require("resty.kubelua").init { size = 2^20 } ~= nil)'

install ./libkubelua-dev_*.deb gcc libc6-dev pkg-config
# shellcheck disable=SC2046 # words are meant
cc -std=c11 -o watch watch.c $(pkg-config --cflags --libs kubelua) || fail "watch.c"
status=0
KUBECONFIG=none ./watch 0 2>log || status=$?
[ $status = 1 ] && grep -q 'watch: ' log || fail "watch.c ends with $status: $(cat log)"
echo "ok: a program in C"

packages=$(dpkg-query -f '${Package} ${source:Package}\n' -W | sed -n 's/ kubelua$//p')
# shellcheck disable=SC2086 # words are meant
dpkg -L $packages | sort -u >files
# shellcheck disable=SC2086
apt-get -qq -y purge $packages >apt.log 2>&1 || { tail apt.log; fail "purge"; }
left=$(while read -r path; do [ -d "$path" ] || [ ! -e "$path" ] || echo "$path"; done <files
    find / -xdev -name '*kubelua*' ! -path '/root/try/*' ! -path '/proc/*')
[ -z "$left" ] || fail "a purge leaves $left"
echo "ok: purged:" $packages
