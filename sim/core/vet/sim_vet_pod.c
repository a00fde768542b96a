/*
 * sim_vet_pod.c - see sim_vet.h: validates Pods and pod templates.
 */
#include "sim/core/vet/sim_vet.h"

#include <stdint.h>
#include <string.h>

/* --- Volumes. ------------------------------------------------------------- */

/* The sources of volumes, in the order in which kube-apiserver checks them, and
 * a member that each requires. */
static const struct {
    const char *name;
    const char *needs; /* NULL: nothing is checked */
} sources[] = {{"emptyDir", NULL},
               {"hostPath", "path"},
               {"gitRepo", "repository"},
               {"gcePersistentDisk", "pdName"},
               {"awsElasticBlockStore", "volumeID"},
               {"secret", "secretName"},
               {"nfs", "server"},
               {"iscsi", "targetPortal"},
               {"glusterfs", "endpoints"},
               {"flocker", NULL},
               {"persistentVolumeClaim", "claimName"},
               {"rbd", NULL},
               {"cinder", "volumeID"},
               {"cephfs", NULL},
               {"quobyte", "registry"},
               {"downwardAPI", NULL},
               {"fc", NULL},
               {"azureFile", "secretName"},
               {"configMap", "name"},
               {"vsphereVolume", "volumePath"},
               {"azureDisk", "diskName"},
               {"storageos", NULL},
               {"portworxVolume", "volumeID"},
               {"scaleIO", "gateway"},
               {"photonPersistentDisk", "pdID"},
               {"projected", NULL},
               {"csi", "driver"},
               {"ephemeral", NULL},
               {"image", NULL}};

static void check_volume_source(kl__vet *vet, const kl__node *volume)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        const kl__node *source = kl__node_get(volume, sources[i].name);
        size_t mark;

        if (source == NULL) {
            continue;
        }
        if (count++ > 0) {
            kl__vet_fault(vet, KL__FIELD_FORBIDDEN, sources[i].name, NULL,
                          "may not specify more than 1 volume type");
        } else if (sources[i].needs != NULL) {
            mark = kl__vet_into(vet, sources[i].name);
            kl__vet_required(vet, source, sources[i].needs);
            kl__vet_back(vet, mark);
        }
    }
    if (count == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL,
                      "must specify a volume type");
    }
}

/* Checks the volumes of a PodSpec; adds their names to the map, borrowed. */
static void vet_volumes(kl__vet *vet, const kl__node *volumes, kl__map *names)
{
    kl__node_iter iter = {0};
    const kl__node *volume;
    size_t outer = kl__vet_into(vet, "volumes"), index = 0;

    while ((volume = kl__node_next(volumes, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++), before = vet->errors->count;

        check_volume_source(vet, volume);
        if (kl__vet_required(vet, volume, "name")) {
            kl__vet_label(vet, volume, "name");
        }
        if (vet->errors->count == before ||
            kl__map_get(names, kl__vet_text(volume, "name")) != NULL) {
            kl__vet_unique(vet, names, "name", kl__vet_text(volume, "name"));
        }
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

/* --- The whole spec. ------------------------------------------------------ */

/* Adds the names of a StatefulSet's claims to the volumes: each claim is a
 * volume of its pods. */
static void put_claims(kl__vet *vet, const kl__node *claims, kl__map *volumes)
{
    kl__node_iter iter = {0};
    const kl__node *claim;

    while ((claim = kl__node_next(claims, &iter, NULL, NULL)) != NULL) {
        const char *name =
            kl__vet_text(kl__node_get(claim, "metadata"), "name");

        vet->errors->failed |= !kl__map_put(volumes, name, volumes, NULL);
    }
}

/* Checks a PodSpec, the current value. The names of `claims` (may be NULL)
 * count as volumes too. */
static void vet_pod_spec(kl__vet *vet, const kl__node *spec,
                         const kl__node *claims)
{
    static const char *const restarts[] = {"Always", "OnFailure", "Never",
                                           NULL};
    static const char *const resolvers[] = {
        "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", NULL};
    static const char *const preempts[] = {"PreemptLowerPriority", "Never",
                                           NULL};
    kl__map volumes = {0};

    vet_volumes(vet, kl__node_get(spec, "volumes"), &volumes);
    put_claims(vet, claims, &volumes);
    kl__vet_containers(vet, spec, "containers", &volumes);
    kl__vet_containers(vet, spec, "initContainers", &volumes);
    kl__map_deinit(&volumes);
    kl__vet_enum(vet, spec, "restartPolicy", restarts);
    kl__vet_enum(vet, spec, "dnsPolicy", resolvers);
    kl__vet_labels(vet, kl__node_get(spec, "nodeSelector"), "nodeSelector");
    kl__vet_subdomain(vet, spec, "serviceAccountName");
    kl__vet_subdomain(vet, spec, "nodeName");
    kl__vet_range(vet, spec, "activeDeadlineSeconds", 1, INT32_MAX);
    kl__vet_label(vet, spec, "hostname");
    kl__vet_label(vet, spec, "subdomain");
    kl__vet_subdomain(vet, spec, "priorityClassName");
    kl__vet_subdomain(vet, spec, "runtimeClassName");
    kl__vet_enum(vet, spec, "preemptionPolicy", preempts);
}

void kl__vet_pod(kl__vet *vet, const kl__node *object)
{
    const kl__node *spec = kl__node_get(object, "spec");
    size_t mark = kl__vet_into(vet, "spec");

    vet_pod_spec(vet, spec, NULL);
    kl__vet_back(vet, mark);
}

void kl__vet_template(kl__vet *vet, const kl__node *template,
                      const kl__node *claims)
{
    const kl__node *metadata = kl__node_get(template, "metadata");
    size_t outer = kl__vet_into(vet, "template"), mark;

    kl__vet_labels(vet, kl__node_get(metadata, "labels"), "labels");
    mark = kl__vet_into(vet, "spec");
    vet_pod_spec(vet, kl__node_get(template, "spec"), claims);
    kl__vet_back(vet, mark);
    kl__vet_back(vet, outer);
}
