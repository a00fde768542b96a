/*
 * base_spec.c - bytes, checksums, maps, clocks and cancellation keep their
 * promises.
 */
#include "base/buf.h"

#include "xorshift.h"

#include "base/cancel.h"
#include "base/checksum.h"
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
#include <stdlib.h>
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

typedef struct world {
    kl__cancel sources[2];
    kl__cancel_either either;
    kl__cancel_hook hook;
    int woken;
} world;

static int set_up(void **state)
{
    static world tokens;

    tokens = (world){.hook = {.wake = wake, .arg = &tokens.woken}};
    kl__cancel_init(&tokens.sources[0]);
    kl__cancel_init(&tokens.sources[1]);
    *state = &tokens;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl__cancel_deinit(&self->sources[0]);
    kl__cancel_deinit(&self->sources[1]);
    return 0;
}

static void either_source_token_fires_it_and_wakes_waiters(void **state)
{
    world *self = *state;

    for (int i = 0; i < 2; i++) {
        kl__cancel_either_init(&self->either, &self->sources[0],
                               &self->sources[1]);
        assert_false(kl__cancel_fired(&self->either.token));
        assert_true(kl__cancel_add(&self->either.token, &self->hook));
        kl__cancel_fire(&self->sources[i]);
        assert_true(kl__cancel_fired(&self->either.token));
        assert_int_equal(self->woken, i + 1);
        kl__cancel_remove(&self->either.token, &self->hook);
        kl__cancel_either_deinit(&self->either);
        kl__cancel_deinit(&self->sources[i]);
        kl__cancel_init(&self->sources[i]);
    }
}

static void a_source_that_was_fired_before_fires_it_at_once(void **state)
{
    world *self = *state;

    kl__cancel_fire(&self->sources[1]);
    kl__cancel_either_init(&self->either, &self->sources[0], &self->sources[1]);
    assert_true(kl__cancel_fired(&self->either.token));
    assert_false(kl__cancel_add(&self->either.token, &self->hook));
    kl__cancel_either_deinit(&self->either);
}

static void both_sources_may_be_null(void **state)
{
    world *self = *state;

    kl__cancel_either_init(&self->either, NULL, &self->sources[1]);
    kl__cancel_fire(&self->sources[1]);
    assert_true(kl__cancel_fired(&self->either.token));
    kl__cancel_either_deinit(&self->either);
    kl__cancel_either_init(&self->either, NULL, NULL);
    assert_false(kl__cancel_fired(&self->either.token));
    kl__cancel_either_deinit(&self->either);
}

static void after_deinit_the_sources_have_no_hook(void **state)
{
    world *self = *state;

    kl__cancel_either_init(&self->either, &self->sources[0], &self->sources[1]);
    kl__cancel_either_deinit(&self->either);
    assert_true(kl__list_empty(&self->sources[0].hooks));
    assert_true(kl__list_empty(&self->sources[1].hooks));
    kl__cancel_fire(&self->sources[0]);
    assert_false(kl__cancel_fired(&self->sources[1]));
}

static void a_combined_token_may_be_a_source_of_another(void **state)
{
    world *self = *state;
    kl__cancel_either above;

    kl__cancel_either_init(&self->either, &self->sources[0], NULL);
    kl__cancel_either_init(&above, &self->sources[1], &self->either.token);
    assert_true(kl__cancel_add(&above.token, &self->hook));
    kl__cancel_fire(&self->sources[0]);
    assert_true(kl__cancel_fired(&above.token));
    assert_int_equal(self->woken, 1);
    kl__cancel_remove(&above.token, &self->hook);
    kl__cancel_either_deinit(&above);
    kl__cancel_either_deinit(&self->either);
}

static void firing_the_combined_token_fires_no_source(void **state)
{
    world *self = *state;

    kl__cancel_either_init(&self->either, &self->sources[0], NULL);
    kl__cancel_fire(&self->either.token);
    assert_true(kl__cancel_fired(&self->either.token));
    assert_false(kl__cancel_fired(&self->sources[0]));
    kl__cancel_either_deinit(&self->either);
}

enum { LENGTH = 331 }; /* whole steps of 32 bytes, and a rest */

static uint32_t fill(char *bytes)
{
    for (size_t i = 0; i < LENGTH; i++) {
        bytes[i] = (char)next_random();
    }
    return kl__checksum(bytes, LENGTH);
}

static void each_changed_bit_changes_the_checksum(void **state)
{
    char bytes[LENGTH];
    uint32_t whole = fill(bytes);

    (void)state;
    for (size_t i = 0; i < LENGTH * 8; i++) {
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        assert_int_not_equal(kl__checksum(bytes, LENGTH), whole);
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
    }
    assert_int_equal(kl__checksum(bytes, LENGTH), whole);
}

static void swapped_words_change_the_checksum(void **state)
{
    char bytes[LENGTH], swapped[LENGTH];
    uint32_t whole = fill(bytes);

    (void)state;
    for (size_t a = 0; a + 8 <= LENGTH; a += 8) {
        for (size_t b = a + 8; b + 8 <= LENGTH; b += 8) {
            memcpy(swapped, bytes, LENGTH);
            memcpy(swapped + a, bytes + b, 8);
            memcpy(swapped + b, bytes + a, 8);
            assert_int_not_equal(kl__checksum(swapped, LENGTH), whole);
        }
    }
}

static void each_length_has_another_checksum(void **state)
{
    char zeros[LENGTH] = {0};
    uint32_t seen[LENGTH];

    (void)state;
    for (size_t length = 0; length < LENGTH; length++) {
        seen[length] = kl__checksum(zeros, length);
        for (size_t i = 0; i < length; i++) {
            assert_int_not_equal(seen[i], seen[length]);
        }
    }
}

/* Where the bytes stand does not matter, and bytes behind them are not read. */
static void a_checksum_depends_on_its_bytes_only(void **state)
{
    char bytes[LENGTH];

    (void)state;
    fill(bytes);
    for (size_t length = 0; length < LENGTH; length++) {
        uint32_t expected = kl__checksum(bytes, length);

        for (size_t at = 0; at < 3; at++) {
            char *block = malloc(at + length + 1);

            assert_non_null(block);
            memcpy(block + at, bytes, length);
            block[at + length] = 'x';
            assert_int_equal(kl__checksum(block + at, length), expected);
            free(block);
        }
    }
}

#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
        SPEC(either_source_token_fires_it_and_wakes_waiters),
        SPEC(a_source_that_was_fired_before_fires_it_at_once),
        SPEC(both_sources_may_be_null),
        SPEC(after_deinit_the_sources_have_no_hook),
        SPEC(a_combined_token_may_be_a_source_of_another),
        SPEC(firing_the_combined_token_fires_no_source),
        cmocka_unit_test(each_changed_bit_changes_the_checksum),
        cmocka_unit_test(swapped_words_change_the_checksum),
        cmocka_unit_test(each_length_has_another_checksum),
        cmocka_unit_test(a_checksum_depends_on_its_bytes_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
