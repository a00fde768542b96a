/*
 * users.c - what a user does with a client and its informers, by public calls
 * alone, on any fiber.
 */
#include "oracle.h"

#include "coverage.h"
#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool users_enter(world *self, user_informer *informer)
{
    if (informer->is_closing) {
        return false;
    }
    informer->users++;
    kl_informer_ref(informer->handle);
    informer->users--;
    world_changed(self);
    return true;
}

void users_leave(world *self, user_informer *informer)
{
    kl_informer_unref(informer->handle);
    world_changed(self);
}

void users_open(world *self, const op *what)
{
    const switches *how = &self->history->switches;
    const scope *where = history_scope(what->a);
    const kl_informer_options options = {
        .resource = how->discovers ? where->discovered : where->resource,
        .name_space = where->name_space,
        .labels = where->labels,
        .resync_ms = how->resync_ms,
        .idle_timeout_ms = how->idle_ms,
        .page_size = how->page_size,
        .no_streaming_list = how->no_streaming_list,
        .compress = how->packing == PACKING_OFF ? -1 : 0,
    };
    user_informer *opened = &self->informers[self->informer_count];
    kl_error err;

    if (self->slots[what->slot] != NULL || self->is_client_closed ||
        self->informer_count == INFORMERS_EVER) {
        return;
    }
    opened->feed = feeds_join(&self->feeds, what->a);
    if (opened->feed == NULL) {
        return;
    }
    self->informer_count++;
    opened->resync_ms = how->resync_ms;
    opened->is_closing = true; /* until it is open */
    self->slots[what->slot] = opened;
    opened->handle = kl_informer_open(self->client, &options, &err);
    if (opened->handle == NULL) {
        schedule_check(err.code == KL_ECLOSED && self->is_client_closed,
                       "errors: an informer cannot be opened: %s", err.message);
        feeds_leave(&self->feeds, opened->feed);
        feeds_left(&self->feeds, opened->feed, false);
        opened->is_closed = true;
        self->slots[what->slot] = NULL;
        return;
    }
    opened->is_closing = false;
}

void users_close(world *self, user_informer *informer, bool inside)
{
    if (informer->is_closing) {
        return;
    }
    informer->is_closing = true;
    informer->is_closed_inside = inside;
    for (int i = 0; i < HISTORY_INFORMERS; i++) {
        if (self->slots[i] == informer) {
            self->slots[i] = NULL;
        }
    }
    WORLD_WAIT(self, informer->users == 0);
    handlers_begin_close(self, informer);
    feeds_leave(&self->feeds, informer->feed);
    kl_informer_close(informer->handle);
    feeds_left(&self->feeds, informer->feed, inside);
    informer->is_closed = true;
    handlers_end_close(self, informer, inside);
    coverage_add(inside ? COVER_CLOSED_INSIDE : COVER_CLOSED, 1);
}

void users_close_client(world *self)
{
    if (self->is_client_closed) {
        return;
    }
    self->is_client_closed = true;
    kl_client_close(self->client);
    coverage_add(COVER_CLIENT_CLOSED, 1);
}

/* An index by function, and the informer that it was added to. */
typedef struct value_index {
    world *world;
    user_informer *informer;
    bool *is_bare; /* as handler.is_bare; NULL: it has begun, or has a reference
                    */
} value_index;

/* The call that adds the index has begun: it needs no reference any more. */
static void note_begun(value_index *self)
{
    if (self->is_bare != NULL) {
        *self->is_bare = false;
        self->is_bare = NULL;
        self->informer->users--;
        world_changed(self->world);
    }
}

static kl_code by_value(void *context, const kl_object *object,
                        const kl_value *root, kl_index_sink *sink)
{
    value_index *self = context;
    char text[24];
    int64_t value =
        kl_value_integer(kl_value_get(kl_value_get(root, "spec"), "value"));

    (void)object;
    note_begun(self);
    schedule_point();
    coverage_add(COVER_ACTS_IN_INDEX,
                 callbacks_act(self->world, self->informer, true) ? 1 : 0);
    snprintf(text, sizeof(text), "v%d", (int)(value % 3));
    return kl_index_emit(sink, text, strlen(text));
}

static void drop_index(void *context)
{
    value_index *self = context;

    note_begun(self);
    self->world->indexes_alive--;
    free(self);
}

/* Adds the index by function; takes the caller's reference. Half of these calls
 * hold none: until such a call has begun, `users` keeps the handle open; then
 * it needs no reference, whichever callback closes the handle. */
static kl_code add_by_value(world *self, user_informer *informer)
{
    value_index *made = calloc(1, sizeof(*made));
    /* Without a reference it must not begin once a close has begun. */
    bool has_none = schedule_chance(500) && !informer->is_closing;
    bool is_bare = has_none;
    kl_code code;

    schedule_check(made != NULL, "the model is out of memory");
    *made = (value_index){.world = self, .informer = informer};
    self->indexes_alive++;
    if (has_none) {
        made->is_bare = &is_bare;
        informer->users++;
        users_leave(self, informer);
    }
    code = kl_informer_add_index(informer->handle, "value", by_value, made,
                                 drop_index, NULL);
    if (code != KL_OK) {
        drop_index(made);
    } else if (is_bare) {
        note_begun(made); /* it lives: its drop would have done so */
    }
    if (!has_none) {
        users_leave(self, informer);
    }
    return code;
}

/* Adds an index: one of each kind, the same one twice, or one in conflict with
 * an earlier one. */
void users_add_index(world *self, const op *what)
{
    static const char *const names[] = {"node", "app", "value"};
    user_informer *informer = self->slots[what->slot];
    int which = what->b % 3;
    bool in_conflict = what->b >= 3 && what->c == 0;
    bool was_there;
    kl_code code;

    if (informer == NULL || !users_enter(self, informer)) {
        return;
    }
    was_there = (informer->indexes & (1U << which)) != 0;
    if (which == 2) {
        code = add_by_value(self, informer);
    } else {
        code =
            kl_informer_add_path_index(informer->handle, names[which],
                                       in_conflict && was_there ? "metadata.uid"
                                       : which == 0 ? "spec.nodeName"
                                                    : "metadata.labels.app",
                                       NULL);
        users_leave(self, informer);
    }
    if (code == KL_ECLOSED && informer->is_closing) {
        return;
    }
    schedule_check(code == KL_OK || code == KL_ECONFLICT,
                   "index: it cannot be added: %s", kl_code_name(code));
    schedule_check(!was_there || which == 2 || in_conflict || code == KL_OK,
                   "index: the same once more is a conflict");
    schedule_check(!was_there || !(which == 2 || in_conflict) ||
                       code == KL_ECONFLICT,
                   "index: a conflict is none");
    coverage_add(COVER_INDEXES, 1);
    coverage_add(COVER_INDEXES_TWICE, was_there ? 1 : 0);
    informer->indexes |= 1U << which;
}

static void query_list(world *self, user_informer *informer, int value)
{
    char name_space[4];
    reading now;
    kl_object_list list;

    cache_begin(&now, self, informer);
    snprintf(name_space, sizeof(name_space), "n%d", value % 4);
    if (kl_informer_list(informer->handle, value % 4 != 0 ? name_space : NULL,
                         NULL, &list, NULL) == KL_OK) {
        cache_check(&now, self, value % 4 != 0 ? ANSWER_NAMESPACE : ANSWER_ALL,
                    value % 4, &list);
    }
    kl_object_list_clear(&list);
}

static void query_selected(world *self, user_informer *informer, int value)
{
    char text[16];
    kl_selector *labels;
    reading now;
    kl_object_list list;

    snprintf(text, sizeof(text), "app=app-%d", value % 2);
    labels = kl_selector_parse(text, NULL);
    cache_begin(&now, self, informer);
    if (kl_informer_list(informer->handle, NULL, labels, &list, NULL) ==
        KL_OK) {
        cache_check(&now, self, ANSWER_APP, value % 2, &list);
    }
    kl_object_list_clear(&list);
    kl_selector_free(labels);
}

static void query_index(world *self, user_informer *informer, int which,
                        int value)
{
    static const struct {
        const char *name;
        const char *prefix;
        answer_kind kind;
    } indexes[] = {{"node", "node-", ANSWER_NODE},
                   {"app", "app-", ANSWER_APP},
                   {"value", "v", ANSWER_VALUE}};
    char text[16];
    reading now;
    kl_object_list list;
    kl_code code;
    bool is_there = (informer->indexes & (1U << which)) != 0;

    snprintf(text, sizeof(text), "%s%d", indexes[which].prefix, value % 3);
    cache_begin(&now, self, informer);
    code = kl_informer_by_index(informer->handle, indexes[which].name, text,
                                &list, NULL);
    schedule_check(code == KL_OK || !is_there || informer->is_closing,
                   "index: %s is lost", indexes[which].name);
    if (code == KL_OK) {
        cache_check(&now, self, indexes[which].kind, value % 3, &list);
    }
    kl_object_list_clear(&list);
}

static void query_key(world *self, user_informer *informer, int value)
{
    server_kind kind;
    int key = (int)schedule_random(HISTORY_KEYS);
    kl_object *object;
    reading now;

    (void)value;
    cache_begin(&now, self, informer);
    object = kl_informer_get(informer->handle, history_key(key, &kind));
    if (!informer->is_closing) {
        cache_check_one(&now, self, key, object);
    }
    kl_object_unref(object);
}

/* Checks numbers that must fit each other, and that the version never goes
 * back. */
static void query_numbers(world *self, user_informer *informer)
{
    char before[64], after[64];
    kl_informer_status status;
    kl_string_list values;

    kl_informer_resource_version(informer->handle, before, sizeof(before));
    kl_informer_status_get(informer->handle, &status);
    schedule_check(status.has_synced || before[0] == '\0' ||
                       informer->is_closing,
                   "status: has not synced, at version %s", before);
    if (kl_informer_index_values(informer->handle, "node", &values, NULL) ==
        KL_OK) {
        for (size_t i = 0; i < values.count; i++) {
            schedule_check(strncmp(values.items[i], "node-", 5) == 0,
                           "index: a value that never was: %s",
                           values.items[i]);
        }
    }
    kl_string_list_clear(&values);
    kl_informer_resource_version(informer->handle, after, sizeof(after));
    schedule_check(
        self->has_restored || before[0] == '\0' || informer->is_closing ||
            kl_version_compare(before, after) <= 0,
        "backwards: the cache's version went from %s to %s", before, after);
}

void users_query(world *self, user_informer *informer, int what, int value)
{
    bool is_mine = users_enter(self, informer);

    /* No new call may begin once the informer is being closed. */
    if (!is_mine) {
        return;
    }
    switch (what) {
    case 0:
        query_list(self, informer, value);
        break;
    case 1:
        query_selected(self, informer, value);
        break;
    case 2:
    case 3:
        /* no index may be behind the list that was just read */
        query_list(self, informer, 0);
        query_index(self, informer, value % 3, what + value);
        break;
    case 4:
        query_key(self, informer, value);
        break;
    default:
        query_numbers(self, informer);
        break;
    }
    users_leave(self, informer);
}

/* Checks that a wait ends soon after the list has arrived, unless a handler
 * that wants every change delays it. */
static void check_missed(const world *self, const user_informer *informer,
                         int64_t began)
{
    enum { LONG_MS = 2000 };
    int64_t listed = informer->feed->listed_ms;
    kl_informer_status status;
    bool is_held_up;

    kl_informer_status_get(informer->handle, &status);
    is_held_up = self->history->switches.hurry_per_mille > 0 ||
                 status.failures > 0; /* the list may have been rubbish */
    for (size_t i = 0; i < self->handler_count; i++) {
        is_held_up |= self->all_handlers[i]->kind == HANDLER_EVERY ||
                      self->all_handlers[i]->kind == HANDLER_PULLED_EVERY;
    }
    began = began > listed ? began : listed;
    schedule_check(is_held_up || informer->feed->is_murky || listed == 0 ||
                       schedule_now() - began < LONG_MS,
                   "wait: it ends %lld ms after the list was there",
                   (long long)(schedule_now() - began));
}

void users_query_all(world *self, user_informer *informer)
{
    query_list(self, informer, 0);
    for (int which = 0; which < 3; which++) {
        for (int value = 0; value < 3; value++) {
            query_index(self, informer, which, value);
        }
    }
}

void users_wait(world *self, const op *what)
{
    user_informer *informer = self->slots[what->slot];
    int64_t began = schedule_now();
    kl_error err;
    kl_code code;

    if (informer == NULL || !users_enter(self, informer)) {
        return;
    }
    code = kl_informer_wait_synced(informer->handle, what->a, &err);
    if (!informer->is_closing) {
        check_missed(self, informer, began);
    }
    switch (code) {
    case KL_OK:
        schedule_check(kl_informer_has_synced(informer->handle) ||
                           informer->is_closing,
                       "synced: a wait for it ends before it is so");
        coverage_add(COVER_WAITS_SYNCED, 1);
        break;
    case KL_ETIMEOUT:
        schedule_check(schedule_now() >= began + what->a,
                       "wait: it times out too early");
        schedule_check(err.message[0] != '\0', "wait: it does not say why");
        coverage_add(COVER_WAITS_TIMEOUT, 1);
        break;
    default:
        schedule_check(code == KL_ECLOSED &&
                           (self->is_client_closed || informer->is_closing),
                       "wait: it ends with %s", kl_code_name(code));
        coverage_add(COVER_WAITS_CLOSED, 1);
        break;
    }
    users_leave(self, informer);
}

void users_wake(world *self, const op *what)
{
    user_informer *informer = self->slots[what->slot];

    if (informer != NULL && users_enter(self, informer)) {
        kl_code code =
            kl_informer_wake_synced(informer->handle, self->queue, NULL);

        schedule_check(code == KL_OK ||
                           (code == KL_ECLOSED && informer->is_closing),
                       "wait: no wake-up can be asked for");
        coverage_add(COVER_WAKES, 1);
        users_leave(self, informer);
    }
}
