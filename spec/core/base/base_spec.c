/*
 * base_spec.c - bytes, maps, clocks and cancellation keep their promises.
 */
#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void a_buf_grows_and_its_bytes_can_be_taken(void **state)
{
    kl__buf buf = {0};
    size_t length;
    char *text;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        kl__buf_printf(&buf, "%d,", i % 10);
    }
    kl__buf_consume(&buf, 1998);
    text = kl__buf_take(&buf, &length);
    assert_string_equal(text, "9,");
    assert_int_equal(length, 2);
    assert_null(buf.bytes);
    kl__free(text);
}

static void an_empty_buf_gives_an_empty_string(void **state)
{
    kl__buf buf = {0};
    char *text = kl__buf_take(&buf, NULL);

    (void)state;
    assert_string_equal(text, "");
    kl__free(text);
}

static void texts_are_joined_if_they_fit_the_buffer(void **state)
{
    const char *const parts[] = {"deployments", ".", "apps"};
    const char *const none[] = {"", "", ""};
    char room[17];

    (void)state;
    assert_true(kl__strjoin(room, sizeof(room), parts));
    assert_string_equal(room, "deployments.apps");
    assert_false(kl__strjoin(room, sizeof(room) - 1, parts));
    assert_true(kl__strjoin(room, 1, none));
    assert_string_equal(room, "");
}

enum { KEYS = 5000 };

/* Resident memory of this process, in bytes. */
static size_t measure_resident(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;

    if (file != NULL && fscanf(file, "%*u %lu", &pages) != 1) {
        pages = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The sanitizers have heaps of their own; so has musl. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
enum { HAS_GLIBC_HEAP = 1 };
#else
enum { HAS_GLIBC_HEAP = 0 };
#endif

static void a_trim_gives_freed_memory_back_to_the_system(void **state)
{
    enum { COUNT = 256, SIZE = 64 * 1024, BETWEEN = 2048 };
    static char *freed[COUNT], *stays[COUNT];
    size_t before;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        freed[i] = kl__malloc(SIZE);
        stays[i] = kl__malloc(BETWEEN);
        assert_non_null(freed[i]);
        assert_non_null(stays[i]);
        memset(freed[i], 1, SIZE);
        stays[i][0] = (char)i;
    }
    for (int i = 0; i < COUNT; i++) {
        kl__free(freed[i]);
    }
    before = measure_resident();
    kl__mem_trim();
    if (HAS_GLIBC_HEAP && before != 0) {
        assert_in_range(measure_resident(), 1,
                        before - (size_t)COUNT * SIZE / 2);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(stays[i][0], (char)i);
        kl__free(stays[i]);
    }
}

static void a_map_finds_keys_until_they_are_removed(void **state)
{
    static char keys[KEYS][12];
    kl__map map = {0};
    size_t cursor = 0, seen = 0;

    (void)state;
    for (size_t i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "key-%zu", i);
        assert_true(kl__map_put(&map, keys[i], keys[i], NULL));
    }
    for (size_t i = 0; i < KEYS; i += 3) {
        assert_ptr_equal(kl__map_remove(&map, keys[i]), keys[i]);
        assert_null(kl__map_remove(&map, keys[i]));
    }
    for (size_t i = 0; i < KEYS; i++) {
        void *expected = i % 3 == 0 ? NULL : keys[i];

        assert_ptr_equal(kl__map_get(&map, keys[i]), expected);
    }
    while (kl__map_next(&map, &cursor) != NULL) {
        seen++;
    }
    assert_int_equal(seen, map.count);
    kl__map_deinit(&map);
}

static void a_copy_of_a_map_has_room_for_more_keys(void **state)
{
    static char keys[100][8];
    kl__map map = {0}, copy;
    const kl__map_slot *slots;

    (void)state;
    assert_true(kl__map_put(&map, "a", "one", NULL));
    assert_false(kl__map_has_room(&map, 100));
    assert_true(kl__map_copy(&map, 100, &copy));
    assert_true(kl__map_has_room(&copy, 100));
    slots = copy.slots;
    for (size_t i = 0; i < 100; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
        assert_true(kl__map_put(&copy, keys[i], keys[i], NULL));
    }
    assert_ptr_equal(copy.slots, slots);
    assert_string_equal(kl__map_get(&copy, "a"), "one");
    assert_null(kl__map_get(&map, "k0"));
    assert_int_equal(map.count, 1);
    kl__map_deinit(&map);
    kl__map_deinit(&copy);
}

static void a_put_returns_the_value_it_replaces(void **state)
{
    kl__map map = {0};
    void *old = map.slots;

    (void)state;
    assert_true(kl__map_put(&map, "a", "one", &old));
    assert_null(old);
    assert_true(kl__map_put(&map, "a", "two", &old));
    assert_string_equal(old, "one");
    assert_int_equal(map.count, 1);
    kl__map_deinit(&map);
}

static void a_long_error_message_is_cut_when_prefixed(void **state)
{
    kl_error err;
    char huge[3000];

    (void)state;
    memset(huge, 'x', sizeof(huge));
    huge[sizeof(huge) - 1] = '\0';
    assert_int_equal(kl_error_set(&err, KL_EGONE, "%s", huge), KL_EGONE);
    kl_error_prefix(&err, "pods");
    assert_int_equal(strlen(err.message), KL_ERROR_MESSAGE_SIZE - 1);
    assert_memory_equal(err.message, "pods: xxx", 9);
    assert_string_equal(kl_code_name(err.code), "gone");
    assert_int_equal(kl_error_set(NULL, KL_ENOMEM, "nobody"), KL_ENOMEM);
}

static void wake(void *arg)
{
    (*(int *)arg)++;
}

static void a_fired_token_wakes_its_hooks_and_refuses_new_ones(void **state)
{
    int woken = 0;
    kl__cancel cancel;
    kl__cancel_hook hook = {.wake = wake, .arg = &woken};
    kl__cancel_hook gone = {.wake = wake, .arg = &woken};

    (void)state;
    kl__cancel_init(&cancel);
    assert_true(kl__cancel_add(&cancel, &hook));
    assert_true(kl__cancel_add(&cancel, &gone));
    kl__cancel_remove(&cancel, &gone);
    kl__cancel_fire(&cancel);
    assert_int_equal(woken, 1);
    assert_true(kl__cancel_fired(&cancel));
    kl__cancel_remove(&cancel, &hook);
    assert_false(kl__cancel_add(&cancel, &hook));
    kl__cancel_deinit(&cancel);
}

typedef struct sleeper {
    kl__clock *clock;
    kl__mutex mutex;
    kl__cond cond;
    int64_t woke_at;
} sleeper;

static void *sleep_for_an_hour(void *arg)
{
    sleeper *self = arg;
    int64_t deadline = kl__clock_now(self->clock) + 3600000;

    kl__mutex_lock(&self->mutex);
    while (kl__clock_wait(self->clock, &self->cond, &self->mutex, deadline)) {
    }
    kl__mutex_unlock(&self->mutex);
    self->woke_at = kl__clock_now(self->clock);
    return NULL;
}

static void advancing_a_fake_clock_wakes_its_waiters(void **state)
{
    sleeper self = {.clock = kl__clock_fake(1000)};
    kl__thread thread;

    (void)state;
    kl__mutex_init(&self.mutex, KL__RANK_FIFO);
    kl__cond_init(&self.cond);
    assert_int_equal(
        kl__thread_start(&thread, "sleeper", sleep_for_an_hour, &self, NULL),
        KL_OK);
    assert_true(kl__clock_await_waiters(self.clock, 1));
    kl__clock_advance(self.clock, 3600000);
    kl__thread_join(&thread);
    assert_int_equal(self.woke_at, 3601000);
    kl__cond_deinit(&self.cond);
    kl__mutex_deinit(&self.mutex);
    kl__clock_fake_free(self.clock);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

/* A pair that a writer changes, and readers that meet inside. */
typedef struct shared {
    kl__rwlock lock;
    atomic_int inside;
    int pair[2];
} shared;

static void *read_pair(void *arg)
{
    shared *self = arg;
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    kl__rwlock_read(&self->lock);
    atomic_fetch_add(&self->inside, 1);
    while (atomic_load(&self->inside) < 2 &&
           kl__clock_now(kl__clock_real()) < deadline) {
        sched_yield();
    }
    kl__rwlock_unlock(&self->lock);
    for (int i = 0; i < 2000; i++) {
        kl__rwlock_read(&self->lock);
        assert_int_equal(self->pair[0], self->pair[1]);
        kl__rwlock_unlock(&self->lock);
    }
    return NULL;
}

static void readers_share_a_rwlock_and_a_writer_excludes_them(void **state)
{
    shared self = {.pair = {0, 0}};
    kl__thread threads[2];

    (void)state;
    kl__rwlock_init(&self.lock, KL__RANK_INDEXER);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            kl__thread_start(&threads[i], "reader", read_pair, &self, NULL),
            KL_OK);
    }
    while (atomic_load(&self.inside) < 2) {
        sched_yield(); /* a writer that waits would keep the second out */
    }
    for (int i = 0; i < 2000; i++) {
        kl__rwlock_write(&self.lock);
        self.pair[0]++;
        self.pair[1]++;
        kl__rwlock_unlock(&self.lock);
    }
    kl__thread_join(&threads[0]);
    kl__thread_join(&threads[1]);
    kl__rwlock_deinit(&self.lock);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

static void *try_to_lock(void *arg)
{
    kl__mutex *mutex = arg;
    bool is_locked = kl__mutex_try_lock(mutex);

    if (is_locked) {
        kl__mutex_unlock(mutex);
    }
    return is_locked ? mutex : NULL;
}

static void *result_of_trying(kl__mutex *mutex)
{
    pthread_t thread;
    void *result = NULL;

    assert_int_equal(pthread_create(&thread, NULL, try_to_lock, mutex), 0);
    pthread_join(thread, &result);
    return result;
}

static void a_locked_mutex_is_not_waited_for(void **state)
{
    kl__mutex mutex;

    (void)state;
    kl__mutex_init(&mutex, KL__RANK_FIFO);
    kl__mutex_lock(&mutex);
    assert_null(result_of_trying(&mutex));
    kl__mutex_unlock(&mutex);
    assert_ptr_equal(result_of_trying(&mutex), &mutex);
    assert_true(kl__mutex_try_lock(&mutex));
    assert_null(result_of_trying(&mutex));
    kl__mutex_unlock(&mutex);
    kl__mutex_deinit(&mutex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_locked_mutex_is_not_waited_for),
        cmocka_unit_test(a_buf_grows_and_its_bytes_can_be_taken),
        cmocka_unit_test(an_empty_buf_gives_an_empty_string),
        cmocka_unit_test(texts_are_joined_if_they_fit_the_buffer),
        cmocka_unit_test(a_trim_gives_freed_memory_back_to_the_system),
        cmocka_unit_test(a_map_finds_keys_until_they_are_removed),
        cmocka_unit_test(a_copy_of_a_map_has_room_for_more_keys),
        cmocka_unit_test(a_put_returns_the_value_it_replaces),
        cmocka_unit_test(a_long_error_message_is_cut_when_prefixed),
        cmocka_unit_test(a_fired_token_wakes_its_hooks_and_refuses_new_ones),
        cmocka_unit_test(advancing_a_fake_clock_wakes_its_waiters),
        cmocka_unit_test(readers_share_a_rwlock_and_a_writer_excludes_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
