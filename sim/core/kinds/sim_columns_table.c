/*
 * sim_columns_table.c - what `kubectl get` shows of the built-in kinds, read
 * off a real kube-apiserver 1.36 by sim/tools/columns; not edited by hand.
 */
#include "sim/core/kinds/sim_columns.h"

#include <stddef.h>

const kl__sim_columns kl__sim_columns_table[] = {
    {"", "componentstatuses", "Name::name|Status|Message|Error"},
    {"", "configmaps", "Name::name|Data|Age"},
    {"", "endpoints", "Name::name|Endpoints|Age"},
    {"", "events",
     "Last Seen|Type|Reason|Object|Subobject!1|Source!1|Message|First "
     "Seen!1|Count!1|Name::name!1"},
    {"", "limitranges", "Name::name|Created At:date"},
    {"", "namespaces", "Name::name|Status|Age"},
    {"", "nodes",
     "Name::name|Status|Roles|Age|Version|Internal-IP!1|External-IP!1|OS-Image!"
     "1|Kernel-Version!1|Container-Runtime!1"},
    {"", "persistentvolumeclaims",
     "Name::name|Status|Volume|Capacity|Access "
     "Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode!1"},
    {"", "persistentvolumes",
     "Name::name|Capacity|Access Modes|Reclaim "
     "Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|"
     "VolumeMode!1"},
    {"", "pods",
     "Name::name|Ready|Status|Restarts|Age|IP!1|Node!1|Nominated "
     "Node!1|Readiness Gates!1"},
    {"", "podtemplates", "Name::name|Containers|Images|Pod Labels"},
    {"", "replicationcontrollers",
     "Name::name|Desired:integer|Current:integer|Ready:integer|Age|Containers!"
     "1|Images!1|Selector!1"},
    {"", "resourcequotas", "Name::name|Request|Limit|Age"},
    {"", "secrets", "Name::name|Type|Data|Age"},
    {"", "serviceaccounts", "Name::name|Age"},
    {"", "services",
     "Name::name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector!1"},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations",
     "Name::name|Webhooks:integer|Age"},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations",
     "Name::name|Webhooks:integer|Age"},
    {"apiextensions.k8s.io", "customresourcedefinitions",
     "Name::name|Created At:date"},
    {"apiregistration.k8s.io", "apiservices",
     "Name::name|Service|Available|Age"},
    {"apps", "controllerrevisions", "Name::name|Controller|Revision|Age"},
    {"apps", "daemonsets",
     "Name::name|Desired:integer|Current:integer|Ready:integer|Up-to-date:"
     "integer|Available:integer|Node "
     "Selector|Age|Containers!1|Images!1|Selector!1"},
    {"apps", "deployments",
     "Name::name|Ready|Up-to-date|Available|Age|Containers!1|Images!1|Selector!"
     "1"},
    {"apps", "replicasets",
     "Name::name|Desired:integer|Current:integer|Ready:integer|Age|Containers!"
     "1|Images!1|Selector!1"},
    {"apps", "statefulsets", "Name::name|Ready|Age|Containers!1|Images!1"},
    {"autoscaling", "horizontalpodautoscalers",
     "Name::name|Reference|Targets|MinPods|MaxPods|Replicas|Age"},
    {"batch", "cronjobs",
     "Name::name|Schedule|Timezone|Suspend:boolean|Active:integer|Last "
     "Schedule|Age|Containers!1|Images!1|Selector!1"},
    {"batch", "jobs",
     "Name::name|Status|Completions|Duration|Age|Containers!1|Images!1|"
     "Selector!1"},
    {"certificates.k8s.io", "certificatesigningrequests",
     "Name::name|Age|SignerName|Requestor|RequestedDuration|Condition"},
    {"coordination.k8s.io", "leases", "Name::name|Holder|Age"},
    {"discovery.k8s.io", "endpointslices",
     "Name::name|AddressType|Ports|Endpoints|Age"},
    {"events.k8s.io", "events",
     "Last Seen|Type|Reason|Object|Subobject!1|Source!1|Message|First "
     "Seen!1|Count!1|Name::name!1"},
    {"networking.k8s.io", "ingressclasses",
     "Name::name|Controller|Parameters|Age"},
    {"networking.k8s.io", "ingresses",
     "Name::name|Class|Hosts|Address|Ports|Age"},
    {"networking.k8s.io", "networkpolicies", "Name::name|Pod-Selector|Age"},
    {"node.k8s.io", "runtimeclasses", "Name::name|Handler|Age"},
    {"policy", "poddisruptionbudgets",
     "Name::name|Min Available|Max Unavailable|Allowed "
     "Disruptions:integer|Age"},
    {"rbac.authorization.k8s.io", "clusterrolebindings",
     "Name::name|Role|Age|Users!1|Groups!1|ServiceAccounts!1"},
    {"rbac.authorization.k8s.io", "clusterroles", "Name::name|Created At:date"},
    {"rbac.authorization.k8s.io", "rolebindings",
     "Name::name|Role|Age|Users!1|Groups!1|ServiceAccounts!1"},
    {"rbac.authorization.k8s.io", "roles", "Name::name|Created At:date"},
    {"scheduling.k8s.io", "priorityclasses",
     "Name::name|Value:integer|Global-Default:boolean|Age|PreemptionPolicy"},
    {"storage.k8s.io", "storageclasses",
     "Name::name|Provisioner|ReclaimPolicy|VolumeBindingMode|"
     "AllowVolumeExpansion|Age"},
    {NULL, NULL, NULL}};
