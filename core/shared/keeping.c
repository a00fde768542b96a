/*
 * keeping.c - see keeping.h.
 */
#include "shared/keeping.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

/* An address that is kept, for one or several names. */
typedef struct address {
    char *host;
    kl__list holds; /* of hold */
} address;

/* A name that is kept. */
typedef struct kept {
    char *name;
    char *service; /* "namespace/name" */
    int64_t until;
    struct hold *holds;
    size_t count;
    bool is_first; /* of the names of its port */
} kept;

/* An address of a name. */
typedef struct hold {
    kl__list node; /* in the address */
    kept *of;
    char *pod;
    bool is_dropped; /* another pod has the address by now */
} hold;

struct kl__keeping {
    kl__routes *routes;
    int keep_ms;
    kl__map names;     /* kept, by name */
    kl__map addresses; /* address, by host */
};

/* The endpoints of a name that are published; `all` is owned. */
typedef struct published {
    kl_pick *all;
    uint32_t count;
} published;

static int64_t now_ms(void)
{
    return kl__clock_now(kl__clock_real());
}

kl__keeping *kl__keeping_new(kl__routes *routes, int keep_ms, kl_error *err)
{
    kl__keeping *self = kl__calloc(1, sizeof(*self));

    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    self->routes = routes;
    self->keep_ms = keep_ms;
    return self;
}

/* Frees an address that no name holds. */
static void release_address(kl__keeping *self, address *one)
{
    if (kl__list_empty(&one->holds)) {
        kl__map_remove(&self->addresses, one->host);
        kl__free(one->host);
        kl__free(one);
    }
}

static void free_kept(kl__keeping *self, kept *one)
{
    for (size_t i = 0; i < one->count; i++) {
        kl__list *next = one->holds[i].node.next;

        kl__list_remove(&one->holds[i].node);
        if (next->next == next) { /* only the address itself is left */
            release_address(self, KL__CONTAINER(next, address, holds));
        }
        kl__free(one->holds[i].pod);
    }
    kl__free(one->holds);
    kl__free(one->name);
    kl__free(one->service);
    kl__free(one);
}

void kl__keeping_free(kl__keeping *self)
{
    size_t cursor = 0;
    const kl__map_slot *slot;

    if (self == NULL) {
        return;
    }
    kl__routes_watch(self->routes, NULL, NULL);
    while ((slot = kl__map_next(&self->names, &cursor)) != NULL) {
        free_kept(self, slot->value);
    }
    kl__map_deinit(&self->names);
    kl__map_deinit(&self->addresses);
    kl__free(self);
}

void kl__keeping_forget(kl__keeping *self, const char *name)
{
    kept *one = kl__map_remove(&self->names, name);

    if (one != NULL) {
        free_kept(self, one);
        if (self->names.count == 0) {
            kl__routes_watch(self->routes, NULL, NULL);
        }
    }
}

/* True for the same pod: a pod is often in several Services. */
static bool is_same_pod(const hold *one, const char *service, const char *pod)
{
    size_t length = strcspn(service, "/") + 1;

    return pod[0] != '\0' && strcmp(pod, one->pod) == 0 &&
           strncmp(service, one->of->service, length) == 0;
}

/* Meets an address in a slice, and drops it from other Services that keep it.
 */
static void meet_address(void *context, const char *service, const char *host,
                         const char *pod)
{
    kl__keeping *self = context;
    address *found = kl__map_get(&self->addresses, host);

    if (found == NULL) {
        return;
    }
    for (kl__list *at = found->holds.next; at != &found->holds; at = at->next) {
        hold *one = KL__CONTAINER(at, hold, node);

        if (!one->is_dropped && strcmp(one->of->service, service) != 0 &&
            !is_same_pod(one, service, pod)) {
            one->is_dropped = true;
            kl__routes_touch(self->routes, one->of->service);
        }
    }
}

static address *need_address(kl__keeping *self, const char *host)
{
    address *one = kl__map_get(&self->addresses, host);

    if (one != NULL) {
        return one;
    }
    one = kl__calloc(1, sizeof(*one));
    if (one == NULL) {
        return NULL;
    }
    kl__list_init(&one->holds);
    one->host = kl__strdup(host);
    if (one->host == NULL ||
        !kl__map_put(&self->addresses, one->host, one, NULL)) {
        kl__free(one->host);
        kl__free(one);
        return NULL;
    }
    return one;
}

static bool hold_address(kl__keeping *self, kept *of, const kl_pick *pick)
{
    hold *one = &of->holds[of->count];
    char *pod = kl__strdup(pick->pod);
    address *held = pod != NULL ? need_address(self, pick->host) : NULL;

    if (held == NULL) {
        kl__free(pod);
        return false;
    }
    *one = (hold){.of = of, .pod = pod};
    kl__list_append(&held->holds, &one->node);
    of->count++;
    return true;
}

static bool is_usable(const kl_pick *pick)
{
    return pick->weight > 0 &&
           (pick->flags & (KL_ENDPOINT_READY | KL_ENDPOINT_SERVING)) != 0;
}

/* Begins to keep a name. NULL: out of memory. */
static kept *begin_keeping(kl__keeping *self, const kl__route_name *name,
                           const published *now)
{
    kept *one = kl__calloc(1, sizeof(*one));
    bool fits;

    if (one == NULL) {
        return NULL;
    }
    one->until = now_ms() + self->keep_ms;
    one->is_first = name->index == 0;
    one->name = kl__strdup(name->route->names[name->index]);
    one->service = kl__strdup(name->route->service);
    one->holds = kl__calloc(now->count + 1, sizeof(*one->holds));
    fits = one->name != NULL && one->service != NULL && one->holds != NULL;
    for (uint32_t i = 0; i < now->count && fits; i++) {
        fits =
            !is_usable(&now->all[i]) || hold_address(self, one, &now->all[i]);
    }
    if (!fits || !kl__map_put(&self->names, one->name, one, NULL)) {
        free_kept(self, one);
        return NULL;
    }
    kl__routes_each_address(self->routes, meet_address, self);
    kl__routes_watch(self->routes, meet_address, self);
    return one;
}

/* True if the name holds the address still. */
static bool is_held(const kl__keeping *self, const kept *by, const char *host)
{
    const address *found = kl__map_get(&self->addresses, host);

    for (const kl__list *at = found != NULL ? found->holds.next : NULL;
         at != NULL && at != &found->holds; at = at->next) {
        const hold *one = KL__CONTAINER((kl__list *)at, hold, node);

        if (one->of == by && !one->is_dropped) {
            return true;
        }
    }
    return false;
}

static kl_code read_published(const kl__route_name *name, published *now,
                              kl_error *err)
{
    uint32_t room = 0;
    kl_shared_result result;

    while ((result = kl_shared_endpoints(name->map, name->key, now->all, room,
                                         &now->count)) == KL_SHARED_TOO_SMALL) {
        kl__free(now->all);
        room = now->count;
        now->all = kl__malloc(room * sizeof(*now->all));
        if (now->all == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for endpoints");
        }
    }
    return result == KL_SHARED_OK ? KL_OK : KL_ENOT_FOUND;
}

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* Puts those of the published endpoints that are held. */
static kl_code put_held(const kl__keeping *self, const kept *one,
                        const kl__route_name *name, const published *now,
                        kl_error *err)
{
    kl_endpoint *all = kl__malloc((now->count + 1) * sizeof(*all));
    size_t held = 0;
    kl_code code = KL_ENOT_FOUND;

    if (all == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for endpoints");
    }
    for (uint32_t i = 0; i < now->count; i++) {
        const kl_pick *from = &now->all[i];

        if (is_usable(from) && is_held(self, one, from->host)) {
            all[held++] = (kl_endpoint){
                .host = from->host,
                .zone = text_or_null(from->zone),
                .node = text_or_null(from->node),
                .pod = text_or_null(from->pod),
                .port = from->port,
                .weight = from->weight,
                .flags = (uint16_t)(from->flags | KL_ENDPOINT_KEPT),
            };
        }
    }
    if (held > 0) {
        code = kl_shared_put_endpoints(name->map, name->key, all, held, err);
    }
    kl__free(all);
    return code;
}

/* True if the published endpoints may be kept (further). Those that a former
 * owner has kept have no time here. */
static bool may_keep(const kept *one, const published *now)
{
    bool has_usable = false;

    for (uint32_t i = 0; i < now->count; i++) {
        has_usable = has_usable || is_usable(&now->all[i]);
    }
    return has_usable &&
           (one != NULL ? now_ms() < one->until
                        : (now->all[0].flags & KL_ENDPOINT_KEPT) == 0);
}

kl_code kl__keeping_put(kl__keeping *self, const kl__route_name *name,
                        kl_error *err)
{
    const char *text = name->route->names[name->index];
    kept *one = kl__map_get(&self->names, text);
    published now = {0};
    kl_code code = read_published(name, &now, err);

    if (code == KL_OK && !may_keep(one, &now)) {
        code = KL_ENOT_FOUND;
    }
    if (code == KL_OK && one == NULL) {
        one = begin_keeping(self, name, &now);
        code = one != NULL
                   ? KL_OK
                   : kl_error_set(err, KL_ENOMEM, "out of memory to keep");
    }
    if (code == KL_OK) {
        code = put_held(self, one, name, &now, err);
    }
    if (code == KL_ENOT_FOUND) {
        kl__keeping_forget(self, text);
    }
    kl__free(now.all);
    return code;
}

void kl__keeping_expire(kl__keeping *self, int64_t now)
{
    size_t cursor = 0;
    const kl__map_slot *slot;

    while ((slot = kl__map_next(&self->names, &cursor)) != NULL) {
        const kept *one = slot->value;

        if (now >= one->until) {
            kl__routes_touch(self->routes, one->service);
        }
    }
}

int64_t kl__keeping_next(const kl__keeping *self)
{
    int64_t next = INT64_MAX;
    size_t cursor = 0;
    const kl__map_slot *slot;

    while ((slot = kl__map_next(&self->names, &cursor)) != NULL) {
        const kept *one = slot->value;

        next = one->until < next ? one->until : next;
    }
    return next;
}

size_t kl__keeping_count(const kl__keeping *self)
{
    size_t count = 0, cursor = 0;
    const kl__map_slot *slot;

    while ((slot = kl__map_next(&self->names, &cursor)) != NULL) {
        const kept *one = slot->value;

        for (size_t i = 0; one->is_first && i < one->count; i++) {
            count += one->holds[i].is_dropped ? 0 : 1;
        }
    }
    return count;
}
