# What a user looks at first, and what is made for it. Sourced by kubectl.sh.
namespace=default
expect "the namespaces" 0 '^kube-system +Active' get namespaces
expect "nothing in a namespace" 0 'No resources found' get pods
expect "an object that is not there" 1 'NotFound' get pod nothing
expect "a kind that is not there" 1 "doesn't have a resource type" get nothings
expect "a namespace is made" 0 'namespace/shop created' create namespace shop
expect "made again" 1 'AlreadyExists' create namespace shop
namespace=shop
equip shop
expect "a config map is made" 0 'configmap/settings created' create configmap \
    settings --from-literal=color=red --from-literal=size=5
expect "a secret is made" 0 'secret/keys created' create secret generic keys \
    --from-literal=password=x
expect "a deployment is made" 0 'deployment.apps/web created' create \
    deployment web --image=web:1 --replicas=2 --port=80
expect "a service is made" 0 'service/web created' create service clusterip \
    web --tcp=80:8080
expect "a service account is made" 0 'created' create serviceaccount robot
expect "a job is made" 0 'job.batch/once created' create job once --image=a \
    -- true
expect "a cron job is made" 0 'created' create cronjob often --image=a \
    --schedule='*/5 * * * *' -- true
expect "a role is made" 0 'created' create role reader --verb=get,list \
    --resource=pods
expect "a role binding is made" 0 'created' create rolebinding readers \
    --role=reader --user=jane
expect "an ingress is made" 0 'created' create ingress front \
    --rule='a.example.com/*=web:80'
expect "a quota is made" 0 'created' create quota small --hard=pods=99
expect "a disruption budget is made" 0 'created' create pdb web \
    --selector=app=web --min-available=1
expect "a priority class is made" 0 'created' create priorityclass urgent \
    --value=7
expect "a pod is run" 0 'pod/shell created' run shell --image=shell:1 \
    --labels=app=shell --env=A=1
expect "an object is made, as a dry run" 0 'created \(server dry run\)' create \
    configmap dry --dry-run=server
expect "an object is only printed" 0 '^kind: ConfigMap' create configmap dry \
    --dry-run=client -o yaml

expect "a table of pods" 0 '^NAME +READY +STATUS +RESTARTS +AGE' get pods
expect "a wide table of pods" 0 'NOMINATED NODE' get pods -o wide
expect "a table of deployments" 0 '^web +0/2' get deployments
expect "a wide table of deployments" 0 'SELECTOR' get deploy -o wide
expect "a table of services" 0 'CLUSTER-IP' get services
expect "a table of many kinds" 0 'deployment.apps/web' get deploy,svc,cm
expect "all" 0 'service/web' get all
expect "all namespaces" 0 '^NAMESPACE +NAME' get configmaps -A
expect "labels as columns" 0 'APP$' get deployments -L app
expect "labels shown" 0 'LABELS' get pods --show-labels
expect "by label" 0 '^shell' get pods -l app=shell
expect "by field" 0 '^shell' get pods --field-selector=metadata.name=shell
expect "sorted" 0 '^NAME' get configmaps --sort-by=.metadata.name
expect "in pages" 0 '^settings' get configmaps --chunk-size=1
expect "without a head" 0 '^settings' get configmaps --no-headers
expect "as YAML" 0 'color: red' get configmap settings -o yaml
expect "as JSON" 0 '"color": "red"' get configmap settings -o json
expect "names" 0 '^configmap/settings' get configmap -o name
expect "by a path" 0 '^red$' get cm settings -o 'jsonpath={.data.color}{"\n"}'
expect "columns of one's own" 0 '^NAME +COLOR' get cm settings \
    -o custom-columns=NAME:.metadata.name,COLOR:.data.color
expect "by a template" 0 '^red' get cm settings -o \
    'go-template={{.data.color}}'
expect "raw" 0 '"ok"|ok' get --raw /healthz
expect "with managed fields" 0 'managedFields' get cm settings -o yaml \
    --show-managed-fields
expect "a subresource" 0 'kind: Scale' get deployment web -o yaml \
    --subresource=scale
for kind in secrets serviceaccounts jobs cronjobs roles rolebindings ingresses \
    quota pdb priorityclasses/urgent; do
    expect "a table of $kind" 0 '^NAME' get $kind
done
for object in pod/shell deployment/web service/web configmap/settings \
    secret/keys job/once cronjob/often role/reader rolebinding/readers \
    ingress/front quota/small pdb/web namespace/shop serviceaccount/robot; do
    expect "described: $object" 0 '^Name:' describe $object
done
expect "described: nothing" 1 'NotFound' describe pod nothing
