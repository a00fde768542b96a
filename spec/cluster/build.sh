#!/bin/sh
# build.sh OUTDIR: puts etcd, kube-apiserver, kubectl and kubelua-cluster (the
# proxy) into OUTDIR. They are those of KUBEBUILDER_ASSETS where that is set;
# otherwise they are built from the Go module beside this script, once: the
# first time takes some five minutes. Exit status 77 (skipped): neither.
set -eu

[ $# -eq 1 ] || {
    echo "usage: build.sh OUTDIR" >&2
    exit 2
}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
assets=${KUBEBUILDER_ASSETS:-}
mkdir -p "$1"
out=$(CDPATH='' cd -- "$1" && pwd)

# has_go: one that is new enough; it is not left to download a newer one.
has_go() {
    command -v go >/dev/null || return 1
    found=$(cd / && GOTOOLCHAIN=local go env GOVERSION) || return 1
    wanted=$(sed -n 's/^go //p' "$here/go.mod")
    [ "$(printf '%s\n' "$wanted" "${found#go}" | sort -V | head -n 1)" = \
        "$wanted" ]
}

# build TAGS: another process that builds meanwhile gets the old program or the
# new one.
build() {
    (cd "$here" && GOTOOLCHAIN=local CGO_ENABLED=0 go build -trimpath \
        -buildvcs=false -gcflags=all=-dwarf=false -tags "$1" -ldflags "-s -w" \
        -o "$out/kubelua-cluster.new" .)
    mv "$out/kubelua-cluster.new" "$out/kubelua-cluster"
}

for name in etcd kube-apiserver kubectl; do
    [ -z "$assets" ] || [ -x "$assets/$name" ] || {
        echo "cluster: KUBEBUILDER_ASSETS=$assets holds no $name" >&2
        exit 1
    }
done
if ! has_go; then
    [ -n "$assets" ] || {
        echo "cluster: skipped: it takes KUBEBUILDER_ASSETS, or Go >=" \
            "$(sed -n 's/^go //p' "$here/go.mod") to build kube-apiserver" >&2
        exit 77
    }
    go=no
else
    go=yes
fi

stamp=$(
    echo "assets=$assets go=$go"
    cat "$here/go.mod" "$here/go.sum" "$here"/*.go | cksum
)
if [ "$(cat "$out/stamp" 2>/dev/null)" = "$stamp" ]; then
    exit 0
fi
rm -f "$out/stamp"
if [ -z "$assets" ]; then
    echo "cluster: building etcd, kube-apiserver and kubectl into $out" \
        "(five minutes on two cores the first time)" >&2
    build ''
elif [ $go = yes ]; then
    build assets # the proxy alone
else
    rm -f "$out/kubelua-cluster"
fi
for name in etcd kube-apiserver kubectl; do
    ln -sf "${assets:-.}/$([ -n "$assets" ] && echo "$name" ||
        echo kubelua-cluster)" "$out/$name"
done
echo "$stamp" >"$out/stamp"
