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

/* Checks a fieldRef: a variable can show only some fields of its pod. */
static void check_field(kl__vet *vet, const kl__node *from)
{
    static const char *const paths[] = {"metadata.name",
                                        "metadata.namespace",
                                        "metadata.uid",
                                        "spec.nodeName",
                                        "status.hostIP",
                                        "status.hostIPs",
                                        "spec.serviceAccountName",
                                        "status.podIP",
                                        "status.podIPs",
                                        NULL};
    const kl__node *field = kl__node_get(from, "fieldRef");
    const char *path = kl__vet_text(field, "fieldPath");
    size_t mark = kl__vet_into(vet, "fieldRef");
    bool is_one = strncmp(path, "metadata.labels[", 16) == 0 ||
                  strncmp(path, "metadata.annotations[", 21) == 0;
    char why[400];

    for (const char *const *known = paths; *known != NULL; known++) {
        is_one |= strcmp(*known, path) == 0;
    }
    if (kl__vet_required(vet, field, "fieldPath") && !is_one) {
        snprintf(why, sizeof(why),
                 "error converting fieldPath: field label not supported: "
                 "%.300s",
                 path);
        kl__vet_fault(vet, KL__FIELD_INVALID, "fieldPath", path, why);
    }
    kl__vet_back(vet, mark);
}

static void check_key_of(kl__vet *vet, const kl__node *from, const char *member)
{
    const kl__node *reference = kl__node_get(from, member);
    size_t mark = kl__vet_into(vet, member);

    kl__vet_required(vet, reference, "name");
    kl__vet_required(vet, reference, "key");
    kl__vet_back(vet, mark);
}

static void check_variable_source(kl__vet *vet, const kl__node *variable)
{
    const kl__node *from = kl__node_get(variable, "valueFrom");
    size_t mark, sources = 0;

    if (from == NULL) {
        return;
    }
    mark = kl__vet_into(vet, "valueFrom");
    if (kl__node_get(from, "fieldRef") != NULL) {
        sources++;
        check_field(vet, from);
    }
    if (kl__node_get(from, "resourceFieldRef") != NULL) {
        sources++;
    }
    if (kl__node_get(from, "configMapKeyRef") != NULL) {
        sources++;
        check_key_of(vet, from, "configMapKeyRef");
    }
    if (kl__node_get(from, "secretKeyRef") != NULL) {
        sources++;
        check_key_of(vet, from, "secretKeyRef");
    }
    sources += kl__node_get(from, "fileKeyRef") != NULL;
    if (sources == 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, "",
                      "must specify one of: `fieldRef`, `resourceFieldRef`, "
                      "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`");
    } else if (*kl__vet_text(variable, "value") != '\0') {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, "",
                      "may not be specified when `value` is not empty");
    } else if (sources > 1) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, "",
                      "may not have more than one field specified at a time");
    }
    kl__vet_back(vet, mark);
}

static void check_environment(kl__vet *vet, const kl__node *container)
{
    const kl__node *list = kl__node_get(container, "env"), *variable;
    size_t outer = kl__vet_into(vet, "env"), index = 0;
    kl__node_iter iter = {0};

    while ((variable = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        kl__vet_required(vet, variable, "name");
        check_variable_source(vet, variable);
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

/* --- Probes. -------------------------------------------------------------- */

/* Checks one handler (`name` is its type: exec, httpGet ...): its port, and the
 * fields that this type needs. */
static void check_handler(kl__vet *vet, const kl__node *handler,
                          const char *name)
{
    static const char *const schemes[] = {"HTTP", "HTTPS", NULL};
    const kl__node *action = kl__node_get(handler, name);
    size_t mark = kl__vet_into(vet, name);

    if (strcmp(name, "exec") == 0 &&
        kl__node_size(kl__node_get(action, "command")) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "command", NULL, "");
    }
    if (strcmp(name, "httpGet") == 0) {
        kl__vet_required(vet, action, "path");
    }
    kl__vet_port(vet, action, "port");
    if (strcmp(name, "httpGet") == 0) {
        kl__vet_enum(vet, action, "scheme", schemes);
    }
    kl__vet_back(vet, mark);
}

/* Checks the handler of a probe or hook, the current value. */
static void vet_handler(kl__vet *vet, const kl__node *handler)
{
    static const char *const names[] = {"exec", "httpGet", "tcpSocket", "grpc",
                                        "sleep"};
    size_t count = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (kl__node_get(handler, names[i]) == NULL) {
            continue;
        }
        if (count++ > 0) {
            kl__vet_fault(vet, KL__FIELD_FORBIDDEN, names[i], NULL,
                          "may not specify more than 1 handler type");
        } else {
            check_handler(vet, handler, names[i]);
        }
    }
    if (count == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL,
                      "must specify a handler type");
    }
}

/* Checks a probe, the current value; `succeeds_once`: its successThreshold must
 * be 1. */
static void vet_probe(kl__vet *vet, const kl__node *probe, bool succeeds_once)
{
    static const char *const numbers[] = {
        "initialDelaySeconds", "timeoutSeconds", "periodSeconds",
        "successThreshold", "failureThreshold"};
    const kl__node *grace =
        kl__node_get(probe, "terminationGracePeriodSeconds");
    const kl__node *successes = kl__node_get(probe, "successThreshold");

    vet_handler(vet, probe);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        kl__vet_not_negative(vet, probe, numbers[i]);
    }
    if (grace != NULL && kl__node_integer(grace) <= 0) {
        kl__vet_value(vet, KL__FIELD_INVALID, "terminationGracePeriodSeconds",
                      grace, "must be greater than 0");
    }
    if (succeeds_once && successes != NULL &&
        kl__node_integer(successes) != 1) {
        kl__vet_value(vet, KL__FIELD_INVALID, "successThreshold", successes,
                      "must be 1");
    }
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

/* Checks hooks and probes. An init container that ends before the main
 * containers start may not have them. */
static void check_life(kl__vet *vet, const kl__node *container)
{
    static const char *const hooks[] = {"postStart", "preStop"};
    static const char *const probes[] = {"livenessProbe", "readinessProbe",
                                         "startupProbe"};
    const kl__node *life = kl__node_get(container, "lifecycle");
    size_t outer = kl__vet_into(vet, "lifecycle");

    for (size_t i = 0; i < 2; i++) {
        size_t mark = kl__vet_into(vet, hooks[i]);

        if (kl__node_get(life, hooks[i]) != NULL) {
            vet_handler(vet, kl__node_get(life, hooks[i]));
        }
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
    for (size_t i = 0; i < 3; i++) {
        const kl__node *probe = kl__node_get(container, probes[i]);
        size_t mark = kl__vet_into(vet, probes[i]);

        if (probe != NULL) {
            vet_probe(vet, probe, i != 1);
        }
        kl__vet_back(vet, mark);
    }
}

static void forbid_life(kl__vet *vet, const kl__node *container)
{
    static const char *const members[] = {"lifecycle", "livenessProbe",
                                          "readinessProbe", "startupProbe"};

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (kl__node_get(container, members[i]) != NULL) {
            kl__vet_fault(vet, KL__FIELD_FORBIDDEN, members[i], NULL,
                          "may not be set for init containers without "
                          "restartPolicy=Always");
        }
    }
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
        bool stays = is_main || strcmp(kl__vet_text(container, "restartPolicy"),
                                       "Always") == 0;

        check_common(vet, container, volumes);
        kl__vet_unique(vet, &names, "name", kl__vet_text(container, "name"));
        if (stays) {
            check_life(vet, container);
        } else {
            forbid_life(vet, container);
        }
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
    kl__map_deinit(&names);
}
