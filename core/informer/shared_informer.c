/*
 * shared_informer.c - starts and stops the reflector's thread and the informer
 * thread, and applies the queue on both: queue -> cache -> listeners; see
 * shared_informer.h.
 */
#include "informer/shared_informer.h"

#include "api/client.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/str.h"
#include "informer/reflector.h"
#include "informer/status.h"
#include "kubelua/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    BATCH_MAX = 1000, /* as in client-go; half of the queue's bound */
    /* The pause before a batch is tried again, when out of memory. No change is
       lost: the queue fills, and the reflector stops reading. */
    RETRY_MS = 500,
    LONG_LIST = 1000 /* objects; a longer list leaves much memory behind */
};

/* How far the end is. */
typedef enum ending {
    ENDING_NOT,       /* the informer thread runs */
    ENDING_THREADS,   /* both threads have done their work */
    ENDING_ABANDONED, /* stopped inside a callback: the informer thread frees */
} ending;

struct kl__shared_informer {
    char *name;
    kl_client *client; /* may be NULL */
    kl__clock *clock;
    kl__indexer *indexer;
    kl__delta_fifo *fifo;
    kl__processor *processor;
    kl__reflector *reflector;
    kl__cancel_either stop;  /* fired by the last user or a closing client */
    kl__cancel_hook on_stop; /* in `stop` */
    kl__thread reflecting;
    kl__thread informing;
    kl__health health;

    atomic_int ending; /* an `ending`; exchanged once by the informer thread at
                          its end, and once by a stop inside a callback: the
                          second of the two frees all */

    /* Only the informer thread uses these. */
    bool starves;     /* it waits for memory */
    bool has_trimmed; /* it has given memory back after a long list */

    /* The informer thread sleeps on these while it waits for memory; they guard
     * no field. Rank REFLECTOR; never held with the reflector's mutex. */
    kl__mutex mutex;
    kl__cond cond;
    /* How long batches took to apply. Relaxed; any thread reads it. */
    kl__histogram latency;
    atomic_uint_least64_t latencies[KL__LATENCY_BUCKETS + 1];
    /* When a thread began to apply the present batch, in ms of CLOCK_MONOTONIC;
     * 0: none is being applied. Relaxed; the thread with the turn writes it. */
    atomic_int_least64_t applies_since_ms;
};

static void destroy_informer(kl__shared_informer *self)
{
    /* First, as this waits for a thread that is closing the client and is about
     * to stop the processor. */
    kl__cancel_remove(&self->stop.token, &self->on_stop);
    kl__processor_free(self->processor);
    kl__delta_fifo_free(self->fifo);
    kl__indexer_free(self->indexer);
    /* Last, as it packs what a user still refers to. */
    kl__reflector_free(self->reflector);
    kl__cancel_either_deinit(&self->stop); /* after the reflector's token */
    kl__health_deinit(&self->health);
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
    kl_client_unref(self->client);
    kl__free(self->name);
    kl__free(self);
    kl__live_add(KL_LIVE_INFORMER, -1);
}

static void wake_informer(void *arg)
{
    kl__shared_informer *self = arg;

    kl__mutex_lock(&self->mutex);
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

static void log_starving(kl__shared_informer *self)
{
    if (!self->starves) {
        self->starves = true;
        kl_log(KL_LOG_ERROR,
               "%s: out of memory; changes wait until there is some",
               self->name);
    }
}

/* Waits before the next try; false: stopped. */
static bool wait_for_memory(kl__shared_informer *self)
{
    kl__cancel_hook hook = {.wake = wake_informer, .arg = self};
    int64_t deadline = kl__clock_now(self->clock) + RETRY_MS;

    log_starving(self);
    kl__cancel_add(&self->stop.token, &hook);
    kl__mutex_lock(&self->mutex);
    while (!kl__cancel_fired(&self->stop.token) &&
           kl__clock_now(self->clock) < deadline) {
        kl__clock_wait(self->clock, &self->cond, &self->mutex, deadline);
    }
    kl__mutex_unlock(&self->mutex);
    kl__cancel_remove(&self->stop.token, &hook);
    return !kl__cancel_fired(&self->stop.token);
}

const double kl__latency_bounds[KL__LATENCY_BUCKETS] = {
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

static double read_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Before a batch is applied: returns the time. */
static double begin_batch(kl__shared_informer *self)
{
    double now = read_seconds();

    atomic_store_explicit(&self->applies_since_ms, (int64_t)(now * 1000),
                          memory_order_relaxed);
    return now;
}

/* Counts how long a batch took that was applied, since `began`. */
static void end_batch(kl__shared_informer *self, double began)
{
    atomic_store_explicit(&self->applies_since_ms, 0, memory_order_relaxed);
    kl__histogram_observe(&self->latency, read_seconds() - began);
}

/* For how long the present batch has been applied; 0: none is. */
static int64_t batch_age_ms(kl__shared_informer *self)
{
    int64_t since_ms =
        atomic_load_explicit(&self->applies_since_ms, memory_order_relaxed);

    return since_ms != 0 ? (int64_t)(read_seconds() * 1000) - since_ms : 0;
}

/* Applies a batch to the cache and all listeners; KL_ENOMEM: to none of them.
 */
static kl_code apply_batch(kl__shared_informer *self,
                           const kl__delta_batch *batch)
{
    const kl__delta *first = &batch->items[0];

    switch (first->type) {
    case KL__DELTA_REPLACED:
        return kl__processor_replace(self->processor, first->listed,
                                     first->version);
    case KL__DELTA_ERROR:
        kl__processor_error(self->processor, first->error, first->number);
        return KL_OK;
    case KL__DELTA_SYNC:
        return KL_OK; /* it only wakes this thread, which then runs the resyncs
                         that are due */
    default:
        return kl__processor_apply(self->processor, batch);
    }
}

/* Applies a batch, and waits for memory if necessary; false: stopped. */
static bool process_batch(kl__shared_informer *self, kl__delta_batch *batch)
{
    double began = begin_batch(self);

    while (apply_batch(self, batch) != KL_OK) {
        if (!wait_for_memory(self)) {
            return false;
        }
    }
    if (self->starves) {
        self->starves = false;
        kl_log(KL_LOG_INFO, "%s: there is memory again", self->name);
    }
    end_batch(self, began);
    return true;
}

/*
 * Applies the objects that wait in the queue, on the thread that has just
 * queued them: the informer thread then sleeps on. It is the reflector's
 * thread, or the transport thread with the reflector's turn (kl__stream_turn).
 * It never waits: the informer thread gets what has to wait for memory, for
 * room in a listener or for a handler that is being added, and lists, errors
 * and resyncs. While that thread applies a batch it has the queue's turn, and
 * this does nothing.
 */
static void apply_queued(void *arg)
{
    kl__shared_informer *self = arg;
    kl__delta_batch batch = {0};

    while (kl__processor_has_room(self->processor) &&
           kl__delta_fifo_pop_objects(self->fifo, &batch, BATCH_MAX) == KL_OK) {
        double began = begin_batch(self);

        if (kl__processor_apply_now(self->processor, &batch) != KL_OK) {
            end_batch(self, began);
            kl__delta_fifo_give_back(self->fifo, &batch);
            return;
        }
        end_batch(self, began);
        kl__delta_batch_clear(&batch);
    }
}

/* The time to wait for the queue: until the next resync. */
static int64_t until_resync(const kl__shared_informer *self)
{
    int64_t due = kl__processor_next_resync(self->processor);
    int64_t now = kl__clock_now(self->clock);

    if (due < 0) {
        return -1;
    }
    return due > now ? due - now : 0;
}

/* True for the first long list. The stage and the transaction of this list take
 * much memory, and the informer frees it when it has applied the list. A later
 * list needs little, because it shares most objects with the cache. */
static bool is_first_long_list(const kl__shared_informer *self,
                               const kl__delta_batch *batch)
{
    return !self->has_trimmed && batch->items[0].type == KL__DELTA_REPLACED &&
           batch->items[0].listed->objects.count >= LONG_LIST;
}

/* Resyncs what is due, then applies one batch. False: the thread has to end. */
static bool run_once(kl__shared_informer *self)
{
    kl__delta_batch batch = {0};
    int64_t wait_ms = until_resync(self);
    kl_code code;
    bool goes_on, is_long;

    /* A resync that lacks memory is due again a little later; the batches in
     * the queue may need less memory. */
    if (wait_ms == 0 && kl__processor_resync(self->processor) == KL_ENOMEM) {
        log_starving(self);
    }
    code = kl__delta_fifo_wait(self->fifo, wait_ms);
    if (code == KL_OK) {
        /* Without the turn: the wait may take long. */
        if (kl__processor_wait_room(self->processor, &self->stop.token) !=
            KL_OK) {
            return false;
        }
        code = kl__delta_fifo_pop(self->fifo, &batch, BATCH_MAX, 0);
    }
    switch (code) {
    case KL_OK:
        is_long = is_first_long_list(self, &batch);
        goes_on = process_batch(self, &batch);
        kl__delta_batch_clear(&batch);
        if (is_long) {
            self->has_trimmed = true;
            kl__mem_trim();
        }
        return goes_on;
    case KL_ETIMEOUT:
        return true;
    case KL_ENOMEM:
        return wait_for_memory(self);
    default:
        return false;
    }
}

/* The reflector's thread. It uses the reflector, the queue, and, while it has
 * the queue's turn, the indexer and the processor. */
static void *run_reflector(void *arg)
{
    kl__shared_informer *self = arg;

    kl__reflector_run(self->reflector);
    return NULL;
}

/*
 * The informer thread. It uses the queue, the processor, and, while it has the
 * queue's turn, the indexer. It ends when the queue is closed and empty, or at
 * once when it is stopped or its client is closed. The reflector's thread ends
 * for the same reasons, and is joined here: so it has ended when `ending` says
 * so. Acquire and release: the thread that frees sees what the other has
 * written.
 */
static void *run_informer(void *arg)
{
    kl__shared_informer *self = arg;

    while (!kl__cancel_fired(&self->stop.token) && run_once(self)) {
    }
    kl__processor_close(self->processor);
    kl__health_end(&self->health);
    kl__thread_join(&self->reflecting);
    if (atomic_exchange_explicit(&self->ending, ENDING_THREADS,
                                 memory_order_acq_rel) == ENDING_ABANDONED) {
        kl__thread_detach(&self->informing);
        destroy_informer(self);
    }
    return NULL;
}

/* The hook in `stop`. Runs on the thread that closes the client or stops the
 * informer. */
static void stop_processor(void *arg)
{
    kl__shared_informer *self = arg;

    kl__processor_stop(self->processor);
}

static bool make_parts(kl__shared_informer *self,
                       const kl__shared_options *options)
{
    self->name = kl__strdup(options->name);
    self->indexer = kl__indexer_new();
    self->fifo = kl__delta_fifo_new(0, self->clock);
    if (self->name == NULL || self->indexer == NULL || self->fifo == NULL) {
        return false;
    }
    self->processor = kl__processor_new(self->indexer, &self->health,
                                        self->clock, self->name);
    if (self->processor == NULL) {
        return false;
    }
    if (!kl__cancel_add(&self->stop.token, &self->on_stop)) {
        stop_processor(self); /* the client is closed already */
    }
    self->reflector = kl__reflector_new(&(kl__reflector_options){
        .source = options->source,
        .fifo = self->fifo,
        .known = self->indexer,
        .health = &self->health,
        .stop = &self->stop.token,
        .clock = self->clock,
        .name = self->name,
        .apply_queued = apply_queued,
        .context = self,
        .idle_timeout_ms = options->idle_timeout_ms,
        .page_size = options->page_size,
        .shards = options->shards,
        .no_streaming_list = options->no_streaming_list,
        .compress = options->compress,
    });
    return self->reflector != NULL;
}

kl__shared_informer *
kl__shared_informer_start(const kl__shared_options *options, kl_error *err)
{
    kl__shared_informer *self = kl__calloc(1, sizeof(*self));

    if (self == NULL) {
        kl__list_watch_free(options->source);
        kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
        return NULL;
    }
    kl__live_add(KL_LIVE_INFORMER, 1);
    kl__mutex_init(&self->mutex, KL__RANK_REFLECTOR);
    kl__cond_init(&self->cond);
    self->latency = (kl__histogram){.bounds = kl__latency_bounds,
                                    .count = KL__LATENCY_BUCKETS,
                                    .buckets = self->latencies};
    self->clock = options->clock != NULL ? options->clock : kl__clock_real();
    kl__health_init(&self->health, self->clock);
    if (options->client != NULL) {
        self->client = kl_client_ref(options->client);
    }
    kl__cancel_either_init(
        &self->stop,
        self->client != NULL ? kl__client_closed(self->client) : NULL, NULL);
    self->on_stop = (kl__cancel_hook){.wake = stop_processor, .arg = self};
    kl__list_init(&self->on_stop.node);
    if (!make_parts(self, options)) {
        kl__list_watch_free(options->source);
        kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
        goto fail;
    }
    atomic_init(&self->ending, ENDING_NOT);
    /* First, as the informer thread joins it. */
    if (kl__thread_start(&self->reflecting, "kl-reflector", run_reflector, self,
                         err) != KL_OK) {
        goto fail;
    }
    if (kl__thread_start(&self->informing, "kl-informer", run_informer, self,
                         err) != KL_OK) {
        kl__cancel_fire(&self->stop.token);
        kl__thread_join(&self->reflecting);
        goto fail;
    }
    return self;

fail:
    destroy_informer(self);
    return NULL;
}

void kl__shared_informer_stop(kl__shared_informer *self)
{
    kl__cancel_fire(&self->stop.token);
    if (kl__in_callback() &&
        atomic_exchange_explicit(&self->ending, ENDING_ABANDONED,
                                 memory_order_acq_rel) == ENDING_NOT) {
        return; /* this may be one of the two threads */
    }
    kl__thread_join(&self->informing);
    destroy_informer(self);
}

kl__indexer *kl__shared_informer_indexer(const kl__shared_informer *self)
{
    return self->indexer;
}

kl__processor *kl__shared_informer_processor(const kl__shared_informer *self)
{
    return self->processor;
}

kl_client *kl__shared_informer_client(const kl__shared_informer *self)
{
    return self->client;
}

kl__health *kl__shared_informer_health(kl__shared_informer *self)
{
    return &self->health;
}

/* Fills the error: "pods has not synced within 5.0 s: ..." and the reason. */
static void set_not_synced(kl__shared_informer *self, int64_t timeout_ms,
                           kl_error *err)
{
    kl_informer_status status;
    kl__buf reason = {0};

    kl__shared_informer_status(self, &status);
    kl__status_reason(&status, &reason);
    kl_error_set(err, KL_ETIMEOUT, "%s",
                 reason.failed ? "out of memory" : reason.bytes);
    kl__buf_deinit(&reason);
    if (timeout_ms > 0) {
        kl_error_prefix(err, "%s has not synced within %.1f s", self->name,
                        (double)timeout_ms / 1000);
    } else {
        kl_error_prefix(err, "%s has not synced yet", self->name);
    }
}

kl_code kl__shared_informer_wait_synced(kl__shared_informer *self,
                                        kl__sync_waiters *waiters,
                                        int64_t timeout_ms, kl_error *err)
{
    kl_code code = kl__health_wait_synced(&self->health, waiters, timeout_ms);

    if (code == KL_ECLOSED) {
        kl_error_set(err, code, "%s was closed", self->name);
    } else if (code == KL_ETIMEOUT && err != NULL) {
        set_not_synced(self, timeout_ms, err);
    }
    kl__health_end_wait(&self->health, waiters);
    return code;
}

void kl__shared_informer_status(kl__shared_informer *self,
                                kl_informer_status *status)
{
    int64_t batch_ms = batch_age_ms(self);

    memset(status, 0, sizeof(*status));
    kl__reflector_status(self->reflector, status);
    if (kl__cancel_fired(&self->stop.token)) {
        /* The reflector will notice soon, whatever it waits for. */
        status->state = KL_STATE_STOPPED;
        status->retry_in_ms = 0;
    }
    if (status->state != KL_STATE_STOPPED && batch_ms > status->overdue_ms) {
        status->overdue_ms = batch_ms;
    }
    status->has_synced =
        kl__health_count_lists(&self->health, &status->lists_held);
    status->objects = kl__indexer_count(self->indexer);
    status->queued = kl__delta_fifo_length(self->fifo);
    status->unreadable = kl__processor_unreadable_count(self->processor);
    if (self->client != NULL && !kl__reflector_has_answer(self->reflector)) {
        kl__status_plugin(status, self->client);
    }
}

void kl__shared_informer_set_shard(kl__shared_informer *self,
                                   const kl__shard *shards)
{
    kl__reflector_set_shard(self->reflector, shards);
}

bool kl__shared_informer_holds_shard(kl__shared_informer *self)
{
    return kl__health_has_synced(&self->health) &&
           atomic_load(&self->health.shard_held) ==
               kl__reflector_shard(self->reflector);
}

void kl__shared_informer_figures(kl__shared_informer *self,
                                 kl__informer_figures *figures)
{
    memset(figures, 0, sizeof(*figures));
    kl__shared_informer_status(self, &figures->status);
    figures->shared = self;
    snprintf(figures->name, sizeof(figures->name), "%s", self->name);
    kl__indexer_version(self->indexer, figures->store_version,
                        sizeof(figures->store_version));
    for (size_t i = 0; i <= KL__LATENCY_BUCKETS; i++) {
        figures->buckets[i] =
            atomic_load_explicit(&self->latencies[i], memory_order_relaxed);
        figures->taken += figures->buckets[i];
    }
    figures->taken_seconds = kl__real_get(&self->latency.sum);
}

void kl__shared_informer_added(kl__shared_informer *self)
{
    kl__processor_error_again(self->processor);
    /* without memory for a wake-up the resync comes after the next event */
    (void)kl__delta_fifo_resync(self->fifo);
}
