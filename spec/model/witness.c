/*
 * witness.c - checks that the events of one handler form a possible history:
 * add, update*, delete, and so on. `old` is the object that was seen last, no
 * UIDs are mixed, no object is invented, versions do not go back, nothing is
 * lost.
 */
#include "oracle.h"

#include "base/mem.h"
#include "coverage.h"
#include "object/block.h"
#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOLD_NAME = 40 };

int64_t witness_version(const kl_object *object)
{
    return strtoll(kl_object_resource_version(object), NULL, 10);
}

/* "handler 3 (kind 3), UPDATE n1/a 7 -> 9 (uid)" for messages. */
static const char *text_of(const handler *self, const told *event)
{
    static char text[300];
    static const char *const types[] = {"ADD", "UPDATE", "DELETE", "SYNCED",
                                        "ERROR"};

    snprintf(text, sizeof(text), "handler %d (kind %d), %s%s %s %s -> %s (%s)",
             self->number, (int)self->kind, event->initial ? "initial " : "",
             types[event->type],
             event->object != NULL ? kl_object_key(event->object) : "",
             event->old != NULL ? kl_object_resource_version(event->old) : "",
             event->object != NULL ? kl_object_resource_version(event->object)
                                   : "",
             event->object != NULL ? kl_object_uid(event->object) : "");
    return text;
}

static bool is_every_change(const handler *self)
{
    return self->kind == HANDLER_EVERY || self->kind == HANDLER_PULLED_EVERY;
}

/* True if the handler may get fewer events than there were. */
static bool may_merge(const handler *self)
{
    return self->backlog != 0 && !is_every_change(self);
}

static bool is_same(const kl_object *a, const kl_object *b)
{
    return strcmp(kl_object_uid(a), kl_object_uid(b)) == 0;
}

/* Reads a field while other strands read and free objects. */
static void check_field(const handler *self, const told *event, int value)
{
    kl_object *object = kl_object_ref(event->object);
    const kl_value *root = kl_object_open(object, NULL);
    const kl_value *spec = kl_value_get(root, "spec");

    schedule_check(root != NULL, "content: no memory");
    schedule_point();
    schedule_check(kl_value_integer(kl_value_get(spec, "value")) == value,
                   "content: its value is not %d: %s", value,
                   text_of(self, event));
    kl_object_close(object);
    kl_object_unref(object);
}

/* Checks the whole object, which may rest packed. */
static void check_content(const handler *self, const told *event,
                          const server_change *change)
{
    /* `change` may move as soon as another strand runs. */
    char *expected = server_kept_text(change);
    const char *json, *kept;

    check_field(self, event, change->spec.value);
    json = kl_object_json(event->object, NULL, NULL);
    kept = json != NULL ? strstr(json, "\"metadata\"") : NULL;
    schedule_check(kept != NULL && strcmp(kept, expected) == 0,
                   "content: it is not what the server said: %s: %s",
                   text_of(self, event), json != NULL ? json : "no memory");
    kl__free(expected);
    kl_object_close_json(event->object);
}

/* Checks that the server had this object, and that the informer asked for
 * it. */
static void check_is_real(const handler *self, const told *event)
{
    int64_t version = witness_version(event->object);
    size_t count, position = feeds_position(self->world->server, version);
    const server_change *changes = server_history(self->world->server, &count);
    const server_change *change;

    if (self->world->has_restored) {
        return; /* versions are given out twice */
    }
    schedule_check(position > 0, "invented: a version that never was: %s",
                   text_of(self, event));
    change = &changes[position - 1];
    schedule_check(strcmp(change->key, kl_object_key(event->object)) == 0 &&
                       strcmp(change->uid, kl_object_uid(event->object)) == 0,
                   "mixed: that version was %s (%s): %s", change->key,
                   change->uid, text_of(self, event));
    if (event->type == KL_EVENT_DELETE) {
        return;
    }
    schedule_check(change->type != SERVER_DELETED,
                   "revived: that version was a delete: %s",
                   text_of(self, event));
    schedule_check(!change->spec.is_unreadable,
                   "invented: that version cannot be read: %s",
                   text_of(self, event));
    schedule_check(history_in_scope(history_scope(self->feed->scope), change),
                   "scope: it was not asked for: %s", text_of(self, event));
    check_content(self, event, change);
}

static void check_add(const handler *self, const told *event, int key)
{
    schedule_check(self->known[key] == NULL, "possible-history: known: %s",
                   text_of(self, event));
    schedule_check(event->initial == !self->has_synced,
                   "initial: before synced it is, after that not: %s",
                   text_of(self, event));
    schedule_check(self->world->has_restored ||
                       witness_version(event->object) > self->newest[key],
                   "backwards: %lld was seen: %s", (long long)self->newest[key],
                   text_of(self, event));
}

static void check_update(const handler *self, const told *event, int key)
{
    const kl_object *known = self->known[key];
    bool is_resync = event->old == event->object;

    schedule_check(known != NULL, "possible-history: unknown: %s",
                   text_of(self, event));
    schedule_check(event->old == known,
                   "old: it is not what was seen last (%s): %s",
                   kl_object_resource_version(known), text_of(self, event));
    schedule_check(is_same(event->object, known), "mixed: another uid: %s",
                   text_of(self, event));
    /* After a restore, a change and its undoing may be merged into an update
     * whose `old` is the same object. */
    schedule_check(event->resync < 0 || self->world->has_restored ||
                       is_resync == (event->resync != 0),
                   "resync: the flag is wrong: %s", text_of(self, event));
    schedule_check(!is_resync || self->resync_ms > 0 ||
                       self->world->has_restored,
                   "resync: none was asked for: %s", text_of(self, event));
    schedule_check(is_resync || self->world->has_restored ||
                       witness_version(event->object) >
                           witness_version(event->old),
                   "backwards: %s", text_of(self, event));
}

/* True if the object was deleted, or left the scope, after the state that is
 * known. An object that only cannot be read is not gone. */
static bool has_gone(const handler *self, const kl_object *known)
{
    const scope *where = history_scope(self->feed->scope);
    size_t count;
    const server_change *changes = server_history(self->world->server, &count);

    for (size_t i = feeds_position(self->world->server, witness_version(known));
         i < count; i++) {
        if (strcmp(changes[i].key, kl_object_key(known)) == 0 &&
            (changes[i].type == SERVER_DELETED ||
             !history_in_scope(where, &changes[i]))) {
            return true;
        }
    }
    return false;
}

static void check_delete(const handler *self, const told *event, int key)
{
    const kl_object *known = self->known[key];

    schedule_check(known != NULL, "possible-history: unknown: %s",
                   text_of(self, event));
    schedule_check(is_same(event->object, known), "mixed: another uid: %s",
                   text_of(self, event));
    schedule_check(self->world->has_restored || has_gone(self, known),
                   "gone: the server did not delete it: %s",
                   text_of(self, event));
    if (event->unknown && !may_merge(self)) {
        schedule_check(event->object == known,
                       "unknown: it is not the last known state: %s",
                       text_of(self, event));
    }
    schedule_check(self->world->has_restored || event->unknown ||
                       witness_version(event->object) > witness_version(known),
                   "backwards: %s", text_of(self, event));
}

/* True if the watch carried a change of that key between two versions that the
 * handler was not shown: it was merged. */
static bool has_skipped(const handler *self, int key, int64_t from, int64_t to)
{
    for (size_t i = self->feed->due_count; i > self->due_from; i--) {
        const due *each = &self->feed->due[i - 1];

        if (each->version <= from) {
            return false;
        }
        if (each->key == key && each->version < to) {
            return true;
        }
    }
    return false;
}

static void note_version(handler *self, int64_t version)
{
    if (self->seen_count == self->seen_capacity) {
        self->seen_capacity = self->seen_capacity * 2 + 32;
        self->seen =
            realloc(self->seen, self->seen_capacity * sizeof(*self->seen));
        schedule_check(self->seen != NULL, "the model is out of memory");
    }
    self->seen[self->seen_count++] = version;
}

static void remember(handler *self, const told *event, int key)
{
    int64_t version = witness_version(event->object);
    int64_t before =
        self->known[key] != NULL ? witness_version(self->known[key]) : version;

    if (event->old == event->object && event->type == KL_EVENT_UPDATE) {
        self->resynced[key]++;
    } else {
        note_version(self, version);
        if (may_merge(self) && event->type != KL_EVENT_ADD &&
            has_skipped(self, key, before, version)) {
            self->has_merged = true;
            coverage_add(COVER_MERGES, 1);
        }
    }
    coverage_add(COVER_REPLACED_UID,
                 event->type == KL_EVENT_ADD && self->gone == key + 1 ? 1 : 0);
    self->gone = event->type == KL_EVENT_DELETE && event->unknown ? key + 1 : 0;
    if (version > self->newest[key]) {
        self->newest[key] = version;
    }
    kl_object_unref(self->known[key]);
    self->known[key] =
        event->type != KL_EVENT_DELETE ? kl_object_ref(event->object) : NULL;
}

/* Counts the objects that rest packed. */
static void count_packed(const told *event)
{
    const kl_object *object = event->object;
    const kl_object *old = event->old;

    coverage_add(COVER_PACKED_LATE,
                 old != NULL && old->is_apart && kl__object_is_packed(old));
    coverage_add(COVER_YOUNG, object != NULL && object->is_apart &&
                                  !kl__object_is_packed(object));
    if (object == NULL || !kl__object_is_packed(object)) {
        return;
    }
    coverage_add(COVER_PACKED, 1);
    coverage_add(COVER_DICTIONARIES,
                 old != NULL && kl__object_is_packed(old) &&
                         old->dictionary != object->dictionary
                     ? 1
                     : 0);
}

static void count(const handler *self, const told *event)
{
    count_packed(event);
    switch (event->type) {
    case KL_EVENT_ADD:
        coverage_add(COVER_ADDS, 1);
        coverage_add(COVER_ADDS_INITIAL, event->initial ? 1 : 0);
        break;
    case KL_EVENT_UPDATE:
        coverage_add(
            event->old == event->object ? COVER_RESYNCS : COVER_UPDATES, 1);
        break;
    case KL_EVENT_DELETE:
        coverage_add(COVER_DELETES, 1);
        coverage_add(COVER_DELETES_UNKNOWN, event->unknown ? 1 : 0);
        break;
    case KL_EVENT_SYNCED:
        coverage_add(COVER_SYNCED, 1);
        coverage_add(COVER_HANDLERS_LATE, self->is_late ? 1 : 0);
        break;
    case KL_EVENT_ERROR:
        coverage_add(COVER_ERRORS, 1);
        break;
    }
}

static void see_synced(handler *self, const told *event)
{
    schedule_check(!self->has_synced, "synced: twice: %s",
                   text_of(self, event));
    self->has_synced = true;
    schedule_check(self->registration == NULL || self->state != HANDLER_LIVE ||
                       kl_registration_has_synced(self->registration),
                   "synced: told before it is so: %s", text_of(self, event));
    if (!may_merge(self)) {
        cache_check_handler(self);
    }
}

static void see_object(handler *self, const told *event)
{
    int key = history_key_index(kl_object_key(event->object));

    schedule_check(key >= 0 && key < self->world->keys,
                   "invented: a key that never was: %s", text_of(self, event));
    if (event->type == KL_EVENT_ADD) {
        check_add(self, event, key);
    } else if (event->type == KL_EVENT_UPDATE) {
        check_update(self, event, key);
    } else {
        check_delete(self, event, key);
    }
    check_is_real(self, event);
    remember(self, event, key);
    if (!event->unknown) {
        cache_reflects(self->feed, self->world->server,
                       witness_version(event->object));
    }
}

/* Notes which object cannot be read: "Pod n1/a cannot be read: ...". */
static void see_unreadable(handler *self, const told *event)
{
    char name[TOLD_NAME] = "";
    int key;

    sscanf(event->error->message, "%*s %39s", name);
    key = history_key_index(name);
    schedule_check(key >= 0 && key < self->world->keys,
                   "unreadable: the error names no object: %s",
                   event->error->message);
    self->told_unreadable[key] = true;
    coverage_add(COVER_UNREADABLE_TOLD, 1);
}

static void see_error(handler *self, const told *event)
{
    schedule_check(self->kind != HANDLER_QUIET, "errors: none were wanted: %s",
                   text_of(self, event));
    schedule_check(event->error->code != KL_OK &&
                       event->error->message[0] != '\0',
                   "errors: it says nothing: %s", text_of(self, event));
    if (event->error->code == KL_EUNREADABLE) {
        see_unreadable(self, event);
        return;
    }
    self->errors++;
    self->last_error = *event->error;
}

void witness_see(handler *self, const told *event)
{
    schedule_note("%s", text_of(self, event));
    count(self, event);
    self->stretch++;
    if (event->type == KL_EVENT_ERROR) {
        see_error(self, event);
    } else if (event->type == KL_EVENT_SYNCED) {
        see_synced(self, event);
    } else {
        see_object(self, event);
    }
}

static bool was_shown_version(const handler *self, int64_t version)
{
    for (size_t i = self->seen_count; i > 0; i--) {
        if (self->seen[i - 1] == version) {
            return true;
        }
    }
    return false;
}

/* True if the change took an object out of the scope, by a delete or by a
 * label, and the handler was shown no state of that stay in the scope. */
static bool has_left_unseen(const handler *self, const server_change *changes,
                            size_t at)
{
    const scope *where = history_scope(self->feed->scope);
    bool was_there = false;

    if (changes[at].type != SERVER_DELETED &&
        history_in_scope(where, &changes[at])) {
        return false;
    }
    for (size_t i = at; i > 0; i--) {
        const server_change *each = &changes[i - 1];

        if (each->kind != where->kind ||
            strcmp(each->key, changes[at].key) != 0) {
            continue;
        }
        if (each->type == SERVER_DELETED || !history_in_scope(where, each)) {
            return was_there;
        }
        if (was_shown_version(self, each->version)) {
            return false;
        }
        was_there = true;
    }
    return was_there;
}

/* Counts objects that came and left unseen. If both events wait, they leave a
 * full backlog again, so that fewer events are seen than had filled it. The
 * server's history says so, not the watch: the delete may be found by a list,
 * or have a text that cannot be read. */
static size_t count_unseen(const handler *self)
{
    size_t count, unseen = 0;
    const server_change *changes = server_history(self->world->server, &count);

    for (size_t i = self->unseen_from; i < count; i++) {
        unseen += has_left_unseen(self, changes, i) ? 1 : 0;
    }
    return unseen;
}

/* The backlog is empty. If events were merged since it was last empty, as many
 * events as its bound must have waited, and all of them have been seen by now,
 * except those that left unseen, and those that a closed client has dropped. */
static void check_stretch(handler *self)
{
    schedule_check(!self->has_merged || self->world->has_restored ||
                       self->world->feeds.lists_apart ||
                       self->world->is_client_closed ||
                       self->stretch >= self->backlog ||
                       self->stretch + count_unseen(self) >= self->backlog,
                   "merged: handler %d merged, though not more than %zu events "
                   "of its backlog of %zu had waited",
                   self->number, self->stretch, self->backlog);
    self->stretch = 0;
    self->has_merged = false;
}

/* Counts the keys of the handler's kind of object. */
static size_t count_keys(const handler *self)
{
    const scope *where = history_scope(self->feed->scope);
    size_t count = 0;

    for (int i = 0; i < self->world->keys; i++) {
        server_kind kind;

        history_key(i, &kind);
        count += kind == where->kind ? 1 : 0;
    }
    return count;
}

/* Checks the bound of handler.h: beyond the backlog, at most three events of
 * each object and one more wait. */
static void check_bound(const handler *self, size_t waits)
{
    size_t keys = count_keys(self);

    schedule_check(!may_merge(self) || waits <= self->backlog + 3 * keys + 2,
                   "bounded: %zu events wait for handler %d, whose backlog is "
                   "%zu, of %zu keys",
                   waits, self->number, self->backlog, keys);
}

void witness_seen(handler *self, const told *event)
{
    size_t waits;

    if (self->state != HANDLER_LIVE) {
        return;
    }
    schedule_check(
        !event->initial || !kl_registration_has_synced(self->registration),
        "synced: early, within an initial add: %s", text_of(self, event));
    waits = kl_registration_backlog(self->registration);
    check_bound(self, waits);
    /* The state is read after the count: meanwhile the handler may have been
     * removed, and its backlog dropped. */
    if (may_merge(self) && self->pulled == 0 && waits == 0 &&
        self->state == HANDLER_LIVE) {
        check_stretch(self);
    }
}

const char *witness_missing(const handler *self, char *text, size_t size)
{
    size_t at = self->due_from;

    if (may_merge(self) || self->feed->is_murky || self->world->has_restored) {
        return NULL;
    }
    for (size_t i = 0; i < self->seen_count && at < self->feed->due_count;
         i++) {
        at += self->feed->due[at].version == self->seen[i] ? 1 : 0;
    }
    if (at == self->feed->due_count) {
        coverage_add(COVER_CARRIED, at - self->due_from);
        return NULL;
    }
    snprintf(text, size,
             "lost: handler %d (kind %d) did not see version %lld of key %d "
             "(in order), which the watch had carried",
             self->number, (int)self->kind,
             (long long)self->feed->due[at].version, self->feed->due[at].key);
    return text;
}

typedef struct comparison {
    const handler *handler;
    size_t found;
    bool is_different;
} comparison;

/* True if the handler was told that the object cannot be read, or need not be:
 * it wants no errors, or a full backlog keeps the latest error only. */
static bool was_told(const handler *self, int key)
{
    return self->kind == HANDLER_QUIET || self->backlog != 0 ||
           self->told_unreadable[key];
}

static void compare(const server_change *object, void *context)
{
    comparison *self = context;
    const handler *whose = self->handler;
    int key = history_key_index(object->key);
    const kl_object *known;

    if (!history_in_scope(history_scope(whose->feed->scope), object)) {
        return;
    }
    known = whose->known[key];
    if (object->spec.is_unreadable) {
        /* It may be known in its former state. */
        self->found += known != NULL ? 1 : 0;
        self->is_different |=
            (known != NULL && strcmp(kl_object_uid(known), object->uid) != 0) ||
            !was_told(whose, key);
        return;
    }
    self->found++;
    self->is_different |= known == NULL ||
                          witness_version(known) != object->version ||
                          strcmp(kl_object_uid(known), object->uid) != 0;
}

bool witness_is_current(const handler *self)
{
    comparison all = {.handler = self};
    size_t known = 0;

    server_each(self->world->server, history_scope(self->feed->scope)->kind,
                compare, &all);
    for (int i = 0; i < self->world->keys; i++) {
        known += self->known[i] != NULL ? 1 : 0;
    }
    return !all.is_different && known == all.found;
}

void witness_clear(handler *self)
{
    for (int i = 0; i < self->world->keys; i++) {
        kl_object_unref(self->known[i]);
    }
    free(self->known);
    free(self->newest);
    free(self->told_unreadable);
    free(self->resynced);
    free(self->seen);
}
