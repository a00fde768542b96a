/*
 * sim_kinds_own.c - see sim_kinds_own.h: what the server sets in Jobs, Pods
 * (quality of service) and Services (a cluster IP and node ports, kept from one
 * write to the next); how writes of single kinds differ, and which fields of a
 * Pod its subresources can change.
 */
#include "sim/core/write/sim_kinds_own.h"

#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_write.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kl_code sim_prepare_pod(kl__sim_write *write, kl_error *err);

static kl_code sim_prepare_service(kl__sim_write *write, kl_error *err);

bool kl__sim_write_is(const kl__sim_write *write, const char *group,
                      const char *plural)
{
    const kl__sim_kind *kind = write->kind;

    return !kl__sim_kind_is(kind, KL__SIM_CUSTOM) &&
           strcmp(kind->plural, plural) == 0 && strcmp(kind->group, group) == 0;
}

/* True if a kind is in the list, which ends with NULL. */
static bool is_kind_among(const kl__sim_kind *kind, const char *const *names)
{
    while (*names != NULL && strcmp(kind->qualified, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

bool kl__sim_put_is_conditional(const kl__sim_kind *kind)
{
    static const char *const kinds[] = {
        "apiservices.apiregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "leases.coordination.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "poddisruptionbudgets.policy",
        "runtimeclasses.node.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        NULL};

    return kl__sim_kind_is(kind, KL__SIM_CUSTOM) || is_kind_among(kind, kinds);
}

/* --- Jobs. ---------------------------------------------------------------- */

static bool put_labels(kl__edit *edit, kl__node *metadata, const char *name,
                       const char *uid)
{
    kl__node *labels = kl__node_ensure(edit, metadata, "labels");

    return labels != NULL &&
           kl__sim_put_text(edit, labels, "batch.kubernetes.io/controller-uid",
                            uid) &&
           kl__sim_put_text(edit, labels, "batch.kubernetes.io/job-name",
                            name) &&
           kl__sim_put_text(edit, labels, "controller-uid", uid) &&
           kl__sim_put_text(edit, labels, "job-name", name);
}

/* Adds labels with the Job's UID and name to a new Job and to its pod template,
 * and a selector for them; unless the request has a selector. */
static bool prepare_job(kl__sim_write *write)
{
    kl__edit *edit = write->edit;
    kl__node *metadata = kl__sim_write_metadata(write);
    kl__node *spec = kl__node_get(kl__sim_write_root(write), "spec");
    kl__node *template = kl__node_get(spec, "template"), *selector;
    const char *uid = kl__node_text(metadata, "uid");
    const char *name = kl__node_text(metadata, "name");

    if (write->old != NULL || !kl__node_is(template, KL_OBJECT) ||
        name == NULL || kl__node_get(spec, "selector") != NULL ||
        kl__node_bool(kl__node_get(spec, "manualSelector"))) {
        return true;
    }
    selector = kl__node_ensure(edit, kl__node_ensure(edit, spec, "selector"),
                               "matchLabels");
    return selector != NULL &&
           kl__sim_put_text(edit, selector,
                            "batch.kubernetes.io/controller-uid", uid) &&
           put_labels(edit, kl__node_ensure(edit, template, "metadata"), name,
                      uid) &&
           put_labels(edit, metadata, name, uid) &&
           (kl__node_get(spec, "manualSelector") != NULL ||
            kl__node_put(edit, spec, "manualSelector",
                         kl__edit_bool(edit, false)));
}

kl_code kl__sim_prepare_kind(kl__sim_write *write, kl_error *err)
{
    if (kl__sim_write_is(write, "", "pods")) {
        return sim_prepare_pod(write, err);
    }
    if (kl__sim_write_is(write, "", "services")) {
        return sim_prepare_service(write, err);
    }
    if (kl__sim_write_is(write, "batch", "jobs")) {
        return prepare_job(write) ? KL_OK : kl__sim_no_memory(err);
    }
    return KL_OK;
}

/* ---- pods ---- */

static kl__node *spec_of(const kl__sim_write *write)
{
    return kl__node_get(kl__sim_write_root(write), "spec");
}

/* --- Quality of service. -------------------------------------------------- */

/* True if a container (or the pod itself) has limits of cpu and memory that
 * equal its requests. Sets *any if it has any limit or request of these. */
static bool is_guaranteed(const kl__node *container, bool *any)
{
    static const char *const names[] = {"cpu", "memory"};
    const kl__node *resources = kl__node_get(container, "resources");
    const kl__node *limits = kl__node_get(resources, "limits");
    const kl__node *requests = kl__node_get(resources, "requests");
    bool guaranteed = true;

    for (size_t i = 0; i < 2; i++) {
        const kl__node *limit = kl__node_get(limits, names[i]);
        const kl__node *request = kl__node_get(requests, names[i]);

        *any |= limit != NULL || request != NULL;
        guaranteed &= limit != NULL &&
                      (request == NULL || kl__node_equal(limit, request));
    }
    return guaranteed;
}

static const char *class_of(const kl__node *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    bool any = false, guaranteed = true;
    bool is_whole = kl__node_get(spec, "resources") != NULL;

    if (is_whole) {
        guaranteed = is_guaranteed(spec, &any);
    }
    for (size_t i = 0; i < 2 && !is_whole; i++) {
        const kl__node *list = kl__node_get(spec, lists[i]), *container;
        kl__node_iter iter = {0};

        while ((container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
            guaranteed &= is_guaranteed(container, &any);
        }
    }
    return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

/* --- Writes of a Pod. ----------------------------------------------------- */

/* Replaces a negative grace period by 1 second, the shortest. */
static bool mend_grace(kl__edit *edit, kl__node *spec)
{
    static const char name[] = "terminationGracePeriodSeconds";

    return kl__node_integer(kl__node_get(spec, name)) >= 0 ||
           kl__node_put(edit, spec, name, kl__edit_integer(edit, 1));
}

static kl_code prepare_new(kl__sim_write *write, kl_error *err)
{
    kl__edit *edit = write->edit;
    kl__node *spec = spec_of(write);
    kl__node *status =
        kl__node_ensure(edit, kl__sim_write_root(write), "status");

    if (status == NULL || !mend_grace(edit, spec) ||
        (kl__node_get(status, "qosClass") == NULL &&
         !kl__sim_put_text(edit, status, "qosClass", class_of(spec)))) {
        return kl__sim_no_memory(err);
    }
    return KL_OK;
}

/* Replaces the new object by the old one, except for the one member of spec
 * that the subresource may write. */
static kl_code keep_but(kl__sim_write *write, const char *member, kl_error *err)
{
    kl__node *part = kl__node_remove(spec_of(write), member);
    kl__node *whole = kl__edit_copy(write->edit, kl__sim_write_old(write));

    if (whole == NULL) {
        return kl__sim_no_memory(err);
    }
    kl__edit_set_root(write->edit, whole);
    return part == NULL ||
                   kl__node_put(write->edit, kl__node_get(whole, "spec"),
                                member, part)
               ? KL_OK
               : kl__sim_no_memory(err);
}

/* The part of kl__sim_prepare_kind for Pods, and for Services. KL_ENOMEM. */
static kl_code sim_prepare_pod(kl__sim_write *write, kl_error *err)
{
    if (write->old == NULL) {
        return spec_of(write) != NULL ? prepare_new(write, err) : KL_OK;
    }
    if (strcmp(write->subresource, "ephemeralcontainers") == 0) {
        return keep_but(write, "ephemeralContainers", err);
    }
    return strcmp(write->subresource, "resize") == 0
               ? keep_but(write, "containers", err)
               : KL_OK;
}

/* ---- services ---- */

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

static kl_code sim_prepare_service(kl__sim_write *write, kl_error *err)
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
