#!/bin/sh
# kubelua gateway check and init as a user types them: manifests as charts print them, broken ones, many, and
# those of a cluster. Usage, in the root of a tree that is built: sh spec/command/gateway.sh
set -u
work=$(mktemp -d)
bad=0
limit=60
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

# shellcheck source=spec/support/expect.sh
. spec/support/expect.sh

# ingress NAME HOST PATH SERVICE [ANNOTATION...]: prints one.
ingress() {
    printf 'apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: %s\n' "$1"
    printf '  namespace: web\n  annotations:\n    example.com/team: shop\n'
    host=$2 path=$3 service=$4
    shift 4
    for annotation in "$@"; do
        printf '    nginx.ingress.kubernetes.io/%s\n' "$annotation"
    done
    printf 'spec:\n  ingressClassName: nginx\n  rules:\n  - host: %s\n    http:\n      paths:\n' "$host"
    printf '      - path: %s\n        pathType: Prefix\n        backend:\n' "$path"
    printf '          service: {name: %s, port: {number: 80}}\n---\n' "$service"
}


expect "init prints the paths of this tree for LuaJIT, and the ports" 0 \
    'listen 8443 ssl' \
    sh -c 'bin/kubelua gateway init --port 8080=80 --tls-port 8443=443 >"$0" && grep -q "lua/5.1/" "$0" &&
        grep listen "$0"' "$work/nginx.conf"
expect "init refuses a port that is none" 2 "'x' is no port" bin/kubelua gateway init --port x

mkdir "$work/clean" "$work/mixed" "$work/mixed/below" "$work/many" "$work/empty"
ingress shop shop.example.com / shop 'ssl-redirect: "false"' 'proxy-body-size: "0"' \
    'proxy-read-timeout: "120"' >"$work/clean/shop.yaml"
expect "an Ingress that works as before" 0 \
    'shop.yaml:Ingress web/shop: works: 1 path, with proxy-body-size, proxy-read-timeout, ssl-redirect$' \
    bin/kubelua gateway check "$work/clean"
expect "the sum at the end" 0 '^1 Ingress: 1 as before, 0 with differences$' \
    bin/kubelua gateway check "$work/clean/shop.yaml"
expect "--quiet prints nothing if nothing differs" 0 '^0$' \
    sh -c "bin/kubelua gateway check -q '$work/clean' | wc -l && bin/kubelua gateway check -q '$work/clean'"

ingress api api.example.com '/v1' api 'proxy-read-timeout: 60s' 'configuration-snippet: "deny all;"' \
    'proxy_body_size: 1m' >"$work/mixed/api.yaml"
ingress api2 api.example.com '/v1' api2 >"$work/mixed/below/api2.yml"
for pattern in \
    'mixed/api.yaml:Ingress web/api: annotation nginx.ingress.kubernetes.io/proxy-read-timeout: wrong: "60s"' \
    'configuration-snippet: not supported: .*; write the same in Lua' \
    'proxy_body_size: wrong: .*did you mean proxy-body-size' \
    'below/api2.yml:Ingress web/api2: conflict: /v1 Prefix of api.example.com is also in Ingress web/api,' \
    '^2 Ingresses: 0 as before, 2 with differences$'; do
    expect "a folder with differences: $pattern" 2 "$pattern" bin/kubelua gateway check "$work/mixed"
done

expect "a default that differs, in one line" 2 '^note: 2 Ingresses without proxy-body-size: ingress-nginx takes bodies of 1m' \
    bin/kubelua gateway check "$work/mixed"

grpc() { # grpc LISTENER
    printf 'apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g, namespace: web}\n'
    printf 'spec: {gatewayClassName: k, listeners: [%s]}\n---\n' "$1"
    printf 'apiVersion: gateway.networking.k8s.io/v1\nkind: GRPCRoute\nmetadata: {name: r, namespace: web}\n'
    printf 'spec: {parentRefs: [{name: g}], rules: [{backendRefs: [{name: shop, port: 80}]}]}\n'
}
grpc '{name: a, port: 80, protocol: HTTP}' >"$work/grpc.yaml"
expect "a GRPCRoute on HTTP depends on nginx" 0 '^note: a GRPCRoute on a listener with HTTP needs nginx 1.25.1' \
    bin/kubelua gateway check "$work/grpc.yaml"
grpc '{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: c}]}}' >"$work/grpcs.yaml"
expect "a GRPCRoute on HTTPS does not" 0 '^0$' \
    sh -c 'bin/kubelua gateway check "$0" | grep -c 1.25.1; exit 0' "$work/grpcs.yaml"

ingress default default.example.com / shop |
    sed 's/^  ingressClassName.*/&\n  tls: [{hosts: [default.example.com]}]/' >"$work/default.yaml"
expect "tls without a Secret" 2 'Ingress web/default: differs: tls names no Secret' \
    bin/kubelua gateway check "$work/default.yaml"

ingress beta beta.example.com / shop | sed 's|networking.k8s.io/v1|extensions/v1beta1|' >"$work/beta.yaml"
expect "an object of an old API is not said to work" 2 '^0 1$' \
    sh -c 'bin/kubelua gateway check "$0" >"$0.txt"; status=$?
        echo "$(grep -c works "$0.txt") $(grep -c "not served since" "$0.txt")"; exit $status' "$work/beta.yaml"

ingress tls tls.example.com / shop |
    sed 's/^  ingressClassName.*/&\n  tls: [{hosts: [tls.example.com], secretName: tls}]/' >"$work/tls.yaml"
expect "a header that ingress-nginx sends where there is TLS" 0 \
    '^note: 1 Ingress with TLS: ingress-nginx sends Strict-Transport-Security' \
    bin/kubelua gateway check "$work/tls.yaml"

cp "$work/clean/shop.yaml" "$work/mixed/copy.yaml"
cp "$work/clean/shop.yaml" "$work/mixed/copy-2.yaml"
expect "an object that is in two files" 2 \
    'copy.yaml:Ingress web/shop: conflict: is also in .*/copy-2.yaml; the last one is checked' \
    bin/kubelua gateway check "$work/mixed"

{
    cat "$work/clean/shop.yaml"
    ingress gone gone.example.com / gone
    printf 'apiVersion: v1\nkind: Service\nmetadata: {name: shop, namespace: web}\n'
    printf 'spec: {ports: [{port: 80}]}\n'
} >"$work/services.yaml"
expect "a Service that the manifests lack" 2 'Ingress web/gone: missing: the Service web/gone does not' \
    bin/kubelua gateway check "$work/services.yaml"
expect "a Service that they have" 2 '^2 Ingresses: 1 as before, 1 with differences$' \
    bin/kubelua gateway check "$work/services.yaml"
sed 's/name: shop, namespace: web}/name: shop, namespace: web, annotations: {kubelua.dev\/balance: fast}}/' \
    "$work/services.yaml" >"$work/fast.yaml"
expect "an annotation of a Service" 2 \
    'fast.yaml:Service web/shop: wrong: annotation kubelua.dev/balance: "fast" is not one of' \
    bin/kubelua gateway check "$work/fast.yaml"
{
    ingress safe safe.example.com / shop 'auth-type: basic' 'auth-secret: users'
    printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: users, namespace: web}\n'
    printf 'stringData: {password: x}\n'
} >"$work/secret.yaml"
expect "a Secret without its key" 2 'auth-secret: missing: the Secret web/users has no auth: the paths are denied' \
    bin/kubelua gateway check "$work/secret.yaml"

sed 's/password: x/auth: "ann:$y$j9T$a$b"/' "$work/secret.yaml" >"$work/users.yaml"
expect "a password that cannot be checked" 2 'auth-secret: missing: the password of ann in the Secret web/users is of a kind' \
    bin/kubelua gateway check "$work/users.yaml"
expect "standard input" 2 '^\(stdin\):Ingress web/api: .*proxy-read-timeout' \
    sh -c "bin/kubelua gateway check - <'$work/mixed/api.yaml'"
printf '{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"x"}}]}' \
    >"$work/list.json"
expect "JSON, a List, and an Ingress without spec" 0 'list.json:Ingress prod/x: works: 0 paths$' \
    bin/kubelua gateway check -n prod "$work/list.json"
sed 's|networking.k8s.io/v1|networking.k8s.io/v1beta1|' "$work/clean/shop.yaml" >"$work/old.yaml"
expect "an apiVersion that is no longer served" 2 'v1beta1 is not served since Kubernetes 1.22' \
    bin/kubelua gateway check "$work/old.yaml"
sed 's/ingressClassName: nginx/ingressClassName: alb/' "$work/clean/shop.yaml" >"$work/alb.yaml"
printf 'apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: alb}\nspec: {controller: ingress.k8s.aws/alb}\n' \
    >>"$work/alb.yaml"
expect "the Ingress of another controller" 0 'not checked: is of the class alb, whose controller is ingress.k8s.aws/alb' \
    bin/kubelua gateway check "$work/alb.yaml"
ingress loud shop.example.com / shop 'proxy-read-timeout: "\u001b[31mred"' >"$work/loud.yaml"
expect "a value for the terminal is escaped" 2 '^none$' \
    sh -c "bin/kubelua gateway check '$work/loud.yaml' >'$work/loud'; status=\$?
        grep -q '$(printf '\033')' '$work/loud' || echo none; exit \$status"

# Gateways and routes.
cat >"$work/routes.yaml" <<'YAML'
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: infra, creationTimestamp: null}
spec:
  gatewayClassName: nginx
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: web}
spec:
  parentRefs: [{name: main, namespace: infra, sectionName: http}]
  hostnames: [shop.example.com]
  rules: [{backendRefs: [{name: shop, port: 80}]}]
YAML

mkdir "$work/scripts"
ingress lua lua.example.com / shop 'ssl-redirect: "false"' |
    sed 's,^    example.com/team.*,    kubelua.dev/lua: filter,' >"$work/scripts/ingress.yaml"
script() {
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: web}\n' "$1"
    printf 'data:\n  route.lua: "%s"\n' "$2"
}
script filter 'return { access = function() end }' >"$work/scripts/script.yaml"
expect "an Ingress with Lua" 0 'Ingress web/lua: works: 1 path' bin/kubelua gateway check "$work/scripts"
script filter 'return { acces = function() end }' >"$work/scripts/script.yaml"
expect "an Ingress with Lua that does not compile" 2 \
    'annotation kubelua.dev/lua: missing: the script web/filter does not compile: .* the field acces:' \
    bin/kubelua gateway check "$work/scripts"
script other 'return { access = function() end }' >"$work/scripts/script.yaml"
expect "an Ingress whose Lua is not there" 2 'there is no ConfigMap web/filter with the key route.lua' \
    bin/kubelua gateway check "$work/scripts"

expect "a route and its Gateway, of any class" 0 'routes.yaml:HTTPRoute web/shop: works$' \
    bin/kubelua gateway check "$work/routes.yaml"
for kind in TLSRoute ListenerSet Novelty; do
    sed "s/kind: HTTPRoute/kind: $kind/" "$work/routes.yaml" >"$work/unread.yaml"
    expect "a $kind, which the gateway does not read" 2 "unread.yaml:$kind web/shop: not supported: " \
        bin/kubelua gateway check "$work/unread.yaml"
done
{
    cat "$work/routes.yaml"
    cat <<'END'
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: shop, namespace: web}
spec:
  targetRefs: [{group: "", kind: Service, name: shop}]
  validation: {hostname: shop.local, wellKnownCACertificates: System}
---
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: web}
spec: {ports: [{port: 80}]}
END
} >"$work/policy.yaml"
expect "a BackendTLSPolicy" 2 'BackendTLSPolicy web/shop: refused: Gateway main: Accepted: Unsupported: nginx' \
    bin/kubelua gateway check "$work/policy.yaml"
expect "a route to a Service with a BackendTLSPolicy" 2 \
    'HTTPRoute web/shop: refused: parent main: ResolvedRefs: InvalidBackendTLSPolicy: .* web/shop: nginx' \
    bin/kubelua gateway check "$work/policy.yaml"
sed 's/name: main, namespace: infra, sectionName: http/name: main/' "$work/routes.yaml" >"$work/lost.yaml"
expect "a route whose Gateway is elsewhere" 2 'HTTPRoute web/shop: missing: names no Gateway of these' \
    bin/kubelua gateway check "$work/lost.yaml"
sed 's/name: shop, port: 80/name: shop, namespace: pay, port: 80/' "$work/routes.yaml" >"$work/cross.yaml"
expect "a route to another namespace without ReferenceGrant" 2 \
    'HTTPRoute web/shop: refused: parent main: ResolvedRefs: RefNotPermitted: ' \
    bin/kubelua gateway check "$work/cross.yaml"
sed 's/port: 80}]}]/port: "80"}]}]/' "$work/routes.yaml" >"$work/shape.yaml"
expect "a field of another type than the API has" 2 \
    'HTTPRoute web/shop: wrong: spec.rules.0..backendRefs.0..port is no integer$' \
    bin/kubelua gateway check "$work/shape.yaml"

# Input that cannot be read: the rest is checked, and the exit status is 1.
cp "$work/clean/shop.yaml" "$work/many/good.yaml"
echo 'a: [1' >"$work/many/broken.yaml"
expect "broken YAML is named with its line" 1 'broken.yaml: line 2, column 1' \
    bin/kubelua gateway check "$work/many"
expect "the other files are checked" 1 'good.yaml:Ingress web/shop: works' \
    bin/kubelua gateway check "$work/many"
printf 'metadata:\n  name: {{ include "x" . }}\n  {{- with .Values.x }}\n' >"$work/template.yaml"
expect "a template of Helm is told from YAML" 1 'looks like a Helm template' \
    bin/kubelua gateway check "$work/template.yaml"
expect "a file that is not there" 1 'nowhere.yaml: No such file' bin/kubelua gateway check "$work/nowhere.yaml"
expect "a folder without manifests" 1 'has no files \*.yaml' bin/kubelua gateway check "$work/empty"
printf 'x' >"$work/text.yaml"
expect "a text that is no object" 1 'text.yaml: .*the text "x"' bin/kubelua gateway check "$work/text.yaml"
head -c 4096 /dev/urandom >"$work/noise.yaml"
expect "a file that is no text" 1 'noise.yaml: ' bin/kubelua gateway check "$work/noise.yaml"
rm -r "$work/many"

expect "no file is a usage error" 2 "missing argument 'files'" bin/kubelua gateway check
expect "files and a cluster are a usage error" 2 "choose one of them" \
    bin/kubelua gateway check --cluster "$work/clean"
expect "no command is a usage error" 2 "a command is required" bin/kubelua gateway

# 2,000 objects, in ten files.
mkdir "$work/many"
for file in 0 1 2 3 4 5 6 7 8 9; do
    i=0
    while [ $i -lt 200 ]; do
        ingress "shop-$file-$i" "host-$i.example.com" "/$file" shop 'rewrite-target: /'
        i=$((i + 1))
    done >"$work/many/$file.yaml"
done
expect "2,000 Ingresses" 0 '^2000 Ingresses: 2000 as before, 0 with differences$' \
    bin/kubelua gateway check "$work/many"

# A cluster.
cat "$work/services.yaml" "$work/mixed/api.yaml" >"$work/cluster.yaml"
printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\n' | cat - "$work/services.yaml" \
    >"$work/cluster.yaml"
bin/kubelua sim --load "$work/cluster.yaml" --write-kubeconfig "$work/kubeconfig" --for 60 \
    >"$work/sim" 2>&1 &
server=$!
tries=0
until [ -s "$work/kubeconfig" ] || [ $tries = 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
expect "the objects of a cluster" 2 '^cluster:Ingress web/gone: missing: the Service web/gone' \
    bin/kubelua gateway check --cluster --kubeconfig "$work/kubeconfig"
expect "of another namespace there are none" 0 '^0 Ingresses: ' \
    bin/kubelua gateway check --cluster --kubeconfig "$work/kubeconfig" -n default
kill $server
wait $server 2>/dev/null
cat >"$work/reader.yaml" <<'EOF'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: ["", networking.k8s.io], verbs: [get, list, watch],
  resources: [ingresses, ingressclasses, services, secrets, namespaces]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
subjects: [{kind: User, name: jane, apiGroup: rbac.authorization.k8s.io}]
roleRef: {kind: ClusterRole, name: reader, apiGroup: rbac.authorization.k8s.io}
---
EOF
cat "$work/reader.yaml" examples/gateway/crds.yaml >"$work/rbac.yaml"
rm "$work/kubeconfig"
bin/kubelua sim --rbac --load "$work/rbac.yaml" --write-kubeconfig "$work/kubeconfig" --for 60 \
    >"$work/sim" 2>&1 &
server=$!
tries=0
until [ -s "$work/kubeconfig" ] || [ $tries = 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
sed 's/^\( *\)user:$/&\n\1  as: jane/' "$work/kubeconfig" >"$work/jane"
expect "routes that may not be read are told, and the status is 1" 1 \
    'kubelua: httproutes\.gateway\.networking\.k8s\.io are not checked: ' \
    bin/kubelua gateway check --cluster --kubeconfig "$work/jane"
kill $server
wait $server 2>/dev/null
server=
expect "a cluster that is away" 1 'kubelua: ' \
    bin/kubelua gateway check --cluster --kubeconfig "$work/kubeconfig"

# Routes of a running gateway: spec/nginx/gateway_seen_spec.lua prints them.
expect "routes of a gateway that does not run" 1 'refused the connection: .*; is nginx running' \
    bin/kubelua gateway routes --url http://127.0.0.1:1/kubelua
expect "a URL that is none" 2 "'nonsense' is no URL" bin/kubelua gateway routes --url nonsense
expect "a format that there is not" 2 "must be one of 'wide', 'json'" bin/kubelua gateway routes -o yaml

[ $bad -eq 0 ] || echo "$bad failed"
[ $bad -eq 0 ]
