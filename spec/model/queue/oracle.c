/*
 * oracle.c - see oracle.h.
 */
#include "oracle.h"

#include "schedule.h"

#include <stddef.h>

#define EACH_KEY(self, each)                                                 \
    for (oracle_key *each = (self)->keys; each < (self)->keys + ORACLE_KEYS; \
         each++)

void oracle_init(oracle *self, int64_t gather_ms)
{
    *self = (oracle){.gather_ms = gather_ms};
    EACH_KEY(self, each)
    {
        each->event_ms = each->timer_ms = ORACLE_NEVER;
        each->asked_ms = each->due_ms = ORACLE_NEVER;
    }
}

static void make_wait(oracle *self, oracle_key *key, kl_lane lane, int64_t now)
{
    if (key->waits && key->lane <= lane) {
        return;
    }
    key->since_ms = key->waits ? key->since_ms : now;
    key->waits = true;
    key->lane = lane;
    key->order = ++self->orders;
}

/* Makes a key wait if it is due now; else notes when it is due. */
static void settle_key(oracle *self, oracle_key *key, int64_t now)
{
    int64_t due;

    if (key->runs) {
        key->due_ms = ORACLE_NEVER;
        return;
    }
    if (key->event_ms <= now && key->timer_ms <= now) {
        make_wait(self, key,
                  key->event_lane < key->timer_lane ? key->event_lane
                                                    : key->timer_lane,
                  now);
    } else if (key->event_ms <= now) {
        make_wait(self, key, key->event_lane, now);
    } else if (key->timer_ms <= now) {
        make_wait(self, key, key->timer_lane, now);
    }
    key->event_ms = key->event_ms <= now ? ORACLE_NEVER : key->event_ms;
    if (key->timer_ms <= now) {
        key->timer_ms = ORACLE_NEVER;
        key->is_backoff = false;
    }
    due = key->event_ms < key->timer_ms ? key->event_ms : key->timer_ms;
    due = key->waits && key->lane == KL_LANE_FRONT ? ORACLE_NEVER : due;
    if (due != key->due_ms) {
        key->due_ms = due;
        key->due_turn = ++self->turns;
    }
    if (due == ORACLE_NEVER && !key->waits) { /* nothing is left to remember */
        *key = (oracle_key){.event_ms = ORACLE_NEVER,
                            .timer_ms = ORACLE_NEVER,
                            .asked_ms = ORACLE_NEVER,
                            .due_ms = ORACLE_NEVER};
    }
}

static void pass_time(oracle *self, int64_t now)
{
    for (;;) {
        oracle_key *first = NULL;

        EACH_KEY(self, each)
        {
            if (each->due_ms <= now &&
                (first == NULL || each->due_ms < first->due_ms ||
                 (each->due_ms == first->due_ms &&
                  each->due_turn < first->due_turn))) {
                first = each;
            }
        }
        if (first == NULL) {
            return;
        }
        settle_key(self, first, first->due_ms);
    }
}

void oracle_add(oracle *self, int index, kl_lane lane, bool is_related,
                int64_t now)
{
    oracle_key *key = &self->keys[index];
    int64_t due = now + self->gather_ms;

    pass_time(self, now);
    self->adds++;
    if (key->waits) {
        make_wait(self, key, lane, now);
    } else if (key->is_backoff && is_related) {
        key->timer_lane = lane < key->timer_lane ? lane : key->timer_lane;
    } else {
        if (key->is_backoff) {
            due = key->timer_ms < due ? key->timer_ms : due;
            key->timer_ms = ORACLE_NEVER;
            key->is_backoff = false;
        }
        if (key->event_ms == ORACLE_NEVER) {
            key->event_ms = due;
            key->event_lane = lane;
        }
        key->event_lane = lane < key->event_lane ? lane : key->event_lane;
        key->event_is_own |= !is_related;
    }
    settle_key(self, key, now);
}

void oracle_add_after(oracle *self, int index, int64_t ms, int64_t now)
{
    oracle_key *key = &self->keys[index];

    if (ms <= 0) {
        oracle_add(self, index, KL_LANE_FRONT, false, now);
        return;
    }
    pass_time(self, now);
    self->adds++;
    key->asked_ms = now + ms;
    if (!key->is_backoff || now + ms < key->timer_ms) {
        key->timer_ms = now + ms;
        key->timer_lane = KL_LANE_FRONT;
    }
    settle_key(self, key, now);
}

void oracle_forget(oracle *self, int index)
{
    self->keys[index].failures = 0;
    self->keys[index].backoffs = 0;
}

static void forget_wishes(oracle_key *key)
{
    key->event_ms = key->timer_ms = key->asked_ms = ORACLE_NEVER;
    key->is_backoff = false;
    key->event_is_own = false;
}

int oracle_next(oracle *self, int64_t now, kl_queue_item *item)
{
    oracle_key *first = NULL;

    pass_time(self, now);
    EACH_KEY(self, each)
    {
        if (each->waits &&
            (first == NULL || each->lane < first->lane ||
             (each->lane == first->lane && each->order < first->order))) {
            first = each;
        }
    }
    if (first == NULL) {
        return -1;
    }
    *item = (kl_queue_item){.lane = first->lane,
                            .attempt = first->failures + 1,
                            .waited_ms = now - first->since_ms,
                            .has_timer = first->asked_ms != ORACLE_NEVER,
                            .timer_ms = first->asked_ms != ORACLE_NEVER
                                            ? first->asked_ms - now
                                            : 0};
    first->waits = false;
    first->runs = true;
    first->began_ms = now;
    first->due_ms = ORACLE_NEVER;
    forget_wishes(first);
    return (int)(first - self->keys);
}

/* A retry: checks that the backoff that the queue drew, `again`, is in its
 * range, and notes it. */
static void back_off(oracle_key *key, int64_t ms, int64_t again, int64_t now)
{
    int64_t d = 100;
    int64_t least = ms < 300000 ? ms : 300000;
    int64_t set = key->timer_ms; /* a timer that was set during the run */

    for (unsigned i = 0; i < key->backoffs && d < 150000; i++) {
        d = 2 * d < 150000 ? 2 * d : 150000;
    }
    least = least > d ? least : d;
    key->backoffs++;
    if (key->event_is_own && key->event_ms != ORACLE_NEVER) {
        return;
    }
    key->timer_lane = set != ORACLE_NEVER ? key->timer_lane : key->lane;
    if (set != ORACLE_NEVER && set - now <= again) {
        schedule_check(set - now < least + d, "backoff: a wait of %lld ms",
                       (long long)again);
    } else if (again >= 0) {
        schedule_check(again >= least && again < least + d,
                       "backoff: %lld ms are not in [%lld, %lld)",
                       (long long)again, (long long)least,
                       (long long)(least + d));
        key->timer_ms = now + again;
        key->timer_lane = key->lane;
        if (key->event_ms != ORACLE_NEVER && key->event_lane < key->lane) {
            key->timer_lane = key->event_lane;
        }
    }
    key->event_ms = ORACLE_NEVER;
    key->is_backoff = true;
}

void oracle_end_run(oracle *self, int index, const oracle_done *done,
                    int64_t now)
{
    kl_queue_result result = done->result;
    int64_t again = done->again_ms;
    int64_t ms = done->ms;
    oracle_key *key = &self->keys[index];
    int64_t expected;

    pass_time(self, now);
    schedule_check(key->runs, "twice: key %d was not handed out", index);
    key->failures = result == KL_RESULT_FAILED ? key->failures + 1 : 0;
    if (result == KL_RESULT_FAILED || result == KL_RESULT_PACED) {
        self->retries++;
        back_off(key, ms, self->is_drained ? -1 : again, now);
    } else {
        ms = ms > 0 ? ms : 0;
        key->backoffs = 0;
        if (result == KL_RESULT_AFTER && now + ms < key->timer_ms) {
            key->timer_ms = key->asked_ms = now + ms;
            key->timer_lane = KL_LANE_FRONT;
        }
    }
    key->runs = false;
    if (self->is_drained) {
        key->timer_ms = ORACLE_NEVER;
        key->is_backoff = false;
        key->event_ms = key->event_ms != ORACLE_NEVER ? now : ORACLE_NEVER;
    }
    if (self->is_shut) {
        forget_wishes(key);
    }
    settle_key(self, key, now);
    expected = key->waits ? 0 : -1;
    if (!key->waits && key->due_ms != ORACLE_NEVER) {
        expected = key->due_ms - now;
    }
    schedule_check(again == expected, "again: key %d in %lld ms, not in %lld",
                   index, (long long)again, (long long)expected);
}

void oracle_end_all(oracle *self, bool is_shut, int64_t now)
{
    pass_time(self, now);
    self->is_drained = true;
    self->is_shut |= is_shut;
    /* Delayed keys become waiting keys, in the order in which they would have
     * become due. */
    for (;;) {
        oracle_key *first = NULL;

        EACH_KEY(self, each)
        {
            if (each->due_ms != ORACLE_NEVER &&
                (first == NULL || each->due_ms < first->due_ms ||
                 (each->due_ms == first->due_ms &&
                  each->due_turn < first->due_turn))) {
                first = each;
            }
        }
        if (first == NULL) {
            break;
        }
        first->timer_ms = ORACLE_NEVER;
        first->is_backoff = false;
        first->event_ms = first->event_ms != ORACLE_NEVER ? now : ORACLE_NEVER;
        settle_key(self, first, now);
    }
    EACH_KEY(self, each)
    {
        if (self->is_shut && each->waits) {
            each->waits = false;
            forget_wishes(each);
            settle_key(self, each, now);
        }
    }
}

int64_t oracle_due_in(oracle *self, int64_t now)
{
    int64_t due = ORACLE_NEVER;

    pass_time(self, now);
    EACH_KEY(self, each)
    {
        if (each->waits) {
            return 0;
        }
        due = each->due_ms < due ? each->due_ms : due;
    }
    return due != ORACLE_NEVER ? due - now : -1;
}

void oracle_status(oracle *self, int64_t now, kl_queue_status *status)
{
    pass_time(self, now);
    *status = (kl_queue_status){.adds = self->adds, .retries = self->retries};
    EACH_KEY(self, each)
    {
        bool is_rear = each->waits && each->lane == KL_LANE_REAR;

        status->waiting += each->waits ? 1 : 0;
        status->waiting_rear += is_rear ? 1 : 0;
        if (each->runs) {
            int64_t ran_ms = now - each->began_ms;

            status->in_progress++;
            status->unfinished_ms += ran_ms;
            if (ran_ms > status->longest_run_ms) {
                status->longest_run_ms = ran_ms;
            }
        }
        status->delayed += !each->waits && each->due_ms != ORACLE_NEVER ? 1 : 0;
        status->failing += each->failures > 0 ? 1 : 0;
        if (each->waits && now - each->since_ms > status->oldest_wait_ms) {
            status->oldest_wait_ms = now - each->since_ms;
        }
    }
}
