/*
 * sim_pod_host.c - checks of the baseline level: a pod's use of its host.
 */
#include "sim/core/admit/sim_pod_check.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void kl__pod_check_host_namespaces(kl__pod_look *look)
{
    static const char *const names[] = {"hostNetwork", "hostPID", "hostIPC"};
    kl__buf detail = {0};

    for (size_t i = 0; i < COUNT(names); i++) {
        if (kl__node_bool(kl__node_get(look->spec, names[i]))) {
            kl__buf_printf(&detail, "%s%s=true", detail.length != 0 ? ", " : "",
                           names[i]);
        }
    }
    kl__pod_forbid(look, "host namespaces", &detail);
}

void kl__pod_check_host_paths(kl__pod_look *look)
{
    const kl__node *volumes = kl__node_get(look->spec, "volumes"), *volume;
    kl__node_iter iter = {0};
    kl__pod_names names = {0};
    kl__buf detail = {0};

    while ((volume = kl__node_next(volumes, &iter, NULL, NULL)) != NULL) {
        if (kl__node_is(kl__node_get(volume, "hostPath"), KL_OBJECT)) {
            kl__pod_name_add(look, &names, kl__node_text(volume, "name"));
        }
    }
    if (names.count != 0) {
        kl__buf_printf(&detail, "%s ",
                       kl__pod_plural(names.count, "volume", "volumes"));
        kl__pod_names_put(&detail, &names);
        kl__pod_forbid(look, "hostPath volumes", &detail);
    }
    kl__pod_names_free(&names);
}

static bool has_host_port(kl__pod_look *look, const kl__node *security,
                          const kl__node *container, kl__pod_names *values)
{
    const kl__node *ports = kl__node_get(container, "ports"), *port;
    kl__node_iter iter = {0};
    bool found = false;

    (void)security;
    while ((port = kl__node_next(ports, &iter, NULL, NULL)) != NULL) {
        int64_t number = kl__node_integer(kl__node_get(port, "hostPort"));
        char text[24];

        if (number != 0) {
            snprintf(text, sizeof(text), "%lld", (long long)number);
            kl__pod_text_add(look, values, kl__edit_text(look->scratch, text));
            found = true;
        }
    }
    return found;
}

void kl__pod_check_host_ports(kl__pod_look *look)
{
    kl__pod_culprits culprits;
    kl__buf detail = {0};

    if (kl__pod_find(look, has_host_port, false, &culprits)) {
        kl__pod_culprits_put(&detail, &culprits);
        kl__buf_printf(
            &detail, " %s %s ",
            kl__pod_plural(culprits.containers.count, "uses", "use"),
            kl__pod_plural(culprits.values.count, "hostPort", "hostPorts"));
        for (size_t i = 0; i < culprits.values.count; i++) {
            kl__buf_printf(&detail, "%s%s", i != 0 ? ", " : "",
                           culprits.values.items[i]);
        }
        kl__pod_forbid(look, "hostPort", &detail);
    }
    kl__pod_culprits_free(&culprits);
}

/* True if a probe or a lifecycle hook connects to another host than the pod. */
static bool asks_host(kl__pod_look *look, const kl__node *handler,
                      kl__pod_names *values)
{
    static const char *const ways[] = {"httpGet", "tcpSocket"};
    bool found = false;

    for (size_t i = 0; i < COUNT(ways); i++) {
        const char *host =
            kl__node_text(kl__node_get(handler, ways[i]), "host");

        if (host != NULL && *host != '\0') {
            kl__pod_name_add(look, values, host);
            found = true;
        }
    }
    return found;
}

static bool probes_host(kl__pod_look *look, const kl__node *security,
                        const kl__node *container, kl__pod_names *values)
{
    static const char *const probes[] = {"livenessProbe", "readinessProbe",
                                         "startupProbe"};
    static const char *const moments[] = {"postStart", "preStop"};
    const kl__node *lifecycle = kl__node_get(container, "lifecycle");
    bool found = false;

    (void)security;
    for (size_t i = 0; i < COUNT(probes); i++) {
        found |= asks_host(look, kl__node_get(container, probes[i]), values);
    }
    for (size_t i = 0; i < COUNT(moments); i++) {
        found |= asks_host(look, kl__node_get(lifecycle, moments[i]), values);
    }
    return found;
}

void kl__pod_check_probes(kl__pod_look *look)
{
    kl__pod_culprits culprits;
    kl__buf detail = {0};

    if (kl__pod_find(look, probes_host, false, &culprits)) {
        kl__pod_names_sort(&culprits.containers);
        kl__pod_culprits_put(&detail, &culprits);
        kl__buf_printf(&detail, " %s %s ",
                       kl__pod_plural(culprits.containers.count, "uses", "use"),
                       kl__pod_plural(culprits.values.count,
                                      "probe or lifecycle host",
                                      "probe or lifecycle hosts"));
        kl__pod_names_put(&detail, &culprits.values);
        kl__pod_forbid(look, "probe or lifecycle host", &detail);
    }
    kl__pod_culprits_free(&culprits);
}
