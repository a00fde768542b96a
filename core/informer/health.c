/*
 * health.c - has_synced, the standing error and the threads that wait for them,
 * under one mutex; see health.h.
 */
#include "informer/health.h"

#include "kubelua/handler.h"

#include <string.h>

void kl__health_init(kl__health *health, kl__clock *clock)
{
    *health = (kl__health){.clock = clock};
    kl__mutex_init(&health->mutex, KL__RANK_HEALTH);
    kl__cond_init(&health->cond);
    kl__sync_wakers_init(&health->wakers);
    kl__sync_wakers_init(&health->changes);
}

void kl__health_deinit(kl__health *health)
{
    kl__sync_wakers_forget(&health->wakers, NULL);
    kl__sync_wakers_forget(&health->changes, NULL);
    kl__cond_deinit(&health->cond);
    kl__mutex_deinit(&health->mutex);
}

bool kl__health_has_synced(kl__health *health)
{
    bool has_synced;

    kl__mutex_lock(&health->mutex);
    has_synced = health->has_synced;
    kl__mutex_unlock(&health->mutex);
    return has_synced;
}

static void wake_all_locked(kl__health *health)
{
    kl__cond_broadcast(&health->cond);
    kl__sync_wakers_wake(&health->wakers);
}

void kl__health_begin_sync(kl__health *health)
{
    kl__mutex_lock(&health->mutex);
}

static void count_change_locked(kl__health *health, bool is_list)
{
    health->lists_held += is_list;
    kl__sync_wakers_wake(&health->changes);
    atomic_store_explicit(&health->is_watched, false, memory_order_relaxed);
}

void kl__health_end_sync(kl__health *health, bool has_synced)
{
    if (has_synced) {
        health->has_synced = true;
        count_change_locked(health, true);
        wake_all_locked(health);
    }
    kl__mutex_unlock(&health->mutex);
}

void kl__health_changed(kl__health *health, bool is_list)
{
    if (!is_list &&
        !atomic_load_explicit(&health->is_watched, memory_order_relaxed)) {
        return;
    }
    kl__mutex_lock(&health->mutex);
    count_change_locked(health, is_list);
    kl__mutex_unlock(&health->mutex);
}

bool kl__health_count_lists(kl__health *health, uint64_t *lists_held)
{
    bool has_synced;

    kl__mutex_lock(&health->mutex);
    has_synced = health->has_synced;
    *lists_held = health->lists_held;
    kl__mutex_unlock(&health->mutex);
    return has_synced;
}

void kl__health_end(kl__health *health)
{
    kl__mutex_lock(&health->mutex);
    health->has_ended = true;
    wake_all_locked(health);
    kl__sync_wakers_wake(&health->changes);
    kl__mutex_unlock(&health->mutex);
}

kl_code kl__health_wait_synced(kl__health *health, kl__sync_waiters *waiters,
                               int64_t timeout_ms)
{
    int64_t deadline = kl__clock_after(health->clock, timeout_ms);
    kl_code code = KL_OK;

    kl__mutex_lock(&health->mutex);
    waiters->count++;
    while (!health->has_synced && code == KL_OK) {
        if (health->has_ended || waiters->is_cancelled) {
            code = KL_ECLOSED;
        } else if (deadline >= 0 && kl__clock_now(health->clock) >= deadline) {
            code = KL_ETIMEOUT;
        } else {
            kl__clock_wait(health->clock, &health->cond, &health->mutex,
                           deadline);
        }
    }
    kl__mutex_unlock(&health->mutex);
    return code;
}

void kl__health_end_wait(kl__health *health, kl__sync_waiters *waiters)
{
    kl__mutex_lock(&health->mutex);
    waiters->count--;
    kl__cond_broadcast(&health->cond);
    kl__mutex_unlock(&health->mutex);
}

kl_code kl__health_wake_synced(kl__health *health,
                               const kl__sync_waiters *waiters,
                               kl_event_queue *queue)
{
    kl_code code = KL_OK;

    kl__mutex_lock(&health->mutex);
    if (waiters->is_cancelled) {
        code = KL_ECLOSED;
    } else if (health->has_synced || health->has_ended) {
        kl_event_queue_wake(queue);
    } else {
        code = kl__sync_wakers_add(&health->wakers, waiters, queue);
    }
    kl__mutex_unlock(&health->mutex);
    return code;
}

kl_code kl__health_wake_changed(kl__health *health,
                                const kl__sync_waiters *waiters,
                                kl_event_queue *queue)
{
    kl_code code = KL_ECLOSED;

    kl__mutex_lock(&health->mutex);
    if (!health->has_ended && !waiters->is_cancelled) {
        code = kl__sync_wakers_add(&health->changes, waiters, queue);
        atomic_store_explicit(&health->is_watched, true, memory_order_relaxed);
    }
    kl__mutex_unlock(&health->mutex);
    return code;
}

void kl__health_cancel_waits(kl__health *health, kl__sync_waiters *waiters)
{
    kl__mutex_lock(&health->mutex);
    waiters->is_cancelled = true;
    kl__cond_broadcast(&health->cond);
    kl__sync_wakers_forget(&health->wakers, waiters);
    kl__sync_wakers_forget(&health->changes, waiters);
    while (waiters->count > 0) {
        kl__cond_wait(&health->cond, &health->mutex, -1);
    }
    kl__mutex_unlock(&health->mutex);
}

static bool is_same_reason(const kl_error *a, const kl_error *b)
{
    return a->code == b->code && strcmp(a->message, b->message) == 0;
}

static uint64_t number_reason_locked(kl__health *health, const kl_error *error)
{
    if (!is_same_reason(&health->told, error)) {
        health->told = *error;
        health->number++;
    } else if (!health->was_over) {
        return 0;
    }
    health->was_over = false;
    return health->number;
}

uint64_t kl__health_fail(kl__health *health, const kl_error *error,
                         bool is_quiet)
{
    uint64_t number = 0;

    kl__mutex_lock(&health->mutex);
    health->error = *error;
    if (!is_quiet) {
        number = number_reason_locked(health, error);
    }
    kl__mutex_unlock(&health->mutex);
    return number;
}

void kl__health_untell(kl__health *health)
{
    kl__mutex_lock(&health->mutex);
    health->told.code = KL_OK;
    kl__mutex_unlock(&health->mutex);
}

static void clear_error_locked(kl__health *health)
{
    health->error.code = KL_OK;
    health->error.message[0] = '\0';
    health->was_over = true;
}

void kl__health_forget(kl__health *health)
{
    kl__mutex_lock(&health->mutex);
    clear_error_locked(health);
    kl__mutex_unlock(&health->mutex);
}

bool kl__health_recover(kl__health *health, kl_error *reason)
{
    bool was_told;

    kl__mutex_lock(&health->mutex);
    clear_error_locked(health);
    was_told = health->told.code != KL_OK;
    if (reason != NULL) {
        *reason = health->told;
    }
    health->told.code = KL_OK;
    kl__mutex_unlock(&health->mutex);
    return was_told;
}

void kl__health_error(kl__health *health, kl_error *error)
{
    kl__mutex_lock(&health->mutex);
    *error = health->error;
    kl__mutex_unlock(&health->mutex);
}

uint64_t kl__health_told(kl__health *health, kl_error *reason)
{
    uint64_t number = 0;

    kl__mutex_lock(&health->mutex);
    if (health->error.code != KL_OK && health->told.code != KL_OK) {
        *reason = health->told;
        number = health->number;
    }
    kl__mutex_unlock(&health->mutex);
    return number;
}
