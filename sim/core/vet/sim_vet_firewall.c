/*
 * sim_vet_firewall.c - see sim_vet.h: validates NetworkPolicies.
 */
#include "sim/core/vet/sim_vet.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* --- Ports. --------------------------------------------------------------- */

static void check_port(kl__vet *vet, const kl__node *port)
{
    static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
    const kl__node *number = kl__node_get(port, "port");
    const kl__node *end = kl__node_get(port, "endPort");

    kl__vet_enum(vet, port, "protocol", protocols);
    if (end != NULL && number == NULL) {
        kl__vet_value(vet, KL__FIELD_INVALID, "endPort", end,
                      "may not be specified when `port` is not specified");
    } else if (end != NULL && kl__node_is(number, KL_STRING)) {
        kl__vet_value(vet, KL__FIELD_INVALID, "endPort", end,
                      "may not be specified when `port` is non-numeric");
    }
    kl__vet_port(vet, port, "port");
    if (end != NULL && number != NULL && !kl__node_is(number, KL_STRING)) {
        if (kl__node_integer(end) < kl__node_integer(number)) {
            kl__vet_value(vet, KL__FIELD_INVALID, "endPort", number,
                          "must be greater than or equal to `port`");
        }
        kl__vet_range(vet, port, "endPort", 1, 65535);
    }
}

/* --- Address blocks (CIDR). ----------------------------------------------- */

typedef struct block {
    unsigned char bytes[16];
    size_t size; /* bytes of the address: 4 or 16 */
    long bits;   /* length of the prefix */
} block;

static bool read_block(const char *text, block *out)
{
    const char *slash = strchr(text, '/');
    char address[64] = "", *end;
    size_t length = slash != NULL ? (size_t)(slash - text) : 0;

    if (length == 0 || length >= sizeof(address) || slash[1] < '0' ||
        slash[1] > '9') {
        return false;
    }
    memcpy(address, text, length);
    out->bits = strtol(slash + 1, &end, 10);
    out->size = inet_pton(AF_INET, address, out->bytes) == 1    ? 4
                : inet_pton(AF_INET6, address, out->bytes) == 1 ? 16
                                                                : 0;
    return out->size != 0 && *end == '\0' && out->bits <= (long)out->size * 8;
}

static bool check_block(kl__vet *vet, const char *member, const char *text,
                        block *out)
{
    if (read_block(text, out)) {
        return true;
    }
    kl__vet_fault(vet, KL__FIELD_INVALID, member, text,
                  "must be a valid CIDR value, (e.g. 10.9.8.0/24 or "
                  "2001:db8::/64)");
    return false;
}

/* True if a block is inside another one and smaller. */
static bool is_within(const block *small, const block *large)
{
    if (small->size != large->size || small->bits <= large->bits) {
        return false;
    }
    for (long i = 0; i < large->bits; i++) {
        int mask = 128 >> i % 8;

        if (((small->bytes[i / 8] ^ large->bytes[i / 8]) & mask) != 0) {
            return false;
        }
    }
    return true;
}

static void check_addresses(kl__vet *vet, const kl__node *addresses)
{
    const kl__node *list = kl__node_get(addresses, "except"), *element;
    size_t outer, index = 0;
    kl__node_iter iter = {0};
    block whole, part;

    if (!kl__vet_required(vet, addresses, "cidr") ||
        !check_block(vet, "cidr", kl__vet_text(addresses, "cidr"), &whole)) {
        return;
    }
    outer = kl__vet_into(vet, "except");
    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(element, NULL);
        size_t mark = kl__vet_at(vet, index++);

        text = text != NULL ? text : "";
        if (check_block(vet, NULL, text, &part) && !is_within(&part, &whole)) {
            kl__vet_fault(vet, KL__FIELD_INVALID, NULL, text,
                          "must be a strict subset of `cidr`");
        }
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

/* --- Peers. --------------------------------------------------------------- */

static void check_peer(kl__vet *vet, const kl__node *peer)
{
    const kl__node *addresses = kl__node_get(peer, "ipBlock");
    int selectors = (kl__node_get(peer, "podSelector") != NULL) +
                    (kl__node_get(peer, "namespaceSelector") != NULL);

    kl__vet_selector(vet, peer, "podSelector");
    kl__vet_selector(vet, peer, "namespaceSelector");
    if (addresses != NULL) {
        size_t mark = kl__vet_into(vet, "ipBlock");

        check_addresses(vet, addresses);
        kl__vet_back(vet, mark);
    }
    if (addresses == NULL && selectors == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL,
                      "must specify a peer");
    } else if (addresses != NULL && selectors != 0) {
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN, NULL, NULL,
                      "may not specify both ipBlock and another peer");
    }
}

static void check_ingress(kl__vet *vet, const kl__node *rule)
{
    kl__vet_each(vet, rule, "ports", check_port);
    kl__vet_each(vet, rule, "from", check_peer);
}

static void check_egress(kl__vet *vet, const kl__node *rule)
{
    kl__vet_each(vet, rule, "ports", check_port);
    kl__vet_each(vet, rule, "to", check_peer);
}

static void check_policy_type(kl__vet *vet, const kl__node *type)
{
    static const char *const types[] = {"Ingress", "Egress", NULL};
    const char *text = kl__node_string(type, NULL);

    kl__vet_unsupported(vet, NULL, text != NULL ? text : "", types);
}

void kl__vet_network_policy(kl__vet *vet, const kl__node *object)
{
    const kl__node *spec = kl__node_get(object, "spec");
    const kl__node *types = kl__node_get(spec, "policyTypes");
    size_t mark = kl__vet_into(vet, "spec");

    kl__vet_selector(vet, spec, "podSelector");
    kl__vet_each(vet, spec, "ingress", check_ingress);
    kl__vet_each(vet, spec, "egress", check_egress);
    if (kl__node_size(types) > 2) {
        kl__vet_value(vet, KL__FIELD_INVALID, "policyTypes", types,
                      "may not specify more than two policyTypes");
    } else {
        kl__vet_each(vet, spec, "policyTypes", check_policy_type);
    }
    kl__vet_back(vet, mark);
}
