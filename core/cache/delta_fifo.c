/*
 * delta_fifo.c - a growing ring buffer of deltas under one mutex. The reflector
 * thread waits for room, the informing task waits for deltas; cancelling and
 * closing wake both.
 */
#include "cache/delta_fifo.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

void kl__listed_clear(kl__listed *listed)
{
    kl_object_list_clear(&listed->objects);
    kl__unreadables_clear(&listed->unreadable);
}

void kl__delta_clear(kl__delta *delta)
{
    kl_object_unref(delta->object);
    kl__free(delta->unreadable);
    if (delta->listed != NULL) {
        kl__listed_clear(delta->listed);
        kl__free(delta->listed);
    }
    kl__free(delta->version);
    kl__free(delta->error);
    *delta = (kl__delta){0};
}

void kl__delta_batch_clear(kl__delta_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        kl__delta_clear(&batch->items[i]);
    }
    kl__free(batch->items);
    if (batch->turn != NULL) {
        kl__delta_fifo_end_turn(batch->turn);
    }
    *batch = (kl__delta_batch){0};
}

enum { DEFAULT_BOUND = 2000, FIRST_CAPACITY = 16, GATHER_MAX = 64 };

struct kl__delta_fifo {
    /* Guards everything below but clock, bound and on_news; rank FIFO. */
    kl__mutex mutex;
    /* Two conditions, so that a pop by the reflecting task does not wake the
     * informer thread for nothing. */
    kl__cond filled;  /* there may be something to pop; closed */
    kl__cond drained; /* there may be room; closed; cancelled */
    kl__clock *clock;
    size_t bound;
    void (*on_news)(void *arg); /* called with `filled`; may be NULL */
    void *on_news_arg;

    kl__delta *ring;
    size_t capacity; /* 0 or a power of two */
    size_t head;
    size_t count;
    size_t bounded;           /* how many of `count` count towards the bound */
    bool gathers;             /* see kl__delta_fifo_gather */
    bool is_taken;            /* a batch has the turn */
    kl__delta_batch returned; /* given back: goes before the ring; does not
                                 count towards the bound */
    bool has_news;            /* unlock_and_tell broadcasts `filled` */
    bool has_room;            /* unlock_and_tell broadcasts `drained` */
    bool closed;
};

/* Wakes the consumers. */
static void tell_news(kl__delta_fifo *fifo)
{
    kl__cond_broadcast(&fifo->filled);
    if (fifo->on_news != NULL) {
        fifo->on_news(fifo->on_news_arg);
    }
}

/* Unlocks the mutex, then wakes the threads that have to know: a thread that
 * wakes while the mutex is held would only wait again. */
static void unlock_and_tell(kl__delta_fifo *fifo)
{
    bool has_news = fifo->has_news;
    bool has_room = fifo->has_room;

    fifo->has_news = fifo->has_room = false;
    kl__mutex_unlock(&fifo->mutex);
    if (has_news) {
        tell_news(fifo);
    }
    if (has_room) {
        kl__cond_broadcast(&fifo->drained);
    }
}

/* The delta at `index`; 0 is the next one to pop. */
static kl__delta *delta_at(const kl__delta_fifo *fifo, size_t index)
{
    return &fifo->ring[(fifo->head + index) & (fifo->capacity - 1)];
}

/* True for ADDED, UPDATED, DELETED. */
static bool has_object(const kl__delta *delta)
{
    return delta->type <= KL__DELTA_LEFT;
}

kl__delta_fifo *kl__delta_fifo_new(size_t bound, kl__clock *clock)
{
    kl__delta_fifo *fifo = kl__calloc(1, sizeof(*fifo));

    if (fifo == NULL) {
        return NULL;
    }
    kl__mutex_init(&fifo->mutex, KL__RANK_FIFO);
    kl__cond_init(&fifo->filled);
    kl__cond_init(&fifo->drained);
    fifo->clock = clock != NULL ? clock : kl__clock_real();
    fifo->bound = bound != 0 ? bound : DEFAULT_BOUND;
    return fifo;
}

void kl__delta_fifo_on_news(kl__delta_fifo *fifo, void (*call)(void *arg),
                            void *arg)
{
    fifo->on_news = call;
    fifo->on_news_arg = arg;
}

void kl__delta_fifo_free(kl__delta_fifo *fifo)
{
    if (fifo == NULL) {
        return;
    }
    for (size_t i = 0; i < fifo->count; i++) {
        kl__delta_clear(delta_at(fifo, i));
    }
    kl__free(fifo->ring);
    kl__delta_batch_clear(&fifo->returned);
    kl__cond_deinit(&fifo->drained);
    kl__cond_deinit(&fifo->filled);
    kl__mutex_deinit(&fifo->mutex);
    kl__free(fifo);
}

/* True if the delta counts towards the bound: objects, readable or not, and
 * lists. */
static bool is_bounded(const kl__delta *delta)
{
    return delta->type <= KL__DELTA_REPLACED ||
           delta->type == KL__DELTA_UNREADABLE;
}

static bool grow_locked(kl__delta_fifo *fifo)
{
    size_t capacity = fifo->capacity != 0 ? fifo->capacity * 2 : FIRST_CAPACITY;
    kl__delta *ring;

    if (fifo->count < fifo->capacity) {
        return true;
    }
    ring = kl__calloc(capacity, sizeof(*ring));
    if (ring == NULL) {
        return false;
    }
    for (size_t i = 0; i < fifo->count; i++) {
        ring[i] = *delta_at(fifo, i);
    }
    kl__free(fifo->ring);
    fifo->ring = ring;
    fifo->capacity = capacity;
    fifo->head = 0;
    return true;
}

/* Takes the delta if it succeeds. */
static kl_code append_locked(kl__delta_fifo *fifo, const kl__delta *delta)
{
    if (!grow_locked(fifo)) {
        return KL_ENOMEM;
    }
    *delta_at(fifo, fifo->count++) = *delta;
    if (is_bounded(delta)) {
        fifo->bounded++;
    }
    if (!fifo->gathers || !has_object(delta) || fifo->count >= GATHER_MAX) {
        fifo->has_news = true;
    }
    return KL_OK;
}

static bool is_empty_locked(const kl__delta_fifo *fifo)
{
    return fifo->count == 0 && fifo->returned.count == 0;
}

void kl__delta_fifo_gather(kl__delta_fifo *fifo, bool gathers)
{
    kl__mutex_lock(&fifo->mutex);
    fifo->gathers = gathers;
    if (!gathers && !is_empty_locked(fifo)) {
        fifo->has_news = true;
    }
    unlock_and_tell(fifo);
}

/* The cancel token's hook; runs on the thread that fires the token. */
static void wake_waiters(void *arg)
{
    kl__delta_fifo *fifo = arg;

    kl__mutex_lock(&fifo->mutex);
    kl__cond_broadcast(&fifo->drained);
    kl__mutex_unlock(&fifo->mutex);
}

/* KL_ETIMEOUT: there is no room now. */
static kl_code find_room_locked(const kl__delta_fifo *fifo,
                                const kl__cancel *cancel)
{
    if (fifo->closed) {
        return KL_ECLOSED;
    }
    if (kl__cancel_fired(cancel)) {
        return KL_ECANCELED;
    }
    return fifo->bounded < fifo->bound ? KL_OK : KL_ETIMEOUT;
}

/* Queues `delta` (NULL: nothing) if `code` is KL_OK, and unlocks. */
static kl_code append_and_unlock(kl__delta_fifo *fifo, kl_code code,
                                 const kl__delta *delta)
{
    if (code == KL_OK && delta != NULL) {
        code = append_locked(fifo, delta);
    }
    unlock_and_tell(fifo);
    return code;
}

static kl_code push_when_room(kl__delta_fifo *fifo, const kl__delta *delta,
                              int64_t timeout_ms, kl__cancel *cancel)
{
    kl__cancel_hook hook = {.wake = wake_waiters, .arg = fifo};
    int64_t deadline = kl__clock_after(fifo->clock, timeout_ms);
    bool in_time = true;
    kl_code code;

    if (!kl__cancel_add(cancel, &hook)) {
        return KL_ECANCELED;
    }
    kl__mutex_lock(&fifo->mutex);
    while ((code = find_room_locked(fifo, cancel)) == KL_ETIMEOUT && in_time) {
        /* While the producer gathers, the consumer may sleep although the queue
         * is full. */
        tell_news(fifo);
        in_time =
            kl__clock_wait(fifo->clock, &fifo->drained, &fifo->mutex, deadline);
    }
    code = append_and_unlock(fifo, code, delta);
    kl__cancel_remove(cancel, &hook);
    return code;
}

/* Waits for room, then queues `delta` (NULL: only waits). Takes the delta if it
 * succeeds. Mostly there is room, and no need of a hook or a deadline. */
static kl_code push_bounded(kl__delta_fifo *fifo, const kl__delta *delta,
                            int64_t timeout_ms, kl__cancel *cancel)
{
    kl_code code;

    kl__mutex_lock(&fifo->mutex);
    code = find_room_locked(fifo, cancel);
    if (code == KL_ETIMEOUT) {
        kl__mutex_unlock(&fifo->mutex);
        return push_when_room(fifo, delta, timeout_ms, cancel);
    }
    return append_and_unlock(fifo, code, delta);
}

kl_code kl__delta_fifo_push(kl__delta_fifo *fifo, kl__delta_type type,
                            kl_object *object, int64_t timeout_ms,
                            kl__cancel *cancel)
{
    kl__delta delta = {.type = type, .object = object};
    kl_code code = push_bounded(fifo, &delta, timeout_ms, cancel);

    if (code != KL_OK) {
        kl__delta_clear(&delta);
    }
    return code;
}

kl_code kl__delta_fifo_unreadable(kl__delta_fifo *fifo,
                                  kl__unreadable *unreadable, bool is_gone,
                                  int64_t timeout_ms, kl__cancel *cancel)
{
    kl__delta delta = {.type = KL__DELTA_UNREADABLE,
                       .is_gone = is_gone,
                       .unreadable = unreadable};
    kl_code code = push_bounded(fifo, &delta, timeout_ms, cancel);

    if (code != KL_OK) {
        kl__delta_clear(&delta);
    }
    return code;
}

kl_code kl__delta_fifo_replace(kl__delta_fifo *fifo, kl__listed *listed,
                               const char *version, int64_t timeout_ms,
                               kl__cancel *cancel)
{
    kl__delta delta = {.type = KL__DELTA_REPLACED};
    kl_code code = KL_ENOMEM;

    delta.version = kl__strdup(version);
    delta.listed = kl__malloc(sizeof(*delta.listed));
    if (delta.listed != NULL) {
        *delta.listed = *listed;
        *listed = (kl__listed){0};
    }
    if (delta.version != NULL && delta.listed != NULL) {
        code = push_bounded(fifo, &delta, timeout_ms, cancel);
    }
    if (code != KL_OK) {
        kl__delta_clear(&delta);
        kl__listed_clear(listed);
    }
    return code;
}

/* True if `delta` replaces `last`, the delta directly before it: a bookmark
 * replaces a bookmark, a Sync a Sync, and an error an error that has the same
 * code and message. */
static bool replaces_last(const kl__delta *delta, const kl__delta *last)
{
    if (delta->type != last->type) {
        return false;
    }
    return delta->type != KL__DELTA_ERROR ||
           (delta->error->code == last->error->code &&
            strcmp(delta->error->message, last->error->message) == 0);
}

/* Queues a delta that does not wait for room. Takes the delta. */
static kl_code push_unbounded(kl__delta_fifo *fifo, kl__delta *delta)
{
    kl_code code;

    kl__mutex_lock(&fifo->mutex);
    if (fifo->closed) {
        code = KL_ECLOSED;
    } else if (fifo->count > 0 &&
               replaces_last(delta, delta_at(fifo, fifo->count - 1))) {
        kl__delta former = *delta_at(fifo, fifo->count - 1);

        *delta_at(fifo, fifo->count - 1) = *delta;
        *delta = former;
        code = KL_OK;
    } else {
        code = append_locked(fifo, delta);
        if (code == KL_OK) {
            *delta = (kl__delta){0};
        }
    }
    unlock_and_tell(fifo);
    kl__delta_clear(delta);
    return code;
}

kl_code kl__delta_fifo_resync(kl__delta_fifo *fifo)
{
    kl__delta delta = {.type = KL__DELTA_SYNC};

    return push_unbounded(fifo, &delta);
}

kl_code kl__delta_fifo_bookmark(kl__delta_fifo *fifo, const char *version)
{
    kl__delta delta = {.type = KL__DELTA_BOOKMARK};

    delta.version = kl__strdup(version);
    return delta.version != NULL ? push_unbounded(fifo, &delta) : KL_ENOMEM;
}

kl_code kl__delta_fifo_error(kl__delta_fifo *fifo, const kl_error *error,
                             uint64_t number)
{
    kl__delta delta = {.type = KL__DELTA_ERROR, .number = number};

    delta.error = kl__malloc(sizeof(*delta.error));
    if (delta.error == NULL) {
        return KL_ENOMEM;
    }
    *delta.error = *error;
    return push_unbounded(fifo, &delta);
}

bool kl__delta_fifo_wait_room(kl__delta_fifo *fifo, int64_t timeout_ms,
                              kl__cancel *cancel)
{
    return push_bounded(fifo, NULL, timeout_ms, cancel) == KL_OK;
}

size_t kl__delta_fifo_idle_room(kl__delta_fifo *fifo)
{
    size_t room = 0;

    kl__mutex_lock(&fifo->mutex);
    if (is_empty_locked(fifo) && !fifo->is_taken && !fifo->closed) {
        room = fifo->bound;
    }
    kl__mutex_unlock(&fifo->mutex);
    return room;
}

static bool is_alone(const kl__delta *delta)
{
    return delta->type == KL__DELTA_REPLACED ||
           delta->type == KL__DELTA_UNREADABLE ||
           delta->type == KL__DELTA_SYNC || delta->type == KL__DELTA_ERROR;
}

/* How many deltas from the front make the next batch. */
static size_t batch_size_locked(const kl__delta_fifo *fifo, size_t max)
{
    size_t size = 0;

    while (size < fifo->count && size < max &&
           !is_alone(delta_at(fifo, size))) {
        size++;
    }
    return size != 0 ? size : 1;
}

/* Begins a turn with what was given back, or with the front of the ring. */
static kl_code take_locked(kl__delta_fifo *fifo, kl__delta_batch *batch,
                           size_t max)
{
    size_t size;

    if (fifo->returned.count > 0) {
        *batch = fifo->returned;
        fifo->returned = (kl__delta_batch){0};
        batch->turn = fifo;
        fifo->is_taken = true;
        return KL_OK;
    }
    size = batch_size_locked(fifo, max);
    batch->items = kl__malloc(size * sizeof(*batch->items));
    if (batch->items == NULL) {
        return KL_ENOMEM;
    }
    batch->capacity = size;
    batch->count = size;
    for (size_t i = 0; i < size; i++) {
        batch->items[i] = *delta_at(fifo, i);
        fifo->bounded -= is_bounded(&batch->items[i]) ? 1 : 0;
    }
    fifo->head = (fifo->head + size) & (fifo->capacity - 1);
    fifo->count -= size;
    fifo->has_room = true;
    batch->turn = fifo;
    fifo->is_taken = true;
    return KL_OK;
}

/* Waits until a turn can begin. A closed queue ends the wait only when it is
 * empty and no turn is left that could give a batch back. */
static kl_code wait_turn_locked(kl__delta_fifo *fifo, int64_t timeout_ms)
{
    int64_t deadline = kl__clock_after(fifo->clock, timeout_ms);
    bool in_time = true;

    while (fifo->is_taken || is_empty_locked(fifo)) {
        if (fifo->closed && !fifo->is_taken) {
            return KL_ECLOSED;
        }
        if (!in_time || timeout_ms == 0) {
            return KL_ETIMEOUT;
        }
        in_time =
            kl__clock_wait(fifo->clock, &fifo->filled, &fifo->mutex, deadline);
    }
    return KL_OK;
}

kl_code kl__delta_fifo_wait(kl__delta_fifo *fifo, int64_t timeout_ms)
{
    kl_code code;

    kl__mutex_lock(&fifo->mutex);
    code = wait_turn_locked(fifo, timeout_ms);
    kl__mutex_unlock(&fifo->mutex);
    return code;
}

kl_code kl__delta_fifo_pop(kl__delta_fifo *fifo, kl__delta_batch *batch,
                           size_t max, int64_t timeout_ms)
{
    kl_code code;

    kl__mutex_lock(&fifo->mutex);
    code = wait_turn_locked(fifo, timeout_ms);
    if (code == KL_OK) {
        code = take_locked(fifo, batch, max);
    }
    unlock_and_tell(fifo);
    return code;
}

kl_code kl__delta_fifo_pop_objects(kl__delta_fifo *fifo, kl__delta_batch *batch,
                                   size_t max)
{
    kl_code code = KL_ETIMEOUT;

    kl__mutex_lock(&fifo->mutex);
    if (!fifo->is_taken && fifo->returned.count == 0 && fifo->count > 0 &&
        !is_alone(delta_at(fifo, 0))) {
        code = take_locked(fifo, batch, max);
    }
    unlock_and_tell(fifo);
    return code;
}

/* A thread that waits for its turn may have been woken in vain while the turn
 * lasted, so it is woken now for all that is left. */
static void end_turn_locked(kl__delta_fifo *fifo)
{
    fifo->is_taken = false;
    fifo->has_news = !is_empty_locked(fifo) || fifo->closed;
}

void kl__delta_fifo_end_turn(kl__delta_fifo *fifo)
{
    kl__mutex_lock(&fifo->mutex);
    end_turn_locked(fifo);
    unlock_and_tell(fifo);
}

void kl__delta_fifo_give_back(kl__delta_fifo *fifo, kl__delta_batch *batch)
{
    kl__mutex_lock(&fifo->mutex);
    fifo->returned = *batch;
    fifo->returned.turn = NULL;
    end_turn_locked(fifo);
    unlock_and_tell(fifo);
    *batch = (kl__delta_batch){0};
}

size_t kl__delta_fifo_length(kl__delta_fifo *fifo)
{
    size_t count;

    kl__mutex_lock(&fifo->mutex);
    count = fifo->count + fifo->returned.count;
    kl__mutex_unlock(&fifo->mutex);
    return count;
}

void kl__delta_fifo_close(kl__delta_fifo *fifo)
{
    kl__mutex_lock(&fifo->mutex);
    fifo->closed = true;
    tell_news(fifo);
    kl__cond_broadcast(&fifo->drained);
    kl__mutex_unlock(&fifo->mutex);
}
