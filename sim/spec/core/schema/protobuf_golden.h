/*
 * protobuf_golden.h - objects as a real kube-apiserver answered them, in JSON
 * and in protobuf (here in base64); read off it by sim/tools/protobuf.
 */
#ifndef KL_SPEC_PROTOBUF_GOLDEN_H
#define KL_SPEC_PROTOBUF_GOLDEN_H

typedef struct protobuf_golden {
    const char *json;
    const char *protobuf;
} protobuf_golden;

/* clang-format off */
static const protobuf_golden protobuf_goldens[] = {
    {"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"gol"
     "den\",\"namespace\":\"default\",\"uid\":\"58239b43-f1ee-4770-9795-dc92"
     "d84a4a15\",\"resourceVersion\":\"1076\",\"generation\":1,\"creationTi"
     "mestamp\":\"2026-11-22T05:07:54Z\"},\"spec\":{\"volumes\":[{\"name"
     "\":\"tmp\",\"emptyDir\":{\"sizeLimit\":\"1Gi\"}}],\"containers\":"
     "[{\"name\":\"app\",\"image\":\"app:1\",\"env\":[{\"name\":\"A\"},"
     "{\"name\":\"B\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\""
     "limits.cpu\",\"divisor\":\"0\"}}}],\"resources\":{\"limits\":{\"cp"
     "u\":\"500m\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"500m\",\""
     "memory\":\"1Gi\"}},\"livenessProbe\":{\"httpGet\":{\"path\":\"/\""
     ",\"port\":\"web\",\"scheme\":\"HTTP\"},\"timeoutSeconds\":1,\"period"
     "Seconds\":10,\"successThreshold\":1,\"failureThreshold\":3},\"readines"
     "sProbe\":{\"tcpSocket\":{\"port\":80},\"timeoutSeconds\":1,\"periodSe"
     "conds\":10,\"successThreshold\":1,\"failureThreshold\":3},\"terminatio"
     "nMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\""
     ":\"File\",\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":"
     "\"Always\",\"terminationGracePeriodSeconds\":0,\"dnsPolicy\":\"Cluste"
     "rFirst\",\"automountServiceAccountToken\":false,\"securityContext\":{"
     "},\"schedulerName\":\"default-scheduler\",\"tolerations\":[{\"key\":\""
     "node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"N"
     "oExecute\",\"tolerationSeconds\":300},{\"key\":\"node.kubernetes.io/un"
     "reachable\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerat"
     "ionSeconds\":300}],\"priority\":0,\"enableServiceLinks\":true,\"preemp"
     "tionPolicy\":\"PreemptLowerPriority\"},\"status\":{\"phase\":\"Pendi"
     "ng\",\"qosClass\":\"Guaranteed\"}}",
     "azhzAAoJCgJ2MRIDUG9kEs8ECk0KBmdvbGRlbhIAGgdkZWZhdWx0IgAqJDU4MjM5YjQzLW"
     "YxZWUtNDc3MC05Nzk1LWRjOTJkODRhNGExNTIEMTA3NjgBQggIqvGJ2AYQABLXAwoSCgN0"
     "bXASCxIJCgASBQoDMUdpEukBCgNhcHASBWFwcDoxKgA6BQoBQRIAOhwKAUISABoVEhMKAB"
     "IKbGltaXRzLmNwdRoDCgEwQkAKDQoDY3B1EgYKBDUwMG0KDwoGbWVtb3J5EgUKAzFHaRIN"
     "CgNjcHUSBgoENTAwbRIPCgZtZW1vcnkSBQoDMUdpUiQKGBIWCgEvEgkIARAAGgN3ZWIaAC"
     "IESFRUUBAAGAEgCigBMANaGAoMGgoKBggAEFAaABIAEAAYASAKKAEwA2oUL2Rldi90ZXJt"
     "aW5hdGlvbi1sb2dyDElmTm90UHJlc2VudIABAIgBAJABAKIBBEZpbGUaBkFsd2F5cyAAMg"
     "xDbHVzdGVyRmlyc3RCAEoAUgBYAGAAaAByAIIBAIoBAJoBEWRlZmF1bHQtc2NoZWR1bGVy"
     "qAEAsgE2Chxub2RlLmt1YmVybmV0ZXMuaW8vbm90LXJlYWR5EgZFeGlzdHMaACIJTm9FeG"
     "VjdXRlKKwCsgE4Ch5ub2RlLmt1YmVybmV0ZXMuaW8vdW5yZWFjaGFibGUSBkV4aXN0cxoA"
     "IglOb0V4ZWN1dGUorALCAQDIAQDwAQH6ARRQcmVlbXB0TG93ZXJQcmlvcml0eRokCgdQZW"
     "5kaW5nGgAiACoAMgBKCkd1YXJhbnRlZWRaAHIAiAEAGgAiAA=="},
    {"{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
     "\"golden\",\"namespace\":\"default\",\"uid\":\"7e9a09ea-4fce-447b-83db"
     "-f1810234df95\",\"resourceVersion\":\"1081\",\"creationTimestamp\":\"2"
     "026-11-22T05:07:54Z\"},\"spec\":{\"ports\":[{\"name\":\"http\",\"pr"
     "otocol\":\"TCP\",\"port\":80,\"targetPort\":\"web\"},{\"name\":\"mo"
     "re\",\"protocol\":\"TCP\",\"port\":81,\"targetPort\":81}],\"sele"
     "ctor\":{\"a\":\"2\",\"b\":\"1\"},\"clusterIP\":\"10.0.0.196\",\"clus"
     "terIPs\":[\"10.0.0.196\"],\"type\":\"ClusterIP\",\"sessionAffinity"
     "\":\"None\",\"ipFamilies\":[\"IPv4\"],\"ipFamilyPolicy\":\"SingleSta"
     "ck\",\"internalTrafficPolicy\":\"Cluster\"},\"status\":{\"loadBalance"
     "r\":{}}}",
     "azhzAAoNCgJ2MRIHU2VydmljZRLuAQpNCgZnb2xkZW4SABoHZGVmYXVsdCIAKiQ3ZTlhMD"
     "llYS00ZmNlLTQ0N2ItODNkYi1mMTgxMDIzNGRmOTUyBDEwODE4AEIICKrxidgGEAASmAEK"
     "GgoEaHR0cBIDVENQGFAiCQgBEAAaA3dlYigAChcKBG1vcmUSA1RDUBhRIgYIABBRGgAoAB"
     "IGCgFhEgEyEgYKAWISATEaCjEwLjAuMC4xOTYiCUNsdXN0ZXJJUDoETm9uZUIAUgBaAGAA"
     "aACKAQtTaW5nbGVTdGFja5IBCjEwLjAuMC4xOTaaAQRJUHY0sgEHQ2x1c3RlchoCCgAaAC"
     "IA"},
    {"{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\""
     "golden\",\"namespace\":\"default\",\"uid\":\"7dbd52fd-c68a-45ec-9f28-3"
     "73df1871cd4\",\"resourceVersion\":\"1085\",\"creationTimestamp\":\"202"
     "6-11-22T05:07:54Z\"},\"immutable\":false,\"data\":{\"bytes\":\"AAEC/"
     "w==\",\"empty\":\"\"},\"type\":\"Opaque\"}",
     "azhzAAoMCgJ2MRIGU2VjcmV0EnMKTQoGZ29sZGVuEgAaB2RlZmF1bHQiACokN2RiZDUyZm"
     "QtYzY4YS00NWVjLTlmMjgtMzczZGYxODcxY2Q0MgQxMDg1OABCCAiq8YnYBhAAEg0KBWJ5"
     "dGVzEgQAAQL/EgkKBWVtcHR5EgAaBk9wYXF1ZSgAGgAiAA=="},
    {"{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"meta"
     "data\":{\"name\":\"golden\",\"namespace\":\"default\",\"uid\":\"7f8850"
     "21-8c12-4822-a572-3ba13b8efdd4\",\"resourceVersion\":\"1088\",\"creati"
     "onTimestamp\":\"2026-11-22T05:07:54Z\"},\"spec\":{\"holderIdentity"
     "\":\"me\",\"leaseDurationSeconds\":15,\"renewTime\":\"2026-01-02T03:04"
     ":05.000006Z\"}}",
     "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRJiCk0KBmdvbGRlbhIAGg"
     "dkZWZhdWx0IgAqJDdmODg1MDIxLThjMTItNDgyMi1hNTcyLTNiYTEzYjhlZmRkNDIEMTA4"
     "ODgAQggIqvGJ2AYQABIRCgJtZRAPIgkIpevcygYQ8C4aACIA"},
    {"{\"kind\":\"ValidatingWebhookConfiguration\",\"apiVersion\":\"admissio"
     "nregistration.k8s.io/v1\",\"metadata\":{\"name\":\"golden\",\"uid\":\""
     "71a390ba-a882-4fb5-a594-ed2683ad8700\",\"resourceVersion\":\"1091\",\""
     "generation\":1,\"creationTimestamp\":\"2026-11-22T05:07:54Z\"},\"webh"
     "ooks\":[{\"name\":\"a.example.com\",\"clientConfig\":{\"url\":\"https:"
     "//example.com\"},\"rules\":[{\"operations\":[\"CREATE\"],\"apiGrou"
     "ps\":[\"\"],\"apiVersions\":[\"v1\"],\"resources\":[\"nothing\"],"
     "\"scope\":\"*\"}],\"failurePolicy\":\"Fail\",\"matchPolicy\":\"Equiv"
     "alent\",\"namespaceSelector\":{},\"objectSelector\":{},\"sideEffect"
     "s\":\"None\",\"timeoutSeconds\":10,\"admissionReviewVersions\":[\"v1\""
     "]}]}",
     "azhzAApBCh9hZG1pc3Npb25yZWdpc3RyYXRpb24uazhzLmlvL3YxEh5WYWxpZGF0aW5nV2"
     "ViaG9va0NvbmZpZ3VyYXRpb24SsAEKRgoGZ29sZGVuEgAaACIAKiQ3MWEzOTBiYS1hODgy"
     "LTRmYjUtYTU5NC1lZDI2ODNhZDg3MDAyBDEwOTE4AUIICKrxidgGEAASZgoNYS5leGFtcG"
     "xlLmNvbRIVGhNodHRwczovL2V4YW1wbGUuY29tGhwKBkNSRUFURRISCgASAnYxGgdub3Ro"
     "aW5nIgEqIgRGYWlsKgAyBE5vbmU4CkICdjFKCkVxdWl2YWxlbnRSABoAIgA="},
    {"{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions."
     "k8s.io/v1\",\"metadata\":{\"name\":\"goldens.example.com\",\"uid\":\"8"
     "03cec0a-2b79-498f-935a-f51a14377e5e\",\"resourceVersion\":\"1097\",\"g"
     "eneration\":1,\"creationTimestamp\":\"2026-11-22T05:07:54Z\"},\"spec"
     "\":{\"group\":\"example.com\",\"names\":{\"plural\":\"goldens\",\"si"
     "ngular\":\"golden\",\"kind\":\"Golden\",\"listKind\":\"GoldenList\""
     "},\"scope\":\"Cluster\",\"versions\":[{\"name\":\"v1\",\"served\":tr"
     "ue,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"obje"
     "ct\",\"properties\":{\"list\":{\"type\":\"array\",\"items\":{\"typ"
     "e\":\"integer\",\"default\":1,\"enum\":[1,2]}},\"map\":{\"type\":\"o"
     "bject\",\"additionalProperties\":{\"type\":\"string\"}},\"open\":{\""
     "type\":\"object\",\"additionalProperties\":true},\"real\":{\"type\""
     ":\"number\",\"minimum\":0.5}}}}}],\"conversion\":{\"strategy\":\"Non"
     "e\"}},\"status\":{\"conditions\":[{\"type\":\"NamesAccepted\",\"st"
     "atus\":\"True\",\"lastTransitionTime\":\"2026-11-22T05:07:54Z\",\"re"
     "ason\":\"NoConflicts\",\"message\":\"no conflicts found\"},{\"type\":"
     "\"Established\",\"status\":\"True\",\"lastTransitionTime\":\"2026-11-2"
     "2T05:07:54Z\",\"reason\":\"InitialNamesAccepted\",\"message\":\"the in"
     "itial names have been accepted\"}],\"acceptedNames\":{\"plural\":\"go"
     "ldens\",\"singular\":\"golden\",\"kind\":\"Golden\",\"listKind\":\"G"
     "oldenList\"},\"storedVersions\":[\"v1\"]}}",
     "azhzAAozChdhcGlleHRlbnNpb25zLms4cy5pby92MRIYQ3VzdG9tUmVzb3VyY2VEZWZpbm"
     "l0aW9uEtUFClMKE2dvbGRlbnMuZXhhbXBsZS5jb20SABoAIgAqJDgwM2NlYzBhLTJiNzkt"
     "NDk4Zi05MzVhLWY1MWExNDM3N2U1ZTIEMTA5NzgBQggIqvGJ2AYQABKsAwoLZXhhbXBsZS"
     "5jb20aJQoHZ29sZGVucxIGZ29sZGVuIgZHb2xkZW4qCkdvbGRlbkxpc3QiB0NsdXN0ZXI6"
     "4gIKAnYxEAEYASLVAgrSAgoAEgAiACoGb2JqZWN0MgA6AFAAYAB6AJABAOoBZgoEbGlzdB"
     "JeCgASACIAKgVhcnJheTIAOgBQAGAAegCQAQDCATgKNgoAEgAiACoHaW50ZWdlcjIAOgBC"
     "AwoBMVAAYAB6AJABAKIBAwoBMaIBAwoBMqgCALgCAMACAKgCALgCAMACAOoBVgoDbWFwEk"
     "8KABIAIgAqBm9iamVjdDIAOgBQAGAAegCQAQDyASgIARIkCgASACIAKgZzdHJpbmcyADoA"
     "UABgAHoAkAEAqAIAuAIAwAIAqAIAuAIAwAIA6gExCgRvcGVuEikKABIAIgAqBm9iamVjdD"
     "IAOgBQAGAAegCQAQDyAQIIAagCALgCAMACAOoBNQoEcmVhbBItCgASACIAKgZudW1iZXIy"
     "ADoAUABZAAAAAAAA4D9gAHoAkAEAqAIAuAIAwAIAqAIAuAIAwAIAOABKBgoETm9uZVAAGs"
     "4BCkIKDU5hbWVzQWNjZXB0ZWQSBFRydWUaCAiq8YnYBhAAIgtOb0NvbmZsaWN0cyoSbm8g"
     "Y29uZmxpY3RzIGZvdW5kMAAKWwoLRXN0YWJsaXNoZWQSBFRydWUaCAiq8YnYBhAAIhRJbm"
     "l0aWFsTmFtZXNBY2NlcHRlZCokdGhlIGluaXRpYWwgbmFtZXMgaGF2ZSBiZWVuIGFjY2Vw"
     "dGVkMAASJQoHZ29sZGVucxIGZ29sZGVuIgZHb2xkZW4qCkdvbGRlbkxpc3QaAnYxIAAaAC"
     "IA"},
    {"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"statu"
     "s\":\"Failure\",\"message\":\"pods \\\"none\\\" not found\",\"reason"
     "\":\"NotFound\",\"details\":{\"name\":\"none\",\"kind\":\"pods\"},\"c"
     "ode\":404}",
     "azhzAAoMCgJ2MRIGU3RhdHVzEkkKBgoAEgAaABIHRmFpbHVyZRoVcG9kcyAibm9uZSIgbm"
     "90IGZvdW5kIghOb3RGb3VuZCoSCgRub25lEgAaBHBvZHMoADIAMJQDGgAiAA=="},
};
/* clang-format on */

#endif
