/*
 * workqueue.c - the public functions of a workqueue. Each locks the queue, puts
 * the keys whose time has come into their lanes, does its work in keys.c, and
 * wakes the event loop and the threads in kl_queue_wait if there is news.
 */
#include "kubelua/queue.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/thread.h"
#include "kubelua/memory.h"
#include "queue/keys.h"

struct kl_queue {
    kl__forks made_in;
    kl_queue_options options;
    kl__clock *clock;

    /* Guards what follows; rank WORKQUEUE. */
    kl__mutex mutex;
    kl__cond changed;
    int sleepers; /* threads that wait for `changed` */
    kl__keys keys;
    uint64_t adds;
    uint64_t retries;
    uint64_t random;       /* never 0 */
    int64_t ahead_ms;      /* kl_queue_advance: added to the clock */
    bool was_told;         /* the loop was woken since it last found no key */
    bool was_told_the_end; /* the loop was woken for the end of the queue */
    int64_t told_due_ms;   /* when the loop wakes by itself, or KL__NEVER */
};

kl_queue *kl_queue_new(const kl_queue_options *options, kl_error *err)
{
    kl_queue *queue;

    if (options != NULL && options->gather_ms < 0) {
        kl_error_set(err, KL_EINVAL, "gather_ms is less than 0");
        return NULL;
    }
    queue = kl__calloc(1, sizeof(*queue));
    if (queue == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a queue");
        return NULL;
    }
    if (options != NULL) {
        queue->options = *options;
    }
    queue->made_in = kl__process_here();
    queue->clock = kl__clock_real();
    queue->random = kl__random_seed(queue) | 1;
    queue->told_due_ms = KL__NEVER;
    kl__mutex_init(&queue->mutex, KL__RANK_WORKQUEUE);
    kl__cond_init(&queue->changed);
    kl__keys_init(&queue->keys);
    kl__live_add(KL_LIVE_WORKQUEUE, 1);
    return queue;
}

void kl_queue_free(kl_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    kl__keys_deinit(&queue->keys);
    /* In a child of fork() both may be in a state that cannot be freed: a
     * thread of the parent may have used them at the fork. */
    if (kl__check_process(queue->made_in, NULL) == KL_OK) {
        kl__cond_deinit(&queue->changed);
        kl__mutex_deinit(&queue->mutex);
    }
    kl__free(queue);
    kl__live_add(KL_LIVE_WORKQUEUE, -1);
}

/* Moves every key that is due into its lane. Returns the queue's time: that of
 * the clock plus what kl_queue_advance added (only that, if the clock stands).
 */
static int64_t move_due_locked(kl_queue *queue)
{
    int64_t now_ms = queue->ahead_ms;

    if (!queue->options.clock_stands) {
        now_ms += kl__clock_now(queue->clock);
    }
    kl__keys_move_due(&queue->keys, now_ms);
    return now_ms;
}

/* Every public call on the keys but kl_queue_wait begins with this. Returns the
 * time for the keys. */
static int64_t lock_queue(kl_queue *queue)
{
    kl__mutex_lock(&queue->mutex);
    return move_due_locked(queue);
}

/* True if the caller must wake the loop; notes that the loop was told. */
static bool note_news_locked(kl_queue *queue)
{
    if (kl__keys_are_finished(&queue->keys)) {
        bool is_news = !queue->was_told_the_end;

        queue->was_told_the_end = true;
        return is_news;
    }
    if (queue->was_told || (kl__keys_waiting(&queue->keys) == 0 &&
                            kl__keys_due(&queue->keys) >= queue->told_due_ms)) {
        return false;
    }
    queue->was_told = true;
    return true;
}

/* Every public call that may have made a key due ends with this. It wakes all
 * waiting threads: if it woke one thread only, that one may have timed out just
 * now, and the key would be left waiting. */
static void unlock_and_tell(kl_queue *queue)
{
    bool wakes = note_news_locked(queue);

    if (queue->sleepers > 0) {
        kl__cond_broadcast(&queue->changed);
    }
    kl__mutex_unlock(&queue->mutex);
    if (wakes && queue->options.wake != NULL) {
        queue->options.wake(queue->options.context);
    }
}

typedef enum want { WANT_RUN, WANT_RELATED_RUN, WANT_LATER_RUN } want;

typedef struct request {
    want want;
    kl_lane lane;
    int64_t delay_ms; /* only WANT_LATER_RUN */
} request;

static void apply_locked(kl_queue *queue, kl__queue_key *key,
                         const request *wanted, int64_t now_ms)
{
    kl__timing_event event = {
        .due_ms = kl__timing_after(now_ms, queue->options.gather_ms),
        .lane = wanted->lane,
        .is_related = wanted->want == WANT_RELATED_RUN};

    if (wanted->want == WANT_LATER_RUN) {
        kl__keys_set_timer(&queue->keys, key,
                           kl__timing_after(now_ms, wanted->delay_ms), now_ms);
    } else {
        kl__keys_add(&queue->keys, key, &event, now_ms);
    }
}

static kl_code add_locked(kl_queue *queue, const char *name,
                          const request *wanted, int64_t now_ms, kl_error *err)
{
    kl__queue_key *key;

    if (queue->keys.phase != KL__KEYS_OPEN) {
        return kl_error_set(err, KL_ECLOSED,
                            "the queue takes no more keys: it "
                            "was drained or shut down");
    }
    key = kl__keys_at(&queue->keys, name);
    if (key == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a queued key");
    }
    queue->adds++;
    apply_locked(queue, key, wanted, now_ms);
    return KL_OK;
}

static kl_code add_key(kl_queue *queue, const char *key, const request *wanted,
                       kl_error *err)
{
    int64_t now_ms;
    kl_code code = kl__check_process(queue->made_in, err);

    if (code != KL_OK) {
        return code;
    }
    if ((unsigned)wanted->lane >= KL_LANES) {
        return kl_error_set(err, KL_EINVAL, "a queue has no lane %d",
                            (int)wanted->lane);
    }
    now_ms = lock_queue(queue);
    code = add_locked(queue, key, wanted, now_ms, err);
    unlock_and_tell(queue);
    return code;
}

kl_code kl_queue_add(kl_queue *queue, const char *key, kl_lane lane,
                     kl_error *err)
{
    return add_key(queue, key, &(request){.want = WANT_RUN, .lane = lane}, err);
}

kl_code kl_queue_add_related(kl_queue *queue, const char *key, kl_lane lane,
                             kl_error *err)
{
    return add_key(queue, key,
                   &(request){.want = WANT_RELATED_RUN, .lane = lane}, err);
}

kl_code kl_queue_add_after(kl_queue *queue, const char *key, int64_t delay_ms,
                           kl_error *err)
{
    if (delay_ms <= 0) {
        return kl_queue_add(queue, key, KL_LANE_FRONT, err);
    }
    return add_key(queue, key,
                   &(request){.want = WANT_LATER_RUN, .delay_ms = delay_ms},
                   err);
}

bool kl_queue_next(kl_queue *queue, kl_queue_item *item)
{
    int64_t now_ms;
    bool has_key;

    if (kl__check_process(queue->made_in, NULL) != KL_OK) {
        return false;
    }
    now_ms = lock_queue(queue);
    has_key = kl__keys_begin_run(&queue->keys, now_ms, item);
    if (!has_key) {
        queue->was_told = false;
        queue->told_due_ms = kl__keys_due(&queue->keys);
    }
    kl__mutex_unlock(&queue->mutex);
    return has_key;
}

kl_code kl_queue_done(kl_queue *queue, const char *key, kl_queue_result result,
                      int64_t ms, int64_t *again_ms)
{
    kl__timing_end end = {.result = result, .ms = ms};
    int64_t again = -1;
    bool was_running;
    kl__queue_key *ended;

    if (kl__check_process(queue->made_in, NULL) != KL_OK) {
        return KL_EFORKED;
    }
    end.now_ms = lock_queue(queue);
    ended = kl__keys_find(&queue->keys, key);
    was_running = ended != NULL && ended->is_running;
    if (was_running) {
        again = kl__keys_end_run(&queue->keys, ended, &end, &queue->random);
        queue->retries += result == KL_RESULT_FAILED ? 1 : 0;
        queue->retries += result == KL_RESULT_PACED ? 1 : 0;
    }
    unlock_and_tell(queue);
    if (again_ms != NULL) {
        *again_ms = again;
    }
    return was_running ? KL_OK : KL_EINVAL;
}

void kl_queue_forget(kl_queue *queue, const char *key)
{
    kl__queue_key *forgotten;

    if (kl__check_process(queue->made_in, NULL) != KL_OK) {
        return;
    }
    (void)lock_queue(queue);
    forgotten = kl__keys_find(&queue->keys, key);
    if (forgotten != NULL) {
        kl__keys_forget(&queue->keys, forgotten);
    }
    kl__mutex_unlock(&queue->mutex);
}

int64_t kl_queue_due_in(kl_queue *queue)
{
    int64_t now_ms;
    int64_t due_ms;

    if (kl__check_process(queue->made_in, NULL) != KL_OK) {
        return -1;
    }
    now_ms = lock_queue(queue);
    due_ms = kl__keys_waiting(&queue->keys) > 0 ? now_ms
                                                : kl__keys_due(&queue->keys);
    /* The loop will sleep until this time. It may be later than before: a timer
     * may have been replaced by a later one. */
    queue->told_due_ms = due_ms;
    kl__mutex_unlock(&queue->mutex);
    return due_ms != KL__NEVER ? due_ms - now_ms : -1;
}

/* KL_OK: a key waits; KL_ECLOSED: none will come; KL_ETIMEOUT: none yet. */
static kl_code check_keys_locked(kl_queue *queue)
{
    (void)move_due_locked(queue);
    if (kl__keys_waiting(&queue->keys) > 0) {
        return KL_OK;
    }
    return queue->keys.phase == KL__KEYS_SHUT ||
                   kl__keys_are_finished(&queue->keys)
               ? KL_ECLOSED
               : KL_ETIMEOUT;
}

/* The time, on the clock, until which a thread in kl_queue_wait sleeps; -1: it
 * sleeps until it is woken. */
static int64_t sleep_until_locked(const kl_queue *queue, int64_t deadline_ms)
{
    int64_t due_ms = kl__keys_due(&queue->keys);

    if (due_ms == KL__NEVER || queue->options.clock_stands) {
        return deadline_ms;
    }
    due_ms -= queue->ahead_ms;
    return deadline_ms >= 0 && deadline_ms < due_ms ? deadline_ms : due_ms;
}

kl_code kl_queue_wait(kl_queue *queue, int64_t timeout_ms)
{
    int64_t deadline_ms;
    kl_code code;

    if (kl__check_process(queue->made_in, NULL) != KL_OK) {
        return KL_EFORKED;
    }
    deadline_ms = kl__clock_after(queue->clock, timeout_ms);
    kl__mutex_lock(&queue->mutex);
    while ((code = check_keys_locked(queue)) == KL_ETIMEOUT &&
           (deadline_ms < 0 || kl__clock_now(queue->clock) < deadline_ms)) {
        queue->sleepers++;
        kl__clock_wait(queue->clock, &queue->changed, &queue->mutex,
                       sleep_until_locked(queue, deadline_ms));
        queue->sleepers--;
    }
    kl__mutex_unlock(&queue->mutex);
    return code;
}

kl_code kl_queue_take(kl_queue *queue, kl_queue_item *item, int64_t timeout_ms)
{
    int64_t deadline_ms = kl__clock_after(queue->clock, timeout_ms);
    kl_code code = kl_queue_wait(queue, timeout_ms);

    while (code == KL_OK && !kl_queue_next(queue, item)) {
        /* another worker was faster */
        int64_t left_ms =
            deadline_ms < 0 ? -1 : deadline_ms - kl__clock_now(queue->clock);

        code =
            kl_queue_wait(queue, deadline_ms >= 0 && left_ms < 0 ? 0 : left_ms);
    }
    return code;
}

static void enter_phase(kl_queue *queue, kl__keys_phase phase)
{
    int64_t now_ms;

    if (kl__check_process(queue->made_in, NULL) != KL_OK) {
        return;
    }
    now_ms = lock_queue(queue);
    kl__keys_enter(&queue->keys, phase, now_ms);
    unlock_and_tell(queue);
}

void kl_queue_drain(kl_queue *queue)
{
    enter_phase(queue, KL__KEYS_DRAINING);
}

void kl_queue_shut_down(kl_queue *queue)
{
    enter_phase(queue, KL__KEYS_SHUT);
}

bool kl_queue_is_finished(kl_queue *queue)
{
    bool is_finished;

    if (kl__check_process(queue->made_in, NULL) != KL_OK) {
        return true;
    }
    (void)lock_queue(queue);
    is_finished = kl__keys_are_finished(&queue->keys);
    kl__mutex_unlock(&queue->mutex);
    return is_finished;
}

void kl_queue_get_status(kl_queue *queue, kl_queue_status *status)
{
    const kl__keys *keys;
    int64_t now_ms;
    size_t waiting;

    *status = (kl_queue_status){0};
    if (kl__check_process(queue->made_in, NULL) != KL_OK) {
        return;
    }
    now_ms = lock_queue(queue);
    keys = &queue->keys;
    waiting = kl__keys_waiting(keys);
    *status = (kl_queue_status){
        .waiting = waiting,
        .waiting_rear = keys->lanes.counts[KL_LANE_REAR],
        .in_progress = keys->running,
        .delayed = keys->by_name.count - waiting - keys->running,
        .failing = keys->failing,
        .adds = queue->adds,
        .retries = queue->retries,
        .oldest_wait_ms = kl__lanes_oldest_ms(&keys->lanes, now_ms),
        .longest_run_ms = kl__keys_longest_ms(keys, now_ms),
        .unfinished_ms = now_ms * (int64_t)keys->running - keys->began_sum_ms};
    kl__mutex_unlock(&queue->mutex);
}

void kl_queue_advance(kl_queue *queue, int64_t ms)
{
    if (ms <= 0 || kl__check_process(queue->made_in, NULL) != KL_OK) {
        return;
    }
    (void)lock_queue(queue);
    queue->ahead_ms = kl__timing_after(queue->ahead_ms, ms);
    (void)move_due_locked(queue);
    unlock_and_tell(queue);
}
