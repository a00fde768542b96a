/*
 * distribution.c - the informing task's half of the processor: applies changes
 * to the cache and pushes them, errors and resyncs to all listeners.
 */
#include "informer/processor_members.h"

#include "base/buf.h"
#include "kubelua/log.h"

#include <string.h>

/* A push that failed because there was no memory is tried again after this
 * time. */
enum { RETRY_MS = 500 };

/* The registration after `node`, or NULL at the end of the list. */
static kl_registration *registration_after(const kl__processor *processor,
                                           const kl__list *node)
{
    return node->next != &processor->registrations
               ? KL__CONTAINER(node->next, kl_registration, node)
               : NULL;
}

static kl_registration *first_locked(const kl__processor *processor)
{
    return registration_after(processor, &processor->registrations);
}

static kl_registration *next_locked(const kl__processor *processor,
                                    const kl_registration *registration)
{
    return registration_after(processor, &registration->node);
}

static bool reserve_locked(kl__processor *processor, size_t count)
{
    for (kl_registration *each = first_locked(processor); each != NULL;
         each = next_locked(processor, each)) {
        if (!kl__listener_reserve(&each->listener, count)) {
            return false;
        }
    }
    return true;
}

static void free_spares_locked(kl__processor *processor)
{
    for (kl_registration *each = first_locked(processor); each != NULL;
         each = next_locked(processor, each)) {
        kl__listener_free_spares(&each->listener);
    }
}

/* Appends to `merging` the names of the handlers that have begun to merge. */
static void push_locked(kl__processor *processor,
                        const kl__change_list *changes, bool initial,
                        kl__buf *merging)
{
    for (kl_registration *each = first_locked(processor); each != NULL;
         each = next_locked(processor, each)) {
        if (kl__listener_push(&each->listener, changes, initial)) {
            kl__buf_printf(merging, "%s%s", merging->length > 0 ? ", " : "",
                           each->name);
        }
    }
}

static void log_merging(const kl__processor *processor, kl__buf *names)
{
    if (names->length > 0) {
        kl_log(KL_LOG_WARN,
               "informer %s: the backlog of handler %s is full; from now on "
               "changes are merged per object",
               processor->name, names->bytes);
    }
    kl__buf_deinit(names);
}

/* What is special about a transaction, and what it is of: one of the two. */
typedef struct manner {
    bool at_once; /* it does not wait for the distribute lock */
    const kl__delta_batch *batch;
    kl__listed *listed; /* a list */
} manner;

/* The key of the object of a delta; NULL: it has none. */
static const char *key_of(const kl__delta *delta)
{
    if (delta->object != NULL) {
        return kl_object_key(delta->object);
    }
    return delta->is_gone ? delta->unreadable->key : NULL;
}

/* Makes sure that note_unread_locked cannot fail. */
static bool reserve_unread_locked(kl__processor *processor, const manner *how)
{
    return how->batch == NULL ||
           how->batch->items[0].type != KL__DELTA_UNREADABLE ||
           kl__unread_reserve(&processor->unread);
}

/* After the cache has changed: which objects cannot be read now? */
static void note_unread_locked(kl__processor *processor, const manner *how)
{
    kl__unread *unread = &processor->unread;
    kl__delta *first = how->batch != NULL ? &how->batch->items[0] : NULL;

    if (first == NULL) {
        kl__unread_replace(unread, &how->listed->unreadable);
        return;
    }
    if (first->unreadable != NULL && !first->is_gone) {
        kl__unread_put(unread, first->unreadable);
        first->unreadable = NULL;
        return;
    }
    for (size_t i = 0; kl__unread_count(unread) > 0 && i < how->batch->count;
         i++) {
        const char *key = key_of(&how->batch->items[i]);

        if (key != NULL) {
            kl__unread_forget(unread, key);
        }
    }
}

/* Pushes an error for each object that cannot be read and that the listener
 * does not know of. False: out of memory; it is tried again later. */
static bool push_unread_locked(kl__processor *processor, kl_registration *each)
{
    const kl__unreadable *at =
        kl__unread_after(&processor->unread, each->told_unread);

    for (; at != NULL; at = kl__unread_next(&processor->unread, at)) {
        kl_error error;

        kl__unreadable_error(at, &error);
        if (kl__listener_error(&each->listener, &error) != KL_OK) {
            processor->error_due_ms =
                kl__clock_now(processor->clock) + RETRY_MS;
            return false;
        }
        each->told_unread = at->number;
    }
    return true;
}

/* Appends to `names` what no listener was told, for the log. */
static void tell_unread_locked(kl__processor *processor, kl__buf *unheard)
{
    bool is_wanted = false;
    const kl__unreadable *at;

    if (kl__unread_count(&processor->unread) == 0) {
        return;
    }
    for (kl_registration *each = first_locked(processor); each != NULL;
         each = next_locked(processor, each)) {
        if (each->wants_errors) {
            is_wanted = true;
            (void)push_unread_locked(processor, each);
        }
    }
    at = kl__unread_after(&processor->unread, processor->logged_unread);
    for (; at != NULL; at = kl__unread_next(&processor->unread, at)) {
        processor->logged_unread = at->number;
        if (!is_wanted) {
            kl__buf_printf(unheard, "%s\n", at->why);
        }
    }
}

static void log_unheard(const kl__processor *processor, kl__buf *unheard)
{
    const char *at = unheard->bytes;

    while (at != NULL && *at != '\0') {
        const char *end = strchr(at, '\n');

        kl_log(KL_LOG_WARN, "informer %s: %.*s", processor->name,
               (int)(end - at), at);
        at = end + 1;
    }
    kl__buf_deinit(unheard);
}

/* Changes the cache and pushes to the listeners. False: an index was added
 * meanwhile; the caller refreshes the transaction and tries again. */
static bool commit_locked(kl__processor *processor,
                          kl__transaction *transaction, const manner *how,
                          kl__buf *merging)
{
    if (!kl__transaction_commit(transaction)) {
        return false;
    }
    if (how->listed != NULL) {
        /* Before the events: a handler that gets one may ask for the number. */
        atomic_store(&processor->health->shard_held, how->listed->shard);
        kl__health_changed(processor->health, true);
    }
    push_locked(processor, kl__transaction_changes(transaction), false,
                merging);
    return true;
}

/* The first list: the cache, the listeners and has_synced change as one step
 * for all readers. */
static bool commit_first_locked(kl__processor *processor,
                                kl__transaction *transaction, uint64_t shard,
                                kl__buf *merging)
{
    bool is_done;

    kl__health_begin_sync(processor->health);
    is_done = kl__transaction_commit(transaction);
    if (is_done) {
        atomic_store(&processor->health->shard_held, shard);
        push_locked(processor, kl__transaction_changes(transaction), true,
                    merging);
    }
    kl__health_end_sync(processor->health, is_done);
    return is_done;
}

static bool lock_distribute(kl__processor *processor, const manner *how)
{
    if (how->at_once) {
        return kl__mutex_try_lock(&processor->distribute);
    }
    kl__mutex_lock(&processor->distribute);
    return true;
}

/* One try. KL_OK with `is_done`; KL_OK without: refresh and try again; or an
 * error. */
static kl_code try_transaction(kl__processor *processor,
                               kl__transaction *transaction, const manner *how,
                               bool *is_done)
{
    const kl__change_list *changes = kl__transaction_changes(transaction);
    bool is_first =
        how->listed != NULL && !kl__health_has_synced(processor->health);
    kl__buf merging = {0}, unheard = {0};
    kl_code code = KL_OK;

    if (!lock_distribute(processor, how)) {
        return KL_ETIMEOUT;
    }
    if (processor->is_closed) {
        code = KL_ECLOSED;
    } else if (!reserve_locked(processor, changes->count) ||
               !reserve_unread_locked(processor, how)) {
        code = KL_ENOMEM;
    } else if (is_first) {
        *is_done = commit_first_locked(processor, transaction,
                                       how->listed->shard, &merging);
    } else {
        *is_done = commit_locked(processor, transaction, how, &merging);
    }
    if (*is_done) {
        note_unread_locked(processor, how);
        tell_unread_locked(processor, &unheard);
    }
    free_spares_locked(processor);
    kl__mutex_unlock(&processor->distribute);
    log_merging(processor, &merging);
    log_unheard(processor, &unheard);
    if (*is_done && how->listed == NULL) {
        kl__health_changed(processor->health, false);
    }
    return code;
}

/* Applies the transaction, however many tries it needs, and frees it. */
static kl_code run_transaction(kl__processor *processor,
                               kl__transaction *transaction, const manner *how)
{
    kl_code code = transaction != NULL ? KL_OK : KL_ENOMEM;
    bool is_done = false;

    while (code == KL_OK && !is_done) {
        code = try_transaction(processor, transaction, how, &is_done);
        if (code == KL_OK && !is_done) {
            code = kl__transaction_refresh(transaction);
        }
    }
    kl__transaction_free(transaction);
    return code;
}

kl_code kl__processor_apply(kl__processor *processor,
                            const kl__delta_batch *batch)
{
    return run_transaction(processor,
                           kl__indexer_prepare(processor->indexer, batch),
                           &(manner){.batch = batch});
}

kl_code kl__processor_apply_now(kl__processor *processor,
                                const kl__delta_batch *batch)
{
    return run_transaction(processor,
                           kl__indexer_prepare(processor->indexer, batch),
                           &(manner){.at_once = true, .batch = batch});
}

kl_code kl__processor_replace(kl__processor *processor, kl__listed *listed,
                              const char *version)
{
    return run_transaction(
        processor,
        kl__indexer_prepare_replace(processor->indexer, listed, version),
        &(manner){.listed = listed});
}

/* Pushes the error of number told_error to the listeners that want errors and
 * have not had this one. False: no listener wants errors. A listener for which
 * there is no memory gets it later (error_due_ms). */
static bool send_error_locked(kl__processor *processor, const kl_error *error)
{
    bool is_wanted = false;

    for (kl_registration *each = first_locked(processor); each != NULL;
         each = next_locked(processor, each)) {
        if (!each->wants_errors) {
            continue;
        }
        is_wanted = true;
        if (each->told_error == processor->told_error) {
            continue;
        }
        if (kl__listener_error(&each->listener, error) == KL_OK) {
            each->told_error = processor->told_error;
        } else {
            processor->error_due_ms =
                kl__clock_now(processor->clock) + RETRY_MS;
        }
    }
    return is_wanted;
}

void kl__processor_error(kl__processor *processor, const kl_error *error,
                         uint64_t number)
{
    bool must_log;

    kl__mutex_lock(&processor->distribute);
    processor->told_error = number;
    must_log = !send_error_locked(processor, error) &&
               processor->logged_error != number;
    if (must_log) {
        processor->logged_error = number;
    }
    kl__mutex_unlock(&processor->distribute);
    if (must_log) {
        kl_log(KL_LOG_WARN, "informer %s: %s (%s)", processor->name,
               error->message, kl_code_name(error->code));
    }
}

/* Pushes the standing error again. An error of a higher number is still in the
 * delta_fifo, and is pushed when its turn comes. */
static void resend_error_locked(kl__processor *processor)
{
    kl_error error;
    uint64_t number = kl__health_told(processor->health, &error);

    processor->error_due_ms = -1;
    if (number != 0 && number == processor->told_error) {
        (void)send_error_locked(processor, &error);
    }
    for (kl_registration *each = first_locked(processor); each != NULL;
         each = next_locked(processor, each)) {
        if (each->wants_errors && !push_unread_locked(processor, each)) {
            return;
        }
    }
}

void kl__processor_error_again(kl__processor *processor)
{
    kl__mutex_lock(&processor->distribute);
    if (!processor->is_closed) {
        resend_error_locked(processor);
    }
    kl__mutex_unlock(&processor->distribute);
}

static bool resync_is_due(const kl_registration *registration, int64_t now_ms)
{
    return registration->resync_ms > 0 &&
           registration->next_resync_ms <= now_ms;
}

/* Adds one period, so that resyncs do not drift. If that time is over too, the
 * next resync is one period from now: missed ones are not made up for. */
static void schedule_resync(kl_registration *registration, int64_t now_ms)
{
    registration->next_resync_ms += registration->resync_ms;
    if (registration->next_resync_ms <= now_ms) {
        registration->next_resync_ms = now_ms + registration->resync_ms;
    }
}

static kl_code resync_locked(kl__processor *processor)
{
    int64_t now_ms = kl__clock_now(processor->clock);
    kl_object_list objects = {0};
    kl_code snapshot = KL_EINVAL; /* no snapshot was taken yet */
    kl_code code = KL_OK;

    for (kl_registration *each = first_locked(processor); each != NULL;
         each = next_locked(processor, each)) {
        if (!resync_is_due(each, now_ms)) {
            continue;
        }
        if (snapshot != KL_OK) {
            snapshot = kl__health_has_synced(processor->health)
                           ? kl__indexer_snapshot(processor->indexer, &objects)
                           : KL_OK;
        }
        if (snapshot == KL_OK &&
            kl__listener_resync(&each->listener, &objects) == KL_OK) {
            schedule_resync(each, now_ms);
        } else {
            each->next_resync_ms = now_ms + RETRY_MS;
            code = KL_ENOMEM;
        }
    }
    kl_object_list_clear(&objects);
    return code;
}

static bool error_is_due_locked(const kl__processor *processor)
{
    return processor->error_due_ms >= 0 &&
           processor->error_due_ms <= kl__clock_now(processor->clock);
}

kl_code kl__processor_resync(kl__processor *processor)
{
    kl_code code;

    kl__mutex_lock(&processor->distribute);
    code = processor->is_closed ? KL_ECLOSED : resync_locked(processor);
    if (code != KL_ECLOSED && error_is_due_locked(processor)) {
        resend_error_locked(processor);
        code = processor->error_due_ms >= 0 ? KL_ENOMEM : code;
    }
    kl__mutex_unlock(&processor->distribute);
    return code;
}

/* The cache changes and the listeners are told under this mutex, so the version
 * read here is one that all listeners have reached. */
void kl__processor_version(kl__processor *processor, char *buffer, size_t size)
{
    kl__mutex_lock(&processor->distribute);
    kl__indexer_version(processor->indexer, buffer, size);
    kl__mutex_unlock(&processor->distribute);
}

int64_t kl__processor_next_resync(kl__processor *processor)
{
    int64_t next;

    kl__mutex_lock(&processor->distribute);
    next = processor->error_due_ms;
    for (kl_registration *each = first_locked(processor); each != NULL;
         each = next_locked(processor, each)) {
        if (each->resync_ms > 0 && (next < 0 || each->next_resync_ms < next)) {
            next = each->next_resync_ms;
        }
    }
    kl__mutex_unlock(&processor->distribute);
    return next;
}

kl_code kl__processor_unreadable(kl__processor *processor,
                                 kl_unreadable_list *list)
{
    kl_code code;

    kl__mutex_lock(&processor->distribute);
    code = kl__unread_list(&processor->unread, processor->indexer, list);
    kl__mutex_unlock(&processor->distribute);
    return code;
}

size_t kl__processor_unreadable_count(kl__processor *processor)
{
    size_t count;

    kl__mutex_lock(&processor->distribute);
    count = kl__unread_count(&processor->unread);
    kl__mutex_unlock(&processor->distribute);
    return count;
}
