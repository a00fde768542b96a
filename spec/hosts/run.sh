#!/bin/sh
# Runs the specs of hosts: spec/hosts/run.sh [OPTION...]. The hosts' files are
# laid over /usr and /etc in a mount namespace of these processes, since the
# programs look for them there; the machine keeps its own. Exit status 77, with
# the reason, if that cannot be had.
set -u
folder=$(sh spec/hosts/packages.sh "${KUBELUA_HOSTS:-build/hosts}")
status=$?
if [ $status != 0 ]; then
    echo "$folder"
    exit $status
fi
# in_namespace COMMAND...
in_namespace() {
    as_root=
    [ "$(id -u)" = 0 ] || as_root=--map-root-user
    # shellcheck disable=SC2016 # for the inner shell
    unshare --mount $as_root --propagation private sh -c '
        for part in usr etc; do
            mount -t overlay -o "lowerdir=$0/$part:/$part" overlay "/$part" ||
                exit 77
        done
        exec "$@"' "$folder/root" "$@"
}
if ! said=$(in_namespace true 2>&1); then
    echo "no hosts: $said"
    exit 77
fi
in_namespace lua5.4 spec/run.lua "$@" spec/hosts
