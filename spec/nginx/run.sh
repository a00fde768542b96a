#!/bin/sh
# Runs specs of nginx in an interpreter: spec/nginx/run.sh luajit|lua5.4
# [OPTION...] [FILE...]; default: all of them. Exit status 77, with the reason,
# if there is no nginx.
set -u
interpreter=$1
shift
said=$(sh spec/nginx/packages.sh "${KUBELUA_NGINX:-build/nginx}")
status=$?
if [ $status != 0 ]; then
    echo "$said"
    exit $status
fi
case ${*:-} in
*_spec.lua*) ;;
*) set -- "$@" spec/nginx ;;
esac
exec "$interpreter" spec/run.lua "$@"
