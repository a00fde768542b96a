/*
 * sim_table_cells.c - the table of the cells of built-in kinds, in the order of
 * their columns (sim_columns_table.c). sim_table_row.h explains the notation.
 */
#include "sim/core/table/sim_table_row.h"

#define WIDE "|c spec.template.spec|m spec.template.spec"
#define REPLICAS \
    "name|i spec.replicas|i status.replicas|i status.readyReplicas|age"
#define BINDING "name|&role_ref|age|&subjects"
#define EVENT "&event"

const kl__sim_cells kl__sim_cells_table[] = {
    {"", "configmaps", "name|# data,binaryData|age"},
    {"", "endpoints", "name|&endpoints|age"},
    {"", "events", EVENT},
    {"", "namespaces", "name|s status.phase|age"},
    {"", "nodes",
     "name|&node_status|&node_roles|age|s status.nodeInfo.kubeletVersion|"
     "&node_system"},
    {"", "persistentvolumeclaims",
     "name|&phase|s spec.volumeName|&claim|&storage_class|"
     "s spec.volumeAttributesClassName=<unset>|age|s spec.volumeMode=<unset>"},
    {"", "persistentvolumes",
     "name|s spec.capacity.storage=0|&access_modes|"
     "s spec.persistentVolumeReclaimPolicy|&phase|&claim_ref|&storage_class|"
     "s spec.volumeAttributesClassName=<unset>|s status.reason|age|"
     "s spec.volumeMode=<unset>"},
    {"", "pods", "&pod"},
    {"", "podtemplates",
     "name|c template.spec|m template.spec|l template.metadata.labels"},
    {"", "replicationcontrollers", REPLICAS WIDE "|l spec.selector"},
    {"", "resourcequotas", "name|&quota|age"},
    {"", "secrets", "name|s type|# data|age"},
    {"", "serviceaccounts", "name|age"},
    {"", "services",
     "name|s spec.type|&cluster_ip|&external_ip|&ports|age|l spec.selector"},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations",
     "name|# webhooks|age"},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations",
     "name|# webhooks|age"},
    {"apiregistration.k8s.io", "apiservices", "name|&api_service|age"},
    {"apps", "controllerrevisions", "name|&controller|i revision|age"},
    {"apps", "daemonsets",
     "name|i status.desiredNumberScheduled|i status.currentNumberScheduled|"
     "i status.numberReady|i status.updatedNumberScheduled|"
     "i status.numberAvailable|l spec.template.spec.nodeSelector|age" WIDE
     "|L spec.selector"},
    {"apps", "deployments",
     "name|&ready|i status.updatedReplicas|i status.availableReplicas|age" WIDE
     "|L spec.selector"},
    {"apps", "replicasets", REPLICAS WIDE "|L spec.selector"},
    {"apps", "statefulsets", "name|&ready|age" WIDE},
    {"autoscaling", "horizontalpodautoscalers",
     "name|&scale_target|&metrics|N spec.minReplicas=<unset>|"
     "i spec.maxReplicas|i status.currentReplicas|age"},
    {"batch", "cronjobs",
     "name|s spec.schedule|s spec.timeZone=<none>|&suspend|# status.active|"
     "a status.lastScheduleTime=<none>|age|c spec.jobTemplate.spec.template."
     "spec|m spec.jobTemplate.spec.template.spec|"
     "L spec.jobTemplate.spec.selector"},
    {"batch", "jobs", "name|&job|age" WIDE "|L spec.selector"},
    {"certificates.k8s.io", "certificatesigningrequests",
     "name|age|s spec.signerName=<none>|s spec.username|&csr"},
    {"coordination.k8s.io", "leases", "name|s spec.holderIdentity|age"},
    {"discovery.k8s.io", "endpointslices", "name|s addressType|&slice|age"},
    {"events.k8s.io", "events", EVENT},
    {"networking.k8s.io", "ingressclasses",
     "&default_name|s spec.controller|&ingress_parameters|age"},
    {"networking.k8s.io", "ingresses",
     "name|s spec.ingressClassName=<none>|&hosts|&address|&ingress_ports|age"},
    {"networking.k8s.io", "networkpolicies", "name|L spec.podSelector|age"},
    {"node.k8s.io", "runtimeclasses", "name|s handler|age"},
    {"policy", "poddisruptionbudgets",
     "name|N spec.minAvailable=N/A|N spec.maxUnavailable=N/A|"
     "i status.disruptionsAllowed|age"},
    {"rbac.authorization.k8s.io", "clusterrolebindings", BINDING},
    {"rbac.authorization.k8s.io", "rolebindings", BINDING},
    {"scheduling.k8s.io", "priorityclasses",
     "name|i value|b globalDefault|age|s preemptionPolicy"},
    {"storage.k8s.io", "storageclasses",
     "&default_name|s provisioner|s reclaimPolicy=Delete|"
     "s volumeBindingMode=Immediate|b allowVolumeExpansion|age"},
    {0}};
