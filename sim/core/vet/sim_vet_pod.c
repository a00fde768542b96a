/*
 * sim_vet_pod.c - see sim_vet.h: validates Pods and pod templates, their
 * containers, and requests and limits.
 */
#include "sim/core/vet/sim_vet.h"

#include "sim/core/schema/quantity.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_standard(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 ||
           strcmp(name, "ephemeral-storage") == 0 ||
           strncmp(name, "hugepages-", 10) == 0;
}

static void check_amount(kl__vet *vet, const char *name, const char *text)
{
    size_t mark = kl__vet_key(vet, name);

    if (strchr(name, '/') == NULL && !is_standard(name)) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, name,
                      "must be a standard resource type or fully qualified");
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, name,
                      "must be a standard resource for containers");
    }
    if (kl__quantity_compare(text, "0") < 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, text,
                      "must be greater than or equal to 0");
    }
    kl__vet_back(vet, mark);
}

/* A request must not exceed its limit; for huge pages and extended resources it
 * must equal the limit. */
static void check_limit(kl__vet *vet, const char *name, const char *request,
                        const char *limit)
{
    bool shared = is_standard(name) && strncmp(name, "hugepages-", 10) != 0;
    char why[300];

    if (limit == NULL) {
        return;
    }
    if (shared ? kl__quantity_compare(request, limit) > 0
               : strcmp(request, limit) != 0) {
        snprintf(why, sizeof(why), "must be %s %.100s limit of %.60s",
                 shared ? "less than or equal to" : "equal to", name, limit);
        kl__vet_fault(vet, KL__FIELD_INVALID, "requests", request, why);
    }
}

/* Checks requests and limits: none is negative, and no request is above its
 * limit. */
static void vet_resources(kl__vet *vet, const kl__node *resources)
{
    static const char *const lists[] = {"limits", "requests"};
    const kl__node *limits = kl__node_get(resources, "limits");

    for (size_t i = 0; i < 2; i++) {
        const kl__node *list = kl__node_get(resources, lists[i]), *value;
        kl__node_iter iter = {0};
        const char *name;

        while ((value = kl__node_next(list, &iter, &name, NULL)) != NULL) {
            const char *text = kl__node_string(value, NULL);
            size_t mark = kl__vet_into(vet, lists[i]);

            check_amount(vet, name, text != NULL ? text : "");
            kl__vet_back(vet, mark);
            if (i == 1 && text != NULL) {
                check_limit(vet, name, text, kl__node_text(limits, name));
            }
        }
    }
}

/* ---- containers ---- */

/* --- Ports and environment. ----------------------------------------------- */

static void check_port(kl__vet *vet, const kl__node *port, kl__map *names)
{
    static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
    const kl__node *number = kl__node_get(port, "containerPort");
    const char *name = kl__vet_text(port, "name");
    size_t before = vet->errors->count;

    if (*name != '\0') {
        kl__vet_port(vet, port, "name");
        if (vet->errors->count == before) {
            kl__vet_unique(vet, names, "name", name);
        }
    }
    if (kl__node_integer(number) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "containerPort", NULL, "");
    } else {
        kl__vet_range(vet, port, "containerPort", 1, UINT16_MAX);
    }
    if (kl__node_integer(kl__node_get(port, "hostPort")) != 0) {
        kl__vet_range(vet, port, "hostPort", 1, UINT16_MAX);
    }
    kl__vet_enum(vet, port, "protocol", protocols);
}

static void check_ports(kl__vet *vet, const kl__node *container)
{
    const kl__node *list = kl__node_get(container, "ports"), *port;
    size_t outer = kl__vet_into(vet, "ports"), index = 0;
    kl__node_iter iter = {0};
    kl__map names = {0};

    while ((port = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_port(vet, port, &names);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
    kl__map_deinit(&names);
}

static void check_environment(kl__vet *vet, const kl__node *container)
{
    const kl__node *list = kl__node_get(container, "env"), *variable;
    size_t outer = kl__vet_into(vet, "env"), index = 0;
    kl__node_iter iter = {0};

    while ((variable = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        kl__vet_required(vet, variable, "name");
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

/* --- Mounts. -------------------------------------------------------------- */

static void check_mounts(kl__vet *vet, const kl__node *container,
                         const kl__map *volumes)
{
    const kl__node *list = kl__node_get(container, "volumeMounts"), *mount;
    size_t outer = kl__vet_into(vet, "volumeMounts"), index = 0;
    kl__node_iter iter = {0};
    kl__map paths = {0};

    while ((mount = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);
        const char *name = kl__vet_text(mount, "name");
        const char *path = kl__vet_text(mount, "mountPath");

        kl__vet_required(vet, mount, "name");
        if (kl__map_get(volumes, name) == NULL) {
            kl__vet_fault(vet, KL__FIELD_NOT_FOUND, "name", name, "");
        }
        kl__vet_required(vet, mount, "mountPath");
        if (kl__map_get(&paths, path) != NULL) {
            kl__vet_fault(vet, KL__FIELD_INVALID, "mountPath", path,
                          "must be unique");
        } else if (!kl__map_put(&paths, path, &paths, NULL)) {
            vet->errors->failed = true;
        }
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
    kl__map_deinit(&paths);
}

/* --- One container. ------------------------------------------------------- */

static void check_security(kl__vet *vet, const kl__node *container)
{
    const kl__node *security = kl__node_get(container, "securityContext");
    size_t mark = kl__vet_into(vet, "securityContext");

    kl__vet_range(vet, security, "runAsUser", 0, INT32_MAX);
    kl__vet_range(vet, security, "runAsGroup", 0, INT32_MAX);
    if (kl__node_bool(kl__node_get(security, "privileged")) &&
        kl__node_is(kl__node_get(security, "allowPrivilegeEscalation"),
                    KL_BOOL) &&
        !kl__node_bool(kl__node_get(security, "allowPrivilegeEscalation"))) {
        kl__vet_value(vet, KL__FIELD_INVALID, NULL, security,
                      "cannot set `allowPrivilegeEscalation` to false and "
                      "`privileged` to true");
    }
    kl__vet_back(vet, mark);
}

static void check_common(kl__vet *vet, const kl__node *container,
                         const kl__map *volumes)
{
    static const char *const ends[] = {"File", "FallbackToLogsOnError", NULL};
    static const char *const pulls[] = {"Always", "IfNotPresent", "Never",
                                        NULL};
    size_t mark;

    if (kl__vet_required(vet, container, "name")) {
        kl__vet_label(vet, container, "name");
    }
    kl__vet_required(vet, container, "image");
    kl__vet_enum(vet, container, "terminationMessagePolicy", ends);
    check_ports(vet, container);
    check_environment(vet, container);
    check_mounts(vet, container, volumes);
    kl__vet_enum(vet, container, "imagePullPolicy", pulls);
    mark = kl__vet_into(vet, "resources");
    vet_resources(vet, kl__node_get(container, "resources"));
    kl__vet_back(vet, mark);
    check_security(vet, container);
}

/* --- All containers. ------------------------------------------------------ */

/* Adds the names of the main containers to a map: init containers must have
 * other names. False: out of memory. */
static bool put_names(const kl__node *list, kl__map *names)
{
    kl__node_iter iter = {0};
    const kl__node *container;

    while ((container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        if (!kl__map_put(names, kl__vet_text(container, "name"), names, NULL)) {
            return false;
        }
    }
    return true;
}

/* Checks one of the spec's lists of containers. `volumes`: by their names. */
static void vet_containers(kl__vet *vet, const kl__node *spec, const char *list,
                           const kl__map *volumes)
{
    const kl__node *containers = kl__node_get(spec, list), *container;
    bool is_main = strcmp(list, "containers") == 0;
    size_t outer = kl__vet_into(vet, list), index = 0;
    kl__node_iter iter = {0};
    kl__map names = {0};

    if (is_main && kl__node_size(containers) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL, "");
    }
    vet->errors->failed |=
        !is_main && !put_names(kl__node_get(spec, "containers"), &names);
    while ((container = kl__node_next(containers, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_common(vet, container, volumes);
        kl__vet_unique(vet, &names, "name", kl__vet_text(container, "name"));
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
    kl__map_deinit(&names);
}

/* ---- pods ---- */

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
    vet_containers(vet, spec, "containers", &volumes);
    vet_containers(vet, spec, "initContainers", &volumes);
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
