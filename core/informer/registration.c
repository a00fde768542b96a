/*
 * registration.c - the life of a registration, its thread, and the public calls
 * on it. The events that wait are in its listener.
 */
#include "informer/registration.h"

#include "informer/processor_members.h"

#include "base/mem.h"
#include "base/str.h"

void kl__registration_unref(kl_registration *registration)
{
    if (atomic_fetch_sub_explicit(&registration->references, 1,
                                  memory_order_acq_rel) > 1) {
        return;
    }
    kl__listener_deinit(&registration->listener);
    kl__cond_deinit(&registration->cond);
    if (registration->queue != NULL) {
        /* kl_event_queue_again may have put it into the queue after its removal
         */
        kl__event_queue_forget(registration->queue, &registration->ready);
        kl__event_queue_unref(registration->queue);
    }
    kl__processor_unref(registration->processor);
    kl__free(registration->name);
    kl__free(registration);
    kl__live_add(KL_LIVE_REGISTRATION, -1);
}

void kl__registration_ref(kl_registration *registration)
{
    atomic_fetch_add_explicit(&registration->references, 1,
                              memory_order_relaxed);
}

static void wake_thread(void *context)
{
    kl_registration *registration = context;

    kl__cond_signal(&registration->cond);
}

static void wake_queue(void *context)
{
    kl_registration *registration = context;

    kl__event_queue_add(registration->queue, &registration->ready);
}

static bool next_event(kl_registration *registration, kl_event *event)
{
    bool made_room;
    bool found = kl__listener_next(&registration->listener, event, &made_room);

    if (made_room && registration->listener.options.every_change) {
        kl__processor_made_room(registration->processor);
    }
    if (found && atomic_load(&registration->processor->is_stopped)) {
        kl__listener_done(&registration->listener, event);
        found = false;
    }
    return found;
}

static void call_handler(const kl_handler *handler, const kl_event *event)
{
    switch (event->type) {
    case KL_EVENT_ADD:
        if (handler->add != NULL) {
            handler->add(handler->context, event->object, event->initial);
        }
        break;
    case KL_EVENT_UPDATE:
        if (handler->update != NULL) {
            handler->update(handler->context, event->old, event->object);
        }
        break;
    case KL_EVENT_DELETE:
        if (event->left_shard && handler->left_shard != NULL) {
            handler->left_shard(handler->context, event->object);
        } else if (handler->remove != NULL) {
            handler->remove(handler->context, event->object, event->unknown);
        }
        break;
    case KL_EVENT_SYNCED:
        if (handler->synced != NULL) {
            handler->synced(handler->context);
        }
        break;
    case KL_EVENT_ERROR:
        if (handler->error != NULL) {
            handler->error(handler->context, event->error);
        }
        break;
    }
}

/* Waits until the registration is started or taken out. A handler may detach
 * its own thread, so the thread's id must be stored before a handler runs.
 * False: it was taken out before it was started. If it was started and removed
 * before this thread looks, the thread still calls drop_context. */
static bool wait_for_launch(kl_registration *registration)
{
    kl__mutex *mutex = &registration->listener.mutex;
    bool may_begin;

    kl__mutex_lock(mutex);
    while (registration->state < KL__REGISTRATION_STARTED) {
        kl__cond_wait(&registration->cond, mutex, -1);
    }
    may_begin = registration->state != KL__REGISTRATION_DISCARDED;
    kl__mutex_unlock(mutex);
    return may_begin;
}

/* The handler's thread. It touches only its registration, to which it has a
 * reference; no lock is held while a callback runs. */
static void *run_handler(void *arg)
{
    kl_registration *registration = arg;
    const kl_handler *handler = &registration->handler;
    void (*end_use)(void *owner) = registration->end_use;
    void *owner = registration->owner;
    kl_event event;

    kl__thread_set_role(KL__ROLE_CALLBACK);
    if (wait_for_launch(registration)) {
        while (
            kl__listener_wait(&registration->listener, &registration->cond)) {
            if (next_event(registration, &event)) {
                call_handler(handler, &event);
                kl__listener_done(&registration->listener, &event);
            }
        }
        if (handler->drop_context != NULL) {
            handler->drop_context(handler->context);
        }
    }
    kl__registration_unref(registration);
    if (end_use != NULL) {
        end_use(owner);
    }
    return NULL;
}

static kl_code start_thread(kl_registration *registration,
                            const kl__subscriber *subscriber, kl_error *err)
{
    kl_code code;

    kl__registration_ref(registration); /* the thread's */
    if (subscriber->use_owner != NULL) {
        subscriber->use_owner(subscriber->owner);
    }
    registration->end_use = subscriber->end_use;
    code = kl__thread_start(&registration->thread, "kl-handler", run_handler,
                            registration, err);
    if (code != KL_OK) {
        atomic_fetch_sub(&registration->references, 1);
        if (subscriber->end_use != NULL) {
            subscriber->end_use(subscriber->owner);
        }
    }
    return code;
}

static void init_registration(kl_registration *registration,
                              const kl__subscriber *subscriber)
{
    static const kl_handler_options defaults;
    const kl_handler_options *options =
        subscriber->options != NULL ? subscriber->options : &defaults;
    bool has_handler = subscriber->handler != NULL;
    kl__listener_options listener = {
        .backlog = options->backlog != 0 ? options->backlog : KL_BACKLOG,
        .every_change = options->every_change,
        .wake = has_handler ? wake_thread : wake_queue,
        .context = registration};

    kl__listener_init(&registration->listener, &listener);
    kl__cond_init(&registration->cond);
    kl__list_init(&registration->node);
    kl__list_init(&registration->ready.node);
    atomic_init(&registration->references, 1);
    registration->owner = subscriber->owner;
    registration->resync_ms = options->resync_ms > 0 ? options->resync_ms : 0;
    registration->wants_errors = !options->ignores_errors;
    registration->is_named = options->name != NULL;
    registration->takes_over = options->takes_over;
    if (has_handler) {
        registration->handler = *subscriber->handler;
        registration->wants_errors &= subscriber->handler->error != NULL;
    } else {
        registration->queue = subscriber->queue;
        registration->ready.tag = subscriber->tag;
        kl__event_queue_ref(subscriber->queue);
    }
}

kl_registration *kl__registration_new(kl__processor *processor,
                                      const kl__subscriber *subscriber,
                                      const char *name, kl_error *err)
{
    kl_registration *registration;
    char *copy;

    if (subscriber->handler == NULL &&
        kl_event_queue_check(subscriber->queue, err) != KL_OK) {
        return NULL;
    }
    registration = kl__calloc(1, sizeof(*registration));
    copy = kl__strdup(name);
    if (registration == NULL || copy == NULL) {
        kl__free(registration);
        kl__free(copy);
        kl_error_set(err, KL_ENOMEM, "out of memory for a registration");
        return NULL;
    }
    init_registration(registration, subscriber);
    registration->made_in = kl__process_here();
    registration->name = copy;
    registration->processor = processor;
    kl__processor_ref(processor);
    kl__live_add(KL_LIVE_REGISTRATION, 1);
    if (subscriber->handler != NULL &&
        start_thread(registration, subscriber, err) != KL_OK) {
        kl__registration_unref(registration);
        return NULL;
    }
    return registration;
}

/* Sets the state, and wakes its thread if that waits for it. */
static void set_state_locked(kl_registration *registration,
                             kl__registration_state state)
{
    registration->state = state;
    kl__cond_signal(&registration->cond);
}

void kl__registration_enter(kl_registration *registration)
{
    kl__mutex_lock(&registration->listener.mutex);
    set_state_locked(registration, KL__REGISTRATION_MEMBER);
    kl__mutex_unlock(&registration->listener.mutex);
}

bool kl__registration_exit(kl_registration *registration)
{
    bool was_member = true;

    kl__mutex_lock(&registration->listener.mutex);
    if (registration->state == KL__REGISTRATION_MEMBER) {
        set_state_locked(registration, KL__REGISTRATION_DISCARDED);
    } else if (registration->state == KL__REGISTRATION_STARTED) {
        set_state_locked(registration, KL__REGISTRATION_REMOVED);
    } else {
        was_member = false;
    }
    /* With the state: a second thread that finds it taken out may return, and
     * then no event may be pulled, though kl__registration_close is to come. */
    registration->listener.is_closed |= was_member;
    kl__mutex_unlock(&registration->listener.mutex);
    return was_member;
}

bool kl__registration_start(kl_registration *registration)
{
    bool is_member;

    kl__mutex_lock(&registration->listener.mutex);
    is_member = registration->state == KL__REGISTRATION_MEMBER;
    if (is_member) {
        set_state_locked(registration, KL__REGISTRATION_STARTED);
    }
    kl__mutex_unlock(&registration->listener.mutex);
    return is_member;
}

static bool has_thread(const kl_registration *registration)
{
    return registration->queue == NULL;
}

void kl__registration_discard(kl_registration *registration)
{
    kl__mutex_lock(&registration->listener.mutex);
    set_state_locked(registration, KL__REGISTRATION_DISCARDED);
    kl__mutex_unlock(&registration->listener.mutex);
    if (has_thread(registration)) {
        kl__thread_join(&registration->thread);
    }
    kl__registration_unref(registration);
}

void kl__registration_close(kl_registration *registration)
{
    kl__listener_close(&registration->listener);
    kl__cond_signal(&registration->cond);
    if (registration->queue != NULL) {
        kl__event_queue_forget(registration->queue, &registration->ready);
    }
}

void kl__registration_finish(kl_registration *registration)
{
    if (has_thread(registration) && kl__in_callback()) {
        kl__thread_detach(&registration->thread);
    } else if (has_thread(registration)) {
        kl__thread_join(&registration->thread);
    }
}

void kl_registration_remove(kl_registration *registration)
{
    if (registration == NULL ||
        kl__check_process(registration->made_in, NULL) != KL_OK) {
        return; /* in a child of fork() there is no thread to wait for */
    }
    if (!kl__processor_remove(registration->processor, registration)) {
        return; /* kl_informer_close has taken it out, and ends it */
    }
    kl__registration_close(registration);
    kl__registration_finish(registration);
    kl__registration_unref(registration);
}

kl_code kl_registration_check(const kl_registration *registration,
                              kl_error *err)
{
    return kl__check_process(registration->made_in, err);
}

bool kl_registration_has_synced(const kl_registration *registration)
{
    return kl__check_process(registration->made_in, NULL) == KL_OK &&
           kl__sync_tracker_has_synced(&registration->listener.tracker);
}

kl_code kl_registration_wait_synced(kl_registration *registration,
                                    int64_t timeout_ms, kl_error *err)
{
    kl_code code = kl__check_process(registration->made_in, err);

    if (code != KL_OK) {
        return code;
    }
    if (has_thread(registration) && kl__in_callback() &&
        kl__thread_is_self(&registration->thread)) {
        return kl_error_set(err, KL_EINVAL,
                            "a handler cannot wait until it has synced: it "
                            "would wait for itself");
    }
    /* It may be removed while this thread waits. */
    kl__registration_ref(registration);
    code = kl__listener_wait_synced(&registration->listener,
                                    registration->processor->clock, timeout_ms);
    if (code == KL_ECLOSED) {
        kl_error_set(err, code, "the handler %s was removed",
                     registration->name);
    } else if (code == KL_ETIMEOUT) {
        kl_error_set(err, code, "the handler %s has not synced within %.1f s",
                     registration->name, (double)timeout_ms / 1000);
    }
    kl__registration_unref(registration);
    return code;
}

bool kl_registration_marked(kl_registration *registration, size_t *count)
{
    return kl__check_process(registration->made_in, NULL) == KL_OK &&
           kl__listener_marked(&registration->listener, count);
}

void kl_registration_unmark(kl_registration *registration)
{
    if (kl__check_process(registration->made_in, NULL) == KL_OK) {
        kl__listener_unmark(&registration->listener);
    }
}

size_t kl_registration_backlog(const kl_registration *registration)
{
    if (kl__check_process(registration->made_in, NULL) != KL_OK) {
        return 0;
    }
    /* the count takes the listener's mutex, so it cannot be const */
    return kl__listener_count(&((kl_registration *)registration)->listener);
}

bool kl_registration_next(kl_registration *registration, kl_event *event)
{
    *event = (kl_event){0};
    if (kl__check_process(registration->made_in, NULL) != KL_OK ||
        !next_event(registration, event)) {
        return false;
    }
    kl__registration_ref(registration); /* the event's */
    return true;
}

void kl_registration_done(kl_registration *registration, kl_event *event)
{
    if (event->type == KL_EVENT_ADD && event->object == NULL) {
        return; /* an empty event: it was done before, or never filled */
    }
    if (kl__check_process(registration->made_in, NULL) != KL_OK) {
        kl__event_clear(event);
        return;
    }
    kl__listener_done(&registration->listener, event);
    kl__registration_unref(registration);
}

void kl_event_queue_again(kl_event_queue *queue, kl_registration *registration)
{
    if (kl__check_process(registration->made_in, NULL) == KL_OK) {
        kl__event_queue_add(queue, &registration->ready);
    }
}
