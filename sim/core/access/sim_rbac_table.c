/*
 * sim_rbac_table.c - the roles and bindings of a new cluster, read off a real
 * kube-apiserver 1.36 by sim/tools/roles; not edited by hand.
 */
#include "sim/core/access/sim_rbac.h"

#include <stddef.h>

const kl__sim_rbac_row kl__sim_rbac_rows[] = {
    {"ClusterRole", "admin", "",
     "rules: null, aggregationRule: {clusterRoleSelectors: [{matchLabels: "
     "{rbac.authorization.k8s.io/aggregate-to-admin: 'true'}}]}}"},
    {"ClusterRole", "cluster-admin", "",
     "rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}, {verbs: "
     "['*'], nonResourceURLs: ['*']}]}"},
    {"ClusterRole", "edit",
     ", rbac.authorization.k8s.io/aggregate-to-admin: 'true'",
     "rules: null, aggregationRule: {clusterRoleSelectors: [{matchLabels: "
     "{rbac.authorization.k8s.io/aggregate-to-edit: 'true'}}]}}"},
    {"ClusterRole", "system:aggregate-to-admin",
     ", rbac.authorization.k8s.io/aggregate-to-admin: 'true'",
     "rules: [{verbs: [create], apiGroups: [authorization.k8s.io], resources: "
     "[localsubjectaccessreviews]}, {verbs: [create, delete, "
     "deletecollection, get, list, patch, update, watch], apiGroups: "
     "[rbac.authorization.k8s.io], resources: [rolebindings, roles]}]}"},
    {"ClusterRole", "system:aggregate-to-edit",
     ", rbac.authorization.k8s.io/aggregate-to-edit: 'true'",
     "rules: [{verbs: [get, list, watch], apiGroups: [''], resources: "
     "[pods/attach, pods/exec, pods/portforward, pods/proxy, secrets, "
     "services/proxy]}, {verbs: [impersonate], apiGroups: [''], resources: "
     "[serviceaccounts]}, {verbs: [create, delete, deletecollection, patch, "
     "update], apiGroups: [''], resources: [pods, pods/attach, pods/exec, "
     "pods/portforward, pods/proxy]}, {verbs: [create], apiGroups: [''], "
     "resources: [pods/eviction]}, {verbs: [create, delete, deletecollection, "
     "patch, update], apiGroups: [''], resources: [configmaps, "
     "persistentvolumeclaims, replicationcontrollers, "
     "replicationcontrollers/scale, secrets, serviceaccounts, services, "
     "services/proxy]}, {verbs: [create], apiGroups: [''], resources: "
     "[serviceaccounts/token]}, {verbs: [create, delete, deletecollection, "
     "patch, update], apiGroups: ['', events.k8s.io], resources: [events]}, "
     "{verbs: [create, delete, deletecollection, patch, update], apiGroups: "
     "[apps], resources: [daemonsets, deployments, deployments/rollback, "
     "deployments/scale, replicasets, replicasets/scale, statefulsets, "
     "statefulsets/scale]}, {verbs: [create, delete, deletecollection, patch, "
     "update], apiGroups: [autoscaling], resources: "
     "[horizontalpodautoscalers]}, {verbs: [create, delete, deletecollection, "
     "patch, update], apiGroups: [batch], resources: [cronjobs, jobs]}, "
     "{verbs: [create, delete, deletecollection, patch, update], apiGroups: "
     "[extensions], resources: [daemonsets, deployments, "
     "deployments/rollback, deployments/scale, ingresses, networkpolicies, "
     "replicasets, replicasets/scale, replicationcontrollers/scale]}, {verbs: "
     "[create, delete, deletecollection, patch, update], apiGroups: [policy], "
     "resources: [poddisruptionbudgets]}, {verbs: [create, delete, "
     "deletecollection, patch, update], apiGroups: [networking.k8s.io], "
     "resources: [ingresses, networkpolicies]}, {verbs: [create, delete, "
     "deletecollection, get, list, patch, update, watch], apiGroups: "
     "[coordination.k8s.io], resources: [leases]}, {verbs: [create, delete, "
     "deletecollection, patch, update], apiGroups: [resource.k8s.io], "
     "resources: [resourceclaims, resourceclaimtemplates]}]}"},
    {"ClusterRole", "system:aggregate-to-view",
     ", rbac.authorization.k8s.io/aggregate-to-view: 'true'",
     "rules: [{verbs: [get, list, watch], apiGroups: [''], resources: "
     "[configmaps, endpoints, persistentvolumeclaims, "
     "persistentvolumeclaims/status, pods, replicationcontrollers, "
     "replicationcontrollers/scale, serviceaccounts, services, "
     "services/status]}, {verbs: [get, list, watch], apiGroups: [''], "
     "resources: [bindings, limitranges, namespaces/status, pods/log, "
     "pods/status, replicationcontrollers/status, resourcequotas, "
     "resourcequotas/status]}, {verbs: [get, list, watch], apiGroups: [''], "
     "resources: [namespaces]}, {verbs: [get, list, watch], apiGroups: ['', "
     "events.k8s.io], resources: [events]}, {verbs: [get, list, watch], "
     "apiGroups: [discovery.k8s.io], resources: [endpointslices]}, {verbs: "
     "[get, list, watch], apiGroups: [apps], resources: [controllerrevisions, "
     "daemonsets, daemonsets/status, deployments, deployments/scale, "
     "deployments/status, replicasets, replicasets/scale, replicasets/status, "
     "statefulsets, statefulsets/scale, statefulsets/status]}, {verbs: [get, "
     "list, watch], apiGroups: [autoscaling], resources: "
     "[horizontalpodautoscalers, horizontalpodautoscalers/status]}, {verbs: "
     "[get, list, watch], apiGroups: [batch], resources: [cronjobs, "
     "cronjobs/status, jobs, jobs/status]}, {verbs: [get, list, watch], "
     "apiGroups: [extensions], resources: [daemonsets, daemonsets/status, "
     "deployments, deployments/scale, deployments/status, ingresses, "
     "ingresses/status, networkpolicies, replicasets, replicasets/scale, "
     "replicasets/status, replicationcontrollers/scale]}, {verbs: [get, list, "
     "watch], apiGroups: [policy], resources: [poddisruptionbudgets, "
     "poddisruptionbudgets/status]}, {verbs: [get, list, watch], apiGroups: "
     "[networking.k8s.io], resources: [ingresses, ingresses/status, "
     "networkpolicies]}, {verbs: [get, list, watch], apiGroups: "
     "[resource.k8s.io], resources: [resourceclaims, resourceclaims/status, "
     "resourceclaimtemplates]}]}"},
    {"ClusterRole", "system:basic-user", "",
     "rules: [{verbs: [create], apiGroups: [authorization.k8s.io], resources: "
     "[selfsubjectaccessreviews, selfsubjectrulesreviews]}, {verbs: [create], "
     "apiGroups: [authentication.k8s.io], resources: [selfsubjectreviews]}]}"},
    {"ClusterRole", "system:discovery", "",
     "rules: [{verbs: [get], nonResourceURLs: [/api, /api/*, /apis, /apis/*, "
     "/healthz, /livez, /openapi, /openapi/*, /readyz, /version, "
     "/version/]}]}"},
    {"ClusterRole", "system:public-info-viewer", "",
     "rules: [{verbs: [get], nonResourceURLs: [/healthz, /livez, /readyz, "
     "/version, /version/]}]}"},
    {"ClusterRole", "view",
     ", rbac.authorization.k8s.io/aggregate-to-edit: 'true'",
     "rules: null, aggregationRule: {clusterRoleSelectors: [{matchLabels: "
     "{rbac.authorization.k8s.io/aggregate-to-view: 'true'}}]}}"},
    {"ClusterRoleBinding", "cluster-admin", "",
     "subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "
     "'system:masters'}], roleRef: {apiGroup: rbac.authorization.k8s.io, "
     "kind: ClusterRole, name: cluster-admin}}"},
    {"ClusterRoleBinding", "system:basic-user", "",
     "subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "
     "'system:authenticated'}], roleRef: {apiGroup: "
     "rbac.authorization.k8s.io, kind: ClusterRole, name: "
     "'system:basic-user'}}"},
    {"ClusterRoleBinding", "system:discovery", "",
     "subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "
     "'system:authenticated'}], roleRef: {apiGroup: "
     "rbac.authorization.k8s.io, kind: ClusterRole, name: "
     "'system:discovery'}}"},
    {"ClusterRoleBinding", "system:public-info-viewer", "",
     "subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "
     "'system:authenticated'}, {kind: Group, apiGroup: "
     "rbac.authorization.k8s.io, name: 'system:unauthenticated'}], roleRef: "
     "{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "
     "'system:public-info-viewer'}}"},
    {NULL, NULL, NULL, NULL}};
