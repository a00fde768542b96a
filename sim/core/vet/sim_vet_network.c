/*
 * sim_vet_network.c - see sim_vet.h: validates Ingresses, Services and
 * EndpointSlices.
 */
#include "sim/core/vet/sim_vet.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/names.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void check_service(kl__vet *vet, const kl__node *service)
{
    const kl__node *port = kl__node_get(service, "port");
    const char *name = kl__vet_text(port, "name");
    bool has_number = kl__node_integer(kl__node_get(port, "number")) != 0;
    size_t mark = kl__vet_into(vet, "service"), inner;

    if (kl__vet_required(vet, service, "name")) {
        kl__vet_label(vet, service, "name");
    }
    inner = kl__vet_into(vet, "port");
    if (*name != '\0' && !has_number) {
        kl__vet_port(vet, port, "name");
    } else if (*name == '\0' && has_number) {
        kl__vet_range(vet, port, "number", 1, UINT16_MAX);
    }
    kl__vet_back(vet, inner);
    kl__vet_back(vet, mark);
    if (*name != '\0' && has_number) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, "",
                      "cannot set both port name & port number");
    } else if (*name == '\0' && !has_number) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL,
                      "port name or number is required");
    }
}

/* Checks a reference to an object, by group, kind and name. */
static void check_reference(kl__vet *vet, const kl__node *object,
                            const char *member)
{
    const kl__node *reference = kl__node_get(object, member);
    size_t mark = kl__vet_into(vet, member);

    kl__vet_subdomain(vet, reference, "apiGroup");
    kl__vet_required(vet, reference, "kind");
    kl__vet_required(vet, reference, "name");
    kl__vet_back(vet, mark);
}

static void check_backend(kl__vet *vet, const kl__node *object,
                          const char *member)
{
    const kl__node *backend = kl__node_get(object, member);
    const kl__node *service = kl__node_get(backend, "service");
    bool has_resource = kl__node_get(backend, "resource") != NULL;
    size_t mark = kl__vet_into(vet, member);

    if (has_resource && service != NULL) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, "",
                      "cannot set both resource and service backends");
    } else if (has_resource) {
        check_reference(vet, backend, "resource");
    } else if (service != NULL) {
        check_service(vet, service);
    } else {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, "",
                      "resource or service backend is required");
    }
    kl__vet_back(vet, mark);
}

/* Refuses a path with parts that a normalized path does not have ("//",
 * ".."). */
static void check_steps(kl__vet *vet, const char *path)
{
    static const char *const inside[] = {"//", "/./", "/../", "%2f", "%2F"};
    static const char *const ends[] = {"/..", "/."};
    size_t length = strlen(path);
    char why[60];

    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
        if (strstr(path, inside[i]) != NULL) {
            snprintf(why, sizeof(why), "must not contain '%s'", inside[i]);
            kl__vet_fault(vet, KL__FIELD_INVALID, "path", path, why);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        size_t end = strlen(ends[i]);

        if (length >= end && strcmp(path + length - end, ends[i]) == 0) {
            snprintf(why, sizeof(why), "cannot end with '%s'", ends[i]);
            kl__vet_fault(vet, KL__FIELD_INVALID, "path", path, why);
        }
    }
}

/* The host must be a DNS name, or "*." and a DNS name. */
static void check_host(kl__vet *vet, const char *member, const char *host)
{
    kl__buf why = {0};

    if (strchr(host, '*') == NULL) {
        kl__vet_dns(vet, member, host);
    } else if (!kl__name_is_wildcard(host, &why)) {
        vet->errors->failed |= why.failed;
        kl__vet_fault(vet, KL__FIELD_INVALID, member, host,
                      why.bytes != NULL ? why.bytes : "");
    }
    kl__buf_deinit(&why);
}

static void check_ingress_path(kl__vet *vet, const kl__node *path)
{
    static const char *const types[] = {"Exact", "ImplementationSpecific",
                                        "Prefix", NULL};
    const char *type = kl__vet_text(path, "pathType");
    const char *text = kl__vet_text(path, "path");

    if (*type == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "pathType", NULL,
                      "pathType must be specified");
        return;
    }
    if (*text != '/' && (*text != '\0' || strcmp(type, "Exact") == 0 ||
                         strcmp(type, "Prefix") == 0)) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "path", text,
                      "must be an absolute path");
    }
    if (strcmp(type, "Exact") == 0 || strcmp(type, "Prefix") == 0) {
        check_steps(vet, text);
    }
    kl__vet_enum(vet, path, "pathType", types);
    check_backend(vet, path, "backend");
}

static void check_rule(kl__vet *vet, const kl__node *rule)
{
    const kl__node *http = kl__node_get(rule, "http"), *path;
    const kl__node *paths = kl__node_get(http, "paths");
    const char *host = kl__vet_text(rule, "host");
    unsigned char address[16];
    size_t outer, mark, index = 0;
    kl__node_iter iter = {0};

    if (*host != '\0') {
        if (inet_pton(AF_INET, host, address) == 1 ||
            inet_pton(AF_INET6, host, address) == 1) {
            kl__vet_fault(vet, KL__FIELD_INVALID, "host", host,
                          "must be a DNS name, not an IP address");
        }
        check_host(vet, "host", host);
    }
    if (http == NULL) {
        return;
    }
    outer = kl__vet_into(vet, "http");
    if (kl__node_size(paths) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "paths", NULL, "");
    }
    kl__vet_into(vet, "paths");
    while ((path = kl__node_next(paths, &iter, NULL, NULL)) != NULL) {
        mark = kl__vet_at(vet, index++);
        check_ingress_path(vet, path);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

static void check_tls_host(kl__vet *vet, const kl__node *host)
{
    const char *text = kl__node_string(host, NULL);

    check_host(vet, NULL, text != NULL ? text : "");
}

static void check_tls(kl__vet *vet, const kl__node *tls)
{
    kl__vet_each(vet, tls, "hosts", check_tls_host);
    kl__vet_subdomain(vet, tls, "secretName");
}

/* If an Ingress has its class both in the field and in the annotation, they
 * must be equal. kube-apiserver checks this only when an Ingress is created. */
static void check_class(kl__vet *vet, const kl__node *object)
{
    static const char key[] = "kubernetes.io/ingress.class";
    const char *old = kl__node_text(
        kl__node_get(kl__node_get(object, "metadata"), "annotations"), key);
    const char *name =
        kl__node_text(kl__node_get(object, "spec"), "ingressClassName");

    if (old != NULL && name != NULL && strcmp(old, name) != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID,
                      "annotations.kubernetes.io/ingress.class", old,
                      "must match `ingressClassName` when both are specified");
    }
}

void kl__vet_ingress(kl__vet *vet, const kl__node *object)
{
    const kl__node *spec = kl__node_get(object, "spec"), *rule;
    const kl__node *rules = kl__node_get(spec, "rules");
    size_t outer = kl__vet_into(vet, "spec"), mark, index = 0;
    kl__node_iter iter = {0};

    if (kl__node_size(rules) == 0 &&
        kl__node_get(spec, "defaultBackend") == NULL) {
        kl__vet_value(vet, KL__FIELD_INVALID, NULL, rules,
                      "either `defaultBackend` or `rules` must be specified");
    }
    if (kl__node_get(spec, "defaultBackend") != NULL) {
        check_backend(vet, spec, "defaultBackend");
    }
    mark = kl__vet_into(vet, "rules");
    while ((rule = kl__node_next(rules, &iter, NULL, NULL)) != NULL) {
        size_t inner = kl__vet_at(vet, index++);

        check_rule(vet, rule);
        kl__vet_back(vet, inner);
    }
    kl__vet_back(vet, mark);
    kl__vet_each(vet, spec, "tls", check_tls);
    kl__vet_subdomain(vet, spec, "ingressClassName");
    kl__vet_back(vet, outer);
    check_class(vet, object);
}

/* ---- Services ---- */

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

/* ---- EndpointSlices ---- */

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

/* Checks one address of a slice, element `index` of its list; `type` is the
 * slice's addressType. */
static void check_typed(kl__vet *vet, const char *type, const char *text,
                        size_t index)
{
    bool is_six = strchr(text, ':') != NULL;
    size_t mark = kl__vet_at(vet, index);
    bool is_one;

    if (strcmp(type, "FQDN") == 0) {
        kl__vet_dns(vet, NULL, text);
        kl__vet_back(vet, mark);
        return;
    }
    is_one = kl__vet_address(vet, NULL, text);
    kl__vet_back(vet, mark);
    if (!is_one) {
        return;
    }
    if (is_six != (strcmp(type, "IPv6") == 0)) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, text,
                      is_six ? "must be an IPv4 address"
                             : "must be an IPv6 address");
    }
}

/* --- Slices. -------------------------------------------------------------- */

static void check_endpoint(kl__vet *vet, const kl__node *endpoint,
                           const char *type)
{
    const kl__node *list = kl__node_get(endpoint, "addresses"), *address;
    size_t outer = kl__vet_into(vet, "addresses"), index = 0;
    kl__node_iter iter = {0};

    if (kl__node_size(list) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL,
                      "must contain at least 1 address");
    }
    while ((address = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(address, NULL);

        check_typed(vet, type, text != NULL ? text : "", index++);
    }
    kl__vet_back(vet, outer);
    kl__vet_subdomain(vet, endpoint, "nodeName");
    kl__vet_label(vet, endpoint, "hostname");
}

static void check_slice_ports(kl__vet *vet, const kl__node *object)
{
    const kl__node *list = kl__node_get(object, "ports"), *port;
    size_t outer = kl__vet_into(vet, "ports"), index = 0;
    kl__node_iter iter = {0};
    kl__map seen = {0};

    while ((port = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        kl__vet_label(vet, port, "name");
        kl__vet_unique(vet, &seen, "name", kl__vet_text(port, "name"));
        kl__vet_enum(vet, port, "protocol", protocols);
        if (kl__node_get(port, "appProtocol") != NULL) {
            kl__vet_qualified(vet, "appProtocol",
                              kl__vet_text(port, "appProtocol"));
        }
        kl__vet_back(vet, mark);
    }
    kl__map_deinit(&seen);
    kl__vet_back(vet, outer);
}

void kl__vet_slice(kl__vet *vet, const kl__node *object)
{
    static const char *const types[] = {"FQDN", "IPv4", "IPv6", NULL};
    const char *type = kl__vet_text(object, "addressType");
    const kl__node *list = kl__node_get(object, "endpoints"), *endpoint;
    kl__node_iter iter = {0};
    size_t outer, index = 0;

    if (!kl__vet_required(vet, object, "addressType")) {
        return;
    }
    kl__vet_unsupported(vet, "addressType", type, types);
    check_slice_ports(vet, object);
    outer = kl__vet_into(vet, "endpoints");
    while ((endpoint = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_endpoint(vet, endpoint, type);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}
