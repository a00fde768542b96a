/*
 * listener.c - see listener.h. Memory for a push is reserved before the cache
 * changes: so a change of the cache always reaches every handler.
 */
#include "informer/listener.h"

#include "base/mem.h"

void kl__listener_init(kl__listener *listener,
                       const kl__listener_options *options)
{
    *listener = (kl__listener){.options = *options, .is_paused = true};
    kl__mutex_init(&listener->mutex, KL__RANK_LISTENER);
    kl__cond_init(&listener->settled);
    kl__notes_init(&listener->notes);
    kl__list_init(&listener->spares);
}

static void free_notes(kl__list *notes)
{
    kl__list *node;

    while ((node = kl__list_shift(notes)) != NULL) {
        kl__note_free(KL__CONTAINER(node, kl__note, node));
    }
}

void kl__listener_deinit(kl__listener *listener)
{
    kl__notes_deinit(&listener->notes);
    free_notes(&listener->spares);
    kl__cond_deinit(&listener->settled);
    kl__mutex_deinit(&listener->mutex);
}

/* Appends `count` empty notes; false: out of memory, and nothing was appended.
 */
static bool make_notes(kl__list *list, size_t count)
{
    kl__list fresh;

    kl__list_init(&fresh);
    for (size_t i = 0; i < count; i++) {
        kl__note *note = kl__note_new();

        if (note == NULL) {
            free_notes(&fresh);
            return false;
        }
        kl__list_append(&fresh, &note->node);
    }
    while (!kl__list_empty(&fresh)) {
        kl__list_append(list, kl__list_shift(&fresh));
    }
    return true;
}

/* Takes the first empty note and fills it with the event. */
static kl__note *fill_note(kl__list *notes, const kl_event *event)
{
    kl__note *note = KL__CONTAINER(kl__list_shift(notes), kl__note, node);

    note->event = *event;
    return note;
}

/* The informing task gives the notes an index by key, for merging, when they
 * could exceed the backlog, and drops it when none waits. `open` may run
 * between the informing task's reserve and push: it keeps the index and the
 * room that was reserved. A close drops the index, too. */
static bool reserve_keys_locked(kl__listener *listener, size_t count)
{
    kl__notes *notes = &listener->notes;
    bool can_merge = !listener->options.every_change &&
                     notes->count + count > listener->options.backlog;

    if (!can_merge && notes->count == 0) {
        kl__notes_unkey(notes);
    }
    listener->reserved = count;
    return !(can_merge || notes->is_keyed) || kl__notes_key(notes, count);
}

bool kl__listener_reserve(kl__listener *listener, size_t count)
{
    size_t wanted = count + 1; /* one more for synced */
    bool has_room;

    if (listener->spare_count < wanted) {
        if (!make_notes(&listener->spares, wanted - listener->spare_count)) {
            return false;
        }
        listener->spare_count = wanted;
    }
    kl__mutex_lock(&listener->mutex);
    has_room = reserve_keys_locked(listener, wanted);
    kl__mutex_unlock(&listener->mutex);
    return has_room;
}

void kl__listener_free_spares(kl__listener *listener)
{
    free_notes(&listener->spares);
    listener->spare_count = 0;
}

/* Synced is held back until each initial add is done, as the owner of a queue
 * may have pulled several events that it has not handled yet. */
static bool can_deliver_locked(const kl__listener *listener)
{
    const kl__list *first = listener->notes.list.next;

    if (listener->is_paused || listener->is_closed ||
        listener->notes.count == 0) {
        return false;
    }
    return KL__CONTAINER(first, const kl__note, node)->event.type !=
               KL_EVENT_SYNCED ||
           listener->tracker.outstanding == 0;
}

/* True: the caller calls `wake`. */
static bool awaken_locked(kl__listener *listener)
{
    bool must_wake = !listener->is_awake && can_deliver_locked(listener);

    listener->is_awake |= must_wake;
    return must_wake;
}

static void wake_locked(kl__listener *listener)
{
    if (awaken_locked(listener)) {
        listener->options.wake(listener->options.context);
    }
}

/* After the tracker has changed: wakes the threads that wait until it has
 * synced. */
static void tell_synced_locked(kl__listener *listener)
{
    if (kl__sync_tracker_has_synced(&listener->tracker)) {
        kl__cond_broadcast(&listener->settled);
    }
}

static kl_event make_event(const kl__change *change, bool initial)
{
    kl_event event = {.object = kl_object_ref(change->object)};

    switch (change->type) {
    case KL__CHANGE_ADD:
        event.type = KL_EVENT_ADD;
        event.initial = initial;
        break;
    case KL__CHANGE_UPDATE:
        event.type = KL_EVENT_UPDATE;
        event.old = kl_object_ref(change->old);
        break;
    case KL__CHANGE_DELETE:
        event.type = KL_EVENT_DELETE;
        event.unknown = change->unknown;
        event.left_shard = change->left_shard;
        break;
    }
    return event;
}

static bool is_before_mark_locked(const kl__listener *listener,
                                  const kl__note *note)
{
    return listener->is_marked && note->mark < listener->marks;
}

static void append_locked(kl__listener *listener, kl__note *note)
{
    note->mark = listener->marks;
    kl__notes_append(&listener->notes, note);
}

static void remove_locked(kl__listener *listener, kl__note *note)
{
    listener->marked -= is_before_mark_locked(listener, note) ? 1 : 0;
    kl__notes_remove(&listener->notes, note);
}

/* True: the newest note of the key is before the mark. What is pushed now comes
 * after it, and is not merged into that note. */
static bool waits_before_mark_locked(const kl__listener *listener,
                                     const char *key)
{
    const kl__note *newest =
        listener->is_marked ? kl__notes_find(&listener->notes, key) : NULL;

    return newest != NULL && is_before_mark_locked(listener, newest);
}

/* True: the event was merged into a note that waits. */
static bool merge_locked(kl__listener *listener, kl_event *event)
{
    kl__notes *notes = &listener->notes;
    kl__note *unseen;

    if (listener->options.every_change || !notes->is_keyed ||
        notes->count < listener->options.backlog ||
        waits_before_mark_locked(listener, kl_object_key(event->object)) ||
        !kl__notes_merge(notes, event, &unseen)) {
        return false;
    }
    if (unseen != NULL && unseen->event.initial) {
        kl__sync_tracker_finish(&listener->tracker);
        tell_synced_locked(listener);
    }
    kl__note_free(unseen);
    listener->has_merged = true;
    return true;
}

static void push_locked(kl__listener *listener, const kl__change *change,
                        bool initial)
{
    kl_event event = make_event(change, initial);

    if (event.initial) {
        kl__sync_tracker_start(&listener->tracker);
    }
    if (!merge_locked(listener, &event)) {
        append_locked(listener, fill_note(&listener->spares, &event));
        listener->spare_count--;
    }
}

static void push_synced_locked(kl__listener *listener)
{
    const kl_event event = {.type = KL_EVENT_SYNCED};

    append_locked(listener, fill_note(&listener->spares, &event));
    listener->spare_count--;
    kl__sync_tracker_complete(&listener->tracker);
    tell_synced_locked(listener);
}

bool kl__listener_push(kl__listener *listener, const kl__change_list *changes,
                       bool initial)
{
    bool must_wake = false;
    bool had_merged;
    bool begins;

    kl__mutex_lock(&listener->mutex);
    had_merged = listener->has_merged;
    if (!listener->is_closed) {
        for (size_t i = 0; i < changes->count; i++) {
            push_locked(listener, &changes->items[i], initial);
        }
        if (initial) {
            push_synced_locked(listener);
        }
        must_wake = awaken_locked(listener);
    }
    begins = listener->has_merged && !had_merged;
    kl__mutex_unlock(&listener->mutex);
    if (must_wake) {
        /* The owner may run before `wake` returns, and locks the mutex. */
        listener->options.wake(listener->options.context);
    }
    return begins;
}

/* Appends an update for each object of which no event waits. */
static void resync_locked(kl__listener *listener, const kl_object_list *objects,
                          kl__list *fresh)
{
    kl__notes *notes = &listener->notes;

    for (size_t i = 0; i < objects->count; i++) {
        kl_object *object = objects->items[i];
        kl_event event = {.type = KL_EVENT_UPDATE, .resync = true};

        if (notes->is_keyed &&
            kl__notes_find(notes, kl_object_key(object)) != NULL) {
            continue;
        }
        event.old = kl_object_ref(object);
        event.object = kl_object_ref(object);
        append_locked(listener, fill_note(fresh, &event));
    }
}

kl_code kl__listener_resync(kl__listener *listener,
                            const kl_object_list *objects)
{
    kl__list fresh;
    kl_code code = KL_OK;

    kl__list_init(&fresh);
    if (!make_notes(&fresh, objects->count)) {
        return KL_ENOMEM;
    }
    kl__mutex_lock(&listener->mutex);
    if ((listener->notes.count > 0 || listener->notes.is_keyed) &&
        !kl__notes_key(&listener->notes, objects->count)) {
        code = KL_ENOMEM;
    } else if (!listener->is_closed) {
        resync_locked(listener, objects, &fresh);
        wake_locked(listener);
    }
    kl__mutex_unlock(&listener->mutex);
    free_notes(&fresh);
    return code;
}

kl_code kl__listener_error(kl__listener *listener, const kl_error *error)
{
    kl__note *note = kl__note_new();
    kl__note *former = NULL;

    if (note == NULL) {
        return KL_ENOMEM;
    }
    note->event.type = KL_EVENT_ERROR;
    note->event.error = kl__malloc(sizeof(*error));
    if (note->event.error == NULL) {
        kl__note_free(note);
        return KL_ENOMEM;
    }
    *note->event.error = *error;
    kl__mutex_lock(&listener->mutex);
    if (listener->is_closed) {
        former = note;
    } else {
        if (listener->notes.count >= listener->options.backlog) {
            former = *kl__notes_error(&listener->notes, error);
        }
        if (former != NULL) {
            remove_locked(listener, former);
        }
        append_locked(listener, note);
        wake_locked(listener);
    }
    kl__mutex_unlock(&listener->mutex);
    kl__note_free(former);
    return KL_OK;
}

kl_code kl__listener_open(kl__listener *listener,
                          const kl_object_list *snapshot, bool is_complete)
{
    size_t count = snapshot->count + (is_complete ? 1 : 0);
    kl__list node_list, *node;

    kl__list_init(&node_list);
    if (!make_notes(&node_list, count)) {
        return KL_ENOMEM;
    }
    node = node_list.next;
    for (size_t i = 0; i < snapshot->count; i++, node = node->next) {
        kl_event *event = &KL__CONTAINER(node, kl__note, node)->event;

        event->type = KL_EVENT_ADD;
        event->initial = true;
        event->object = kl_object_ref(snapshot->items[i]);
    }
    if (is_complete) {
        KL__CONTAINER(node, kl__note, node)->event.type = KL_EVENT_SYNCED;
    }
    kl__mutex_lock(&listener->mutex);
    if (listener->notes.is_keyed &&
        !kl__notes_key(&listener->notes,
                       snapshot->count + listener->reserved)) {
        kl__mutex_unlock(&listener->mutex);
        free_notes(&node_list);
        return KL_ENOMEM;
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        kl__sync_tracker_start(&listener->tracker);
    }
    if (is_complete) {
        kl__sync_tracker_complete(&listener->tracker);
        tell_synced_locked(listener);
    }
    kl__notes_prepend(&listener->notes, &node_list, count);
    listener->marked += listener->is_marked ? count : 0;
    listener->is_paused = false;
    wake_locked(listener);
    kl__mutex_unlock(&listener->mutex);
    return KL_OK;
}

void kl__listener_close(kl__listener *listener)
{
    kl__notes dropped;

    kl__notes_init(&dropped);
    kl__mutex_lock(&listener->mutex);
    listener->is_closed = true;
    kl__notes_unkey(&listener->notes);
    while (!kl__list_empty(&listener->notes.list)) {
        kl__list_append(&dropped.list, kl__list_shift(&listener->notes.list));
    }
    listener->notes.count = 0;
    listener->marked = 0;
    listener->notes.unreadable = NULL;
    listener->notes.failure = NULL;
    kl__cond_broadcast(&listener->settled);
    kl__mutex_unlock(&listener->mutex);
    kl__notes_deinit(&dropped);
}

bool kl__listener_next(kl__listener *listener, kl_event *event, bool *made_room)
{
    kl__note *note = NULL;
    size_t backlog = listener->options.backlog;

    *made_room = false;
    kl__mutex_lock(&listener->mutex);
    if (can_deliver_locked(listener)) {
        note = KL__CONTAINER(listener->notes.list.next, kl__note, node);
        remove_locked(listener, note);
        *made_room = listener->notes.count + 1 == backlog;
    } else {
        listener->is_awake = false;
    }
    kl__mutex_unlock(&listener->mutex);
    if (note == NULL) {
        return false;
    }
    *event = note->event;
    kl__free(note);
    return true;
}

void kl__listener_done(kl__listener *listener, kl_event *event)
{
    if (event->type == KL_EVENT_ADD && event->initial) {
        kl__mutex_lock(&listener->mutex);
        kl__sync_tracker_finish(&listener->tracker);
        tell_synced_locked(listener);
        wake_locked(listener);
        kl__mutex_unlock(&listener->mutex);
    }
    kl__event_clear(event);
}

bool kl__listener_wait(kl__listener *listener, kl__cond *cond)
{
    bool is_open;

    kl__mutex_lock(&listener->mutex);
    while (!listener->is_awake && !listener->is_closed) {
        kl__cond_wait(cond, &listener->mutex, -1);
    }
    is_open = !listener->is_closed;
    kl__mutex_unlock(&listener->mutex);
    return is_open;
}

kl_code kl__listener_wait_synced(kl__listener *listener, kl__clock *clock,
                                 int64_t timeout_ms)
{
    int64_t deadline_ms = kl__clock_after(clock, timeout_ms);
    kl_code code = KL_OK;

    kl__mutex_lock(&listener->mutex);
    while (!kl__sync_tracker_has_synced(&listener->tracker) && code == KL_OK) {
        if (listener->is_closed) {
            code = KL_ECLOSED;
        } else if (deadline_ms >= 0 && kl__clock_now(clock) >= deadline_ms) {
            code = KL_ETIMEOUT;
        } else {
            kl__clock_wait(clock, &listener->settled, &listener->mutex,
                           deadline_ms);
        }
    }
    kl__mutex_unlock(&listener->mutex);
    return code;
}

bool kl__listener_mark(kl__listener *listener)
{
    bool is_new;

    kl__mutex_lock(&listener->mutex);
    is_new = !listener->is_marked;
    if (is_new) {
        listener->is_marked = true;
        listener->marks++;
        listener->marked = listener->notes.count;
    }
    kl__mutex_unlock(&listener->mutex);
    return is_new;
}

void kl__listener_unmark(kl__listener *listener)
{
    kl__mutex_lock(&listener->mutex);
    listener->is_marked = false;
    listener->marked = 0;
    kl__mutex_unlock(&listener->mutex);
}

bool kl__listener_marked(kl__listener *listener, size_t *count)
{
    bool is_marked;

    kl__mutex_lock(&listener->mutex);
    is_marked = listener->is_marked;
    *count = listener->marked;
    kl__mutex_unlock(&listener->mutex);
    return is_marked;
}

bool kl__listener_is_full(kl__listener *listener)
{
    return kl__listener_count(listener) >= listener->options.backlog;
}

size_t kl__listener_count(kl__listener *listener)
{
    size_t count;

    kl__mutex_lock(&listener->mutex);
    count = listener->notes.count;
    kl__mutex_unlock(&listener->mutex);
    return count;
}
