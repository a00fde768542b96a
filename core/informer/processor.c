/*
 * processor.c - adds and removes the registrations of a processor, and makes
 * the informing task wait for room in a full one.
 */
#include "informer/processor.h"

#include "informer/processor_members.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/log.h"
#include "object/lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The log names a slow handler after the informer has waited this long for it,
 * and again each minute. */
enum { FIRST_WARNING_MS = 1000, WARNING_MS = 60000, NAME_SIZE = 128 };

kl__processor *kl__processor_new(kl__indexer *indexer, kl__health *health,
                                 kl__clock *clock, const char *name)
{
    kl__processor *processor = kl__calloc(1, sizeof(*processor));

    if (processor == NULL) {
        return NULL;
    }
    processor->name = kl__strdup(name);
    if (processor->name == NULL) {
        kl__free(processor);
        return NULL;
    }
    processor->indexer = indexer;
    processor->health = health;
    processor->clock = clock;
    processor->warned_ms = -1;
    processor->error_due_ms = -1;
    atomic_init(&processor->references, 1);
    kl__mutex_init(&processor->distribute, KL__RANK_DISTRIBUTE);
    kl__mutex_init(&processor->listeners, KL__RANK_LISTENERS);
    kl__cond_init(&processor->room);
    kl__list_init(&processor->registrations);
    kl__unread_init(&processor->unread);
    return processor;
}

void kl__processor_ref(kl__processor *processor)
{
    atomic_fetch_add_explicit(&processor->references, 1, memory_order_relaxed);
}

void kl__processor_unref(kl__processor *processor)
{
    if (atomic_fetch_sub_explicit(&processor->references, 1,
                                  memory_order_acq_rel) > 1) {
        return;
    }
    kl__cond_deinit(&processor->room);
    kl__mutex_deinit(&processor->listeners);
    kl__mutex_deinit(&processor->distribute);
    kl__unread_deinit(&processor->unread);
    kl__free(processor->name);
    kl__free(processor);
}

void kl__processor_free(kl__processor *processor)
{
    if (processor != NULL) {
        kl__processor_unref(processor);
    }
}

static void lock_both(kl__processor *processor)
{
    kl__mutex_lock(&processor->distribute);
    kl__mutex_lock(&processor->listeners);
}

static void unlock_both(kl__processor *processor)
{
    kl__cond_broadcast(&processor->room);
    kl__mutex_unlock(&processor->listeners);
    kl__mutex_unlock(&processor->distribute);
}

static kl_code closed_error(const kl__processor *processor, kl_error *err)
{
    return kl_error_set(err, KL_ECLOSED,
                        "informer %s is stopped: open another one",
                        processor->name);
}

/* Chooses the name of a registration: the user's, or a number. */
static kl_code choose_name(kl__processor *processor,
                           const kl__subscriber *subscriber, char *name,
                           kl_error *err)
{
    const char *wanted =
        subscriber->options != NULL ? subscriber->options->name : NULL;
    uint64_t number;
    bool is_closed;

    kl__mutex_lock(&processor->distribute);
    is_closed = processor->is_closed;
    number = ++processor->joined;
    kl__mutex_unlock(&processor->distribute);
    if (wanted != NULL) {
        snprintf(name, NAME_SIZE, "%s", wanted);
    } else {
        snprintf(name, NAME_SIZE, "%" PRIu64, number);
    }
    return is_closed ? closed_error(processor, err) : KL_OK;
}

/* True if the registration takes over from `other`. */
static bool is_former(const kl_registration *other,
                      const kl_registration *registration)
{
    return other->queue != NULL && other->queue == registration->queue &&
           other->is_named == registration->is_named &&
           (!other->is_named || strcmp(other->name, registration->name) == 0);
}

/* Called with both mutexes held: no change can come between the mark and the
 * snapshot of the registration. */
static void mark_former_locked(kl__processor *processor,
                               const kl_registration *registration)
{
    for (kl__list *node = processor->registrations.next;
         node != &processor->registrations; node = node->next) {
        kl_registration *each = KL__CONTAINER(node, kl_registration, node);

        if (is_former(each, registration) &&
            kl__listener_mark(&each->listener)) {
            return;
        }
    }
}

/* Takes the snapshot of the cache and adds the registration as one step: no
 * change is missed or comes twice. */
static kl_code add_locked(kl__processor *processor,
                          kl_registration *registration,
                          kl_object_list *snapshot, bool *is_complete,
                          kl_error *err)
{
    if (processor->is_closed) {
        return closed_error(processor, err);
    }
    *is_complete = kl__health_has_synced(processor->health);
    if (*is_complete &&
        kl__indexer_snapshot(processor->indexer, snapshot) != KL_OK) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a snapshot");
    }
    registration->next_resync_ms =
        kl__clock_after(processor->clock, registration->resync_ms);
    kl__mutex_lock(&processor->listeners);
    if (registration->takes_over) {
        mark_former_locked(processor, registration);
    }
    kl__registration_enter(registration);
    kl__list_append(&processor->registrations, &registration->node);
    kl__mutex_unlock(&processor->listeners);
    return KL_OK;
}

/* True if the owner is being closed. Called with the mutex held. The closing
 * thread marks the owner before it calls remove_owned: so either the mark is
 * seen here, or remove_owned finds the registration. */
static bool owner_is_gone(const kl__subscriber *subscriber)
{
    return subscriber->owner_refuses != NULL &&
           subscriber->owner_refuses(subscriber->owner);
}

/* Ends a registration that could not be added, unless another thread has taken
 * it out and ends it. */
static void discard_registration(kl__processor *processor,
                                 kl_registration *registration, bool has_joined)
{
    if (!has_joined || kl__processor_remove(processor, registration)) {
        kl__registration_discard(registration);
    }
}

/* Adds a registration and starts it, or ends it. */
static kl_code add_registration(kl__processor *processor,
                                const kl__subscriber *subscriber,
                                kl_registration *registration, kl_error *err)
{
    kl_object_list snapshot = {0};
    bool is_complete = false;
    bool has_joined;
    kl_code code;

    kl__mutex_lock(&processor->distribute);
    code = owner_is_gone(subscriber) ? closed_error(processor, err)
                                     : add_locked(processor, registration,
                                                  &snapshot, &is_complete, err);
    kl__mutex_unlock(&processor->distribute);
    has_joined = code == KL_OK;
    if (has_joined) {
        /* Changes that come meanwhile wait behind the snapshot. */
        kl__object_list_sort(&snapshot);
        code =
            kl__listener_open(&registration->listener, &snapshot, is_complete);
        if (code != KL_OK) {
            kl_error_set(err, code, "out of memory for %zu initial objects",
                         snapshot.count);
        }
    }
    kl_object_list_clear(&snapshot);
    if (code != KL_OK) {
        discard_registration(processor, registration, has_joined);
    } else if (!kl__registration_start(registration)) {
        code =
            closed_error(processor, err); /* its owner was closed meanwhile */
    }
    return code;
}

kl_registration *kl__processor_add(kl__processor *processor,
                                   const kl__subscriber *subscriber,
                                   kl_error *err)
{
    kl_registration *registration;
    char name[NAME_SIZE];
    kl_code code;

    if (choose_name(processor, subscriber, name, err) != KL_OK) {
        return NULL;
    }
    registration = kl__registration_new(processor, subscriber, name, err);
    if (registration == NULL) {
        return NULL;
    }
    kl__registration_ref(registration); /* its owner may be closed meanwhile */
    code = add_registration(processor, subscriber, registration, err);
    kl__registration_unref(registration);
    return code == KL_OK ? registration : NULL;
}

bool kl__processor_remove(kl__processor *processor,
                          kl_registration *registration)
{
    bool was_in;

    lock_both(processor);
    was_in = kl__registration_exit(registration);
    if (was_in) {
        kl__list_remove(&registration->node);
    }
    unlock_both(processor);
    return was_in;
}

/* Moves the registrations of `owner` (NULL: all) out of the processor. */
static void remove_owned(kl__processor *processor, const void *owner,
                         kl__list *taken)
{
    kl__list *node, *next;

    lock_both(processor);
    for (node = processor->registrations.next;
         node != &processor->registrations; node = next) {
        next = node->next;
        kl_registration *each = KL__CONTAINER(node, kl_registration, node);

        if (owner == NULL || each->owner == owner) {
            (void)kl__registration_exit(each);
            kl__list_remove(node);
            kl__list_append(taken, node);
        }
    }
    unlock_both(processor);
}

void kl__processor_remove_owner(kl__processor *processor, void *owner,
                                kl__list *ended)
{
    kl__list taken;
    kl__list *node;

    kl__list_init(&taken);
    remove_owned(processor, owner, &taken);
    /* Close all before waiting for the first: the total is the longest wait,
     * not the sum. */
    for (node = taken.next; node != &taken; node = node->next) {
        kl__registration_close(KL__CONTAINER(node, kl_registration, node));
    }
    while ((node = kl__list_shift(&taken)) != NULL) {
        kl_registration *each = KL__CONTAINER(node, kl_registration, node);

        kl__registration_finish(each);
        if (ended != NULL) {
            kl__list_append(ended, node);
        } else {
            kl__registration_unref(each);
        }
    }
}

void kl__processor_stop(kl__processor *processor)
{
    atomic_store(&processor->is_stopped, true);
    kl__processor_made_room(processor);
}

void kl__processor_close(kl__processor *processor)
{
    lock_both(processor);
    processor->is_closed = true;
    for (kl__list *node = processor->registrations.next;
         node != &processor->registrations; node = node->next) {
        kl__registration_close(KL__CONTAINER(node, kl_registration, node));
    }
    unlock_both(processor);
}

void kl__processor_made_room(kl__processor *processor)
{
    kl__mutex_lock(&processor->listeners);
    kl__cond_broadcast(&processor->room);
    kl__mutex_unlock(&processor->listeners);
}

/* A full registration with every_change, or NULL. */
static kl_registration *find_full_locked(const kl__processor *processor)
{
    for (const kl__list *node = processor->registrations.next;
         node != &processor->registrations; node = node->next) {
        kl_registration *registration =
            KL__CONTAINER(node, kl_registration, node);

        if (registration->listener.options.every_change &&
            kl__listener_is_full(&registration->listener)) {
            return registration;
        }
    }
    return NULL;
}

/* When to log the name of the handler that the informer waits for. */
static int64_t next_warning(const kl__processor *processor, int64_t since_ms)
{
    int64_t first = since_ms + FIRST_WARNING_MS;
    int64_t again = processor->warned_ms + WARNING_MS;

    return processor->warned_ms >= 0 && again > first ? again : first;
}

/* Unlocks the mutex while it logs. */
static void warn_locked(kl__processor *processor,
                        const kl_registration *registration)
{
    size_t backlog = registration->listener.options.backlog;
    char name[NAME_SIZE];

    snprintf(name, sizeof(name), "%s", registration->name);
    processor->warned_ms = kl__clock_now(processor->clock);
    kl__mutex_unlock(&processor->listeners);
    kl_log(KL_LOG_WARN,
           "informer %s waits for handler %s: it wants every change, and %zu "
           "wait for it; make it faster, or let it merge changes",
           processor->name, name, backlog);
    kl__mutex_lock(&processor->listeners);
}

bool kl__processor_has_room(kl__processor *processor)
{
    bool has_room;

    kl__mutex_lock(&processor->listeners);
    has_room = find_full_locked(processor) == NULL;
    kl__mutex_unlock(&processor->listeners);
    return has_room;
}

static void wake_waiter(void *arg)
{
    kl__processor_made_room(arg);
}

static kl_code wait_room_locked(kl__processor *processor, kl__cancel *cancel)
{
    int64_t since_ms = kl__clock_now(processor->clock);
    kl_registration *full;

    while (!processor->is_closed && !atomic_load(&processor->is_stopped) &&
           !kl__cancel_fired(cancel)) {
        full = find_full_locked(processor);
        if (full == NULL) {
            return KL_OK;
        }
        if (!kl__clock_wait(processor->clock, &processor->room,
                            &processor->listeners,
                            next_warning(processor, since_ms)) &&
            (full = find_full_locked(processor)) != NULL) {
            warn_locked(processor, full);
        }
    }
    return kl__cancel_fired(cancel) ? KL_ECANCELED : KL_ECLOSED;
}

kl_code kl__processor_wait_room(kl__processor *processor, kl__cancel *cancel)
{
    kl__cancel_hook hook = {.wake = wake_waiter, .arg = processor};
    kl_code code;

    if (!kl__cancel_add(cancel, &hook)) {
        return KL_ECANCELED;
    }
    kl__mutex_lock(&processor->listeners);
    code = wait_room_locked(processor, cancel);
    kl__mutex_unlock(&processor->listeners);
    kl__cancel_remove(cancel, &hook);
    return code;
}
