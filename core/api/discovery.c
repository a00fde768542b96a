/*
 * discovery.c - caches the resources of a server, and asks the server again for
 * an unknown name. Threads that need an answer at the same time share one
 * refresh. See discovery.h.
 */
#include "api/discovery.h"

#include "api/builtin_names.h"
#include "api/catalogue.h"
#include "api/discovery_fetch.h"
#include "base/mem.h"

/* If the last answer is younger than this and does not have a name, the name is
 * unknown: the server is not asked again. */
enum { YOUNG_MS = 1000 };

/* The longest time that one refresh may take. */
enum { TIMEOUT_MS = 30000 };

struct kl__discovery {
    kl_client *client; /* its owner */
    kl__clock *clock;

    kl__mutex mutex; /* rank CLIENT; guards all below; not held during a
                        request */
    kl__cond landed;
    kl__catalogue *catalogue; /* NULL before the first answer */
    int64_t answered_ms;      /* when the last answer came, on the clock */
    bool is_expired;
    bool in_flight;
    uint64_t flights; /* refreshes that have ended */
    kl_error outcome; /* the result of the last refresh */
};

kl__discovery *kl__discovery_new(kl_client *client)
{
    kl__discovery *discovery = kl__calloc(1, sizeof(*discovery));

    if (discovery != NULL) {
        discovery->client = client;
        discovery->clock = kl__clock_real();
        kl__mutex_init(&discovery->mutex, KL__RANK_CLIENT);
        kl__cond_init(&discovery->landed);
    }
    return discovery;
}

void kl__discovery_set_clock(kl__discovery *discovery, kl__clock *clock)
{
    discovery->clock = clock;
}

void kl__discovery_free(kl__discovery *discovery)
{
    if (discovery != NULL) {
        kl__catalogue_unref(discovery->catalogue);
        kl__cond_deinit(&discovery->landed);
        kl__mutex_deinit(&discovery->mutex);
        kl__free(discovery);
    }
}

/* The cache at one moment. */
typedef struct view {
    kl__catalogue *catalogue; /* a reference, or NULL */
    bool is_young; /* the answer is younger than YOUNG_MS, and whole */
    bool is_valid; /* its entries may be used (see kl__discovery_expire) */
    uint64_t flights;
} view;

static view view_cache(kl__discovery *self)
{
    int64_t now_ms = kl__clock_now(self->clock);
    view seen = {0};

    kl__mutex_lock(&self->mutex);
    if (self->catalogue != NULL) {
        bool is_young = now_ms - self->answered_ms < YOUNG_MS;

        seen.catalogue = kl__catalogue_ref(self->catalogue);
        seen.is_valid = is_young || !self->is_expired;
        seen.is_young = is_young && !self->catalogue->is_partial;
    }
    seen.flights = self->flights;
    kl__mutex_unlock(&self->mutex);
    return seen;
}

/* True if the time of the lookup is over. */
static bool is_late(const kl__lookup *lookup)
{
    return lookup->deadline_ms >= 0 &&
           kl__clock_now(kl__clock_real()) >= lookup->deadline_ms;
}

static kl_code set_late(kl_error *err)
{
    return kl_error_set(err, KL_ETIMEOUT,
                        "discovery was not complete in time: the server, or a "
                        "group of it, has not answered");
}

/* Asks the server. */
static kl_code fetch_catalogue(kl__discovery *self, const kl__lookup *lookup,
                               kl__catalogue *fresh, kl__catalogue *former,
                               kl_error *err)
{
    int64_t till_ms = kl__clock_now(kl__clock_real()) + TIMEOUT_MS;
    const kl__survey survey = {
        .client = self->client,
        .catalogue = fresh,
        .former = former,
        .name = lookup->name,
        .deadline_ms = lookup->deadline_ms >= 0 && lookup->deadline_ms < till_ms
                           ? lookup->deadline_ms
                           : till_ms,
        .now_ms = kl__clock_now(self->clock),
        .cancel = lookup->cancel};

    if (fresh == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for discovery");
    }
    err->code = kl__discovery_fetch(&survey, err);
    return err->code == KL_ETIMEOUT ? set_late(err) : err->code;
}

/* Asks the server for all threads that wait. The caller has set in_flight. */
static void refresh_catalogue(kl__discovery *self, const kl__lookup *lookup,
                              kl_error *err)
{
    kl__catalogue *fresh = kl__catalogue_new();
    view seen = view_cache(self);
    kl__catalogue *old = fresh;

    err->code = fetch_catalogue(self, lookup, fresh, seen.catalogue, err);
    kl__mutex_lock(&self->mutex);
    if (err->code == KL_OK) {
        old = self->catalogue;
        self->catalogue = fresh;
        self->answered_ms = kl__clock_now(self->clock);
        self->is_expired = false;
    }
    self->outcome = *err;
    /* Only the time of this lookup was over: that is no answer. */
    if (err->code == KL_ETIMEOUT && is_late(lookup)) {
        self->outcome.code = KL_ECANCELED;
    }
    self->in_flight = false;
    self->flights++;
    kl__cond_broadcast(&self->landed);
    kl__mutex_unlock(&self->mutex);
    kl__catalogue_unref(old);
    kl__catalogue_unref(seen.catalogue);
}

static void wake_waiters(void *arg)
{
    kl__discovery *self = arg;

    kl__mutex_lock(&self->mutex);
    kl__cond_broadcast(&self->landed);
    kl__mutex_unlock(&self->mutex);
}

/*
 * Waits for another thread's refresh. True: no thread refreshes, and the caller
 * has to do it (in_flight is set). `seen` is the number of refreshes when the
 * caller looked; if one has ended since, its result is used.
 */
static bool wait_or_begin_refresh(kl__discovery *self, uint64_t seen,
                                  const kl__lookup *lookup, kl_error *err)
{
    bool takes_off = false;

    kl__mutex_lock(&self->mutex);
    for (;;) {
        /* The thread that asked the server was cancelled, or had no more time,
         * which is no answer: the next waiting thread asks. */
        if (self->outcome.code == KL_ECANCELED) {
            seen = self->flights;
        }
        if (!self->in_flight || seen != self->flights ||
            kl__cancel_fired(lookup->cancel) || is_late(lookup)) {
            break;
        }
        kl__cond_wait(&self->landed, &self->mutex, lookup->deadline_ms);
    }
    if (seen != self->flights) {
        *err = self->outcome;
    } else if (kl__cancel_fired(lookup->cancel)) {
        kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    } else if (is_late(lookup)) {
        set_late(err);
    } else {
        takes_off = true;
        self->in_flight = true;
    }
    kl__mutex_unlock(&self->mutex);
    return takes_off;
}

static kl_code refresh_for_name(kl__discovery *self, uint64_t seen,
                                const kl__lookup *lookup, kl_error *err)
{
    kl__cancel_hook hook = {.wake = wake_waiters, .arg = self};

    err->code = KL_OK;
    if (!kl__cancel_add(lookup->cancel, &hook)) {
        return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    }
    if (wait_or_begin_refresh(self, seen, lookup, err)) {
        refresh_catalogue(self, lookup, err);
    }
    kl__cancel_remove(lookup->cancel, &hook);
    return err->code;
}

/* Fills `resource` if the name is in the catalogue (`is_known`). */
static kl_code find_resource(const kl__catalogue *catalogue, const char *name,
                             kl__resource *resource, bool *is_known,
                             kl_error *err)
{
    const kl__catalogue_entry *entry = kl__catalogue_find(catalogue, name);

    *is_known = entry != NULL;
    if (entry == NULL) {
        return kl__catalogue_unknown(catalogue, name, err);
    }
    if (!entry->watchable) {
        return kl_error_set(err, KL_ENOT_ALLOWED,
                            "%s (%s) cannot be watched: the server does not "
                            "offer both list and watch for it",
                            kl__catalogue_text(catalogue, entry->plural),
                            kl__catalogue_text(catalogue, entry->kind));
    }
    return kl__catalogue_resource(catalogue, entry, resource)
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a resource");
}

/* Refreshes the cache until a whole answer, or the first that has the name.
 * Another thread's refresh may be partial: that thread had less time. */
static kl_code look_up_anew(kl__discovery *self, const kl__lookup *lookup,
                            uint64_t flights, kl__resource *resource,
                            kl_error *err)
{
    int64_t till_ms = lookup->deadline_ms >= 0
                          ? lookup->deadline_ms
                          : kl__clock_now(kl__clock_real()) + 2 * TIMEOUT_MS;
    bool is_known = false, is_partial = true;
    kl_code code = KL_OK;

    while (!is_known && is_partial) {
        view seen;

        if (refresh_for_name(self, flights, lookup, err) != KL_OK) {
            return err->code;
        }
        seen = view_cache(self);
        flights = seen.flights;
        code = find_resource(seen.catalogue, lookup->name, resource, &is_known,
                             err);
        is_partial = seen.catalogue->is_partial;
        kl__catalogue_unref(seen.catalogue);
        if (!is_known && is_partial &&
            kl__clock_now(kl__clock_real()) >= till_ms) {
            return set_late(err);
        }
    }
    return code;
}

kl_code kl__discovery_look_up(const kl__lookup *lookup, kl__resource *resource,
                              kl_error *err)
{
    kl__discovery *self = kl__client_discovery(lookup->client);
    view seen = view_cache(self);
    bool is_known = false;
    kl_error local;
    kl_code code = KL_OK;

    *resource = (kl__resource){0};
    err = err != NULL ? err : &local;
    if (seen.is_valid) {
        code = find_resource(seen.catalogue, lookup->name, resource, &is_known,
                             err);
    }
    kl__catalogue_unref(seen.catalogue);
    return is_known || seen.is_young
               ? code
               : look_up_anew(self, lookup, seen.flights, resource, err);
}

kl_code kl__discovery_resolve(kl_client *client, const char *name,
                              kl__resource *resource, kl__cancel *cancel,
                              kl_error *err)
{
    const kl__lookup lookup = {client, name, -1, cancel};

    return kl__discovery_look_up(&lookup, resource, err);
}

/* Copies a row of the built-in table; false: out of memory. */
static bool copy_builtin(const kl_kind *builtin, kl__resource *resource)
{
    /* the casts are safe: kl__resource_copy only reads */
    kl__resource borrowed = {.group = (char *)(uintptr_t)builtin->group,
                             .version = (char *)(uintptr_t)builtin->version,
                             .plural = (char *)(uintptr_t)builtin->plural,
                             .kind = (char *)(uintptr_t)builtin->kind,
                             .namespaced = builtin->namespaced};

    return kl__resource_copy(resource, &borrowed);
}

kl_code kl__discovery_guess(kl_client *client, const char *name,
                            kl__resource *resource, bool *is_cached)
{
    view seen = view_cache(kl__client_discovery(client));
    const kl_kind *builtin;
    kl_code code = KL_OK;

    *resource = (kl__resource){0};
    *is_cached = false;
    if (seen.catalogue != NULL) {
        code = find_resource(seen.catalogue, name, resource, is_cached, NULL);
        kl__catalogue_unref(seen.catalogue);
    }
    if (*is_cached) {
        return code == KL_ENOT_ALLOWED ? KL_EUNKNOWN_KIND : code;
    }
    builtin = kl_kind_builtin(name);
    if (builtin == NULL) {
        return KL_EUNKNOWN_KIND;
    }
    return copy_builtin(builtin, resource) ? KL_OK : KL_ENOMEM;
}

void kl__discovery_expire(kl_client *client)
{
    kl__discovery *self = kl__client_discovery(client);

    kl__mutex_lock(&self->mutex);
    self->is_expired = true;
    kl__mutex_unlock(&self->mutex);
}
