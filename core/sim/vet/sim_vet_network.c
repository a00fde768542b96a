/*
 * sim_vet_network.c - what Ingresses and EndpointSlices have to be.
 */
#include "sim/vet/sim_vet.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- Ingresses. ----------------------------------------------------------- */

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
    } else if (service != NULL) {
        check_service(vet, service);
    } else if (!has_resource) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, "",
                      "resource or service backend is required");
    }
    kl__vet_back(vet, mark);
}

static void check_path(kl__vet *vet, const kl__node *path)
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
    kl__vet_enum(vet, path, "pathType", types);
    check_backend(vet, path, "backend");
}

static void check_rule(kl__vet *vet, const kl__node *rule)
{
    const kl__node *http = kl__node_get(rule, "http"), *path;
    const kl__node *paths = kl__node_get(http, "paths");
    size_t outer, mark, index = 0;
    kl__node_iter iter = {0};

    if (strchr(kl__vet_text(rule, "host"), '*') == NULL) {
        kl__vet_subdomain(vet, rule, "host");
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
        check_path(vet, path);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
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
    kl__vet_subdomain(vet, spec, "ingressClassName");
    kl__vet_back(vet, outer);
}

/* --- EndpointSlices. ------------------------------------------------------ */

static void check_address(kl__vet *vet, const char *type, const char *address)
{
    unsigned char bytes[16];
    bool is_four = inet_pton(AF_INET, address, bytes) == 1;
    bool is_six = inet_pton(AF_INET6, address, bytes) == 1;

    if (strcmp(type, "FQDN") == 0) {
        return;
    }
    if (!is_four && !is_six) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, address,
                      "must be a valid IP address, (e.g. 10.9.8.7 or "
                      "2001:db8::ffff)");
    } else if (strcmp(type, "IPv4") == 0 && !is_four) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, address,
                      "must be an IPv4 address");
    } else if (strcmp(type, "IPv6") == 0 && !is_six) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, address,
                      "must be an IPv6 address");
    }
}

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
        size_t mark = kl__vet_at(vet, index++);

        check_address(vet, type, text != NULL ? text : "");
        kl__vet_back(vet, mark);
    }
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
    outer = kl__vet_into(vet, "endpoints");
    while ((endpoint = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_endpoint(vet, endpoint, type);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}
