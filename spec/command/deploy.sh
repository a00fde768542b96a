#!/bin/sh
# kubelua deploy as a user types it. Usage, in the root of a tree that is built:
#     sh spec/command/deploy.sh         what it prints and writes, and bad input
#     sh spec/command/deploy.sh real    on a real API server (spec/cluster): kubectl applies what was
#                                       printed, and the Deployment's command runs with the token of
#                                       its account, in a root folder like the container's
# Exit status 77: there is no such server.
set -u
work=$(mktemp -d)
chmod 755 "$work" # another user reads it below
bad=0
limit=90
started=
runs=
trap 'finish' EXIT

finish() {
    # shellcheck disable=SC2086 # a list of process ids
    [ -z "$runs" ] || kill $runs 2>/dev/null
    [ -z "$started" ] || spec/cluster/cluster.sh stop "$started" >/dev/null
    rm -rf "$work"
}

# shellcheck source=spec/support/expect.sh
. spec/support/expect.sh

# holds NAME COMMAND...: succeeds within a minute.
holds() {
    name=$1
    shift
    till=$(($(date +%s) + 60))
    until "$@" >"$work/held" 2>&1; do
        if [ "$(date +%s)" -ge $till ]; then
            bad=$((bad + 1))
            echo "FAILED: $name"
            cat "$work/held"
            [ -z "${root:-}" ] || tail -n 5 "$root.log"
            return
        fi
        sleep 0.1
    done
    echo "ok: $name"
}

# A script with a leader, an argument, and modules: in a sub-folder, and one that is no text.
mkdir -p "$work/shop/parts"
cat >"$work/shop/shop.lua" <<'LUA'
local kubelua = require "kubelua"
local words = require "parts.words"
local file = io.open("dat/word")
local word = file and file:read("*a") or ""
kubelua.controller { "configmaps", name = "shop", leader = "shop", labels = "app=shop",
    reconcile = function(map, run)
        assert(run:patch { metadata = { annotations = { seen = words.seen .. word .. (arg[1] or "") } } })
    end }
LUA
echo 'return { seen = require("bytes"):len() .. "\tbytes " }' >"$work/shop/parts/words.lua"
printf 'return "\377\376"\n' >"$work/shop/bytes.lua"
echo 'return "only named"' >"$work/shop/parts/other.lua"
echo 'return function() return require("parts.other") end' >>"$work/shop/lazy.lua"
echo 'require "lazy"' >>"$work/shop/shop.lua"
mkdir "$work/shop/dat"
printf 'word ' >"$work/shop/dat/word"
cat >"$work/shop.yaml" <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default, labels: {app: shop}}
YAML
# One that writes into another namespace than its own; its name looks like a template.
cat >"$work/s{{ x }}.lua" <<'LUA'
local client = require("kubelua").connect()
assert(client:apply { apiVersion = "v1", kind = "ConfigMap",
    metadata = { name = "far", namespace = "kube-system" } })
LUA
foo="--sim=examples/foos.yaml examples/foo-controller.lua"

# objects FILE...: reads YAML and prints each object as one sorted line of JSON. Names of ConfigMaps
# with another digest are the same.
cat >"$work/objects.lua" <<'LUA'
local core = require "kubelua.core"
local lines = {}
for _, path in ipairs(arg) do
    local file = assert(io.open(path))
    for _, object in ipairs(core.decode(assert(core.manifest(file:read("*a"))))) do
        local function sorted(value)
            if type(value) ~= "table" then
                return core.encode(value)
            end
            local parts = {}
            for key, member in pairs(value) do
                parts[#parts + 1] = core.encode(tostring(key)) .. ":" .. sorted(member)
            end
            table.sort(parts)
            return "{" .. table.concat(parts, ",") .. "}"
        end
        if object.kind == "ConfigMap" then object.metadata.annotations = nil end
        if object.kind ~= "Namespace" then lines[#lines + 1] = sorted(object) end
    end
end
table.sort(lines)
print((table.concat(lines, "\n"):gsub('("[a-z-]+%-)' .. ("%w"):rep(14) .. '"', '%1DIGEST"')))
LUA
objects() {
    bin/kubelua run "$work/objects.lua" "$@"
}

# same NAME FILE FILE: of the same objects.
same() {
    objects "$2" >"$work/first" && objects "$3" >"$work/second"
    expect "$1" 0 '^same$' sh -c "[ -s '$work/first' ] && diff '$work/first' '$work/second' && echo same"
}

prints() {
    printed=$work/printed.yaml
    # shellcheck disable=SC2086 # several words
    expect "what is printed is YAML that an API server takes" 0 'server on http' sh -c \
        "bin/kubelua deploy $foo >'$printed' && bin/kubelua sim --load '$printed' --for 0.2"
    expect "each kind is there once" 0 '^1 1 1 1 1 1 1$' sh -c "for kind in Namespace \
        ServiceAccount ClusterRole ClusterRoleBinding ConfigMap Deployment; do grep -c \
        \"^kind: \$kind\\\$\" '$printed'; done | tr '\\n' ' '; grep -c '^immutable: true' '$printed'"
    expect "the same script gives the same bytes" 0 '^$' sh -c \
        "bin/kubelua deploy $foo 2>/dev/null | diff - '$printed' && echo"
    # shellcheck disable=SC2086
    expect "a script without leader has one copy, and says why" 0 \
        '1 replica: the script has no `leader`' bin/kubelua deploy $foo
    expect "of which the old one ends first" 0 'type: Recreate' cat "$printed"
    # shellcheck disable=SC2086
    expect "what the plan did not reach is said" 0 'foo-controller.lua:.* was not reached' \
        bin/kubelua deploy $foo
    cat >"$work/luckless.lua" <<'LUA'
local kubelua = require "kubelua"
local controller = kubelua.controller { name = "keys", leader = "keys",
    reconcile = function() error "no luck" end }
controller:enqueue("key")
LUA
    expect "what fails in the simulated cluster is said" 0 'luckless: failed in the simulated.*no luck' \
        bin/kubelua deploy "$work/luckless.lua"
    # shellcheck disable=SC2086
    expect "name, image, copies and format of the log are options" 0 '^yes$' sh -c \
        "bin/kubelua deploy --name foo -n web --image my/image:1 --replicas 3 --log text $foo \
        >'$work/options.yaml' && cd '$work' && grep -q 'name: web:foo' options.yaml && grep -q \
        'image: my/image:1' options.yaml && grep -q 'replicas: 3' options.yaml && grep -q -- \
        '- text' options.yaml && echo yes"
    shop=$work/shop.yml
    expect "a script with leader has two copies" 0 'replicas: 2' sh -c "bin/kubelua deploy \
        --sim='$work/shop.yaml' --grace 7.5 --pod-monitor '$work/shop/shop.lua' -- -x '{{ b }}' \
        >'$shop' 2>'$work/notes' && cat '$shop'"
    expect "and no note" 0 '^none$' sh -c "! grep replica '$work/notes' && echo none"
    printf '%s\n' 'apiVersion: networking.k8s.io/v1' 'kind: Ingress' \
        'metadata: {name: a, namespace: default}' 'spec: {rules: [{host: a.example.com}]}' \
        >"$work/ingress.yaml"
    hosts="--sim=$work/ingress.yaml examples/unique-hosts.lua"
    expect "webhooks have a Service, a port, their rights, and two copies" 0 '^7$' sh -c \
        "bin/kubelua deploy $hosts 2>'$work/notes' | grep -cE -e '^kind: Service$' \
        -e 'targetPort: admit' -e 'containerPort: 8443' -e '\"--admit-service\"' \
        -e '- validatingwebhookconfigurations' -e 'replicas: 2' -e '^  - unique-hosts-admit$'"
    expect "without a note, as its function was reached" 0 '^0$' sh -c "wc -c <'$work/notes'"
    expect "the pod has 5 seconds more than --grace" 0 'terminationGracePeriodSeconds: 13' cat "$shop"
    expect "arguments stand behind the script" 0 '^        - /script/shop.lua - "--" - "-x" - "\{\{ b' \
        sh -c "tr -s '\\n ' ' ' <'$shop' | grep -o ' - /script.*' | sed 's/^/       /'"
    expect "modules of sub-folders have their paths" 0 'key: parts_words.lua' \
        grep -B 1 'path: parts/words.lua' "$shop"
    expect "a module that the text only names comes along" 0 'path: parts/other.lua' cat "$shop"
    expect "a file that is no text is binary data" 0 'bytes.lua: "?cmV0dXJu' cat "$shop"
    expect "a PodMonitor is printed if asked for" 0 'kind: PodMonitor' cat "$shop"
    expect "the Lease is in the script's own namespace" 0 'namespace: shop' \
        sh -c "grep -A 4 '^kind: Role\$' '$shop'"
    cp -r "$work/shop" "$work/other"
    echo '-- more' >>"$work/other/parts/words.lua"
    expect "a change of a module is another name of the ConfigMap" 0 '^another$' sh -c \
        "bin/kubelua deploy --sim='$work/shop.yaml' '$work/other/shop.lua' >'$work/o' 2>/dev/null; \
        name=\$(grep -m 1 -o 'shop-[a-z0-9]\\{14\\}' '$work/o') && ! grep -q \$name '$shop' && \
        echo another"
    for namespace in a b; do
        bin/kubelua deploy -n $namespace "$work/s{{ x }}.lua" 2>/dev/null |
            grep -B 1 -A 4 -E '^kind: Role(Binding)?$' >"$work/far.$namespace"
    done
    expect "a role in a third namespace is of one deployment" 0 '^4 2 2$' sh -c "cd '$work'; \
        echo \$(grep -h namespace: far.? | grep -c kube-system) \
        \$(grep -c '^  name: a:s-x' far.a) \$(grep -c '^  name: b:s-x' far.b)"
    cat >"$work/evil.lua" <<'LUA'
local kubelua = require "kubelua"
for _, name in ipairs { "good", "x\nkind: Evil\r\226\128\168\255" } do
    kubelua.controller { "configmaps", name = name, leader = name == "good" and "good" or nil,
        reconcile = function() end }
end
LUA
    expect "a line break in a controller's name stays in the comment" 0 '^Deployment$' sh -c \
        "bin/kubelua deploy '$work/evil.lua' >'$work/evil.yaml' 2>/dev/null && \
        grep -q '^# 1 replica: controller x kind: Evil ' '$work/evil.yaml' && \
        ! grep -q '^kind: Evil' '$work/evil.yaml' && \
        bin/kubelua run '$work/objects.lua' '$work/evil.yaml' | grep -o Deployment"
    expect "a dollar of an argument is no variable for the kubelet" 0 '^\$\$\(A\) \$\$\$\$ \$\$\.lua$' \
        sh -c "cp '$work/evil.lua' '$work/d\$.lua'; bin/kubelua deploy '$work/d\$.lua' -- '\$(A)' \
        '\$\$' 2>/dev/null >'$work/d'; echo \$(grep -o '\$\$(A)' '$work/d') \
        \$(grep -o '\"[\$]*\"' '$work/d' | tr -d '\"') \$(grep -o '\$\$.lua' '$work/d')"
    here=$PWD
    mkdir "$work/reads" "$work/reads/dat" "$work/reads/m" "$work/reads/lib"
    echo word >"$work/reads/dat/word"
    echo 'return { }' | tee "$work/reads/m/data.lua" >"$work/reads/lib/named.lua"
    { echo 'for _, name in ipairs { "dat/word", "./dat/word" } do assert(io.open(name)):close() end
        for line in io.lines(arg[0]:gsub("[^/]*$", "") .. "dat/word") do assert(line == "word") end
        assert(not io.open("none")); dofile("m/data.lua"); require("lib." .. "named")'
        cat "$work/s{{ x }}.lua"; } >"$work/reads/reads.lua"
    cd "$work/reads" || exit 1
    for script in reads.lua "$work/reads/reads.lua"; do
        "$here/bin/kubelua" deploy "$script" >"$work/r" 2>"$work/notes"
        expect "a file that the script reads is named: $script" 0 '^1 0 0$' sh -c "cd '$work' &&
            echo \$(grep -c 'reads dat/word, which is not deployed: --file dat/word adds it' notes) \
            \$(grep -c 'none' notes) \$(grep -c 'path: dat' r)"
        expect "one that it runs is deployed: $script" 0 'path: m/data.lua' cat "$work/r"
    done
    expect "one that it reads, by --file" 0 '^path: dat/word word$' sh -c "'$here/bin/kubelua' \
        deploy --file ./dat/word reads.lua 2>'$work/notes' >'$work/r'; echo \$(grep -o 'path: dat.*' \
        '$work/r') \$(grep -A 1 'dat_word: ' '$work/r' | tail -n 1)"
    expect "and no word of it then" 0 '^none$' sh -c "! grep 'not deployed' '$work/notes' && echo none"
    cd "$here" || exit 1
    expect "the working directory is that of the script" 0 'workingDir: /script' cat "$work/r"
    # shellcheck disable=SC2086
    expect "several scripts are several Deployments in one namespace" 0 '^2 1 two: 2$' sh -c \
        "bin/kubelua deploy -n two $foo examples/expire-configmaps.lua 2>/dev/null >'$work/two'; \
        echo \$(grep -c '^kind: Deployment' '$work/two') \$(grep -c '^kind: Namespace' '$work/two') \
        two: \$(grep -c 'serviceAccountName' '$work/two')"
    expect "its own namespace is no part of what everyone has" 1 '^0$' sh -c \
        "bin/kubelua deploy -n default $foo 2>/dev/null | grep -c '^kind: Namespace'"
    bin/kubelua deploy $foo 2>/dev/null | sed -n '/^kind: ClusterRole$/,/^---/p' >"$work/role"
    { echo 'apiVersion: rbac.authorization.k8s.io/v1'; sed '/^---/d' "$work/role"; } \
        >"$work/role.yaml"
    echo '- {apiGroups: [""], resources: [mine], verbs: [get]}' >>"$work/role.yaml"
    expect "--rbac takes the roles of a file" 0 '  - mine$' \
        bin/kubelua deploy --rbac "$work/role.yaml" $foo
    expect "only roles" 1 'only Roles and ClusterRoles' \
        bin/kubelua deploy --rbac "$printed" $foo
}

# What Helm does with the templates of a chart, in Go's own text/template. Arguments: the chart, its
# values as JSON, the namespace of the release.
mkdir "$work/render"
cat >"$work/render/main.go" <<'GO'
package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

type files string

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func (f files) Get(name string) string {
	return string(must(os.ReadFile(filepath.Join(string(f), name))))
}

func toJSON(value any) string { return string(must(json.Marshal(value))) }

func main() {
	var values map[string]any
	must(0, json.Unmarshal([]byte(os.Args[2]), &values))
	functions := template.FuncMap{
		"quote":  func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"toJson": toJSON, "toYaml": toJSON,
		"default": func(fallback, value any) any {
			if value == nil || value == "" {
				return fallback
			}
			return value
		},
		"nindent":   func(n int, text string) string { return "\n" + strings.Repeat(" ", n) + text },
		"list":      func(values ...any) []any { return values },
		"b64enc":    func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"trunc":     func(n int, text string) string { return text[:n] },
	}
	data := map[string]any{"Values": values, "Files": files(os.Args[1]),
		"Release": map[string]any{"Namespace": os.Args[3]}}
	for _, path := range must(filepath.Glob(filepath.Join(os.Args[1], "templates", "*"))) {
		text := string(must(os.ReadFile(path)))
		made := must(template.New(path).Option("missingkey=error").Funcs(functions).Parse(text))
		must(0, made.Execute(os.Stdout, data))
	}
}
GO

# render CHART NAMESPACE
render() {
    json=$(bin/kubelua run - "$1/values.yaml" <<'LUA'
local core = require "kubelua.core"
print(core.encode(core.decode(assert(core.manifest(io.open(arg[1]):read("*a"))))[1]))
LUA
    ) && "$work/render/render" "$1" "$json" "$2"
}

# chart NAME NAMESPACE ARGS...: the chart of these arguments has the objects that they print.
chart() {
    name=$1 namespace=$2
    shift 2
    rm -rf "$work/rendered"
    bin/kubelua deploy --helm "$work/rendered" "$@" 2>"$work/errors" &&
        bin/kubelua deploy "$@" >"$work/plain.yaml" 2>>"$work/errors" &&
        render "$work/rendered" "$namespace" >"$work/rendered.yaml"
    same "$name" "$work/rendered.yaml" "$work/plain.yaml"
}

charts() {
    if ! command -v go >/dev/null || ! (cd "$work/render" && GO111MODULE=off GOFLAGS='' \
        go build -o render main.go) >"$work/output" 2>&1; then
        echo "skipped: the templates of charts (they are tried with Go)"
        return
    fi
    # shellcheck disable=SC2086 # several words
    chart "a chart has the objects that are printed" foo-controller $foo
    chart "with calls in arguments, with bytes, folders and a PodMonitor" shop --pod-monitor \
        --sim="$work/shop.yaml" "$work/shop/shop.lua" -- '{{ .Values.image }}' '}}'
    # shellcheck disable=SC2086 # several words
    chart "that of webhooks" unique-hosts $hosts
    chart "that of a role in a third namespace, and of a name like a template" s-x "$work/s{{ x }}.lua"
    render "$work/rendered" web | grep -A 4 -E '^kind: Role(Binding)?$' >"$work/far"
    expect "where the role has the release's namespace in its name" 0 '^2$' \
        grep -c '^  name: "web:s-x"' "$work/far"
    bin/kubelua deploy --helm "$work/evil" "$work/evil.lua" 2>/dev/null
    expect "and a line break in a controller's name stays in the comment, too" 0 '^replicas: 1$' sh -c \
        "grep -v '^kind' '$work/evil/values.yaml'; ! grep '^kind' '$work/evil/values.yaml'"
    # shellcheck disable=SC2086
    chart "that of two scripts, too" other -n two --sim="$work/shop.yaml" $foo "$work/shop/shop.lua"
    before=$(grep -m 1 -o 'shop-[0-9a-f]\{14\}' "$work/rendered.yaml")
    printf '\375' >>"$work/rendered/files/shop/bytes.lua"
    render "$work/rendered" two >"$work/rendered.yaml"
    expect "a byte more in the chart is another name of its ConfigMap" 0 '^another$' sh -c \
        "[ -n '$before' ] && ! grep -q '$before' '$work/rendered.yaml' && echo another"
    render "$work/rendered" web | sed -n 's/^  namespace: //p' | sort -u >"$work/namespaces"
    expect "a namespace of the values is that of all objects" 0 '^"?two"?$' cat "$work/namespaces"
    sed -i 's/^namespace: .*/namespace: ""/' "$work/rendered/values.yaml"
    render "$work/rendered" web | grep -E '^  namespace|^  name: .*:' | sort -u >"$work/namespaces"
    expect "without one it is the release's" 1 '^$' sh -c "grep two '$work/namespaces'; s=\$?; echo
        [ \$(grep -c web '$work/namespaces') = 3 ] && exit \$s"
}

# intact NAME PATTERN OPTION DIR: refused, and nothing is written or left over.
intact() {
    before=$(find "$work" -path '*target*' | sort)
    # shellcheck disable=SC2086
    expect "$1" 1 "$2" bin/kubelua deploy "$3" "$4" $foo
    after=$(find "$work" -path '*target*' | sort)
    [ "$before" = "$after" ] || {
        bad=$((bad + 1))
        echo "FAILED: $1: something was written"
        echo "$after"
    }
}

writes() {
    mkdir "$work/target"
    # shellcheck disable=SC2086
    expect "a base of kustomize is written" 0 'kustomization.yaml' sh -c \
        "bin/kubelua deploy --kustomize '$work/target/base' $foo && ls '$work/target/base'"
    # shellcheck disable=SC2086
    expect "an empty folder is taken" 0 'Chart.yaml' sh -c "mkdir '$work/target/chart' && \
        bin/kubelua deploy --helm '$work/target/chart/' $foo && ls '$work/target/chart'"
    expect "the chart has the script as it is" 0 '^$' sh -c "diff examples/foo-controller.lua \
        '$work/target/chart/files/foo-controller/foo-controller.lua' && echo"
    : >"$work/target/file"
    for option in --kustomize --helm; do
        intact "$option: a folder that has files stays" 'exists, and is not empty' \
            $option "$work/target/base"
        intact "$option: a file stays" 'is a file' $option "$work/target/file"
        intact "$option: a parent that is not there is named" 'does not exist: make it' \
            $option "$work/target/nowhere/chart"
    done
    if [ "$(id -u)" = 0 ]; then
        # shellcheck disable=SC2086
        expect "a folder that cannot be written" 1 'cannot be written' \
            setpriv --reuid 65534 --regid 65534 --clear-groups \
            bin/kubelua deploy --helm "$work/target/chart2" $foo
    fi
    # A full disk: the limit of the size of files fails writes as well.
    # shellcheck disable=SC2086
    expect "a write that fails leaves nothing" 1 'kubelua: .*(File too large|No space)' sh -c \
        "(trap '' XFSZ; ulimit -f 0; bin/kubelua deploy --helm '$work/target/full' $foo; echo \$?) \
        2>&1 | cat; [ -e '$work/target/full' ] || exit 1"
    expect "not even under another name" 0 '^0$' sh -c "ls -d '$work'/target/full* 2>/dev/null | wc -l"
}

refuses() {
    echo 'x = = 1' >"$work/broken.lua"
    echo 'error "my own fault"' >"$work/fails.lua"
    { echo '--[['; head -c 1048576 /dev/zero | tr '\0' x; echo ']]'; cat examples/foo-controller.lua; } \
        >"$work/huge.lua"
    { echo '--[['; head -c 300000 /dev/zero | tr '\0' x; echo ']]'; cat examples/foo-controller.lua; } \
        >"$work/large.lua"
    cp examples/foo-controller.lua "$work/___.lua"
    mkdir "$work/again"
    cp examples/foo-controller.lua "$work/again/Foo_Controller.lua"
    expect "a script that is not there" 1 'nothing.lua: No such file' \
        bin/kubelua deploy "$work/nothing.lua"
    expect "a folder is no script" 1 '^kubelua: ' bin/kubelua deploy "$work"
    expect "a script that is not Lua" 1 'broken.lua:1:' bin/kubelua deploy "$work/broken.lua"
    expect "a script that fails" 1 'fails.lua:1: my own fault' bin/kubelua deploy "$work/fails.lua"
    expect "prints nothing" 0 '^0$' sh -c "bin/kubelua deploy '$work/fails.lua' 2>/dev/null | wc -c"
    expect "standard input has no name" 1 'write a file' bin/kubelua deploy -
    expect "more than a ConfigMap holds" 1 'at most 1048576 .1 MiB' \
        bin/kubelua deploy --sim=examples/foos.yaml "$work/huge.lua"
    expect "more than kubectl apply keeps" 0 'kubectl apply --server-side' \
        bin/kubelua deploy --sim=examples/foos.yaml "$work/large.lua"
    expect "a file whose name gives no name" 1 'choose one by --name' bin/kubelua deploy "$work/___.lua"
    expect "two scripts of one name" 1 'both be the Deployment foo-controller' \
        bin/kubelua deploy --sim=examples/foos.yaml examples/foo-controller.lua \
        "$work/again/Foo_Controller.lua"
    expect "a name that is none" 2 'cannot be the name of a Deployment' \
        bin/kubelua deploy --name 'a b' $foo
    expect "a namespace that is none" 2 'cannot be a namespace' bin/kubelua deploy -n A_B $foo
    expect "a number of copies that is none" 2 'not a number of replicas' \
        bin/kubelua deploy --replicas -1 $foo
    for grace in 1e400 1e20; do
        expect "a grace of $grace seconds" 2 "'$grace' seconds are more than a hundred years" \
            bin/kubelua deploy --grace $grace $foo
    done
    mkdir "$work/up" "$work/up/m" "$work/up/lib"
    echo 'return 1' >"$work/up/lib/h.lua"
    { echo "dofile '$work/up/m/../lib/h.lua'"; cat examples/foo-controller.lua; } >"$work/up/up.lua"
    expect "a file that the API server would refuse is named" 1 "m/../lib/h.lua: a file of a Conf" \
        bin/kubelua deploy --sim=examples/foos.yaml "$work/up/up.lua"
    expect "a file that the pod cannot have" 1 'is not below the script.s folder' \
        bin/kubelua deploy --file /etc/passwd $foo
    expect "a file that is not there" 1 'no/file: No such file' bin/kubelua deploy --file no/file $foo
    expect "files of two scripts" 2 '^kubelua: --file: for one script only' \
        bin/kubelua deploy --file README.md $foo examples/expire-configmaps.lua
    expect "a chart and a base at once" 2 'choose one of them' \
        bin/kubelua deploy --helm "$work/a" --kustomize "$work/b" $foo
    expect "one name for two scripts" 2 'for one script only' \
        bin/kubelua deploy --name x a.lua b.lua
    expect "a mistake is told where its help is" 2 'kubelua deploy --help' \
        bin/kubelua deploy --nonsense
    expect "a manifest that is not there" 1 'none.yaml' bin/kubelua deploy --sim=none.yaml examples/foo-controller.lua
    expect "the help has an example" 0 'kubectl apply -f -' bin/kubelua deploy --help
}

# --- on a real API server ---

kube() {
    KUBECONFIG=$started/kubeconfig KUBERC=off KUBECACHEDIR=$work/cache HOME=$work \
        timeout 60 "$binaries/kubectl" "$@"
}

start_cluster() {
    binaries=${KUBELUA_CLUSTER_BIN:-build/cluster}
    if [ ! -x "$binaries/kube-apiserver" ] || [ ! -x "$binaries/kubectl" ]; then
        echo "there is no kube-apiserver; spec/cluster/build.sh builds one"
        exit 77
    fi
    started=$work/cluster
    spec/cluster/cluster.sh start --owner $$ "$started" >/dev/null || exit 1
    server=$(sed -n 's|^ *server: https://||p' "$started/kubeconfig")
}

# What a kubelet does with a Deployment, as far as its command can tell: its volumes, and a script
# that runs the command with its environment. Arguments: namespace, name, root folder, port.
cat >"$work/layout.lua" <<'LUA'
local kubelua = require "kubelua"
local namespace, name, root, port = table.unpack(arg)
local client = assert(kubelua.connect())
local pod = assert(client:get("deployments", namespace, name)).spec.template.spec
local container = pod.containers[1]
local function quote(text) return "'" .. tostring(text):gsub("'", "'\\''") .. "'" end
local function write(path, text)
    assert(os.execute("mkdir -p " .. quote(path:match("^(.*)/"))))
    local file = assert(io.open(path, "wb"))
    assert(file:write(text))
    assert(file:close())
end
local folder = root .. container.volumeMounts[1].mountPath
local source = pod.volumes[1].configMap
local map = assert(client:get("configmaps", namespace, source.name))
local function content(key)
    return map.data and map.data[key] or assert(kubelua.unbase64(map.binaryData[key]))
end
if source.items then
    for _, item in ipairs(source.items) do write(folder .. "/" .. item.path, content(item.key)) end
else
    for key in kubelua.pairs(map.data) do write(folder .. "/" .. key, content(key)) end
end
-- The kubelet expands $(NAME), and $$ is one $.
local function expand(text)
    return (text:gsub("%$(%$?)(%(?[%w_]*%)?)", function(dollar, name)
        if dollar == "$" then return "$" .. name end
        return name == "(POD_NAMESPACE)" and namespace or nil
    end))
end
local words = {}
for _, part in ipairs { "command", "args" } do
    for _, word in ipairs(container[part] or {}) do
        -- Other processes of this machine may have the port of the container.
        words[#words + 1] = quote(word == ":8080" and "127.0.0.1:" .. port or expand(word))
    end
end
local lines = { "#!/bin/sh" }
for _, variable in ipairs(container.env or {}) do
    local path = variable.valueFrom.fieldRef.fieldPath
    lines[#lines + 1] = ("export %s=%s"):format(variable.name,
        quote(assert(path == "metadata.namespace" and namespace, path)))
end
lines[#lines + 1] = "cd " .. quote(container.workingDir)
lines[#lines + 1] = "exec " .. table.concat(words, " ")
write(root .. "/command", table.concat(lines, "\n") .. "\n")
write(root .. "/account", pod.serviceAccountName)
write(root .. "/user", tostring(pod.securityContext.runAsUser))
write(root .. "/probe", container.readinessProbe.httpGet.path)
write(root .. "/alive", container.livenessProbe.httpGet.path)
LUA

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# run_copy NAMESPACE NAME COPY: starts the command of a Deployment in a root folder of its own, which
# it cannot write, as the container's user, without rights. $port and $runs.
run_copy() {
    root=$work/root-$2-$3
    port=$(free_port)
    bin/kubelua run --kubeconfig "$started/kubeconfig" "$work/layout.lua" "$1" "$2" "$root" "$port" || {
        bad=$((bad + 1))
        return
    }
    secrets=$root/var/run/secrets/kubernetes.io/serviceaccount
    mkdir -p "$secrets" "$root/proc" "$root/dev" "$root/usr/local/bin" "$root/tree"
    kube -n "$1" create token "$(cat "$root/account")" >"$secrets/token"
    cp "$started/ca.crt" "$secrets/ca.crt"
    echo "$1" >"$secrets/namespace"
    chmod -R a+rX "$root"
    tree=$PWD build=$(CDPATH='' cd -- "${KUBELUA_BUILD:-build}" && pwd)
    # shellcheck disable=SC2016 # for the inner shell
    env -i tree="$tree" build="$build" root="$root" host="${server%:*}" port="${server##*:}" \
        user="$(cat "$root/user")" PATH="$PATH" unshare -m sh -euc '
        for folder in usr lib lib64 bin etc proc dev; do
            [ -e "/$folder" ] || continue
            mkdir -p "$root/$folder"
            mount --rbind "/$folder" "$root/$folder"
        done
        for folder in "$tree" "$build"; do
            mkdir -p "$root$folder"
            mount --bind "$folder" "$root$folder"
        done
        mount --rbind "$root" "$root"
        mount -o remount,bind,ro "$root"
        exec env -i PATH="$tree/bin:/usr/bin:/bin:/usr/sbin" KUBELUA_BUILD="$build" \
            KUBERNETES_SERVICE_HOST="$host" KUBERNETES_SERVICE_PORT="$port" \
            chroot "$root" setpriv --reuid "$user" --regid "$user" --clear-groups \
            --no-new-privs --bounding-set=-all --inh-caps=-all sh /command
        ' >"$root.log" 2>&1 &
    last=$!
    runs="$runs $last"
}

# ended NAME: the last copy ends on SIGTERM with status 0, and was never refused anything.
ended() {
    kill -TERM "$last"
    wait "$last"
    got=$?
    if [ $got -ne 0 ] || grep -q -e forbidden -e '"level":"error"' "$root.log"; then
        bad=$((bad + 1))
        echo "FAILED: $1 (exit status $got)"
        cat "$root.log"
    else
        echo "ok: $1"
    fi
}

is_ready() {
    curl -fsS "http://127.0.0.1:$port$(cat "$root/probe")"
}

real_foo() {
    holds "the kinds of the example are there" kube apply -f examples/foos.yaml
    # shellcheck disable=SC2086 # several words
    bin/kubelua deploy $foo >"$work/foo.yaml" 2>/dev/null
    expect "kubectl applies what is printed" 0 '^6 created$' sh -c \
        "$kube_apply -f '$work/foo.yaml' | grep -c created | sed 's/\$/ created/'"
    expect "and finds the same the next time" 0 '^6 unchanged$' sh -c \
        "$kube_apply -f '$work/foo.yaml' | grep -c unchanged | sed 's/\$/ unchanged/'"
    kube label namespace foo-controller pod-security.kubernetes.io/warn=restricted >/dev/null
    expect "its pod is of the restricted kind" 0 '^deployment.apps/foo-controller' sh -c \
        "sed 's/replicas: 1/replicas: 4/' '$work/foo.yaml' | $kube_apply --dry-run=server -f - \
        >'$work/applied' 2>&1 && ! grep -i warn '$work/applied' && cat '$work/applied'"
    run_copy foo-controller foo-controller 1
    holds "its command gets ready with its account's token" is_ready
    holds "and is alive" curl -fsS "http://127.0.0.1:$port$(cat "$root/alive")"
    holds "the controller reconciles" kube -n default get deployment example-foo
    holds "and writes the status" kube -n default wait --for=jsonpath='{.status.availableReplicas}'=0 \
        foo/example-foo --timeout=1s
    expect "its log is JSON" 0 '^\{"ts":.*"msg":' head -n 1 "$root.log"
    ended "it ends in order, and has all rights that it needs"
}

# is_seen NAME: by the script of the shop.
is_seen() {
    kube -n default get configmap "$1" -o 'jsonpath={.metadata.annotations.seen}' >"$work/seen" &&
        grep -qF "bytes word $given" "$work/seen"
}

real_shop() {
    given='-x$(POD_NAMESPACE)$$$'
    kube apply -f "$work/shop.yaml" >/dev/null
    here=$PWD
    (cd "$work/shop" && "$here/bin/kubelua" deploy --sim="$work/shop.yaml" --file dat/word shop.lua \
        -- "$given" 2>/dev/null) |
        kube apply -f - >/dev/null
    run_copy shop shop 1
    holds "a copy with a leader is ready" is_ready
    holds "its modules, its file, its bytes and its arguments are there" is_seen a
    first=$last
    run_copy shop shop 2
    holds "a standby is ready" is_ready
    kill -TERM "$first"
    kube -n default create configmap b >/dev/null
    kube -n default label configmap b app=shop >/dev/null
    holds "it takes the Lease of its own namespace, and goes on" is_seen b
    ended "the second copy has all rights, too"
    echo '-- more' >>"$work/shop/shop.lua"
    expect "a change of the script is a change of the Deployment" 0 'deployment.apps/shop configured' \
        sh -c "bin/kubelua deploy --sim='$work/shop.yaml' '$work/shop/shop.lua' 2>/dev/null -- '$given' | \
        $kube_apply -f -"
    expect "and the script from before stays" 0 '^2$' sh -c \
        "$kube_get -n shop configmap -l app.kubernetes.io/name=shop -o name | wc -l"
}

real_folders() {
    # shellcheck disable=SC2086
    bin/kubelua deploy --kustomize "$work/base" $foo 2>/dev/null
    kube kustomize "$work/base" >"$work/base.yaml"
    same "kubectl kustomize gives the same objects" "$work/base.yaml" "$work/foo.yaml"
    # shellcheck disable=SC2086
    bin/kubelua deploy --helm "$work/chart" $foo 2>/dev/null
    helm=${KUBELUA_HELM:-helm}
    if ! command -v "$helm" >/dev/null; then
        echo "skipped: the chart (there is no helm)"
        return
    fi
    "$helm" template foo-controller "$work/chart" --namespace foo-controller >"$work/chart.yaml"
    same "helm makes the same objects of the chart" "$work/chart.yaml" "$work/foo.yaml"
    expect "values of the chart count" 0 '^there$' sh -c "'$helm' template x '$work/chart' \
        --set image=my/image:2,replicas=7,namespace=web,resources.limits.memory=1Gi >'$work/v' && \
        grep -q 'image: \"my/image:2\"' '$work/v' && grep -q 'replicas: 7' '$work/v' && \
        grep -q 'memory: 1Gi' '$work/v' && grep -q 'name: \"web:foo-controller\"' '$work/v' && \
        ! grep -q 'namespace: \"*foo-controller' '$work/v' && echo there"
    bin/kubelua deploy --helm "$work/far" "$work/s{{ x }}.lua" 2>/dev/null
    bin/kubelua deploy "$work/s{{ x }}.lua" >"$work/far.yaml" 2>/dev/null
    "$helm" template x "$work/far" --namespace s-x >"$work/far.made"
    same "and of one of a script whose name looks like a template" "$work/far.made" "$work/far.yaml"
    echo '-- more' >>"$work/chart/files/foo-controller/foo-controller.lua"
    "$helm" template x "$work/chart" >"$work/changed"
    expect "a change in the chart is another name of the ConfigMap" 1 '^$' sh -c \
        "grep -F \"\$(grep -m 1 -o 'foo-controller-[0-9a-f]\\{14\\}' '$work/changed')\" \
        '$work/chart.yaml'; s=\$?; echo; exit \$s"
}

case ${1:-} in
real)
    start_cluster
    kube_apply="env KUBECONFIG=$started/kubeconfig KUBERC=off KUBECACHEDIR=$work/cache HOME=$work \
$binaries/kubectl apply"
    kube_get="${kube_apply% apply} get"
    real_foo
    real_shop
    real_folders
    ;;
*)
    prints
    charts
    writes
    refuses
    ;;
esac
[ $bad -eq 0 ] || echo "$bad failed"
[ $bad -eq 0 ]
