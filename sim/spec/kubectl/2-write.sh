# Applied, compared, edited, scaled, labelled. Sourced by kubectl.sh.
namespace=shop
manifest() { # COLOR REPLICAS [FIELD]
    cat <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: applied, labels: {app: shop}}
data: {color: $1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: applied}
spec:
  ${3:-replicas}: $2
  selector: {matchLabels: {app: applied}}
  template:
    metadata: {labels: {app: applied}}
    spec: {containers: [{name: app, image: "app:$2"}]}
END
}
given manifest red 1
expect "applied" 0 'configmap/applied created' apply -f -
given manifest red 1
expect "applied again" 0 'configmap/applied unchanged' apply -f -
given manifest blue 2
expect "compared" 1 'color: blue' diff -f -
given manifest blue 2
expect "applied with changes" 0 'deployment.apps/applied configured' apply -f -
given manifest blue 2
expect "compared with nothing new" 0 '' diff -f -
given manifest green 3
expect "applied by the server, in conflict" 1 'conflict' apply --server-side \
    --field-manager=other -f -
given manifest green 3
expect "applied by the server, by force" 0 'serverside-applied' apply \
    --server-side --force-conflicts -f -
given manifest green 3
expect "applied by the server again" 0 'serverside-applied' apply \
    --server-side -f -
given manifest white 4
expect "applied by the server as a dry run" 0 'server dry run' apply \
    --server-side --dry-run=server -f -
given manifest white 4
expect "compared by the server" 1 'color: white' diff --server-side -f -
given manifest green 3 replicaz
expect "a field that there is not" 1 'unknown field "spec.replicaz"' apply \
    --validate=strict -f -
given manifest green three
expect "a wrong type" 1 '' apply -f -
given printf 'apiVersion: v1\nkind: Nothing\nmetadata: {name: a}\n'
expect "a kind that is not there, applied" 1 '' apply -f -
given printf 'kind: [\n'
expect "no YAML" 1 'error' apply -f -
listed() { # FIELD
    cat <<END
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}, $1: {a: b}}
END
}
given listed data
expect "a list applied" 0 'configmap/listed created' apply -f -
given listed data
expect "a list applied by the server" 0 'serverside-applied' apply \
    --server-side --force-conflicts -f -
given listed datum
expect "a field that there is not, in a list" 1 'unknown field "datum"' apply \
    -f -
expect "what was applied last" 0 'color' apply view-last-applied cm/applied
given manifest green 3
expect "replaced" 0 'replaced' replace -f -

expect "patched" 0 'configmap/settings patched' patch cm settings \
    --type=merge -p '{"data":{"size":"6"}}'
expect "patched by nothing" 0 'no change' patch cm settings \
    --type=merge -p '{"data":{"size":"6"}}'
expect "patched strategically" 0 'patched' patch deployment web -p \
    '{"spec":{"template":{"spec":{"containers":[{"name":"web","tty":true}]}}}}'
expect "patched by operations" 0 'patched' patch cm settings --type=json \
    -p '[{"op":"remove","path":"/data/size"}]'
expect "patched wrongly" 1 '' patch cm settings --type=json \
    -p '[{"op":"remove","path":"/data/size"}]'
expect "a status patched" 0 'patched' patch pod shell --subresource=status \
    --type=merge -p '{"status":{"phase":"Running"}}'
expect "labelled" 0 'labeled' label pod shell tier=web
expect "labelled over" 1 'overwrite' label pod shell tier=db
expect "labelled by force" 0 'labeled' label pod shell tier=db --overwrite
expect "a label taken away" 0 'unlabeled' label pod shell tier-
expect "a label that is none" 1 'invalid' label pod shell 'tier=a b'
expect "annotated" 0 'annotated' annotate pod shell note='some text'
expect "scaled" 0 'scaled' scale deployment web --replicas=5
expect "scaled if" 0 'scaled' scale deployment web --current-replicas=5 \
    --replicas=3
expect "scaled if not" 1 'Expected replicas' scale deployment web \
    --current-replicas=5 --replicas=4
expect "autoscaled" 0 'autoscaled' autoscale deployment web --min=1 --max=5
expect "a table of autoscalers" 0 '^web' get hpa
expect "an image set" 0 'image updated' set image deployment/web web=web:2
expect "an environment set" 0 'env updated' set env deployment/web A=1
expect "resources set" 0 'requirements updated' set resources deployment/web \
    --limits=cpu=1
expect "exposed" 0 'exposed' expose deployment web --name=web2 --port=81
expect "restarted" 0 'restarted' rollout restart deployment/web
expect "paused" 0 'paused' rollout pause deployment/web
expect "resumed" 0 'resumed' rollout resume deployment/web
expect "the history of a rollout" 0 'REVISION|No rollout' rollout history \
    deployment/web

printf '#!/bin/sh\nsed -i "s/color: .*/color: violet/" "$1"\n' >"$work/editor"
chmod +x "$work/editor"
editor=$work/editor
expect "edited" 0 'configmap/settings edited' edit configmap settings
editor=true
expect "edited without a change" 0 'no changes made' edit configmap settings
editor=
expect "what was edited" 0 'violet' get cm settings -o yaml
