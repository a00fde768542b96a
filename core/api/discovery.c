/*
 * discovery.c - looks names up in the cache of a client (discovery_cache.h),
 * and asks the server again for an unknown one. Lookups that need an answer at
 * the same time share one refresh, which one of them carries out. See
 * discovery.h.
 */
#include "api/discovery.h"

#include "api/builtin_names.h"
#include "api/catalogue.h"
#include "api/discovery_cache.h"
#include "api/discovery_fetch.h"

/* The longest time that one refresh may take. */
enum { TIMEOUT_MS = 30000 };

static kl__discovery *discovery_of(const kl__search *search)
{
    return kl__client_discovery(search->lookup.client);
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

/* ---- news for a lookup ---- */

/* A stream's hook, and a cancel token's. */
static void note_news(void *arg)
{
    kl__search *search = arg;
    const kl__stream_turn *lent;

    kl__mutex_lock(&search->mutex);
    search->has_news = true;
    kl__cond_signal(&search->cond);
    lent = search->lent;
    search->lent = NULL;
    if (lent != NULL) {
        lent->wake(lent->arg);
    }
    kl__mutex_unlock(&search->mutex);
}

static void forget_news(kl__search *search)
{
    kl__mutex_lock(&search->mutex);
    search->has_news = false;
    kl__mutex_unlock(&search->mutex);
}

bool kl__search_lend(kl__search *search, const kl__stream_turn *turn)
{
    bool is_lent;

    kl__mutex_lock(&search->mutex);
    is_lent = !search->has_news;
    search->lent = is_lent ? turn : NULL;
    kl__mutex_unlock(&search->mutex);
    return is_lent;
}

void kl__search_retract(kl__search *search)
{
    kl__mutex_lock(&search->mutex);
    search->lent = NULL;
    kl__mutex_unlock(&search->mutex);
}

int64_t kl__search_look_again_ms(const kl__search *search)
{
    return search->fetch != NULL ? kl__fetch_look_again_ms(search->fetch)
                                 : search->lookup.deadline_ms;
}

void kl__search_wait(kl__search *search, int64_t deadline_ms)
{
    kl__cancel_hook hook = {.wake = note_news, .arg = search};
    int64_t again_ms = kl__search_look_again_ms(search);

    if (deadline_ms < 0 || (again_ms >= 0 && again_ms < deadline_ms)) {
        deadline_ms = again_ms;
    }
    if (!kl__cancel_add(search->lookup.cancel, &hook)) {
        return;
    }
    kl__mutex_lock(&search->mutex);
    while (!search->has_news &&
           kl__cond_wait(&search->cond, &search->mutex, deadline_ms)) {
    }
    kl__mutex_unlock(&search->mutex);
    kl__cancel_remove(search->lookup.cancel, &hook);
}

/* ---- refreshing the cache ---- */

/* Ends the refresh of this lookup, for all that wait: `err` says how. */
static void land(kl__search *search, const kl_error *err)
{
    kl__discovery *self = discovery_of(search);
    kl__catalogue *old = search->fresh;

    kl__fetch_free(search->fetch);
    search->fetch = NULL;
    kl__mutex_lock(&self->mutex);
    if (err->code == KL_OK) {
        old = self->catalogue;
        self->catalogue = search->fresh;
        self->answered_ms = kl__clock_now(self->clock);
        self->is_expired = false;
    }
    self->outcome = *err;
    /* Only the time of this lookup was over: that is no answer. */
    if (err->code == KL_ETIMEOUT && is_late(&search->lookup)) {
        self->outcome.code = KL_ECANCELED;
    }
    self->in_flight = false;
    self->flights++;
    for (kl__list *node = self->waiting.next; node != &self->waiting;
         node = node->next) {
        note_news(KL__CONTAINER(node, kl__search, node));
    }
    kl__mutex_unlock(&self->mutex);
    kl__catalogue_unref(old);
    kl__catalogue_unref(search->former);
    search->fresh = search->former = NULL;
}

/* When a refresh that begins now has to be over. */
static int64_t find_deadline(const kl__lookup *lookup)
{
    int64_t till_ms = kl__clock_now(kl__clock_real()) + TIMEOUT_MS;

    return lookup->deadline_ms >= 0 && lookup->deadline_ms < till_ms
               ? lookup->deadline_ms
               : till_ms;
}

/* Prepares to ask the server for all lookups that wait: this one has set
 * in_flight. The server's time begins once there are credentials. */
static kl_code take_off(kl__search *search, kl_error *err)
{
    const kl__lookup *lookup = &search->lookup;
    kl__discovery *self = discovery_of(search);
    kl__survey survey = {.client = self->client,
                         .name = lookup->name,
                         .cancel = lookup->cancel,
                         .wake = note_news,
                         .arg = search};

    if (kl__client_log_in(self->client, lookup->cancel, err) != KL_OK) {
        return err->code;
    }
    survey.deadline_ms = find_deadline(lookup);
    survey.now_ms = kl__clock_now(self->clock);
    search->former = kl__discovery_view(self).catalogue;
    search->fresh = kl__catalogue_new();
    survey.catalogue = search->fresh;
    survey.former = search->former;
    search->fetch = search->fresh != NULL ? kl__fetch_new(&survey) : NULL;
    return search->fetch != NULL
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for discovery");
}

typedef enum turn {
    IS_SERVED, /* `err` is the result of a refresh, or of the lookup */
    WAITS,     /* another lookup asks the server */
    ASKS       /* this lookup asks */
} turn;

/* Decides what a lookup does that has not asked the server. If a refresh has
 * ended since it looked, that result is used. */
static turn choose_turn(kl__search *search, kl_error *err)
{
    kl__discovery *self = discovery_of(search);
    turn chosen = IS_SERVED;

    kl__mutex_lock(&self->mutex);
    kl__list_remove(&search->node);
    /* The lookup that asked the server was cancelled, or had no more time,
     * which is no answer: the next one that waits asks. */
    if (self->outcome.code == KL_ECANCELED) {
        search->seen = self->flights;
    }
    if (search->seen != self->flights) {
        *err = self->outcome;
    } else if (kl__cancel_fired(search->lookup.cancel)) {
        kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    } else if (is_late(&search->lookup)) {
        set_late(err);
    } else {
        chosen = self->in_flight ? WAITS : ASKS;
        self->in_flight = true;
    }
    if (chosen == WAITS) {
        kl__list_append(&self->waiting, &search->node);
    }
    kl__mutex_unlock(&self->mutex);
    return chosen;
}

/* True: a refresh has ended, or the lookup has; `err->code` says how. */
static bool refresh(kl__search *search, kl_error *err)
{
    err->code = KL_OK;
    if (search->fetch == NULL) {
        turn chosen = choose_turn(search, err);

        if (chosen != ASKS) {
            return chosen == IS_SERVED;
        }
        err->code = take_off(search, err);
    }
    if (err->code == KL_OK && !kl__fetch_step(search->fetch, err)) {
        return false;
    }
    if (err->code == KL_ETIMEOUT) {
        set_late(err);
    }
    land(search, err);
    return true;
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

/* True if the server has said all that it can about a name that it does not
 * know: its group is known, or was asked for. */
static bool is_settled(const kl__catalogue *catalogue, const char *name)
{
    size_t length;
    const char *group = kl__catalogue_missing_group(catalogue, name, &length);

    return length == 0 || kl__catalogue_was_asked(catalogue, group, length);
}

/* ---- lookups ---- */

void kl__search_begin(kl__search *search, const kl__lookup *lookup)
{
    *search = (kl__search){.lookup = *lookup};
    kl__list_init(&search->node);
    kl__mutex_init(&search->mutex, KL__RANK_NEWS);
    kl__cond_init(&search->cond);
}

void kl__search_end(kl__search *search)
{
    kl__discovery *self = discovery_of(search);
    kl_error why;

    if (search->fetch != NULL) {
        kl_error_set(&why, KL_ECANCELED, "the call was cancelled");
        land(search, &why);
    }
    kl__mutex_lock(&self->mutex);
    kl__list_remove(&search->node);
    kl__mutex_unlock(&self->mutex);
    kl__cond_deinit(&search->cond);
    kl__mutex_deinit(&search->mutex);
}

/* True: the cache is fresh enough; `err->code` is the result. */
static bool look_in_cache(kl__search *search, kl__resource *resource,
                          kl_error *err)
{
    kl__discovery_known seen = kl__discovery_view(discovery_of(search));
    int64_t deadline_ms = search->lookup.deadline_ms;
    bool is_known = false, is_young = seen.is_young;

    search->seen = seen.flights;
    search->until_ms = deadline_ms >= 0
                           ? deadline_ms
                           : kl__clock_now(kl__clock_real()) + 2 * TIMEOUT_MS;
    if (seen.is_valid) {
        err->code = find_resource(seen.catalogue, search->lookup.name, resource,
                                  &is_known, err);
    }
    if (is_young) {
        is_young = is_settled(seen.catalogue, search->lookup.name);
    }
    kl__catalogue_unref(seen.catalogue);
    return is_known || is_young;
}

/* After a refresh. True: the answer is whole, or has the name. Another lookup's
 * refresh may be partial, as that had less time, or has not asked for the group
 * of this name. */
static bool look_at_answer(kl__search *search, kl__resource *resource,
                           kl_error *err)
{
    kl__discovery_known seen = kl__discovery_view(discovery_of(search));
    bool is_known,
        is_partial = seen.catalogue->is_partial ||
                     !is_settled(seen.catalogue, search->lookup.name);

    search->seen = seen.flights;
    err->code = find_resource(seen.catalogue, search->lookup.name, resource,
                              &is_known, err);
    kl__catalogue_unref(seen.catalogue);
    if (!is_known && is_partial &&
        kl__clock_now(kl__clock_real()) >= search->until_ms) {
        set_late(err);
        return true;
    }
    return is_known || !is_partial;
}

bool kl__search_step(kl__search *search, kl__resource *resource, kl_error *err)
{
    *resource = (kl__resource){0};
    forget_news(search);
    if (!search->has_looked) {
        search->has_looked = true;
        if (look_in_cache(search, resource, err)) {
            return true;
        }
    }
    while (refresh(search, err)) {
        if (err->code != KL_OK || look_at_answer(search, resource, err)) {
            return true;
        }
    }
    return false;
}

kl_code kl__discovery_look_up(const kl__lookup *lookup, kl__resource *resource,
                              kl_error *err)
{
    kl__search search;
    kl_error local;

    err = err != NULL ? err : &local;
    kl__search_begin(&search, lookup);
    while (!kl__search_step(&search, resource, err)) {
        kl__search_wait(&search, -1);
    }
    kl__search_end(&search);
    return err->code;
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
    kl__discovery_known seen = kl__discovery_view(kl__client_discovery(client));
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
