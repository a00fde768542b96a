/*
 * vet_cases.c - see vet_cases.h. The messages are kube-apiserver 1.36's.
 */
#include "vet_cases.h"

#define IN_DEFAULT "/namespaces/default/"
#define PODS "/api/v1" IN_DEFAULT "pods"
#define DEPLOYMENTS "/apis/apps/v1" IN_DEFAULT "deployments"

const vet_case vet_cases[] = {
    {PODS, "{metadata: {name: a}, spec: {}}",
     "Pod \"a\" is invalid: spec.containers: Required value"},
    {PODS,
     "{metadata: {name: a}, spec: {containers: [{name: c, image: i}, {name: c, "
     "image: i}]}}",
     "Pod \"a\" is invalid: spec.containers[1].name: Duplicate value: \"c\""},
    {PODS,
     "{metadata: {name: a}, spec: {restartPolicy: 'No', containers: [{name: c, "
     "image: i}]}}",
     "Pod \"a\" is invalid: spec.restartPolicy: Unsupported value: \"No\": "
     "supported values: \"Always\", \"OnFailure\", \"Never\""},
    {PODS,
     "{metadata: {name: a}, spec: {containers: [{name: c, image: i, "
     "volumeMounts: [{name: v, mountPath: /v}]}]}}",
     "Pod \"a\" is invalid: spec.containers[0].volumeMounts[0].name: Not "
     "found: \"v\""},
    {PODS,
     "{metadata: {name: a}, spec: {containers: [{name: c, image: i, resources: "
     "{requests: {memory: '2Gi'}, limits: {memory: '1Gi'}}}]}}",
     "Pod \"a\" is invalid: spec.containers[0].resources.requests: Invalid "
     "value: \"2Gi\": must be less than or equal to memory limit of 1Gi"},
    {DEPLOYMENTS,
     "{metadata: {name: a}, spec: {selector: {matchLabels: {app: x}}, "
     "template: {metadata: {labels: {app: 'y'}}, spec: {containers: [{name: c, "
     "image: i}]}}}}",
     "Deployment.apps \"a\" is invalid: spec.template.metadata.labels: Invalid "
     "value: {\"app\":\"y\"}: `selector` does not match template `labels`"},
    {"/api/v1" IN_DEFAULT "services", "{metadata: {name: a}}",
     "Service \"a\" is invalid: spec.ports: Required value"},
    {"/api/v1" IN_DEFAULT "configmaps",
     "{metadata: {name: a}, data: {'..': ''}}",
     "ConfigMap \"a\" is invalid: data[..]: Invalid value: \"..\": must not be "
     "'..'"},
    {"/api/v1" IN_DEFAULT "secrets",
     "{metadata: {name: a}, type: kubernetes.io/tls}",
     "Secret \"a\" is invalid: [data[tls.crt]: Required value, data[tls.key]: "
     "Required value]"},
    {"/apis/batch/v1" IN_DEFAULT "cronjobs",
     "{metadata: {name: a}, spec: {schedule: often, jobTemplate: {spec: "
     "{template: {spec: {restartPolicy: Never, containers: [{name: c, image: "
     "i}]}}}}}}",
     "CronJob.batch \"a\" is invalid: spec.schedule: Invalid value: \"often\": "
     "expected exactly 5 fields, found 1: [often]"},
    {"/apis/networking.k8s.io/v1" IN_DEFAULT "ingresses",
     "{metadata: {name: a}, spec: {}}",
     "Ingress.networking.k8s.io \"a\" is invalid: spec: Invalid value: null: "
     "either `defaultBackend` or `rules` must be specified"}};

const size_t vet_case_count = sizeof(vet_cases) / sizeof(vet_cases[0]);
