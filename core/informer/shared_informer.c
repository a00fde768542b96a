/*
 * shared_informer.c - starts and stops the two tasks of an informer, and
 * applies the queue on both: queue -> cache -> listeners; see
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
    LONG_LIST = 1000, /* objects; a longer list leaves much memory behind */
    TURN_BATCHES = 8  /* batches of one turn; then other informers have one */
};

/* How far the end is. */
typedef enum ending {
    ENDING_NOT,       /* the informing task goes on */
    ENDING_DONE,      /* both tasks are over */
    ENDING_ABANDONED, /* stopped inside a callback: the informing task frees */
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
    kl__cancel_hook on_stop; /* in `stop`, once the tasks have started */
    kl__task reflecting;     /* reads the stream */
    kl__task informing;      /* applies the queue */
    kl__health health;

    /* Only the informing task uses these. */
    bool starves;     /* it waits for memory */
    bool has_trimmed; /* it has given memory back after a long list */
    bool is_closed;   /* it has closed the processor */

    /* Rank REFLECTOR; never held with the reflector's mutex. */
    kl__mutex mutex; /* guards the two below */
    kl__cond cond;   /* one of them has changed, or a wait for memory is over */
    ending ending;
    bool has_reflected; /* the reflecting task is over */
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
 * queued them: the informing task then sleeps on. It is the reflector's
 * thread, or the transport thread with the reflector's turn (kl__stream_turn).
 * It never waits: the informing task gets what has to wait for memory, for
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

static bool is_resync_due(const kl__shared_informer *self)
{
    int64_t due_ms = kl__processor_next_resync(self->processor);

    return due_ms >= 0 && due_ms <= kl__clock_now(self->clock);
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

/* What a turn of the informing task has found to do. */
typedef enum progress {
    HAS_APPLIED, /* a batch */
    IS_IDLE,     /* nothing: rest until the next resync */
    HAS_ENDED    /* the queue is closed and empty, or the informer stopped */
} progress;

/* Applies the next batch, if there is one now. */
static progress apply_next(kl__shared_informer *self)
{
    kl__delta_batch batch = {0};
    kl_code code = kl__delta_fifo_wait(self->fifo, 0);
    bool goes_on, is_long;

    if (code == KL_OK) {
        /* Without the turn: the wait may take long. */
        if (kl__processor_wait_room(self->processor, &self->stop.token) !=
            KL_OK) {
            return HAS_ENDED;
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
        return goes_on ? HAS_APPLIED : HAS_ENDED;
    case KL_ETIMEOUT:
        return IS_IDLE;
    case KL_ENOMEM:
        return wait_for_memory(self) ? HAS_APPLIED : HAS_ENDED;
    default:
        return HAS_ENDED;
    }
}

/* Resyncs what is due, and applies what the queue has, up to some batches. */
static progress apply_some(kl__shared_informer *self)
{
    progress found = HAS_APPLIED;

    for (int i = 0; found == HAS_APPLIED && i < TURN_BATCHES; i++) {
        if (kl__cancel_fired(&self->stop.token)) {
            return HAS_ENDED;
        }
        /* A resync that lacks memory is due again a little later; the batches
         * in the queue may need less memory. */
        if (is_resync_due(self) &&
            kl__processor_resync(self->processor) == KL_ENOMEM) {
            log_starving(self);
        }
        found = apply_next(self);
    }
    return found;
}

/* When the informing task has to look for a resync, as the result of a turn. */
static int64_t rest_until_resync(const kl__shared_informer *self)
{
    int64_t due_ms = kl__processor_next_resync(self->processor);

    if (due_ms < 0) {
        return KL__TASK_REST;
    }
    return due_ms > 0 ? due_ms : KL__TASK_AGAIN;
}

/*
 * A turn of the informing task. It uses the queue, the processor, and, while it
 * has the queue's turn, the indexer. It ends when the queue is closed and
 * empty, or at once when it is stopped or its client is closed; but not before
 * the reflecting task, which ends for the same reasons.
 */
static int64_t run_informing(void *arg, kl__clock **on)
{
    kl__shared_informer *self = arg;
    bool has_reflected;

    (void)on;
    if (!self->is_closed) {
        switch (apply_some(self)) {
        case HAS_APPLIED:
            return KL__TASK_AGAIN;
        case IS_IDLE:
            return rest_until_resync(self);
        default:
            break;
        }
        kl__processor_close(self->processor);
        kl__health_end(&self->health);
        self->is_closed = true;
    }
    kl__mutex_lock(&self->mutex);
    has_reflected = self->has_reflected;
    kl__mutex_unlock(&self->mutex);
    return has_reflected ? KL__TASK_OVER : KL__TASK_REST;
}

/* Both tasks are over. */
static void end_informing(void *arg)
{
    kl__shared_informer *self = arg;
    bool is_abandoned;

    kl__mutex_lock(&self->mutex);
    is_abandoned = self->ending == ENDING_ABANDONED;
    self->ending = ENDING_DONE;
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
    if (is_abandoned) {
        destroy_informer(self);
    }
}

/* A turn of the reflecting task. It uses the reflector, the queue, and, while
 * it has the queue's turn, the indexer and the processor. */
static int64_t run_reflecting(void *arg, kl__clock **on)
{
    kl__shared_informer *self = arg;

    return kl__reflector_step(self->reflector, on);
}

/* The informing task may end now; after the unlock all may be freed. */
static void end_reflecting(void *arg)
{
    kl__shared_informer *self = arg;

    kl__mutex_lock(&self->mutex);
    self->has_reflected = true;
    kl__task_wake(&self->informing);
    kl__mutex_unlock(&self->mutex);
}

/* For the queue: there is something to apply. */
static void wake_informing(void *arg)
{
    kl__shared_informer *self = arg;

    kl__task_wake(&self->informing);
}

/* For the reflector: its stream has something to read. */
static void wake_reflecting(void *arg)
{
    kl__shared_informer *self = arg;

    kl__task_wake(&self->reflecting);
}

/* The hook in `stop`. Runs on the thread that closes the client or stops the
 * informer. */
static void stop_working(void *arg)
{
    kl__shared_informer *self = arg;

    kl__processor_stop(self->processor);
    kl__task_wake(&self->reflecting);
    kl__task_wake(&self->informing);
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
    self->reflector = kl__reflector_new(&(kl__reflector_options){
        .source = options->source,
        .fifo = self->fifo,
        .known = self->indexer,
        .health = &self->health,
        .stop = &self->stop.token,
        .clock = self->clock,
        .name = self->name,
        .apply_queued = apply_queued,
        .wake = wake_reflecting,
        .context = self,
        .idle_timeout_ms = options->idle_timeout_ms,
        .page_size = options->page_size,
        .shards = options->shards,
        .no_streaming_list = options->no_streaming_list,
        .compress = options->compress,
    });
    return self->reflector != NULL;
}

static void await_end(kl__shared_informer *self)
{
    kl__mutex_lock(&self->mutex);
    while (self->ending != ENDING_DONE) {
        kl__cond_wait(&self->cond, &self->mutex, -1);
    }
    kl__mutex_unlock(&self->mutex);
}

static kl_code start_tasks(kl__shared_informer *self, kl__task_group *group,
                           kl_error *err)
{
    kl_code code;

    self->informing = (kl__task){.name = "kl-informer",
                                 .clock = self->clock,
                                 .run = run_informing,
                                 .over = end_informing,
                                 .arg = self};
    self->reflecting = (kl__task){.name = "kl-reflector",
                                  .clock = self->clock,
                                  .group = group,
                                  .run = run_reflecting,
                                  .over = end_reflecting,
                                  .arg = self};
    kl__delta_fifo_on_news(self->fifo, wake_informing, self);
    /* First, as the end of the other one wakes it. */
    code = kl__task_start(&self->informing, err);
    if (code != KL_OK) {
        return code;
    }
    code = kl__task_start(&self->reflecting, err);
    if (code != KL_OK) {
        kl__cancel_fire(&self->stop.token);
        end_reflecting(self);
        await_end(self);
    } else if (!kl__cancel_add(&self->stop.token, &self->on_stop)) {
        stop_working(self); /* the client is closed already */
    }
    return code;
}

kl__shared_informer *
kl__shared_informer_start(const kl__shared_options *options, kl_error *err)
{
    kl__shared_informer *self = kl__calloc(1, sizeof(*self));
    kl_code code;

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
    self->on_stop = (kl__cancel_hook){.wake = stop_working, .arg = self};
    kl__list_init(&self->on_stop.node);
    if (!make_parts(self, options)) {
        kl__list_watch_free(options->source);
        kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
        goto fail;
    }
    kl__crew_hold();
    code = start_tasks(self, options->group, err);
    if (code != KL_OK) {
        kl__crew_release(true);
        goto fail;
    }
    return self;

fail:
    destroy_informer(self);
    return NULL;
}

void kl__shared_informer_stop(kl__shared_informer *self)
{
    bool waits = !kl__in_callback();
    bool is_left;

    kl__cancel_fire(&self->stop.token);
    kl__mutex_lock(&self->mutex);
    is_left = !waits && self->ending == ENDING_NOT;
    if (is_left) {
        /* this may be a thread that runs one of the tasks */
        self->ending = ENDING_ABANDONED;
    }
    kl__mutex_unlock(&self->mutex);
    if (!is_left) {
        await_end(self);
        destroy_informer(self);
    }
    kl__crew_release(waits);
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
