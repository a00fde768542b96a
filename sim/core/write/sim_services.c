/*
 * sim_services.c - what the server sets in a Service: a cluster IP and node
 * ports, kept from one write to the next.
 */
#include "sim/core/write/sim_kinds_own.h"

#include "sim/core/store/sim_compose.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PORT = 30000, LAST_PORT = 32767, ADDRESSES = 65534 };

static const char NONE[] = "None";

static kl__node *service_spec_of(const kl__sim_write *write)
{
    return kl__node_get(kl__sim_write_root(write), "spec");
}

static const char *service_text(const kl__node *object, const char *name)
{
    const char *text = kl__node_text(object, name);

    return text != NULL ? text : "";
}

/* --- Addresses. ----------------------------------------------------------- */

/* True if another Service has the address. */
static bool is_taken(const kl__sim_write *write, const char *address)
{
    const kl__sim_field *field =
        kl__sim_kind_field(write->kind, "spec.clusterIP");
    const kl__sim_node *node = write->resource->items.first[0];

    for (; node != NULL && field != NULL; node = node->next[0]) {
        if (node->state != write->old &&
            strcmp(node->state->fields[field - write->kind->fields], address) ==
                0) {
            return true;
        }
    }
    return false;
}

/* Chooses the next free address of 10.0.0.0/16, but not 10.0.0.1, which is the
 * API server's. False: all are taken. */
static bool choose_address(kl__sim_write *write, char *address, size_t size)
{
    kl_sim *sim = write->answer->sim;

    for (int tries = 0; tries < ADDRESSES; tries++) {
        unsigned number = sim->next_address++ % ADDRESSES + 2;

        snprintf(address, size, "10.0.%u.%u", number >> 8 & 255, number & 255);
        if (!is_taken(write, address)) {
            return true;
        }
    }
    return false;
}

/* Adds a cause if the requested address is invalid or taken. */
static void check_address(kl__sim_write *write, const char *address)
{
    unsigned char bytes[4];
    char outside[200];
    const char *why = NULL;

    if (inet_pton(AF_INET, address, bytes) != 1) {
        return; /* malformed: validation refuses it later */
    }
    if (strncmp(address, "10.0.", 5) != 0) {
        snprintf(outside, sizeof(outside),
                 "the provided IP (%s) is not in the valid range. The range of "
                 "valid IPs is 10.0.0.0/16",
                 address);
        why = outside;
    } else if (is_taken(write, address)) {
        why = "provided IP is already allocated";
    }
    if (why != NULL) {
        kl__sim_cause_add(&write->invalid, "FieldValueInvalid",
                          "spec.clusterIPs",
                          "Invalid value: [\"%.64s\"]: failed to allocate IP "
                          "%.64s: %s",
                          address, address, why);
    }
}

static bool put_pair(kl__edit *edit, kl__node *object, const char *name,
                     const char *first, const char *second)
{
    kl__node *list = kl__edit_array(edit);

    return list != NULL && kl__node_append(list, kl__edit_text(edit, first)) &&
           (second == NULL ||
            kl__node_append(list, kl__edit_text(edit, second))) &&
           kl__node_put(edit, object, name, list);
}

/* Sets ipFamilies and ipFamilyPolicy if they are absent. `is_both`: IPv4 and
 * IPv6, for a headless Service without a selector; else IPv4. */
static bool put_families(kl__edit *edit, kl__node *spec, bool is_both)
{
    if (kl__node_get(spec, "ipFamilies") == NULL &&
        !put_pair(edit, spec, "ipFamilies", "IPv4", is_both ? "IPv6" : NULL)) {
        return false;
    }
    return kl__node_get(spec, "ipFamilyPolicy") != NULL ||
           kl__sim_put_text(edit, spec, "ipFamilyPolicy",
                            is_both ? "RequireDualStack" : "SingleStack");
}

static bool put_address(kl__sim_write *write, kl__node *spec)
{
    const kl__node *old = kl__node_get(kl__sim_write_old(write), "spec");
    const char *given = service_text(spec, "clusterIP");
    const char *before = service_text(old, "clusterIP");
    bool is_both;
    char chosen[32], address[64];

    if (*given == '\0' && *before != '\0') {
        given = before;
    }
    if (*before != '\0' && strcmp(given, before) != 0 &&
        strcmp(service_text(old, "type"), "ExternalName") != 0) {
        kl__sim_cause_add(
            &write->invalid, "FieldValueInvalid", "spec.clusterIPs[0]",
            "Invalid value: [\"%.64s\"]: may not change once set", given);
        return true;
    }
    if (*given == '\0') {
        if (!choose_address(write, chosen, sizeof(chosen))) {
            return true; /* all are taken: the Service gets no address */
        }
        given = chosen;
    } else if (strcmp(given, NONE) != 0 && *before == '\0') {
        check_address(write, given);
    }
    is_both = strcmp(given, NONE) == 0 &&
              kl__node_size(kl__node_get(spec, "selector")) == 0;
    /* A copy: `given` may point into the node that the next line replaces. */
    snprintf(address, sizeof(address), "%s", given);
    return kl__sim_put_text(write->edit, spec, "clusterIP", address) &&
           put_pair(write->edit, spec, "clusterIPs", address, NULL) &&
           put_families(write->edit, spec, is_both);
}

/* --- Node ports. ---------------------------------------------------------- */

static bool is_port_taken(const kl__sim_write *write, int64_t port)
{
    const kl__sim_node *node = write->resource->items.first[0];
    char wanted[40];

    snprintf(wanted, sizeof(wanted), "\"nodePort\":%" PRId64, port);
    for (; node != NULL; node = node->next[0]) {
        if (strstr(node->state->text, wanted) != NULL) {
            return true;
        }
    }
    return false;
}

static int64_t choose_port(kl__sim_write *write)
{
    kl_sim *sim = write->answer->sim;
    int64_t port = FIRST_PORT;

    for (int tries = 0; tries <= LAST_PORT - FIRST_PORT; tries++) {
        port = FIRST_PORT +
               (int64_t)(sim->next_port++ % (LAST_PORT - FIRST_PORT + 1));
        if (!is_port_taken(write, port)) {
            break;
        }
    }
    return port;
}

/* The node port that this port of the Service had before; 0: none. */
static int64_t port_before(const kl__sim_write *write, const kl__node *port)
{
    const kl__node *list =
        kl__node_get(kl__node_get(kl__sim_write_old(write), "spec"), "ports");
    const kl__node *old;
    kl__node_iter iter = {0};

    while ((old = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        if (kl__node_integer(kl__node_get(old, "port")) ==
                kl__node_integer(kl__node_get(port, "port")) &&
            strcmp(service_text(old, "protocol"),
                   service_text(port, "protocol")) == 0) {
            return kl__node_integer(kl__node_get(old, "nodePort"));
        }
    }
    return 0;
}

static bool put_ports(kl__sim_write *write, kl__node *spec, bool wants)
{
    kl__node *list = kl__node_get(spec, "ports"), *port;
    kl__node_iter iter = {0};

    while ((port = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        int64_t number = kl__node_integer(kl__node_get(port, "nodePort"));

        if (!wants) {
            kl__node_remove(port, "nodePort");
            continue;
        }
        if (number == 0) {
            number = port_before(write, port);
        }
        if (number == 0) {
            number = choose_port(write);
        }
        if (!kl__node_put(write->edit, port, "nodePort",
                          kl__edit_integer(write->edit, number))) {
            return false;
        }
    }
    return true;
}

static bool put_default(kl__edit *edit, kl__node *object, const char *name,
                        const char *text)
{
    return kl__node_get(object, name) != NULL ||
           kl__sim_put_text(edit, object, name, text);
}

kl_code kl__sim_prepare_service(kl__sim_write *write, kl_error *err)
{
    static const char *const inner[] = {"clusterIP", "clusterIPs", "ipFamilies",
                                        "ipFamilyPolicy",
                                        "internalTrafficPolicy"};
    kl__node *spec = service_spec_of(write);
    const char *type = service_text(spec, "type");
    bool is_balancer = strcmp(type, "LoadBalancer") == 0;
    bool wants = is_balancer || strcmp(type, "NodePort") == 0;
    bool done;

    if (spec == NULL) {
        return KL_OK;
    }
    if (!wants) {
        kl__node_remove(spec, "externalTrafficPolicy");
    }
    if (!is_balancer) {
        kl__node_remove(spec, "allocateLoadBalancerNodePorts");
    }
    if (strcmp(type, "ExternalName") == 0) {
        for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
            kl__node_remove(spec, inner[i]);
        }
        done = put_ports(write, spec, false);
    } else {
        done = put_address(write, spec) && put_ports(write, spec, wants) &&
               put_default(write->edit, spec, "internalTrafficPolicy",
                           "Cluster") &&
               (!wants || put_default(write->edit, spec,
                                      "externalTrafficPolicy", "Cluster"));
    }
    return done ? KL_OK : kl__sim_no_memory(err);
}
