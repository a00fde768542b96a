/*
 * map_spec.c - a shared map as its users see it: opened, written by its owner,
 * read by anyone, full, and handed from owner to owner.
 */
#include "base/clock.h"
#include "base/thread.h"
#include "kubelua/log.h"
#include "kubelua/memory.h"
#include "kubelua/shared.h"
#include "shared/writer.h"
#include "temp_files.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static kl_shared *open_map(const char *name)
{
    kl_error err;
    kl_shared_options options = {.name = name, .size = 1 << 20};
    kl_shared *map = kl_shared_open(&options, &err);

    assert_non_null(map);
    return map;
}

static kl_shared *own_map(const char *name)
{
    kl_shared *map = open_map(name);

    assert_int_equal(kl__shared_take(map, NULL), KL_OK);
    return map;
}

static kl_shared_key key_of(kl_shared *map, const char *table, const char *text)
{
    kl_shared_key key;

    assert_true(kl_shared_key_init(map, table, text, strlen(text), &key));
    return key;
}

static void put(kl_shared *map, const char *table, const char *text,
                const char *value)
{
    kl_shared_key key = key_of(map, table, text);

    assert_int_equal(kl_shared_put(map, &key, value, strlen(value), NULL),
                     KL_OK);
}

static void publish(kl_shared *map)
{
    assert_int_equal(kl_shared_publish(map, NULL), KL_OK);
}

static kl_shared_result get(kl_shared *map, const char *table, const char *text,
                            char *value)
{
    kl_shared_key key = key_of(map, table, text);
    kl_shared_value got;
    kl_shared_result result = kl_shared_get(map, &key, value, 63, &got);

    value[result == KL_SHARED_OK ? got.length : 0] = '\0';
    assert_int_equal(got.version, kl_shared_version(map, &key));
    return result;
}

static void assert_value(kl_shared *map, const char *table, const char *text,
                         const char *expected)
{
    char value[64];

    assert_int_equal(get(map, table, text, value), KL_SHARED_OK);
    assert_string_equal(value, expected);
}

static void a_put_is_read_after_its_publish(void **state)
{
    kl_shared *map = own_map(NULL);
    char value[64];

    (void)state;
    put(map, "hosts", "shop.example", "web/shop");
    put(map, "hosts", "empty", "");
    put(map, "zones", "shop.example", "another table");
    assert_int_equal(get(map, "hosts", "shop.example", value),
                     KL_SHARED_NOT_SYNCED);
    publish(map);
    assert_value(map, "hosts", "shop.example", "web/shop");
    assert_value(map, "hosts", "empty", "");
    assert_value(map, "zones", "shop.example", "another table");
    assert_int_equal(get(map, "hosts", "shop", value), KL_SHARED_NOT_SYNCED);
    kl__shared_set_synced(map);
    assert_int_equal(get(map, "hosts", "shop", value), KL_SHARED_UNKNOWN);
    put(map, "hosts", "shop.example", "web/other");
    publish(map);
    assert_value(map, "hosts", "shop.example", "web/other");
    kl_shared_close(map);
}

static void a_version_moves_when_its_entry_changes_and_only_then(void **state)
{
    kl_shared *map = own_map(NULL);
    kl_shared_key a = key_of(map, "t", "a"), b = key_of(map, "t", "b");
    uint32_t before_a, before_b;
    kl_shared_status status;

    (void)state;
    assert_int_not_equal(a.bucket, b.bucket);
    put(map, "t", "a", "1");
    put(map, "t", "b", "1");
    publish(map);
    before_a = kl_shared_version(map, &a);
    before_b = kl_shared_versions(map)[b.bucket];
    put(map, "t", "a", "2");
    put(map, "t", "b", "1");
    assert_int_equal(kl_shared_version(map, &a), before_a);
    publish(map);
    assert_int_not_equal(kl_shared_version(map, &a), before_a);
    assert_int_equal(kl_shared_version(map, &b), before_b);
    kl_shared_get_status(map, &status);
    assert_int_equal(status.generation, 2);
    put(map, "t", "a", "2");
    publish(map);
    kl_shared_get_status(map, &status);
    assert_int_equal(status.generation, 2);
    before_a = kl_shared_version(map, &a);
    assert_int_equal(kl_shared_remove(map, &a, NULL), KL_OK);
    publish(map);
    assert_int_not_equal(kl_shared_version(map, &a), before_a);
    kl_shared_close(map);
}

static void only_the_owner_writes(void **state)
{
    kl_shared *map = open_map(NULL);
    kl_shared_key key = key_of(map, "t", "a");
    kl_error err;

    (void)state;
    assert_int_equal(kl_shared_put(map, &key, "1", 1, &err), KL_ECLOSED);
    assert_int_equal(kl_shared_publish(map, NULL), KL_ECLOSED);
    assert_int_equal(kl__shared_take(map, &err), KL_OK);
    assert_int_equal(kl_shared_put(map, &key, "1", 1, &err), KL_OK);
    kl__shared_drop(map);
    assert_int_equal(kl_shared_put_endpoints(map, &key, NULL, 0, &err),
                     KL_ECLOSED);
    assert_int_equal(kl_shared_remove(map, &key, &err), KL_ECLOSED);
    assert_int_equal(kl_shared_complete(map, "t", &err), KL_ECLOSED);
    kl_shared_close(map);
}

/* What a batch holds is published at once, after what was put before. */
static void a_batch_is_published_after_its_commit(void **state)
{
    kl_shared *map = own_map(NULL);
    kl_shared_batch *batch = kl_shared_batch_new(map, NULL);
    kl_shared_key a = key_of(map, "t", "a"), b = key_of(map, "t", "b");
    char value[64];
    kl_error err;

    (void)state;
    put(map, "t", "b", "first");
    assert_int_equal(kl_shared_batch_put(batch, &a, "1", 1, NULL), KL_OK);
    assert_int_equal(kl_shared_batch_remove(batch, &b, NULL), KL_OK);
    publish(map);
    kl__shared_set_synced(map);
    assert_int_equal(get(map, "t", "a", value), KL_SHARED_UNKNOWN);
    assert_value(map, "t", "b", "first");
    assert_int_equal(kl_shared_batch_commit(batch, NULL), KL_OK);
    put(map, "t", "a", "2");
    publish(map);
    assert_value(map, "t", "a", "2");
    assert_int_equal(get(map, "t", "b", value), KL_SHARED_UNKNOWN);
    assert_int_equal(
        kl_shared_batch_put(batch, &a, value, KL_SHARED_VALUE_MAX + 1, &err),
        KL_ETOO_LARGE);
    assert_int_equal(kl_shared_batch_commit(batch, NULL), KL_OK);
    assert_int_equal(kl_shared_batch_put(batch, &a, "3", 1, NULL), KL_OK);
    kl__shared_drop(map);
    assert_int_equal(kl_shared_batch_commit(batch, &err), KL_ECLOSED);
    assert_int_equal(kl_shared_batch_put(batch, &a, "4", 1, NULL), KL_OK);
    kl_shared_batch_free(batch);
    kl_shared_close(map);
}

static int log_lines;

static void count_line(void *context, kl_log_level level, const char *message)
{
    (void)context;
    log_lines += level == KL_LOG_ERROR && strstr(message, "is full") != NULL;
}

static void
a_full_map_leaves_out_what_is_largest_counts_and_logs_once(void **state)
{
    kl_shared *map = own_map("small");
    kl_shared_key big = key_of(map, "t", "big"),
                  huge = key_of(map, "t", "huge");
    char *value = calloc(1, 200000), got[64];
    kl_shared_status status;
    kl_error err;

    (void)state;
    log_lines = 0;
    kl_set_log(count_line, NULL, KL_LOG_ERROR);
    put(map, "t", "a", "old");
    publish(map);
    kl__shared_set_synced(map);
    put(map, "t", "a", "new");
    assert_int_equal(kl_shared_put(map, &big, value, 150000, NULL), KL_OK);
    assert_int_equal(kl_shared_put(map, &huge, value, 200000, NULL), KL_OK);
    for (int i = 0; i < 3; i++) {
        put(map, "t", "turn", i % 2 == 0 ? "even" : "odd");
        assert_int_equal(kl_shared_publish(map, &err), KL_ETOO_LARGE);
        assert_non_null(strstr(err.message, "larger size"));
    }
    assert_value(map, "t", "a", "new");
    assert_int_equal(get(map, "t", "huge", got), KL_SHARED_UNKNOWN);
    kl_shared_get_status(map, &status);
    assert_int_equal(status.full, 3);
    assert_int_equal(status.left_out, 1);
    assert_int_equal(log_lines, 1);
    assert_int_equal(kl_shared_remove(map, &big, NULL), KL_OK);
    publish(map);
    assert_int_equal(get(map, "t", "huge", got), KL_SHARED_TOO_SMALL);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    free(value);
    kl_shared_close(map);
}

static void
the_next_owner_keeps_what_is_there_until_it_is_complete(void **state)
{
    kl_shared *map = own_map(NULL);
    kl_shared_status status;
    char value[64];

    (void)state;
    put(map, "a", "1", "x");
    put(map, "a", "2", "x");
    put(map, "ab", "1", "x");
    publish(map);
    kl__shared_set_synced(map);
    put(map, "a", "3", "never published");
    kl__shared_drop(map);
    assert_int_equal(kl__shared_take(map, NULL), KL_OK);
    kl_shared_get_status(map, &status);
    assert_int_equal(status.takeovers, 2);
    assert_int_equal(status.owner_pid, getpid());
    put(map, "a", "2", "x");
    publish(map);
    assert_value(map, "a", "1", "x");
    assert_int_equal(kl_shared_complete(map, "a", NULL), KL_OK);
    publish(map);
    assert_int_equal(get(map, "a", "1", value), KL_SHARED_UNKNOWN);
    assert_int_equal(get(map, "a", "3", value), KL_SHARED_UNKNOWN);
    assert_value(map, "a", "2", "x");
    assert_value(map, "ab", "1", "x");
    kl_shared_close(map);
}

static void a_name_is_one_map_in_a_process_and_its_children(void **state)
{
    kl_shared *map = own_map("one"), *again = open_map("one");
    kl_shared *other = open_map("other");
    kl_shared_status status;
    int exit_status;

    (void)state;
    assert_ptr_equal(map, again);
    assert_ptr_not_equal(map, other);
    kl_shared_get_status(map, &status);
    assert_int_equal(status.epoch, 2);
    kl__shared_begin_serving(map);
    kl_shared_close(open_map("one"));
    kl_shared_get_status(map, &status);
    assert_int_equal(status.epoch, 2);
    put(map, "t", "a", "before");
    publish(map);
    if (fork() == 0) {
        char value[64];
        bool is_there =
            open_map("one") == map && get(map, "t", "a", value) == KL_SHARED_OK;

        _exit(is_there ? 0 : 1);
    }
    wait(&exit_status);
    assert_int_equal(exit_status, 0);
    kl_shared_close(again);
    assert_value(map, "t", "a", "before");
    kl_shared_close(map);
    kl_shared_close(other);
    kl_shared_close(NULL);
    assert_int_equal(kl_live_count(KL_LIVE_SHARED), 0);
}

static bool is_closed(kl_code code)
{
    return code == KL_ECLOSED;
}

static void a_child_of_the_owner_is_not_the_owner(void **state)
{
    kl_shared *map = own_map("one");
    kl_shared_status status;
    kl_shared_key key;
    int exit_status;

    (void)state;
    put(map, "t", "a", "before");
    assert_true(kl_shared_key_init(map, "t", "b", 1, &key));
    if (fork() == 0) {
        bool is_refused = is_closed(kl_shared_put(map, &key, "1", 1, NULL)) &&
                          is_closed(kl_shared_remove(map, &key, NULL)) &&
                          is_closed(kl_shared_complete(map, "t", NULL)) &&
                          is_closed(kl_shared_publish(map, NULL));

        kl__shared_drop(map);
        kl_shared_get_status(map, &status);
        kl_shared_close(map);
        _exit(is_refused && status.generation == 0 ? 0 : 1);
    }
    wait(&exit_status);
    assert_int_equal(exit_status, 0);
    publish(map);
    assert_value(map, "t", "a", "before");
    kl_shared_close(map);
}

/* A second descriptor of the file would end the owner's lock when it closes. */
static void a_file_is_one_map_in_a_process_whatever_its_name(void **state)
{
    const char *path = temp_path("map");
    kl_shared_options options = {.path = path, .name = "one"};
    kl_shared *map, *again;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int exit_status;

    (void)state;
    map = kl_shared_open(&options, NULL);
    assert_non_null(map);
    assert_int_equal(fcntl(map->descriptor, F_SETLK, &lock), 0);
    options.name = "other";
    again = kl_shared_open(&options, NULL);
    assert_ptr_equal(again, map);
    kl_shared_close(again);
    if (fork() == 0) {
        _exit(fcntl(map->descriptor, F_SETLK, &lock) == 0 ? 1 : 0);
    }
    wait(&exit_status);
    unlink(path);
    assert_int_equal(exit_status, 0);
    kl_shared_close(map);
}

static void age_counts_from_the_last_byte_of_the_server(void **state)
{
    kl_shared *map = own_map(NULL);

    (void)state;
    assert_int_equal(kl_shared_age_ms(map), -1);
    kl__shared_heard(map, kl__clock_now(kl__clock_real()));
    assert_in_range(kl_shared_age_ms(map), 0, 10000);
    /* The map is a file, and the machine has started again since. */
    kl__shared_heard(map, kl__clock_now(kl__clock_real()) + 3600000);
    assert_int_equal(kl_shared_age_ms(map), -1);
    kl_shared_close(map);
}

enum { ROUNDS = 1000 };

typedef struct asking {
    kl_shared *map;
    atomic_int begun; /* the round whose entry may be asked for */
    atomic_int asked; /* the last round whose entry was asked for */
    atomic_int found; /* the last round whose entry it has found */
    int unknown;      /* how often it was told that there is none */
} asking;

static kl_shared_key key_of_round(kl_shared *map, int round)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", round);
    return key_of(map, "t", text);
}

/* Reads the entry of each round until it is there. */
static void *ask_for_each(void *arg)
{
    asking *self = arg;

    for (int round = 1; round <= ROUNDS; round++) {
        kl_shared_key key = key_of_round(self->map, round);
        kl_shared_result result;
        kl_shared_value got;
        char value[4];

        while (atomic_load(&self->begun) < round) {
            sched_yield();
        }
        while (atomic_load(&self->found) < round) {
            atomic_store(&self->asked, round);
            result = kl_shared_get(self->map, &key, value, 4, &got);
            self->unknown += result == KL_SHARED_UNKNOWN;
            if (result == KL_SHARED_OK) {
                atomic_store(&self->found, round);
            }
        }
    }
    return NULL;
}

/* Each round makes a map that no owner has filled, and fills it. */
static void an_entry_of_the_first_list_is_never_unknown(void **state)
{
    asking self = {.map = own_map(NULL)};
    kl__thread thread;

    (void)state;
    assert_int_equal(
        kl__thread_start(&thread, "reader", ask_for_each, &self, NULL), KL_OK);
    for (int round = 1; round <= ROUNDS; round++) {
        kl_shared_key key = key_of_round(self.map, round);
        kl_shared_key last = key_of_round(self.map, round - 1);

        kl__word_store(&self.map->head->synced, 0);
        assert_int_equal(kl_shared_put(self.map, &key, "x", 1, NULL), KL_OK);
        assert_int_equal(kl_shared_remove(self.map, &last, NULL), KL_OK);
        atomic_store(&self.begun, round);
        while (atomic_load(&self.asked) < round) {
            sched_yield();
        }
        publish(self.map);
        kl__shared_set_synced(self.map);
        while (atomic_load(&self.found) < round) {
            sched_yield();
        }
    }
    kl__thread_join(&thread);
    assert_int_equal(self.unknown, 0);
    kl_shared_close(self.map);
}

static void the_page_cache_of_a_container_is_room_for_a_map(void **state)
{
    const uint64_t mb = 1 << 20;
    const char *folder = *state;

    assert_true(kl__shared_memory_left(folder) > mb);
    temp_write("memory.max", "2097152\n");
    assert_int_equal(kl__shared_memory_left(folder), 2 * mb);
    temp_write("memory.current", "1900000\n");
    assert_int_equal(kl__shared_memory_left(folder), 2 * mb - 1900000);
    temp_write("memory.stat", "anon 300000\nfile 1600000\nshmem 100000\n"
                              "inactive_file 1000000\nactive_file 500000\n");
    assert_int_equal(kl__shared_memory_left(folder), 2 * mb - 400000);
    temp_write("memory.current", "2097152\n");
    temp_write("memory.stat", "inactive_file 0\nactive_file 0\n");
    assert_int_equal(kl__shared_memory_left(folder), 0);
    temp_write("memory.max", "max\n");
    assert_true(kl__shared_memory_left(folder) > mb);
}

static void names_and_values_have_bounds(void **state)
{
    kl_shared *map = own_map(NULL);
    char text[KL_SHARED_KEY_MAX + 1], value[4];
    kl_shared_key key;
    kl_shared_value got;

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_false(kl_shared_key_init(map, "", "a", 1, &key));
    assert_false(kl_shared_key_init(map, "a table's name of 32 bytes......", "",
                                    0, &key));
    assert_false(kl_shared_key_init(map, "t", text, sizeof(text), &key));
    assert_true(kl_shared_key_init(map, "a table's name of 31 bytes.....", text,
                                   sizeof(text) - 1, &key));
    assert_int_equal(kl_shared_put(map, &key, "12345", 5, NULL), KL_OK);
    assert_int_equal(
        kl_shared_put(map, &key, "", KL_SHARED_VALUE_MAX + 1, NULL),
        KL_ETOO_LARGE);
    publish(map);
    assert_int_equal(kl_shared_get(map, &key, value, 4, &got),
                     KL_SHARED_TOO_SMALL);
    assert_int_equal(got.length, 5);
    assert_int_equal(kl_shared_pick(map, &key, NULL, &(kl_pick){0}),
                     KL_SHARED_OTHER_KIND);
    kl_shared_close(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put_is_read_after_its_publish),
        cmocka_unit_test(a_version_moves_when_its_entry_changes_and_only_then),
        cmocka_unit_test(only_the_owner_writes),
        cmocka_unit_test(a_batch_is_published_after_its_commit),
        cmocka_unit_test(
            a_full_map_leaves_out_what_is_largest_counts_and_logs_once),
        cmocka_unit_test(
            the_next_owner_keeps_what_is_there_until_it_is_complete),
        cmocka_unit_test(a_name_is_one_map_in_a_process_and_its_children),
        cmocka_unit_test(a_child_of_the_owner_is_not_the_owner),
        cmocka_unit_test_setup_teardown(
            a_file_is_one_map_in_a_process_whatever_its_name, temp_files_setup,
            temp_files_teardown),
        cmocka_unit_test(age_counts_from_the_last_byte_of_the_server),
        cmocka_unit_test(an_entry_of_the_first_list_is_never_unknown),
        cmocka_unit_test_setup_teardown(
            the_page_cache_of_a_container_is_room_for_a_map, temp_files_setup,
            temp_files_teardown),
        cmocka_unit_test(names_and_values_have_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
