#!/bin/sh
# Fetches Debian's packages of the hosts of docs/HOSTS.md, with what they need
# and this machine lacks: 25 MB. Nothing is installed, so no daemon starts.
# Usage: spec/hosts/packages.sh [FOLDER]; default: build/hosts. Unpacks once,
# and prints the folder: FOLDER/root has the files. A host that this machine's
# packages do not have is left out. Exit status 77, with the reason, if all are.
set -u
folder=${1:-build/hosts}
hosts="haproxy knot-resolver neovim pdns-recursor prosody tarantool"

skip() {
    echo "no hosts: $1"
    exit 77
}

mkdir -p "$folder" || exit 1
folder=$(CDPATH='' cd -- "$folder" && pwd) || exit 1
for tool in apt-get dpkg-deb flock; do
    command -v $tool >/dev/null 2>&1 || skip "this machine has no $tool"
done

# One process unpacks; other processes wait for it.
exec 8>"$folder/lock"
flock 8
stamp=$(cksum <"$0")
if [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ]; then
    echo "$folder"
    exit 0
fi
rm -rf "$folder/root" "$folder/debs"
mkdir -p "$folder/root" "$folder/debs"

as_user=
[ "$(id -u)" != 0 ] || as_user="-o APT::Sandbox::User=root"

# new_packages HOST: prints what apt would install for it; fails if it cannot.
new_packages() {
    apt-get -s install --no-install-recommends "$1" \
        >"$folder/$1.log" 2>&1 8>&- || return 1
    awk '/^Inst/ { print $2 }' "$folder/$1.log"
}

fetch_all() {
    wanted=
    known=0
    for host in $hosts; do
        if more=$(new_packages "$host"); then
            wanted="$wanted $more"
            known=$((known + 1))
        fi
    done
    [ $known -gt 0 ] || return 1
    wanted=$(printf '%s\n' $wanted | sort -u)
    # shellcheck disable=SC2086 # options, and a list of names
    [ -z "$wanted" ] || (cd "$folder/debs" &&
        apt-get -qq $as_user download $wanted) >"$folder/fetch.log" 2>&1 8>&-
}
if ! fetch_all; then
    # The machine's package lists may be missing, or old.
    [ "$(id -u)" != 0 ] || apt-get -qq update >/dev/null 2>&1 8>&-
    fetch_all ||
        skip "apt-get: $(cat "$folder"/*.log 2>/dev/null | tail -n 1)"
fi
for file in "$folder"/debs/*.deb; do
    [ ! -e "$file" ] || dpkg-deb -x "$file" "$folder/root" ||
        skip "dpkg-deb cannot unpack $file"
done
rm -rf "$folder/debs"
mkdir -p "$folder/root/usr" "$folder/root/etc"
echo "$stamp" >"$folder/stamp"
echo "$folder"
