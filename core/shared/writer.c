/*
 * writer.c - the owner's writes: any thread adds changes to a list, and a
 * publish applies and publishes them together.
 */
#include "shared/writer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "kubelua/log.h"
#include "shared/budget.h"
#include "shared/entries.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { LOG_MS = 10000, LOG_LINES = 10 };

struct kl__shared_writer {
    pid_t pid;            /* the process that has taken the map; set once */
    kl__mutex publishing; /* guards the fields until the next mutex;
                             KL__RANK_SHARED */
    kl__entries entries;
    bool has_report;   /* the entries have a report of what is left out */
    int64_t log_until; /* until then `log_left` lines may be logged */
    int log_left;

    kl__mutex changing; /* guards the list below; KL__RANK_CHANGES */
    bool is_owner;
    kl__shared_change *first; /* the list of changes, oldest first */
    kl__shared_change **end;
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

static void free_changes(kl__shared_change *change)
{
    while (change != NULL) {
        kl__shared_change *next = change->next;

        kl__free(change);
        change = next;
    }
}

static kl__shared_change *take_changes(kl__shared_writer *self)
{
    kl__shared_change *first;

    kl__mutex_lock(&self->changing);
    first = self->first;
    self->first = NULL;
    self->end = &self->first;
    kl__mutex_unlock(&self->changing);
    return first;
}

/* Puts changes back, before the changes that came meanwhile. */
static void put_changes_back(kl__shared_writer *self,
                             kl__shared_change *changes)
{
    kl__shared_change **end = &changes;

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

/* Called by the close of the map. In a child of fork() the writer is a copy of
 * the parent's, and stays. */
static void free_writer(kl_shared *map)
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

/* The time for a word of the head; never 0. */
static uint64_t read_clock(void)
{
    int64_t now = kl__clock_now(kl__clock_real());

    return now > 0 ? (uint64_t)now : 1;
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
        map->free_writer = free_writer;
        atomic_store_explicit(&map->writer, self, memory_order_release);
    }
    kl__mutex_lock(&self->publishing);
    code = kl__entries_read(&self->entries, map, err);
    if (code == KL_OK) {
        atomic_fetch_add_explicit(&head->takeovers, 1, memory_order_relaxed);
        kl__word_store(&head->owner_pid, (uint64_t)getpid());
        kl__word_store(&head->taken_ms, read_clock());
        self->entries.is_all_dirty = true;
        kl__entries_move_versions(&self->entries, map);
        /* the first generation is published even if it has no entries */
        self->entries.is_changed = kl__word_load(&head->generation) == 0;
        self->has_report = true; /* a former owner may have left one */
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
    self->has_report = false;
    kl__mutex_unlock(&self->publishing);
    if (kl__word_load(&map->head->owner_pid) == (uint64_t)getpid()) {
        kl__word_store(&map->head->owner_pid, 0);
    }
}

void kl__shared_heard(kl_shared *map, int64_t at_ms)
{
    kl__word_store(&map->head->heard_ms, (uint64_t)(at_ms > 0 ? at_ms : 1));
}

void kl__shared_tell_kept(kl_shared *map, size_t count)
{
    kl__word_store(&map->head->kept, count);
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
static kl_code add_change(kl_shared *map, kl__shared_change *change,
                          kl_error *err)
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

/* Copies an error to `err`, which may be NULL; returns its code. */
static kl_code pass_error(const kl_error *error, kl_error *err)
{
    if (err != NULL) {
        *err = *error;
    }
    return error->code;
}

/* Adds a change to the map. NULL: the change could not be made, and `made` says
 * why. */
static kl_code add_made(kl_shared *map, kl__shared_change *change,
                        const kl_error *made, kl_error *err)
{
    return change != NULL ? add_change(map, change, err)
                          : pass_error(made, err);
}

/* A change that puts a value; NULL: KL_ENOMEM, KL_ETOO_LARGE. */
static kl__shared_change *make_put(const kl_shared *map,
                                   const kl_shared_key *key, const void *value,
                                   size_t size, kl_error *err)
{
    kl__shared_change *change = kl__change_put(key, value, size, err);

    if (change != NULL && change->words > kl__budget_room(map->slot_words)) {
        kl__free(change);
        kl_error_set(err, KL_ETOO_LARGE,
                     "a value of %zu bytes in a shared map that has "
                     "room for %" PRIu64 ": give it a larger size",
                     size, kl__budget_room(map->slot_words) * 8);
        return NULL;
    }
    return change;
}

kl_code kl_shared_put(kl_shared *map, const kl_shared_key *key,
                      const void *value, size_t size, kl_error *err)
{
    kl_error made;

    return owns_map(map) ? add_made(map, make_put(map, key, value, size, &made),
                                    &made, err)
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

kl_code kl__shared_refuse(kl_shared *map, const kl_shared_key *key,
                          const char *why, kl_error *err)
{
    kl_error made;

    return owns_map(map)
               ? add_made(map, kl__change_refuse(key, why, &made), &made, err)
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
    kl__shared_change *change;

    if (!owns_map(map)) {
        return set_not_owner(err);
    }
    change = kl__change_complete(table, &made);
    if (change != NULL) {
        change->kind = KL__CHANGE_RENEW;
    }
    return add_made(map, change, &made, err);
}

struct kl_shared_batch {
    kl_shared *map;
    kl__shared_change *first; /* oldest first */
    kl__shared_change **end;
};

kl_shared_batch *kl_shared_batch_new(kl_shared *map, kl_error *err)
{
    kl_shared_batch *self = kl__calloc(1, sizeof(*self));

    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    self->map = map;
    self->end = &self->first;
    return self;
}

void kl_shared_batch_free(kl_shared_batch *self)
{
    if (self != NULL) {
        free_changes(self->first);
        kl__free(self);
    }
}

/* Adds a change to the batch, which owns it then. NULL: the change could not be
 * made, and `made` says why. */
static kl_code add_to_batch(kl_shared_batch *self, kl__shared_change *change,
                            const kl_error *made, kl_error *err)
{
    if (change == NULL) {
        return pass_error(made, err);
    }
    change->next = NULL;
    *self->end = change;
    self->end = &change->next;
    return KL_OK;
}

kl_code kl_shared_batch_put(kl_shared_batch *self, const kl_shared_key *key,
                            const void *value, size_t size, kl_error *err)
{
    kl_error made;

    return add_to_batch(self, make_put(self->map, key, value, size, &made),
                        &made, err);
}

kl_code kl_shared_batch_remove(kl_shared_batch *self, const kl_shared_key *key,
                               kl_error *err)
{
    kl_error made;

    return add_to_batch(self, kl__change_remove(key, &made), &made, err);
}

/* Moves the changes of a batch to the end of the list. */
static void join_changes(kl__shared_writer *self, kl_shared_batch *batch)
{
    *self->end = batch->first;
    self->end = batch->end;
    batch->first = NULL;
    batch->end = &batch->first;
}

kl_code kl_shared_batch_commit(kl_shared_batch *batch, kl_error *err)
{
    kl__shared_writer *self = writer_of(batch->map);
    bool is_owner = false;

    if (self != NULL) {
        kl__mutex_lock(&self->changing);
        is_owner = self->is_owner;
        if (is_owner && batch->first != NULL) {
            join_changes(self, batch);
        }
        kl__mutex_unlock(&self->changing);
    }
    if (!is_owner) {
        free_changes(batch->first);
        batch->first = NULL;
        batch->end = &batch->first;
        return set_not_owner(err);
    }
    return KL_OK;
}

/* Applies the list of changes; on KL_ENOMEM the rest waits in the list again.
 */
static kl_code apply_changes(kl__shared_writer *self, kl_error *err)
{
    kl__shared_change *change = take_changes(self), *next;

    for (; change != NULL; change = next) {
        next = change->next;
        if (!kl__entries_apply(&self->entries, change)) {
            put_changes_back(self, change);
            return kl_error_set(err, KL_ENOMEM, "out of memory");
        }
    }
    return KL_OK;
}

/* Logs what is left out since this publish, a few lines in some seconds: the
 * report has all. */
static void log_left_out(const kl_shared *map, kl__shared_writer *self,
                         const kl__budget_result *result)
{
    int64_t now = kl__clock_now(kl__clock_real());

    if (now >= self->log_until) {
        self->log_until = now + LOG_MS;
        self->log_left = LOG_LINES;
    }
    if (result->fresh == 0 || self->log_left == 0) {
        return;
    }
    self->log_left--;
    kl_log(KL_LOG_ERROR,
           "shared map %s is full: %.*s %s and %zu others are left out, all "
           "else is published; all entries would need %" PRIu64
           " bytes, and have %" PRIu64 ": give the map a size of %" PRIu64
           " or more, and restart",
           map->name, KL_SHARED_TABLE_MAX, kl__change_name(result->first),
           kl__change_name(result->first) +
               strlen(kl__change_name(result->first)) + 1,
           result->fresh - 1, result->needs, (uint64_t)map->slot_words * 8,
           result->needs * 4);
}

/* Leaves out what does not fit, and names it in the report. */
static kl_code leave_out(kl_shared *map, kl__shared_writer *self, kl_error *err)
{
    kl__entries *entries = &self->entries;
    kl__budget_result result;
    kl_shared_key key;
    kl_code code;

    if (entries->refused == 0 && !self->has_report &&
        kl__entries_size_of_all(entries) <= map->slot_words) {
        return KL_OK;
    }
    kl_shared_key_init(map, KL__REPORT_TABLE, KL__REPORT_KEY,
                       strlen(KL__REPORT_KEY), &key);
    code = kl__budget_apply(entries, &key, map->slot_words, &result, err);
    if (code == KL_OK) {
        log_left_out(map, self, &result);
        self->has_report = result.left_out > 0;
        kl__word_store(&map->head->left_out, result.left_out);
    }
    return code;
}

static kl_code set_full(const kl_shared *map, const kl__entries *entries,
                        kl_error *err)
{
    return kl_error_set(
        err, KL_ETOO_LARGE,
        "the shared map is full: %zu entries were left out, as "
        "all of them would need %" PRIu64 " bytes, and have %" PRIu64
        "; give it a larger size, and restart",
        entries->out_count, kl__entries_size_of_all(entries) * 8,
        (uint64_t)map->slot_words * 8);
}

/* Writes the next slot and publishes it. New reads use the slot only after the
 * generation is stored, so a writer that dies here does no harm. A slow read
 * that still uses the slot begins again. */
static void publish_entries(kl_shared *map, kl__shared_writer *self)
{
    kl__shared_head *head = map->head;
    uint64_t next = kl__word_load(&head->generation) + 1;
    kl__word *slot =
        map->slots + (next % KL__SHARED_SLOTS) * (size_t)map->slot_words;

    /* A reader that sees a word of this generation also sees, after its fence,
     * that its own generation is two behind. */
    kl__fence(memory_order_release);
    kl__entries_write(&self->entries, slot, next);
    atomic_store_explicit(&head->generation, next, memory_order_release);
    kl__word_store(&head->published_ms, read_clock());
    kl__entries_move_versions(&self->entries, map);
    if (self->entries.out_count > 0) {
        atomic_fetch_add_explicit(&head->full, 1, memory_order_relaxed);
    }
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
        code = leave_out(map, self, err);
        if (code == KL_OK) {
            publish_entries(map, self);
        }
    }
    if (code == KL_OK && self->entries.out_count > 0) {
        code = set_full(map, &self->entries, err);
    }
    kl__mutex_unlock(&self->publishing);
    return code;
}
