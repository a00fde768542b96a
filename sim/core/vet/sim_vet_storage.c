/*
 * sim_vet_storage.c - see sim_vet.h: validates claims, volumes, and classes of
 * storage.
 */
#include "sim/core/vet/sim_vet.h"

#include "sim/core/schema/quantity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const volume_modes[] = {"Block", "Filesystem", NULL};

/* The amount must be more than 0. */
static void check_amount(kl__vet *vet, const char *key, const char *amount)
{
    if (kl__quantity_compare(amount, "0") <= 0) {
        size_t mark = kl__vet_key(vet, key);

        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, amount,
                      "must be greater than zero");
        kl__vet_back(vet, mark);
    }
}

static void check_modes(kl__vet *vet, const kl__node *spec, const char *none)
{
    static const char *const modes[] = {"ReadOnlyMany", "ReadWriteMany",
                                        "ReadWriteOnce", "ReadWriteOncePod",
                                        NULL};
    const kl__node *list = kl__node_get(spec, "accessModes"), *mode;
    kl__node_iter iter = {0};
    bool alone = false, together = false;

    if (kl__node_size(list) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "accessModes", NULL, none);
    }
    while ((mode = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(mode, NULL);

        text = text != NULL ? text : "";
        kl__vet_unsupported(vet, "accessModes", text, modes);
        alone |= strcmp(text, modes[3]) == 0;
        for (size_t i = 0; i < 3; i++) {
            together |= strcmp(text, modes[i]) == 0;
        }
    }
    if (alone && together) {
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN, "accessModes", NULL,
                      "may not use ReadWriteOncePod with other access modes");
    }
}

/* --- Claims. -------------------------------------------------------------- */

static void check_sources(kl__vet *vet, const kl__node *spec)
{
    static const char *const names[] = {"apiGroup", "kind", "name"};
    const kl__node *source = kl__node_get(spec, "dataSource");
    const kl__node *ref = kl__node_get(spec, "dataSourceRef");

    for (size_t i = 0; i < 3 && source != NULL && ref != NULL; i++) {
        if (strcmp(kl__vet_text(source, names[i]),
                   kl__vet_text(ref, names[i])) != 0) {
            kl__vet_shown(vet, KL__FIELD_INVALID, "{}",
                          "must match dataSourceRef");
            return;
        }
    }
}

void kl__vet_claim(kl__vet *vet, const kl__node *object)
{
    const kl__node *spec = kl__node_get(object, "spec");
    const char *storage = kl__node_text(
        kl__node_get(kl__node_get(spec, "resources"), "requests"), "storage");
    size_t mark = kl__vet_into(vet, "spec"), inner;

    if (kl__node_size(kl__node_get(spec, "accessModes")) == 0) {
        check_modes(vet, spec, "at least 1 access mode is required");
        kl__vet_selector(vet, spec, "selector");
    } else {
        kl__vet_selector(vet, spec, "selector");
        check_modes(vet, spec, "");
    }
    if (storage == NULL) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "resources[storage]", NULL, "");
    } else {
        inner = kl__vet_into(vet, "resources");
        check_amount(vet, "storage", storage);
        kl__vet_back(vet, inner);
    }
    kl__vet_subdomain(vet, spec, "storageClassName");
    kl__vet_enum(vet, spec, "volumeMode", volume_modes);
    check_sources(vet, spec);
    kl__vet_subdomain(vet, spec, "volumeAttributesClassName");
    kl__vet_back(vet, mark);
}

/* --- Volumes. ------------------------------------------------------------- */

/* The path is required, and must not contain "..". */
static void check_required_path(kl__vet *vet, const kl__node *source)
{
    const char *path = kl__vet_text(source, "path");
    bool back = strncmp(path, "../", 3) == 0 || strstr(path, "/../") != NULL ||
                strcmp(path, "..") == 0;

    if (kl__vet_required(vet, source, "path") &&
        (back ||
         (strlen(path) > 2 && strcmp(path + strlen(path) - 3, "/..") == 0))) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "path", path,
                      "must not contain '..'");
    }
}

static void check_host_path(kl__vet *vet, const kl__node *source)
{
    static const char *const types[] = {
        "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
        "File", "FileOrCreate", "Socket",     NULL};

    check_required_path(vet, source);
    kl__vet_enum(vet, source, "type", types);
}

static void check_nfs(kl__vet *vet, const kl__node *source)
{
    const char *path = kl__vet_text(source, "path");

    kl__vet_required(vet, source, "server");
    if (kl__vet_required(vet, source, "path") && *path != '/') {
        kl__vet_fault(vet, KL__FIELD_INVALID, "path", path,
                      "must be an absolute path");
    }
}

/* Checks a driver's name. It may have capital letters. */
static void check_driver(kl__vet *vet, const kl__node *object,
                         const char *member)
{
    const char *name = kl__vet_text(object, member);
    char lower[300];

    snprintf(lower, sizeof(lower), "%s", name);
    for (char *at = lower; *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    if (kl__vet_required(vet, object, member)) {
        kl__vet_dns(vet, member, lower);
    }
}

static void check_csi(kl__vet *vet, const kl__node *source)
{
    check_driver(vet, source, "driver");
    kl__vet_required(vet, source, "volumeHandle");
}

/* The sources of volumes, in the order in which kube-apiserver checks them. */
static const struct {
    const char *name;
    /* NULL: nothing to check */
    void (*check)(kl__vet *vet, const kl__node *source);
} sources[] = {{"hostPath", check_host_path},
               {"gcePersistentDisk", NULL},
               {"awsElasticBlockStore", NULL},
               {"glusterfs", NULL},
               {"flocker", NULL},
               {"nfs", check_nfs},
               {"rbd", NULL},
               {"quobyte", NULL},
               {"cephfs", NULL},
               {"iscsi", NULL},
               {"cinder", NULL},
               {"fc", NULL},
               {"flexVolume", NULL},
               {"azureFile", NULL},
               {"vsphereVolume", NULL},
               {"photonPersistentDisk", NULL},
               {"portworxVolume", NULL},
               {"azureDisk", NULL},
               {"scaleIO", NULL},
               {"local", check_required_path},
               {"storageos", NULL},
               {"csi", check_csi}};

static void check_claim_source(kl__vet *vet, const kl__node *spec)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        const kl__node *source = kl__node_get(spec, sources[i].name);
        size_t mark;

        if (source == NULL) {
            continue;
        }
        if (count++ > 0) {
            kl__vet_fault(vet, KL__FIELD_FORBIDDEN, sources[i].name, NULL,
                          "may not specify more than 1 volume type");
            continue;
        }
        if (sources[i].check != NULL) {
            mark = kl__vet_into(vet, sources[i].name);
            sources[i].check(vet, source);
            kl__vet_back(vet, mark);
        }
        if (strcmp(sources[i].name, "local") == 0 &&
            kl__node_get(spec, "nodeAffinity") == NULL) {
            kl__vet_fault(vet, KL__FIELD_REQUIRED, "nodeAffinity", NULL,
                          "Local volume requires node affinity");
        }
    }
    if (count == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL,
                      "must specify a volume type");
    }
}

static void check_size(kl__vet *vet, const kl__node *spec)
{
    const kl__node *capacity = kl__node_get(spec, "capacity"), *value;
    kl__node_iter iter = {0};
    const char *name;
    size_t mark;

    if (kl__node_size(capacity) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "capacity", NULL, "");
    }
    if (kl__node_get(capacity, "storage") == NULL ||
        kl__node_size(capacity) > 1) {
        kl__vet_value(vet, KL__FIELD_UNSUPPORTED, "capacity", capacity,
                      "supported values: \"storage\"");
    }
    mark = kl__vet_into(vet, "capacity");
    while ((value = kl__node_next(capacity, &iter, &name, NULL)) != NULL) {
        const char *amount = kl__node_string(value, NULL);

        amount = amount != NULL ? amount : "0";
        if (kl__quantity_compare(amount, "0") < 0) {
            size_t inner = kl__vet_key(vet, name);
            char shown[40];

            snprintf(shown, sizeof(shown), "%.0f", kl__quantity_real(amount));
            kl__vet_shown(vet, KL__FIELD_INVALID, shown,
                          "must be a valid resource quantity");
            kl__vet_back(vet, inner);
        }
        check_amount(vet, name, amount);
    }
    kl__vet_back(vet, mark);
}

static void check_place(kl__vet *vet, const kl__node *spec)
{
    const kl__node *affinity = kl__node_get(spec, "nodeAffinity");
    size_t mark = kl__vet_into(vet, "nodeAffinity");

    if (affinity != NULL && kl__node_get(affinity, "required") == NULL) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "required", NULL,
                      "must specify required node constraints");
    }
    kl__vet_node_terms(vet, affinity, "required");
    kl__vet_back(vet, mark);
}

void kl__vet_volume(kl__vet *vet, const kl__node *object)
{
    static const char *const policies[] = {"Delete", "Recycle", "Retain", NULL};
    const kl__node *spec = kl__node_get(object, "spec");
    const char *policy = kl__vet_text(spec, "persistentVolumeReclaimPolicy");
    size_t mark = kl__vet_into(vet, "spec");

    check_modes(vet, spec, "");
    check_size(vet, spec);
    kl__vet_enum(vet, spec, "persistentVolumeReclaimPolicy", policies);
    check_place(vet, spec);
    check_claim_source(vet, spec);
    if (strcmp(kl__vet_text(kl__node_get(spec, "hostPath"), "path"), "/") ==
            0 &&
        strcmp(policy, "Recycle") == 0) {
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN, "persistentVolumeReclaimPolicy",
                      NULL, "may not be 'recycle' for a hostPath mount of '/'");
    }
    kl__vet_subdomain(vet, spec, "storageClassName");
    kl__vet_enum(vet, spec, "volumeMode", volume_modes);
    kl__vet_subdomain(vet, spec, "volumeAttributesClassName");
    kl__vet_back(vet, mark);
}

/* --- Classes. ------------------------------------------------------------- */

/* Checks a provisioner's name, with or without a prefix. It may have capital
 * letters. */
static void check_provider(kl__vet *vet, const kl__node *object,
                           const char *member)
{
    char lower[400];

    if (!kl__vet_required(vet, object, member)) {
        return;
    }
    snprintf(lower, sizeof(lower), "%s", kl__vet_text(object, member));
    for (char *at = lower; *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    kl__vet_qualified(vet, member, lower);
}

static void check_parameters(kl__vet *vet, const kl__node *object)
{
    if (kl__node_get(kl__node_get(object, "parameters"), "") != NULL) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "parameters", "",
                      "field can not be empty.");
    }
}

static void check_label(kl__vet *vet, const kl__node *label)
{
    if (kl__node_size(kl__node_get(label, "values")) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "values", NULL, "");
    }
    kl__vet_qualified(vet, "key", kl__vet_text(label, "key"));
}

static void check_topology(kl__vet *vet, const kl__node *topology)
{
    kl__vet_each(vet, topology, "matchLabelExpressions", check_label);
}

void kl__vet_storage_class(kl__vet *vet, const kl__node *object)
{
    static const char *const policies[] = {"Delete", "Retain", NULL};
    static const char *const modes[] = {"Immediate", "WaitForFirstConsumer",
                                        NULL};

    check_provider(vet, object, "provisioner");
    check_parameters(vet, object);
    kl__vet_enum(vet, object, "reclaimPolicy", policies);
    kl__vet_enum(vet, object, "volumeBindingMode", modes);
    kl__vet_each(vet, object, "allowedTopologies", check_topology);
}
