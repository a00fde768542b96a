# What else users do: prune, undo, ask for tokens, end things at once. Sourced
# by kubectl.sh.
namespace=more
expect "a namespace for more" 0 'created' create namespace more
equip more
pair() { # NAMES...
    for name in "$@"; do
        printf -- '---\napiVersion: v1\nkind: ConfigMap\nmetadata: %s\n' \
            "{name: $name, labels: {set: pair}}"
    done
}
given pair one two
expect "two are applied" 0 'configmap/two created' apply -f -
given pair one
expect "what is left out is pruned" 0 'configmap/two pruned' apply --prune \
    -l set=pair --prune-allowlist=core/v1/ConfigMap -f -
expect "a deployment for more" 0 'created' create deployment web --image=web:1
expect "nothing to undo" 1 'no rollout history' rollout undo deployment/web
expect "a status of a rollout" 1 '' rollout status deployment/web --timeout=1s
expect "scaled by the file" 0 'scaled' scale deploy/web --replicas=2
expect "a cluster role" 0 'created' create clusterrole more-reader \
    --verb=get --resource=pods
expect "a cluster role binding" 0 'created' create clusterrolebinding \
    more-readers --clusterrole=more-reader --serviceaccount=more:default
expect "it is deleted" 0 'deleted' delete clusterrole/more-reader \
    clusterrolebinding/more-readers
expect "a secret for TLS that is none" 1 '' create secret tls bad \
    --cert=/none --key=/none
expect "a registry's secret" 0 'created' create secret docker-registry hub \
    --docker-username=u --docker-password=p
expect "described: hub" 0 'dockerconfigjson' describe secret hub
expect "a job of a cron job" 0 'created' create cronjob often --image=a \
    --schedule='0 0 * * *' -- true
expect "run once" 0 'created' create job manual --from=cronjob/often
expect "a name that is none" 1 'Invalid value' create configmap Bad_Name
expect "a pod for more" 0 'created' run one --image=one:1 --restart=Never
expect "commands in a pod on no node" 1 '' exec one -- true
expect "copied from a pod on no node" 1 '' cp one:/a /tmp/none
expect "ports of a pod on no node" 1 '' port-forward one 8080
expect "logs of a pod that is not there" 1 'not found' logs nothing
expect "logs by label" 0 '' logs -l run=none
expect "measured pods" 1 'Metrics API not available' top pods
expect "a debugging container" 0 '' debug one --image=a --attach=false -q
expect "labels of all" 0 'labeled' label pods --all tier=x
expect "a field that no kind has selects" 1 'field label not supported' get \
    pods --field-selector=spec.nothing=a
expect "a selector that is none" 1 '' get pods -l 'a in b'
expect "events of an object" 0 '' events --for=pod/one
expect "a disruption budget for more" 0 'created' create pdb one \
    --selector=run=one --min-available=1
expect "described: pdb/one" 0 'Min available' describe pdb one
expect "a patch of a list" 1 '' patch pods --type=merge -p '{}'
expect "a wrong patch" 1 '' patch pod one -p '{"spec":{"containers":1}}'
expect "what cannot be changed" 1 'Forbidden|may not' patch pod one -p \
    '{"spec":{"restartPolicy":"Always"}}'
expect "another image of a pod" 0 'image updated' set image pod/one one=one:2
expect "a service account set" 0 'serviceaccount updated' set serviceaccount \
    deployment/web robot
expect "a subject set" 0 'created' create rolebinding r --role=x --user=a
expect "a subject added" 0 'subjects updated' set subject rolebinding/r \
    --group=b
expect "a selector set" 0 'created' create service nodeport np --tcp=80:80
expect "selector set" 0 'selector updated' set selector service np a=b
expect "described: np" 0 'NodePort' describe service np
expect "a load balancer" 0 'created' create service loadbalancer lb --tcp=1:1
expect "a name for a name" 0 'created' create service externalname en \
    --external-name=a.example.com
expect "services of all types" 0 'ExternalName' get svc -o wide
expect "explained recursively" 0 'ephemeralContainers' explain pod --recursive
expect "explained by version" 0 'VERSION: +v2' explain hpa \
    --api-version=autoscaling/v2
expect "a kind explained that is not there" 1 "doesn't have a resource" \
    explain nothing
expect "waited for creation" 0 'condition met' wait --for=create pod/one \
    --timeout=2s
expect "deleted at once" 0 'force deleted' delete pod one --force \
    --grace-period=0
expect "deleted as a dry run" 0 'server dry run' delete deploy web \
    --dry-run=server
expect "deleted by a field" 0 'deleted' delete configmaps \
    --field-selector=metadata.name=one
expect "may I, in a namespace" 0 '^yes' auth can-i get pods --subresource=log
expect "may I, by URL" 0 '^yes' auth can-i get /logs
expect "a certificate's request" 0 '' get csr
