/*
 * writer.c - the owner's writes: any thread adds changes to a list, and a
 * publish applies and publishes them together.
 */
#include "shared/writer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "kubelua/log.h"
#include "shared/entries.h"

#include <inttypes.h>
#include <unistd.h>

struct kl__shared_writer {
    pid_t pid;            /* the process that has taken the map; set once */
    kl__mutex publishing; /* guards `entries`, `is_full`; KL__RANK_SHARED */
    kl__entries entries;
    bool is_full; /* the last publish did not fit, which was logged */

    kl__mutex changing; /* guards the list below; KL__RANK_CHANGES */
    bool is_owner;
    kl__change *first; /* the list of changes, oldest first */
    kl__change **end;
};

/* The writer of this process; NULL: it has never taken the map. In a child of
 * the owner it is NULL too: threads that do not exist there may have held the
 * parent's locks, so the copy of its writer is never used or freed. */
static kl__shared_writer *writer_of(const kl_shared *map)
{
    kl__shared_writer *self =
        atomic_load_explicit(&map->writer, memory_order_acquire);

    return self != NULL && self->pid == getpid() ? self : NULL;
}

static void free_changes(kl__change *change)
{
    while (change != NULL) {
        kl__change *next = change->next;

        kl__free(change);
        change = next;
    }
}

static kl__change *take_changes(kl__shared_writer *self)
{
    kl__change *first;

    kl__mutex_lock(&self->changing);
    first = self->first;
    self->first = NULL;
    self->end = &self->first;
    kl__mutex_unlock(&self->changing);
    return first;
}

/* Puts changes back, before the changes that came meanwhile. */
static void put_changes_back(kl__shared_writer *self, kl__change *changes)
{
    kl__change **end = &changes;

    while (*end != NULL) {
        end = &(*end)->next;
    }
    kl__mutex_lock(&self->changing);
    *end = self->first;
    if (self->first == NULL) {
        self->end = end;
    }
    self->first = changes;
    if (self->end == &changes) {
        self->end = &self->first;
    }
    kl__mutex_unlock(&self->changing);
}

static kl__shared_writer *new_writer(kl_error *err)
{
    kl__shared_writer *self = kl__calloc(1, sizeof(*self));

    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    self->pid = getpid();
    kl__mutex_init(&self->publishing, KL__RANK_SHARED);
    kl__mutex_init(&self->changing, KL__RANK_CHANGES);
    self->end = &self->first;
    return self;
}

void kl__shared_writer_free(kl_shared *map)
{
    kl__shared_writer *self = writer_of(map);

    if (self != NULL) {
        free_changes(self->first);
        kl__entries_deinit(&self->entries);
        kl__mutex_deinit(&self->changing);
        kl__mutex_deinit(&self->publishing);
        kl__free(self);
    }
}

static void set_owner(kl__shared_writer *self, bool is_owner)
{
    kl__mutex_lock(&self->changing);
    self->is_owner = is_owner;
    kl__mutex_unlock(&self->changing);
}

kl_code kl__shared_take(kl_shared *map, kl_error *err)
{
    kl__shared_head *head = map->head;
    kl__shared_writer *self = writer_of(map);
    kl_code code;

    if (self == NULL) {
        self = new_writer(err);
        if (self == NULL) {
            return KL_ENOMEM;
        }
        atomic_store_explicit(&map->writer, self, memory_order_release);
    }
    kl__mutex_lock(&self->publishing);
    code = kl__entries_read(&self->entries, map, err);
    if (code == KL_OK) {
        atomic_fetch_add_explicit(&head->takeovers, 1, memory_order_relaxed);
        kl__word_store(&head->owner_pid, (uint64_t)getpid());
        self->entries.is_all_dirty = true;
        kl__entries_move_versions(&self->entries, map);
        /* the first generation is published even if it has no entries */
        self->entries.is_changed = kl__word_load(&head->generation) == 0;
        set_owner(self, true);
    } else {
        kl__entries_deinit(&self->entries);
        self->entries = (kl__entries){0};
    }
    kl__mutex_unlock(&self->publishing);
    return code;
}

void kl__shared_drop(kl_shared *map)
{
    kl__shared_writer *self = writer_of(map);

    if (self == NULL) {
        return;
    }
    set_owner(self, false);
    free_changes(take_changes(self));
    kl__mutex_lock(&self->publishing);
    kl__entries_deinit(&self->entries);
    self->entries = (kl__entries){0};
    self->is_full = false;
    kl__mutex_unlock(&self->publishing);
    if (kl__word_load(&map->head->owner_pid) == (uint64_t)getpid()) {
        kl__word_store(&map->head->owner_pid, 0);
    }
}

void kl__shared_heard(kl_shared *map, int64_t at_ms)
{
    kl__word_store(&map->head->heard_ms, (uint64_t)(at_ms > 0 ? at_ms : 1));
}

void kl__shared_set_synced(kl_shared *map)
{
    atomic_store_explicit(&map->head->synced, 1, memory_order_release);
}

void kl__shared_begin_serving(kl_shared *map)
{
    atomic_store_explicit(&map->is_serving, true, memory_order_relaxed);
}

bool kl__shared_is_current(const kl_shared *map)
{
    return map->epoch == 0 || map->epoch == kl__word_load(&map->head->epoch);
}

static kl_code set_not_owner(kl_error *err)
{
    return kl_error_set(err, KL_ECLOSED,
                        "this process is not the owner of the shared map: only "
                        "the owner writes");
}

/* Adds a change to the list and takes it. KL_ECLOSED: this process is not the
 * owner any more, and the change is freed. */
static kl_code add_change(kl_shared *map, kl__change *change, kl_error *err)
{
    kl__shared_writer *self = writer_of(map);
    bool is_owner;

    kl__mutex_lock(&self->changing);
    is_owner = self->is_owner;
    if (is_owner) {
        change->next = NULL;
        *self->end = change;
        self->end = &change->next;
    }
    kl__mutex_unlock(&self->changing);
    if (!is_owner) {
        kl__free(change);
        return set_not_owner(err);
    }
    return KL_OK;
}

static bool owns_map(const kl_shared *map)
{
    kl__shared_writer *self = writer_of(map);
    bool is_owner = false;

    if (self != NULL) {
        kl__mutex_lock(&self->changing);
        is_owner = self->is_owner;
        kl__mutex_unlock(&self->changing);
    }
    return is_owner;
}

/* Adds a change. If it is NULL, `made` is the error of its making: copies that
 * to `err` (may be NULL) and returns its code. */
static kl_code add_made(kl_shared *map, kl__change *change,
                        const kl_error *made, kl_error *err)
{
    if (change != NULL) {
        return add_change(map, change, err);
    }
    if (err != NULL) {
        *err = *made;
    }
    return made->code;
}

kl_code kl_shared_put(kl_shared *map, const kl_shared_key *key,
                      const void *value, size_t size, kl_error *err)
{
    kl_error made;

    return owns_map(map)
               ? add_made(map, kl__change_put(key, value, size, &made), &made,
                          err)
               : set_not_owner(err);
}

kl_code kl_shared_put_endpoints(kl_shared *map, const kl_shared_key *key,
                                const kl_endpoint *endpoints, size_t count,
                                kl_error *err)
{
    kl_error made;

    return owns_map(map) ? add_made(map,
                                    kl__change_put_endpoints(key, endpoints,
                                                             count, &made),
                                    &made, err)
                         : set_not_owner(err);
}

kl_code kl__shared_put_ranking(kl_shared *map, const kl_shared_key *key,
                               const kl__ranking *ranking, kl_error *err)
{
    kl_error made;

    return owns_map(map)
               ? add_made(map, kl__change_put_ranking(key, ranking, &made),
                          &made, err)
               : set_not_owner(err);
}

kl_code kl_shared_remove(kl_shared *map, const kl_shared_key *key,
                         kl_error *err)
{
    kl_error made;

    return owns_map(map)
               ? add_made(map, kl__change_remove(key, &made), &made, err)
               : set_not_owner(err);
}

kl_code kl_shared_complete(kl_shared *map, const char *table, kl_error *err)
{
    kl_error made;

    return owns_map(map)
               ? add_made(map, kl__change_complete(table, &made), &made, err)
               : set_not_owner(err);
}

kl_code kl__shared_renew(kl_shared *map, const char *table, kl_error *err)
{
    kl_error made;
    kl__change *change;

    if (!owns_map(map)) {
        return set_not_owner(err);
    }
    change = kl__change_complete(table, &made);
    if (change != NULL) {
        change->kind = KL__CHANGE_RENEW;
    }
    return add_made(map, change, &made, err);
}

/* Applies the list of changes; on KL_ENOMEM the rest waits in the list again.
 */
static kl_code apply_changes(kl__shared_writer *self, kl_error *err)
{
    kl__change *change = take_changes(self), *next;

    for (; change != NULL; change = next) {
        next = change->next;
        if (!kl__entries_apply(&self->entries, change)) {
            put_changes_back(self, change);
            return kl_error_set(err, KL_ENOMEM, "out of memory");
        }
    }
    return KL_OK;
}

static kl_code log_full(kl_shared *map, kl__shared_writer *self, kl_error *err)
{
    uint64_t needed = kl__entries_size(&self->entries) * 8;
    uint64_t room = (uint64_t)map->slot_words * 8;

    atomic_fetch_add_explicit(&map->head->full, 1, memory_order_relaxed);
    if (!self->is_full) {
        kl_log(KL_LOG_ERROR,
               "shared map %s is full: %" PRIu64 " bytes do not fit in %" PRIu64
               "; readers keep the last published state; give the map a size "
               "of %" PRIu64 " or more, and restart",
               map->name, needed, room, needed * 4);
    }
    self->is_full = true;
    return kl_error_set(err, KL_ETOO_LARGE,
                        "the shared map is full: %" PRIu64
                        " bytes do not fit in %" PRIu64
                        "; give it a larger size, and restart",
                        needed, room);
}

/* Writes the next slot and publishes it. New reads use the slot only after the
 * generation is stored, so a writer that dies here does no harm. A slow read
 * that still uses the slot begins again. */
static kl_code publish_entries(kl_shared *map, kl__shared_writer *self,
                               kl_error *err)
{
    kl__shared_head *head = map->head;
    uint64_t next = kl__word_load(&head->generation) + 1;
    kl__word *slot =
        map->slots + (next % KL__SHARED_SLOTS) * (size_t)map->slot_words;

    if (kl__entries_size(&self->entries) > map->slot_words) {
        return log_full(map, self, err);
    }
    /* A reader that sees a word of this generation also sees, after its fence,
     * that its own generation is two behind. */
    kl__fence(memory_order_release);
    kl__entries_write(&self->entries, slot, next);
    atomic_store_explicit(&head->generation, next, memory_order_release);
    kl__entries_move_versions(&self->entries, map);
    self->is_full = false;
    return KL_OK;
}

kl_code kl_shared_publish(kl_shared *map, kl_error *err)
{
    kl__shared_writer *self = writer_of(map);
    kl_code code;

    if (!owns_map(map)) {
        return set_not_owner(err);
    }
    kl__mutex_lock(&self->publishing);
    code = apply_changes(self, err);
    if (code == KL_OK && self->entries.is_changed) {
        code = publish_entries(map, self, err);
    }
    kl__mutex_unlock(&self->publishing);
    return code;
}
