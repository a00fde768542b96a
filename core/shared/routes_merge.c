/*
 * routes_merge.c - makes the list of endpoints of one port of a Service from
 * all its slices: each endpoint once, in an order that does not depend on when
 * it came.
 */
#include "shared/routes_parts.h"

#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct kl__candidate {
    const kl__route_slice *slice;
    const kl__slice_endpoint *endpoint;
    const char *host;
    int weight;
    uint16_t port;
} kl__candidate;

void kl__merge_deinit(kl__merge *merge)
{
    kl__free(merge->candidates);
    kl__free(merge->endpoints);
    *merge = (kl__merge){0};
}

static bool reserve_room(kl__merge *merge, size_t count)
{
    kl__candidate *candidates;
    kl__endpoint *endpoints;
    size_t capacity = merge->capacity < 16 ? 16 : merge->capacity;

    if (count <= merge->capacity) {
        return true;
    }
    while (capacity < count) {
        capacity *= 2;
    }
    candidates = kl__malloc(capacity * sizeof(*candidates));
    endpoints = kl__malloc(capacity * sizeof(*endpoints));
    if (candidates == NULL || endpoints == NULL) {
        kl__free(candidates);
        kl__free(endpoints);
        return false;
    }
    kl__merge_deinit(merge);
    merge->candidates = candidates;
    merge->endpoints = endpoints;
    merge->capacity = capacity;
    return true;
}

/* Compares a port of a slice with a port of a Service. */
static int compare_target(const kl__route_slice *slice,
                          const kl__route_port *target,
                          const kl__route_service *service,
                          const kl__route_port *port)
{
    int order =
        strcmp(slice->texts + target->name, service->texts + port->name);

    return order != 0 ? order
                      : strcmp(slice->texts + target->protocol,
                               service->texts + port->protocol);
}

/* Finds the number that a slice has for a port of its Service, by name and
 * protocol. False: none, and the slice's endpoints do not serve the port. */
static bool find_target(const kl__route_service *service,
                        const kl__route_port *port,
                        const kl__route_slice *slice, uint16_t *number)
{
    size_t low = 0, high = slice->port_count;

    if (port == NULL) {
        *number = slice->port_count == 1 ? slice->ports[0].number : 0;
        return true;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_target(slice, &slice->ports[middle], service, port) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < slice->port_count &&
           compare_target(slice, &slice->ports[low], service, port) == 0;
         low++) {
        if (slice->ports[low].number != 0) {
            *number = slice->ports[low].number;
            return true;
        }
    }
    return false;
}

static void weigh_slice(const kl__route_service *service,
                        const kl__route_slice *slice, uint16_t *weights)
{
    int missing = slice->weight >= 0 ? slice->weight : 1;

    for (size_t i = 0; i < slice->endpoint_count; i++) {
        const kl__slice_endpoint *endpoint = &slice->endpoints[i];
        const char *const texts[KL__WEIGHT_TEXTS] = {
            slice->texts + endpoint->address, slice->texts + endpoint->pod,
            slice->texts + endpoint->node, slice->texts + endpoint->zone};
        int weight = kl__weights_find(&service->weights, texts);

        weights[i] = (uint16_t)(weight >= 0 ? weight : missing);
    }
}

bool kl__merge_weigh(const kl__route_service *service, const kl__list *slices)
{
    for (kl__list *at = slices->next; at != slices; at = at->next) {
        kl__slice_node *node = KL__CONTAINER(at, kl__slice_node, node);

        if (node->weighed == service->stamp) {
            continue;
        }
        kl__free(node->weights);
        node->weights = NULL;
        if (service->weights.count > 0) {
            node->weights = kl__malloc((node->slice->endpoint_count + 1) *
                                       sizeof(*node->weights));
            if (node->weights == NULL) {
                node->weighed = 0;
                return false;
            }
            weigh_slice(service, node->slice, node->weights);
        }
        node->weighed = service->stamp;
    }
    return true;
}

static int weight_of(const kl__slice_node *node, size_t index)
{
    if (node->weights != NULL) {
        return node->weights[index];
    }
    return node->slice->weight >= 0 ? node->slice->weight : 1;
}

/* Sorts by host and port; of two equal ones, the one of the newer slice comes
 * first: while slices are rebalanced an endpoint is in two of them, and the
 * older slice may have an old state. */
static int compare_candidates(const void *left, const void *right)
{
    const kl__candidate *a = left, *b = right;
    const char *newer, *older;
    int order = strcmp(a->host, b->host);

    if (order != 0) {
        return order;
    }
    if (a->port != b->port) {
        return a->port < b->port ? -1 : 1;
    }
    newer = b->slice->texts + b->slice->version;
    older = a->slice->texts + a->slice->version;
    order = kl_version_compare(newer, older);
    return order != INT_MIN ? order : strcmp(newer, older);
}

/* Collects the endpoints of one family at the beginning of the candidates,
 * sorted and without duplicates; returns their number. */
static size_t collect_family(kl__merge *merge, const kl__route_service *service,
                             const kl__route_port *port, const kl__list *slices,
                             kl__family family)
{
    kl__candidate *all = merge->candidates;
    size_t count = 0, kept = 0;

    for (kl__list *at = slices->next; at != slices; at = at->next) {
        const kl__slice_node *node = KL__CONTAINER(at, kl__slice_node, node);
        const kl__route_slice *slice = node->slice;
        uint16_t number;

        if (slice->family != family ||
            !find_target(service, port, slice, &number)) {
            continue;
        }
        for (size_t i = 0; i < slice->endpoint_count; i++) {
            const kl__slice_endpoint *endpoint = &slice->endpoints[i];

            all[count++] = (kl__candidate){
                .slice = slice,
                .endpoint = endpoint,
                .host = slice->texts + endpoint->address,
                .weight = weight_of(node, i),
                .port = number,
            };
        }
    }
    if (count > 1) {
        qsort(all, count, sizeof(*all), compare_candidates);
    }
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || all[i].port != all[kept - 1].port ||
            strcmp(all[i].host, all[kept - 1].host) != 0) {
            all[kept++] = all[i];
        }
    }
    return kept;
}

/* How well a family serves a port. */
typedef enum grade {
    GRADE_NONE,     /* no endpoint */
    GRADE_UNREADY,  /* no usable endpoint */
    GRADE_DRAINING, /* only endpoints that terminate and still serve */
    GRADE_READY
} grade;

static void append_endpoint(kl__merge *merge, const kl__route_service *service,
                            const kl__candidate *candidate, bool has_hints)
{
    const kl__slice_endpoint *endpoint = candidate->endpoint;
    const char *texts = candidate->slice->texts;

    merge->endpoints[merge->count++] = (kl__endpoint){
        .host = candidate->host,
        .zone = texts + (has_hints ? endpoint->hint : endpoint->zone),
        .node = texts + endpoint->node,
        .pod = texts + endpoint->pod,
        .port = candidate->port,
        .weight = (uint16_t)candidate->weight,
        .is_name = candidate->slice->family == KL__FAMILY_FQDN,
        .ready = endpoint->ready || service->publish_not_ready,
        .serving = endpoint->serving || service->publish_not_ready,
        .terminating = endpoint->terminating,
    };
}

/* An endpoint with weight 0 is never used, ready or not. */
static grade grade_endpoint(const kl__endpoint *endpoint)
{
    if (endpoint->weight == 0) {
        return GRADE_UNREADY;
    }
    if (endpoint->ready) {
        return GRADE_READY;
    }
    return endpoint->serving && endpoint->terminating ? GRADE_DRAINING
                                                      : GRADE_UNREADY;
}

/* True if each ready endpoint has a hint. If some have none, the controller is
 * adding or removing hints, and they are ignored (as by kube-proxy). */
static bool check_hints(const kl__merge *merge,
                        const kl__route_service *service, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const kl__slice_endpoint *endpoint = merge->candidates[i].endpoint;

        if (endpoint->hint == 0 &&
            (endpoint->ready || service->publish_not_ready)) {
            return false;
        }
    }
    return count > 0;
}

/* Makes the endpoints of one family's candidates. */
static grade take_family(kl__merge *merge, const kl__route_service *service,
                         size_t count)
{
    bool has_hints = check_hints(merge, service, count);
    grade best = GRADE_NONE;

    merge->count = 0;
    merge->usable = 0;
    for (size_t i = 0; i < count; i++) {
        grade own;

        append_endpoint(merge, service, &merge->candidates[i], has_hints);
        own = grade_endpoint(&merge->endpoints[i]);
        merge->usable += own > GRADE_UNREADY ? 1 : 0;
        best = own > best ? own : best;
    }
    return best;
}

static void take_external_name(kl__merge *merge,
                               const kl__route_service *service,
                               const kl__route_port *port)
{
    merge->endpoints[0] = (kl__endpoint){
        .host = service->texts + service->external_name,
        .zone = "",
        .node = "",
        .pod = "",
        .port = port != NULL ? port->number : 0,
        .weight = 1,
        .is_name = true,
        .ready = true,
        .serving = true,
    };
    merge->count = 1;
    merge->usable = 1;
}

static size_t count_endpoints(const kl__list *slices)
{
    size_t count = 1; /* for an ExternalName */

    for (kl__list *at = slices->next; at != slices; at = at->next) {
        count += KL__CONTAINER(at, kl__slice_node, node)->slice->endpoint_count;
    }
    return count;
}

/* Only one family is used, as a pod with two families has an endpoint in each
 * and would count twice: the first family with a ready endpoint, else the one
 * that serves best. */
bool kl__merge_port(kl__merge *merge, const kl__route_service *service,
                    const kl__route_port *port, const kl__list *slices)
{
    int best = 0, taken = 0;
    grade best_grade = GRADE_NONE;

    if (!reserve_room(merge, count_endpoints(slices))) {
        return false;
    }
    merge->count = 0;
    merge->usable = 0;
    if (service->is_external) {
        if (service->external_name != 0) {
            take_external_name(merge, service, port);
        }
        return true;
    }
    for (int i = 0; i < KL__FAMILIES && best_grade < GRADE_READY; i++) {
        grade own = take_family(
            merge, service,
            collect_family(merge, service, port, slices, service->families[i]));

        taken = i;
        if (own > best_grade) {
            best_grade = own;
            best = i;
        }
    }
    if (best != taken) {
        take_family(merge, service,
                    collect_family(merge, service, port, slices,
                                   service->families[best]));
    }
    return true;
}
