# What a cluster knows about itself, and the end of things. Sourced by
# kubectl.sh.
namespace=shop
expect "versions of the API" 0 '^apps/v1$' api-versions
expect "kinds" 0 '^configmaps +cm +v1' api-resources
expect "kinds of a group" 0 '^deployments' api-resources --api-group=apps
expect "kinds by verbs" 0 'deployments' api-resources --verbs=list,watch --api-group=apps -o name
expect "kinds without namespaces" 0 '^nodes' api-resources --namespaced=false
expect "explained" 0 '^KIND: +Pod' explain pod
expect "a field explained" 0 'FIELD: containers' explain pod.spec.containers
expect "all fields explained" 0 'matchLabels' explain deploy.spec.selector \
    --recursive
expect "a field that there is not explained" 1 'does not exist' explain \
    pod.nothing
expect "an enum explained" 0 'OnFailure' explain pod.spec.restartPolicy
expect "may I" 0 '^yes' auth can-i create pods
expect "what I may" 0 'Resources' auth can-i --list
expect "who am I" 0 'Username' auth whoami
expect "the version" 1 'Server Version: v1.36' version
expect "the cluster" 0 'control plane' cluster-info

expect "a custom resource" 0 'created' create -f "$here/crontabs.yaml"
expect "is established" 0 'condition met' wait --for=condition=Established \
    crd/crontabs.example.com
expect "an object of it" 0 'crontab.example.com/mine created' create \
    -f "$here/mine.yaml"
expect "a table of it" 0 '^mine +often' get ct
expect "it is explained" 0 'How often' explain crontab.spec.schedule
expect "it is described" 0 'often' describe crontab mine
expect "it is patched" 0 'patched' patch crontab mine --type=merge \
    -p '{"spec":{"schedule":"seldom"}}'
expect "it is scaled" 0 'scaled' scale crontab mine --replicas=3
given printf 'apiVersion: example.com/v1\nkind: CronTab\n%s\n' \
    'metadata: {name: bad}
spec: {replicas: many}'
expect "it is validated" 1 'must be of type integer' apply -f -

expect "a node" 0 'created' create -f "$here/node.yaml"
expect "a table of nodes" 0 '^node-1' get nodes
expect "a node is cordoned" 0 'cordoned' cordon node-1
expect "a node is uncordoned" 0 'uncordoned' uncordon node-1
expect "a node is tainted" 0 'tainted' taint node node-1 a=b:NoSchedule
expect "a node is drained" 0 'drained' drain node-1 --force
expect "a node is described" 0 'Taints' describe node node-1

expect "waited for a field" 0 'condition met' wait pod/shell --timeout=5s \
    --for='jsonpath={.status.phase}=Running'
expect "waited in vain" 1 'timed out' wait pod/shell --timeout=1s \
    --for=condition=Ready
expect "watched for a second" 0 'shell' get pods -w --request-timeout=1s
expect "events" 0 '' events
expect "logs of a pod on no node" 0 '' logs shell
expect "deleted" 0 'configmap "settings" deleted' delete cm settings
expect "deleted again" 1 'NotFound' delete cm settings
expect "deleted if it is there" 0 '' delete cm settings --ignore-not-found
expect "deleted by label" 0 'pod "shell" deleted' delete pod -l app=shell \
    --timeout=10s
expect "waited for its end" 0 '' wait --for=delete pod/shell --timeout=5s
expect "deleted with orphans" 0 'deleted' delete deployment web \
    --cascade=orphan --wait=false
expect "all deleted" 0 'deleted' delete cm --all
expect "of a group that is not there" 1 "doesn't have a resource" get \
    nothings.example.com
expect "a namespace that is not there" 1 'not found' create configmap a -n none
