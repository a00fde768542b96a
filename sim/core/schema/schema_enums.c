/*
 * schema_enums.c - the values that fields of the built-in kinds may have, read
 * off a real kube-apiserver 1.36 by sim/tools/enums; not edited by hand.
 */
#include "sim/core/schema/schema_table.h"

const kl__schema_enum kl__schema_enums[] = {
    {"io.k8s.api.admissionregistration.v1.MutatingWebhook", "failurePolicy",
     "Fail,Ignore"},
    {"io.k8s.api.admissionregistration.v1.MutatingWebhook", "matchPolicy",
     "Equivalent,Exact"},
    {"io.k8s.api.admissionregistration.v1.MutatingWebhook",
     "reinvocationPolicy", "IfNeeded,Never"},
    {"io.k8s.api.admissionregistration.v1.MutatingWebhook", "sideEffects",
     "None,NoneOnDryRun,Some,Unknown"},
    {"io.k8s.api.admissionregistration.v1.RuleWithOperations", "operations",
     "*,CONNECT,CREATE,DELETE,UPDATE"},
    {"io.k8s.api.admissionregistration.v1.RuleWithOperations", "scope",
     "*,Cluster,Namespaced"},
    {"io.k8s.api.admissionregistration.v1.ValidatingWebhook", "failurePolicy",
     "Fail,Ignore"},
    {"io.k8s.api.admissionregistration.v1.ValidatingWebhook", "matchPolicy",
     "Equivalent,Exact"},
    {"io.k8s.api.admissionregistration.v1.ValidatingWebhook", "sideEffects",
     "None,NoneOnDryRun,Some,Unknown"},
    {"io.k8s.api.apps.v1.DaemonSetUpdateStrategy", "type",
     "OnDelete,RollingUpdate"},
    {"io.k8s.api.apps.v1.DeploymentStrategy", "type", "Recreate,RollingUpdate"},
    {"io.k8s.api.apps.v1.StatefulSetSpec", "podManagementPolicy",
     "OrderedReady,Parallel"},
    {"io.k8s.api.apps.v1.StatefulSetUpdateStrategy", "type",
     "OnDelete,RollingUpdate"},
    {"io.k8s.api.batch.v1.CronJobSpec", "concurrencyPolicy",
     "Allow,Forbid,Replace"},
    {"io.k8s.api.batch.v1.JobSpec", "completionMode", "Indexed,NonIndexed"},
    {"io.k8s.api.batch.v1.JobSpec", "podReplacementPolicy",
     "Failed,TerminatingOrFailed"},
    {"io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement", "operator",
     "In,NotIn"},
    {"io.k8s.api.batch.v1.PodFailurePolicyRule", "action",
     "Count,FailIndex,FailJob,Ignore"},
    {"io.k8s.api.certificates.v1.CertificateSigningRequestSpec", "usages",
     "any,cert sign,client auth,code signing,content commitment,crl sign,data "
     "encipherment,decipher only,digital signature,email protection,encipher "
     "only,ipsec end system,ipsec tunnel,ipsec user,key agreement,key "
     "encipherment,microsoft sgc,netscape sgc,ocsp signing,s/mime,server "
     "auth,signing,timestamping"},
    {"io.k8s.api.core.v1.AppArmorProfile", "type",
     "Localhost,RuntimeDefault,Unconfined"},
    {"io.k8s.api.core.v1.AzureDiskVolumeSource", "cachingMode",
     "None,ReadOnly,ReadWrite"},
    {"io.k8s.api.core.v1.AzureDiskVolumeSource", "kind",
     "Dedicated,Managed,Shared"},
    {"io.k8s.api.core.v1.Container", "imagePullPolicy",
     "Always,IfNotPresent,Never"},
    {"io.k8s.api.core.v1.Container", "terminationMessagePolicy",
     "FallbackToLogsOnError,File"},
    {"io.k8s.api.core.v1.ContainerPort", "protocol", "SCTP,TCP,UDP"},
    {"io.k8s.api.core.v1.ContainerStatus", "stopSignal",
     "SIGABRT,SIGALRM,SIGBUS,SIGCHLD,SIGCLD,SIGCONT,SIGFPE,SIGHUP,SIGILL,"
     "SIGINT,SIGIO,SIGIOT,SIGKILL,SIGPIPE,SIGPOLL,SIGPROF,SIGPWR,SIGQUIT,"
     "SIGRTMAX,SIGRTMAX-1,SIGRTMAX-10,SIGRTMAX-11,SIGRTMAX-12,SIGRTMAX-13,"
     "SIGRTMAX-14,SIGRTMAX-2,SIGRTMAX-3,SIGRTMAX-4,SIGRTMAX-5,SIGRTMAX-6,"
     "SIGRTMAX-7,SIGRTMAX-8,SIGRTMAX-9,SIGRTMIN,SIGRTMIN+1,SIGRTMIN+10,"
     "SIGRTMIN+11,SIGRTMIN+12,SIGRTMIN+13,SIGRTMIN+14,SIGRTMIN+15,SIGRTMIN+2,"
     "SIGRTMIN+3,SIGRTMIN+4,SIGRTMIN+5,SIGRTMIN+6,SIGRTMIN+7,SIGRTMIN+8,"
     "SIGRTMIN+9,SIGSEGV,SIGSTKFLT,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,"
     "SIGTTIN,SIGTTOU,SIGURG,SIGUSR1,SIGUSR2,SIGVTALRM,SIGWINCH,SIGXCPU,"
     "SIGXFSZ"},
    {"io.k8s.api.core.v1.EndpointPort", "protocol", "SCTP,TCP,UDP"},
    {"io.k8s.api.core.v1.EphemeralContainer", "imagePullPolicy",
     "Always,IfNotPresent,Never"},
    {"io.k8s.api.core.v1.EphemeralContainer", "terminationMessagePolicy",
     "FallbackToLogsOnError,File"},
    {"io.k8s.api.core.v1.HTTPGetAction", "scheme", "HTTP,HTTPS"},
    {"io.k8s.api.core.v1.HostPathVolumeSource", "type",
     ",BlockDevice,CharDevice,Directory,DirectoryOrCreate,File,FileOrCreate,"
     "Socket"},
    {"io.k8s.api.core.v1.ImageVolumeSource", "pullPolicy",
     "Always,IfNotPresent,Never"},
    {"io.k8s.api.core.v1.Lifecycle", "stopSignal",
     "SIGABRT,SIGALRM,SIGBUS,SIGCHLD,SIGCLD,SIGCONT,SIGFPE,SIGHUP,SIGILL,"
     "SIGINT,SIGIO,SIGIOT,SIGKILL,SIGPIPE,SIGPOLL,SIGPROF,SIGPWR,SIGQUIT,"
     "SIGRTMAX,SIGRTMAX-1,SIGRTMAX-10,SIGRTMAX-11,SIGRTMAX-12,SIGRTMAX-13,"
     "SIGRTMAX-14,SIGRTMAX-2,SIGRTMAX-3,SIGRTMAX-4,SIGRTMAX-5,SIGRTMAX-6,"
     "SIGRTMAX-7,SIGRTMAX-8,SIGRTMAX-9,SIGRTMIN,SIGRTMIN+1,SIGRTMIN+10,"
     "SIGRTMIN+11,SIGRTMIN+12,SIGRTMIN+13,SIGRTMIN+14,SIGRTMIN+15,SIGRTMIN+2,"
     "SIGRTMIN+3,SIGRTMIN+4,SIGRTMIN+5,SIGRTMIN+6,SIGRTMIN+7,SIGRTMIN+8,"
     "SIGRTMIN+9,SIGSEGV,SIGSTKFLT,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,"
     "SIGTTIN,SIGTTOU,SIGURG,SIGUSR1,SIGUSR2,SIGVTALRM,SIGWINCH,SIGXCPU,"
     "SIGXFSZ"},
    {"io.k8s.api.core.v1.ModifyVolumeStatus", "status",
     "InProgress,Infeasible,Pending"},
    {"io.k8s.api.core.v1.NamespaceStatus", "phase", "Active,Terminating"},
    {"io.k8s.api.core.v1.NodeSelectorRequirement", "operator",
     "DoesNotExist,Exists,Gt,In,Lt,NotIn"},
    {"io.k8s.api.core.v1.NodeStatus", "phase", "Pending,Running,Terminated"},
    {"io.k8s.api.core.v1.PersistentVolumeClaimSpec", "accessModes",
     "ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod"},
    {"io.k8s.api.core.v1.PersistentVolumeClaimSpec", "volumeMode",
     "Block,Filesystem"},
    {"io.k8s.api.core.v1.PersistentVolumeClaimStatus", "accessModes",
     "ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod"},
    {"io.k8s.api.core.v1.PersistentVolumeClaimStatus", "phase",
     "Bound,Lost,Pending"},
    {"io.k8s.api.core.v1.PersistentVolumeSpec", "accessModes",
     "ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod"},
    {"io.k8s.api.core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy",
     "Delete,Recycle,Retain"},
    {"io.k8s.api.core.v1.PersistentVolumeSpec", "volumeMode",
     "Block,Filesystem"},
    {"io.k8s.api.core.v1.PersistentVolumeStatus", "phase",
     "Available,Bound,Failed,Pending,Released"},
    {"io.k8s.api.core.v1.PodSecurityContext", "fsGroupChangePolicy",
     "Always,OnRootMismatch"},
    {"io.k8s.api.core.v1.PodSecurityContext", "supplementalGroupsPolicy",
     "Merge,Strict"},
    {"io.k8s.api.core.v1.PodSpec", "dnsPolicy",
     "ClusterFirst,ClusterFirstWithHostNet,Default,None"},
    {"io.k8s.api.core.v1.PodSpec", "preemptionPolicy",
     "Never,PreemptLowerPriority"},
    {"io.k8s.api.core.v1.PodSpec", "restartPolicy", "Always,Never,OnFailure"},
    {"io.k8s.api.core.v1.PodStatus", "phase",
     "Failed,Pending,Running,Succeeded,Unknown"},
    {"io.k8s.api.core.v1.PodStatus", "qosClass",
     "BestEffort,Burstable,Guaranteed"},
    {"io.k8s.api.core.v1.PortStatus", "protocol", "SCTP,TCP,UDP"},
    {"io.k8s.api.core.v1.ResourceQuotaSpec", "scopes",
     "BestEffort,CrossNamespacePodAffinity,NotBestEffort,NotTerminating,"
     "PriorityClass,Terminating,VolumeAttributesClass"},
    {"io.k8s.api.core.v1.ScopedResourceSelectorRequirement", "operator",
     "DoesNotExist,Exists,In,NotIn"},
    {"io.k8s.api.core.v1.ScopedResourceSelectorRequirement", "scopeName",
     "BestEffort,CrossNamespacePodAffinity,NotBestEffort,NotTerminating,"
     "PriorityClass,Terminating,VolumeAttributesClass"},
    {"io.k8s.api.core.v1.SeccompProfile", "type",
     "Localhost,RuntimeDefault,Unconfined"},
    {"io.k8s.api.core.v1.SecurityContext", "procMount", "Default,Unmasked"},
    {"io.k8s.api.core.v1.ServicePort", "protocol", "SCTP,TCP,UDP"},
    {"io.k8s.api.core.v1.ServiceSpec", "externalTrafficPolicy",
     "Cluster,Local"},
    {"io.k8s.api.core.v1.ServiceSpec", "internalTrafficPolicy",
     "Cluster,Local"},
    {"io.k8s.api.core.v1.ServiceSpec", "ipFamilies", ",IPv4,IPv6"},
    {"io.k8s.api.core.v1.ServiceSpec", "ipFamilyPolicy",
     "PreferDualStack,RequireDualStack,SingleStack"},
    {"io.k8s.api.core.v1.ServiceSpec", "sessionAffinity", "ClientIP,None"},
    {"io.k8s.api.core.v1.ServiceSpec", "type",
     "ClusterIP,ExternalName,LoadBalancer,NodePort"},
    {"io.k8s.api.core.v1.Taint", "effect",
     "NoExecute,NoSchedule,PreferNoSchedule"},
    {"io.k8s.api.core.v1.Toleration", "effect",
     "NoExecute,NoSchedule,PreferNoSchedule"},
    {"io.k8s.api.core.v1.Toleration", "operator", "Equal,Exists,Gt,Lt"},
    {"io.k8s.api.core.v1.TopologySpreadConstraint", "nodeAffinityPolicy",
     "Honor,Ignore"},
    {"io.k8s.api.core.v1.TopologySpreadConstraint", "nodeTaintsPolicy",
     "Honor,Ignore"},
    {"io.k8s.api.core.v1.TopologySpreadConstraint", "whenUnsatisfiable",
     "DoNotSchedule,ScheduleAnyway"},
    {"io.k8s.api.core.v1.VolumeMount", "mountPropagation",
     "Bidirectional,HostToContainer,None"},
    {"io.k8s.api.discovery.v1.EndpointPort", "protocol", "SCTP,TCP,UDP"},
    {"io.k8s.api.discovery.v1.EndpointSlice", "addressType", "FQDN,IPv4,IPv6"},
    {"io.k8s.api.networking.v1.HTTPIngressPath", "pathType",
     "Exact,ImplementationSpecific,Prefix"},
    {"io.k8s.api.networking.v1.IngressPortStatus", "protocol", "SCTP,TCP,UDP"},
    {"io.k8s.api.networking.v1.NetworkPolicyPort", "protocol", "SCTP,TCP,UDP"},
    {"io.k8s.api.networking.v1.NetworkPolicySpec", "policyTypes",
     "Egress,Ingress"},
    {"io.k8s.api.policy.v1.PodDisruptionBudgetSpec",
     "unhealthyPodEvictionPolicy", "AlwaysAllow,IfHealthyBudget"},
    {"io.k8s.api.scheduling.v1.PriorityClass", "preemptionPolicy",
     "Never,PreemptLowerPriority"},
    {"io.k8s.api.storage.v1.StorageClass", "reclaimPolicy",
     "Delete,Recycle,Retain"},
    {"io.k8s.api.storage.v1.StorageClass", "volumeBindingMode",
     "Immediate,WaitForFirstConsumer"},
    {"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule",
     "reason",
     "FieldValueDuplicate,FieldValueForbidden,FieldValueInvalid,"
     "FieldValueRequired"},
};

const size_t kl__schema_enum_count =
    sizeof(kl__schema_enums) / sizeof(kl__schema_enums[0]);
