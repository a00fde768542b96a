/*
 * sim_vet_container.c - see sim_vet.h: validates the containers of a Pod.
 */
#include "sim/core/vet/sim_vet.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
    kl__vet_resources(vet, kl__node_get(container, "resources"));
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

void kl__vet_containers(kl__vet *vet, const kl__node *spec, const char *list,
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
