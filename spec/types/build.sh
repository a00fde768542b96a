#!/bin/sh
# build.sh FOLDER: builds emmylua_check, which checks the annotations of Lua
# files, into FOLDER/bin, once: some five minutes of CPU time. Exit status 77,
# with the reason, if that cannot be done on this machine.
set -u
version=0.25.1
folder=$1
if [ "$("$folder/bin/emmylua_check" --version 2>/dev/null)" = \
    "emmylua_check $version" ]; then
    exit 0
fi
command -v cargo >/dev/null 2>&1 || {
    echo "no emmylua_check: there is no cargo to build it"
    exit 77
}
cargo install --quiet --locked --root "$folder" --version $version \
    emmylua_check 2>"$folder.log" && exit 0
echo "no emmylua_check: cargo: $(grep -m 1 error "$folder.log")"
exit 77
