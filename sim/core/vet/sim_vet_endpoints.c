/*
 * sim_vet_endpoints.c - see sim_vet.h: validates EndpointSlices and Endpoints.
 */
#include "sim/core/vet/sim_vet.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

/* --- Addresses. ----------------------------------------------------------- */

/* Refuses addresses that no other host can reach, such as loopback and
 * link-local ones. */
static void check_reach(kl__vet *vet, const char *member, const char *text)
{
    unsigned char four[4], six[16];
    bool is_four = inet_pton(AF_INET, text, four) == 1;
    bool is_six = !is_four && inet_pton(AF_INET6, text, six) == 1;
    static const unsigned char loop[16] = {[15] = 1}, none[16] = {0};
    char why[120];

    if (!is_four && !is_six) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, text,
                      "must be a valid IP address");
        return;
    }
    if (is_four ? memcmp(four, none, 4) == 0 : memcmp(six, none, 16) == 0) {
        snprintf(why, sizeof(why), "may not be unspecified (%.64s)", text);
        kl__vet_fault(vet, KL__FIELD_INVALID, member, text, why);
    }
    if (is_four ? four[0] == 127 : memcmp(six, loop, 16) == 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, text,
                      "may not be in the loopback range (127.0.0.0/8, "
                      "::1/128)");
    }
    if (is_four ? four[0] == 169 && four[1] == 254
                : six[0] == 0xfe && (six[1] & 0xc0) == 0x80) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, text,
                      "may not be in the link-local range (169.254.0.0/16, "
                      "fe80::/10)");
    }
    if (is_four ? four[0] == 224 && four[1] == 0 && four[2] == 0
                : six[0] == 0xff && (six[1] & 0x0f) == 0x02) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, text,
                      "may not be in the link-local multicast range "
                      "(224.0.0.0/24, ff02::/10)");
    }
}

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
    mark = kl__vet_at(vet, index);
    check_reach(vet, NULL, text);
    kl__vet_back(vet, mark);
}

/* --- Slices. -------------------------------------------------------------- */

static void check_hints(kl__vet *vet, const kl__node *endpoint)
{
    const kl__node *list =
        kl__node_get(kl__node_get(endpoint, "hints"), "forZones");
    const kl__node *zone;
    size_t outer = kl__vet_into(vet, "hints"), index = 0;
    kl__node_iter iter = {0};
    kl__map seen = {0};

    kl__vet_into(vet, "forZones");
    while ((zone = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        kl__vet_unique(vet, &seen, "name", kl__vet_text(zone, "name"));
        kl__vet_back(vet, mark);
    }
    kl__map_deinit(&seen);
    kl__vet_back(vet, outer);
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

        check_typed(vet, type, text != NULL ? text : "", index++);
    }
    kl__vet_back(vet, outer);
    kl__vet_subdomain(vet, endpoint, "nodeName");
    kl__vet_labels(vet, kl__node_get(endpoint, "deprecatedTopology"),
                   "deprecatedTopology");
    kl__vet_label(vet, endpoint, "hostname");
    check_hints(vet, endpoint);
}

static void check_ports(kl__vet *vet, const kl__node *object)
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
    check_ports(vet, object);
    outer = kl__vet_into(vet, "endpoints");
    while ((endpoint = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_endpoint(vet, endpoint, type);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

/* --- Endpoints. ----------------------------------------------------------- */

static void check_member(kl__vet *vet, const kl__node *address)
{
    const char *text = kl__vet_text(address, "ip");

    kl__vet_address(vet, "ip", text);
    kl__vet_label(vet, address, "hostname");
    kl__vet_subdomain(vet, address, "nodeName");
    check_reach(vet, "ip", text);
}

static void check_subset_port(kl__vet *vet, const kl__node *port,
                              bool needs_name)
{
    if (needs_name) {
        kl__vet_required(vet, port, "name");
    }
    kl__vet_label(vet, port, "name");
    kl__vet_range(vet, port, "port", 1, 65535);
    kl__vet_enum(vet, port, "protocol", protocols);
}

static void check_subset(kl__vet *vet, const kl__node *subset)
{
    const kl__node *ports = kl__node_get(subset, "ports"), *port;
    size_t outer, index = 0;
    kl__node_iter iter = {0};

    if (kl__node_size(kl__node_get(subset, "addresses")) +
            kl__node_size(kl__node_get(subset, "notReadyAddresses")) ==
        0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL,
                      "must specify `addresses` or `notReadyAddresses`");
    }
    kl__vet_each(vet, subset, "addresses", check_member);
    kl__vet_each(vet, subset, "notReadyAddresses", check_member);
    outer = kl__vet_into(vet, "ports");
    while ((port = kl__node_next(ports, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_subset_port(vet, port, kl__node_size(ports) > 1);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

void kl__vet_endpoints(kl__vet *vet, const kl__node *object)
{
    kl__vet_each(vet, object, "subsets", check_subset);
}
