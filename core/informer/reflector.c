/*
 * reflector.c - makes and frees a reflector, reports its failures and its
 * status, and has the functions that several states call. See
 * reflector_machine.h.
 */
#include "informer/reflector_machine.h"

#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "kubelua/log.h"

#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_IDLE_MS = 90000,
    DEFAULT_STALL_MS = 15000,
    /* A resource that the server does not know may be a CRD that is being
       installed: ask every 5 to 10 s. */
    UNKNOWN_KIND_CAP_MS = 5000,
    /* When a server's connections break, its clients come back within this
       time, not all at once. */
    AT_ONCE_MS = 200,
    /* So often in a row the server's own word counts, not the backoff: as
       client-go tries a request again (docs/KUBERNETES.md#retry-after). */
    TOLD_MAX = 10,
    /* a watch ends after 5 to 10 minutes (docs/KUBERNETES.md#watch-timeouts) */
    WATCH_TIMEOUT_MIN_S = 300,
    WATCH_TIMEOUT_MAX_S = 600
};

kl__reflector *kl__reflector_new(const kl__reflector_options *options)
{
    kl__reflector *self = kl__calloc(1, sizeof(*self));
    kl__reflector_options *own;

    if (self == NULL) {
        return NULL;
    }
    own = &self->options;
    *own = *options;
    own->name = kl__strdup(options->name);
    self->packer = own->compress ? kl__packer_new() : NULL;
    if (own->name == NULL || (own->compress && self->packer == NULL)) {
        kl__packer_free(self->packer);
        kl__free((char *)own->name);
        kl__free(self);
        return NULL;
    }
    own->clock = own->clock != NULL ? own->clock : kl__clock_real();
    own->idle_timeout_ms =
        own->idle_timeout_ms != 0 ? own->idle_timeout_ms : DEFAULT_IDLE_MS;
    own->stall_ms = own->stall_ms != 0 ? own->stall_ms : DEFAULT_STALL_MS;
    self->state = self->next = KL_STATE_RESOLVING;
    self->shards = self->wanted = own->shards;
    kl__cancel_either_init(&self->interrupt, own->stop, NULL);
    atomic_init(&self->due_at, INT64_MAX);
    self->streams_from = own->no_streaming_list ? INT64_MAX : 0;
    kl__backoff_init(&self->backoff,
                     own->seed != 0 ? own->seed : kl__random_seed(self));
    kl__mutex_init(&self->mutex, KL__RANK_REFLECTOR);
    kl__mutex_init(&self->change_mutex, KL__RANK_CHANGE);
    atomic_init(&self->last_item_at, -1);
    return self;
}

void kl__reflector_free(kl__reflector *self)
{
    if (self == NULL) {
        return;
    }
    kl__list_watch_free(self->options.source);
    kl__cancel_either_deinit(&self->interrupt);
    kl__ahead_clear(&self->ahead);
    kl__packer_free(self->packer);
    kl__mutex_deinit(&self->change_mutex);
    kl__mutex_deinit(&self->mutex);
    kl__free((char *)self->options.name);
    kl__free(self);
}

void kl__reflector_expect(kl__reflector *self, int64_t ms)
{
    int64_t due_at = kl__clock_after(self->options.clock, ms);

    atomic_store_explicit(&self->due_at, due_at >= 0 ? due_at : INT64_MAX,
                          memory_order_relaxed);
}

void kl__reflector_note_item(kl__reflector *self)
{
    int64_t now = kl__reflector_now(self);

    atomic_store_explicit(&self->last_item_at, now, memory_order_relaxed);
    atomic_store_explicit(
        &self->due_at,
        now + atomic_load_explicit(&self->grace_ms, memory_order_relaxed),
        memory_order_relaxed);
}

int kl__reflector_timeout_seconds(kl__reflector *self)
{
    return (int)kl__backoff_jitter(&self->backoff, WATCH_TIMEOUT_MIN_S,
                                   WATCH_TIMEOUT_MAX_S);
}

kl_informer_state kl__reflector_relist(const kl__reflector *self)
{
    return kl__reflector_now(self) >= self->streams_from ? KL_STATE_STREAMING
                                                         : KL_STATE_LISTING;
}

/* Reports a failure. If the reason is new, queues it for handlers, in the order
 * of the events. */
static void note_failure(kl__reflector *self, const kl__failure *failure)
{
    kl__health *health = self->options.health;
    uint64_t number = kl__health_fail(health, failure->error, failure->quiet);

    if (number != 0 && kl__delta_fifo_error(self->options.fifo, failure->error,
                                            number) != KL_OK) {
        kl__health_untell(health);
    }
}

kl_informer_state kl__reflector_pause(kl__reflector *self, int64_t wait_ms,
                                      kl_informer_state resume)
{
    self->wait_ms = wait_ms;
    self->resume = resume;
    return KL_STATE_BACKOFF;
}

/* What a pause after this failure waits for, too. */
static kl__hope hope_after(const kl__reflector *self, const kl_error *error)
{
    if (error->code == KL_EUNAUTHORIZED) {
        return KL__NEW_CREDENTIALS;
    }
    return (error->code == KL_EUNAVAILABLE || error->code == KL_ETIMEOUT) &&
                   error->http_status == 0 && !self->has_hurried
               ? KL__SERVER_HEARD
               : KL__NO_HOPE;
}

/* An answer with Retry-After shows that the server is up: what the backoff has
 * grown to while it was away does not count any more. */
static void heed_retry_after(kl__reflector *self, const kl_error *error)
{
    if (error->retry_after_ms > 0 && self->times_told < TOLD_MAX) {
        self->times_told++;
        kl__backoff_reset(&self->backoff);
    }
}

kl_informer_state kl__reflector_fail(kl__reflector *self,
                                     const kl__failure *failure)
{
    const kl_error *error = failure->error;
    bool at_once = failure->at_once && kl__backoff_at_rest(&self->backoff);
    int64_t wait_ms;

    kl__list_watch_end(self->options.source);
    if (kl__reflector_is_stopped(self) || error->code == KL_ECLOSED) {
        return KL_STATE_STOPPED;
    }
    if (kl__cancel_fired(&self->interrupt.token)) {
        return failure->resume; /* of the new shard: take_shard */
    }
    self->hope = hope_after(self, error);
    self->answers = kl__list_watch_answers(self->options.source);
    heed_retry_after(self, error);
    atomic_fetch_add_explicit(&self->failures, 1, memory_order_relaxed);
    note_failure(self, failure);
    wait_ms = kl__backoff_next(&self->backoff, failure->cap_ms,
                               error->retry_after_ms);
    if (at_once && error->retry_after_ms <= 0) {
        wait_ms = kl__backoff_jitter(&self->backoff, 1, AT_ONCE_MS);
    }
    kl_log(KL_LOG_DEBUG, "%s: %s in %lld ms, after: %s", self->options.name,
           kl_informer_state_name(failure->resume), (long long)wait_ms,
           error->message);
    return kl__reflector_pause(self, wait_ms, failure->resume);
}

void kl__reflector_healthy(kl__reflector *self)
{
    kl_error reason;

    if (kl__backoff_at_rest(&self->backoff)) {
        return;
    }
    kl__backoff_reset(&self->backoff);
    self->doubts = 0;
    self->relisted = false;
    self->has_hurried = false;
    self->times_told = 0;
    self->refusals = 0;
    if (kl__health_recover(self->options.health, &reason)) {
        kl_log(KL_LOG_INFO, "%s: recovered from: %s", self->options.name,
               reason.message);
    }
}

/* A missing resource may be a CRD that is being installed. */
static void append_that_it_waits(kl_error *err)
{
    size_t used = strlen(err->message);

    snprintf(err->message + used, sizeof(err->message) - used,
             " (the informer waits until it is there)");
}

kl_informer_state kl__reflector_unresolved(kl__reflector *self,
                                           const kl_error *why)
{
    kl_error err = *why;
    kl__failure failure = {.error = &err, .resume = KL_STATE_RESOLVING};

    if (err.code == KL_EUNKNOWN_KIND || err.code == KL_ENOT_FOUND) {
        failure.cap_ms = UNKNOWN_KIND_CAP_MS;
        append_that_it_waits(&err);
    }
    return kl__reflector_fail(self, &failure);
}

void kl__reflector_rest(kl__reflector *self, kl__clock *on, int64_t ms)
{
    self->rests = true;
    self->rest_on = on;
    self->rest_until = ms;
}

static bool are_equal(const kl__shard *a, const kl__shard *b)
{
    const kl__shard_ranges *left = &a->ranges, *right = &b->ranges;

    return left->count == right->count &&
           memcmp(left->items, right->items,
                  left->count * sizeof(left->items[0])) == 0;
}

void kl__reflector_set_shard(kl__reflector *self, const kl__shard *shards)
{
    bool has_changed;

    kl__mutex_lock(&self->change_mutex);
    kl__mutex_lock(&self->mutex);
    has_changed = !are_equal(&self->wanted, shards);
    if (has_changed) {
        self->wanted = *shards;
        self->wanted_shard++;
    }
    kl__mutex_unlock(&self->mutex);
    if (has_changed) {
        kl__cancel_fire(&self->interrupt.token);
    }
    kl__mutex_unlock(&self->change_mutex);
    if (has_changed && self->options.wake != NULL) {
        self->options.wake(self->options.context);
    }
}

uint64_t kl__reflector_shard(kl__reflector *self)
{
    uint64_t shard;

    kl__mutex_lock(&self->mutex);
    shard = self->wanted_shard;
    kl__mutex_unlock(&self->mutex);
    return shard;
}

void kl__reflector_status(kl__reflector *self, kl_informer_status *status)
{
    int64_t now = kl__reflector_now(self);
    int64_t last =
        atomic_load_explicit(&self->last_item_at, memory_order_relaxed);
    int64_t silence = kl__list_watch_silence_ms(self->options.source);
    int64_t due_at;

    kl__mutex_lock(&self->mutex);
    status->state = self->state;
    status->retry_in_ms = self->retry_at > now ? self->retry_at - now : 0;
    kl__mutex_unlock(&self->mutex);
    kl__health_error(self->options.health, &status->error);
    status->last_message_age_ms = last < 0 ? -1 : now - last;
    if (silence >= 0 && (last < 0 || silence < now - last)) {
        status->last_message_age_ms = silence;
    }
    status->lists = atomic_load_explicit(&self->lists, memory_order_relaxed);
    status->watches =
        atomic_load_explicit(&self->watches, memory_order_relaxed);
    status->events = atomic_load_explicit(&self->events, memory_order_relaxed);
    status->failures =
        atomic_load_explicit(&self->failures, memory_order_relaxed);
    status->bytes = kl__list_watch_bytes(self->options.source);
    for (int i = 0; i < KL_RECONNECT_REASONS; i++) {
        status->reconnects[i] =
            atomic_load_explicit(&self->reconnects[i], memory_order_relaxed);
    }
    due_at = atomic_load_explicit(&self->due_at, memory_order_relaxed);
    if (status->state != KL_STATE_STOPPED && due_at < now) {
        status->overdue_ms = now - due_at;
    }
}

bool kl__reflector_has_answer(kl__reflector *self)
{
    return kl__list_watch_silence_ms(self->options.source) >= 0;
}
