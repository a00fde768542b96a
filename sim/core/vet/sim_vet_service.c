/*
 * sim_vet_service.c - see sim_vet.h: validates Services.
 */
#include "sim/core/vet/sim_vet.h"

#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_headless(const kl__node *spec)
{
    return strcmp(kl__vet_text(spec, "clusterIP"), "None") == 0 &&
           strcmp(kl__vet_text(spec, "type"), "ExternalName") != 0;
}

/* Checks the members whose rules depend on the Service's type. */
static void check_service_type(kl__vet *vet, const kl__node *spec)
{
    const char *type = kl__vet_text(spec, "type");
    char why[80];

    if (kl__node_size(kl__node_get(spec, "ports")) == 0 && !is_headless(spec) &&
        strcmp(type, "ExternalName") != 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "ports", NULL, "");
    }
    if ((strcmp(type, "LoadBalancer") == 0 || strcmp(type, "NodePort") == 0) &&
        is_headless(spec)) {
        snprintf(why, sizeof(why), "may not be set to 'None' for %s services",
                 type);
        kl__vet_fault(vet, KL__FIELD_INVALID, "clusterIPs[0]", "None", why);
    }
    if (strcmp(type, "ExternalName") == 0 &&
        kl__vet_required(vet, spec, "externalName")) {
        kl__vet_subdomain(vet, spec, "externalName");
    }
}

static void check_port(kl__vet *vet, const kl__node *port, bool needs_name,
                       kl__map *names)
{
    static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
    const char *name = kl__vet_text(port, "name");

    if (*name == '\0' && needs_name) {
        kl__vet_required(vet, port, "name");
    } else if (*name != '\0') {
        kl__vet_label(vet, port, "name");
        kl__vet_unique(vet, names, "name", name);
    }
    kl__vet_range(vet, port, "port", 1, UINT16_MAX);
    kl__vet_enum(vet, port, "protocol", protocols);
    kl__vet_port(vet, port, "targetPort");
}

/* Refuses a port whose protocol and number another port has had. The message
 * shows it as Go prints it. */
static void check_duplicate(kl__vet *vet, const kl__node *port, kl__map *seen)
{
    char what[80], shown[200];
    char *key;

    snprintf(what, sizeof(what), "%.20s/%" PRId64,
             kl__vet_text(port, "protocol"),
             kl__node_integer(kl__node_get(port, "port")));
    if (kl__map_get(seen, what) != NULL) {
        snprintf(shown, sizeof(shown),
                 "{\"Name\":\"\",\"Protocol\":\"%.20s\",\"AppProtocol\":null,"
                 "\"Port\":%" PRId64 ",\"TargetPort\":0,\"NodePort\":0}",
                 kl__vet_text(port, "protocol"),
                 kl__node_integer(kl__node_get(port, "port")));
        kl__vet_shown(vet, KL__FIELD_DUPLICATE, shown, "");
        return;
    }
    key = kl__strdup(what);
    if (key == NULL || !kl__map_put(seen, key, key, NULL)) {
        kl__free(key);
        vet->errors->failed = true;
    }
}

static void check_duplicates(kl__vet *vet, const kl__node *ports)
{
    size_t outer = kl__vet_into(vet, "ports"), index = 0, cursor = 0;
    const kl__map_slot *slot;
    kl__node_iter iter = {0};
    const kl__node *port;
    kl__map seen = {0};

    while ((port = kl__node_next(ports, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_duplicate(vet, port, &seen);
        kl__vet_back(vet, mark);
    }
    while ((slot = kl__map_next(&seen, &cursor)) != NULL) {
        kl__free(slot->value);
    }
    kl__map_deinit(&seen);
    kl__vet_back(vet, outer);
}

static void check_ports(kl__vet *vet, const kl__node *ports)
{
    size_t outer = kl__vet_into(vet, "ports"), index = 0;
    kl__node_iter iter = {0};
    const kl__node *port;
    kl__map names = {0};

    while ((port = kl__node_next(ports, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_port(vet, port, kl__node_size(ports) > 1, &names);
        kl__vet_back(vet, mark);
    }
    kl__map_deinit(&names);
    kl__vet_back(vet, outer);
}

static void check_address(kl__vet *vet, const kl__node *spec)
{
    const char *address = kl__vet_text(spec, "clusterIP");
    unsigned char bytes[16];

    if (*address != '\0' && strcmp(address, "None") != 0 &&
        inet_pton(AF_INET, address, bytes) != 1 &&
        inet_pton(AF_INET6, address, bytes) != 1) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "clusterIPs[0]", address,
                      "must be a valid IP address, (e.g. 10.9.8.7 or "
                      "2001:db8::ffff)");
    }
}

void kl__vet_service(kl__vet *vet, const kl__node *object)
{
    static const char *const types[] = {"ClusterIP", "ExternalName",
                                        "LoadBalancer", "NodePort", NULL};
    static const char *const affinities[] = {"ClientIP", "None", NULL};
    const kl__node *spec = kl__node_get(object, "spec");
    const kl__node *ports = kl__node_get(spec, "ports");
    size_t mark = kl__vet_into(vet, "spec");

    check_service_type(vet, spec);
    check_ports(vet, ports);
    kl__vet_labels(vet, kl__node_get(spec, "selector"), "selector");
    kl__vet_enum(vet, spec, "sessionAffinity", affinities);
    check_address(vet, spec);
    kl__vet_enum(vet, spec, "type", types);
    check_duplicates(vet, ports);
    kl__vet_back(vet, mark);
}
