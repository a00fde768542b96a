/*
 * broken_spec.c - nothing in a shared map is believed: files that are no map,
 * heads that lie, and each word of a published slot replaced by what is worst
 * for it. Reads answer, within the slot; a next owner keeps what is whole.
 */
#include "kubelua/shared.h"
#include "shared/writer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/kubelua-spec-XXXXXX";
static char path[64];

static int begin(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/kubelua-spec-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/map", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static kl_shared *open_file(kl_error *err)
{
    return kl_shared_open(&(kl_shared_options){.path = path, .size = 1 << 20},
                          err);
}

static void patch_file(off_t at, const void *bytes, size_t length)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);

    assert_int_equal(pwrite(file, bytes, length, at), length);
    close(file);
}

static void assert_refused(const char *reason)
{
    kl_error err;

    assert_null(open_file(&err));
    assert_int_equal(err.code, KL_ECONFIG);
    if (strstr(err.message, reason) == NULL ||
        strstr(err.message, path) == NULL) {
        fail_msg("%s", err.message);
    }
}

static void a_file_is_a_map_for_all_that_open_it(void **state)
{
    kl_shared *map = open_file(NULL);
    kl_shared_status status;
    struct stat file;

    (void)state;
    assert_non_null(map);
    kl__shared_set_synced(map);
    kl_shared_close(map);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_size, 1 << 20);
    assert_int_equal(file.st_mode & 0777, 0600);
    map = open_file(NULL);
    assert_true(kl_shared_synced(map));
    kl_shared_get_status(map, &status);
    assert_int_equal(status.size, 1 << 20);
    kl_shared_close(map);
}

static void another_layout_is_refused_with_the_remedy(void **state)
{
    const uint32_t layout = KL__SHARED_LAYOUT + 1;
    char told[64];
    kl_error err;

    (void)state;
    snprintf(told, sizeof(told), "layout %u, made by KubeLua 9.9?", layout);
    kl_shared_close(open_file(NULL));
    patch_file(offsetof(kl__shared_head, layout), &layout, sizeof(layout));
    patch_file(offsetof(kl__shared_head, made_by), "9.9\n", 5);
    assert_refused(told);
    assert_null(open_file(&err));
    assert_non_null(strstr(err.message, "remove it, and start again"));
}

static void a_file_that_is_not_a_map_is_refused(void **state)
{
    const uint64_t magic = KL__SHARED_MAGIC ^ 1;

    (void)state;
    patch_file(0, "", 1);
    assert_refused("no shared map");
    assert_int_equal(truncate(path, 1 << 20), 0);
    assert_refused("no shared map");
    unlink(path);
    kl_shared_close(open_file(NULL));
    patch_file(0, &magic, sizeof(magic));
    assert_refused("no shared map");
}

static void sizes_that_lie_are_refused(void **state)
{
    const size_t fields[] = {offsetof(kl__shared_head, size),
                             offsetof(kl__shared_head, slots_at),
                             offsetof(kl__shared_head, slot_words)};
    const uint64_t lies[] = {0, 8, 1 << 19, 1 << 21, UINT64_MAX, 1ULL << 63};
    const uint32_t versions = KL_SHARED_VERSIONS * 2;

    (void)state;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        for (size_t k = 0; k < sizeof(lies) / sizeof(lies[0]); k++) {
            unlink(path);
            kl_shared_close(open_file(NULL));
            patch_file((off_t)fields[i], &lies[k], 8);
            assert_refused("wrong sizes");
        }
    }
    unlink(path);
    kl_shared_close(open_file(NULL));
    patch_file(offsetof(kl__shared_head, versions), &versions, 4);
    assert_refused("wrong sizes");
    unlink(path);
    kl_shared_close(open_file(NULL));
    assert_int_equal(truncate(path, (1 << 20) + 4096), 0);
    assert_refused("wrong sizes");
    assert_int_equal(truncate(path, (1 << 20) - 4096), 0);
    assert_refused("no shared map");
}

static void impossible_sizes_are_refused(void **state)
{
    /* So that a map that is not refused does not take the machine's memory. */
    const struct rlimit bound = {1 << 30, RLIM_INFINITY};
    kl_shared_options options = {.size = 4096};
    kl_error err;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &bound), 0);
    assert_null(kl_shared_open(&options, &err));
    assert_int_equal(err.code, KL_EINVAL);
    options.size = (size_t)1 << 45;
    assert_null(kl_shared_open(&options, &err));
    assert_int_equal(err.code, KL_ENOMEM);
    assert_non_null(strstr(err.message, "smaller size"));
    options = (kl_shared_options){.path = "/nowhere/at/all"};
    assert_null(kl_shared_open(&options, &err));
    assert_int_equal(err.code, KL_EIO);
}

/* Two entries of each kind, whose generation is in the last slot: behind that
 * is nothing that may be read. */
static kl_shared *open_filled(kl_shared_key *keys)
{
    kl_shared *map =
        kl_shared_open(&(kl_shared_options){.size = 1 << 20}, NULL);
    kl_endpoint endpoints[] = {
        {.host = "10.0.0.1", .zone = "a", .node = "n", .weight = 1, .flags = 1},
        {.host = "10.0.0.2", .zone = "b", .node = "m", .weight = 2, .flags = 3},
        {.host = "10.0.0.3", .weight = 2, .flags = 2}};

    assert_non_null(map);
    assert_int_equal(kl__shared_take(map, NULL), KL_OK);
    assert_int_equal(kl_shared_publish(map, NULL), KL_OK);
    for (int i = 0; i < 4; i++) {
        char text = (char)('a' + i);

        kl_shared_key_init(map, "t", &text, 1, &keys[i]);
        if (i < 2) {
            kl_shared_put(map, &keys[i], "ten bytes!", 10, NULL);
        } else {
            kl_shared_put_endpoints(map, &keys[i], endpoints, 3, NULL);
        }
    }
    assert_int_equal(kl_shared_publish(map, NULL), KL_OK);
    kl__shared_drop(map);
    return map;
}

static void read_everything(kl_shared *map, kl_shared_key *keys)
{
    kl_pick_options options = {.zone = kl_shared_hash("a", 1),
                               .node = kl_shared_hash("n", 1),
                               .with_places = 1};
    char buffer[16];
    kl_shared_value value;
    kl_pick picks[4];
    uint32_t count;

    for (int i = 0; i < 4; i++) {
        assert_in_range(
            kl_shared_get(map, &keys[i], buffer, sizeof(buffer), &value),
            KL_SHARED_OK, KL_SHARED_BROKEN);
        for (options.hash = 0; options.hash < 2; options.hash++) {
            kl_shared_result result =
                kl_shared_pick(map, &keys[i], &options, &picks[0]);

            assert_in_range(result, KL_SHARED_OK, KL_SHARED_BROKEN);
            assert_true(result != KL_SHARED_OK ||
                        strlen(picks[0].host) <= KL_SHARED_HOST_MAX);
        }
        assert_in_range(kl_shared_endpoints(map, &keys[i], picks, 4, &count),
                        KL_SHARED_OK, KL_SHARED_BROKEN);
    }
}

static void each_word_of_a_slot_may_be_anything(void **state)
{
    kl_shared_key keys[4], fresh[4];
    kl_shared *map = open_filled(keys);
    kl__word *slot = map->slots + 2 * (size_t)map->slot_words;
    uint32_t used = kl__high(kl__word_load(&slot[KL__SLOT_USE]));

    (void)state;
    memcpy(fresh, keys, sizeof(fresh));
    read_everything(map, keys);
    for (uint32_t i = 0; i < used; i++) {
        uint64_t was = kl__word_load(&slot[i]);

        for (int bit = 0; bit < 64 + 3; bit++) {
            const uint64_t whole[] = {0, UINT64_MAX, map->slot_words};

            kl__word_store(&slot[i], bit < 64 ? was ^ (uint64_t)1 << bit
                                              : whole[bit - 64]);
            read_everything(map, keys);
            memcpy(keys, fresh, sizeof(keys));
            read_everything(map, keys);
            assert_int_equal(kl__shared_take(map, NULL), KL_OK);
            kl__shared_drop(map);
        }
        kl__word_store(&slot[i], was);
    }
    kl_shared_close(map);
}

static void a_generation_may_be_anything(void **state)
{
    const uint64_t generations[] = {0, 1, 3, 4, 5, UINT64_MAX, 1ULL << 63};
    kl_shared_key keys[4];
    kl_shared *map = open_filled(keys);

    (void)state;
    for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
        kl__word_store(&map->head->generation, generations[i]);
        read_everything(map, keys);
        assert_int_equal(kl__shared_take(map, NULL), KL_OK);
        kl__shared_drop(map);
    }
    kl_shared_close(map);
}

static void the_next_owner_keeps_undamaged_entries(void **state)
{
    kl_shared_key keys[4];
    kl_shared *map = open_filled(keys);
    kl__word *slot = map->slots + 2 * (size_t)map->slot_words;
    kl_shared_value value;
    kl_shared_status status;
    kl_pick pick;
    char text[16];

    (void)state;
    assert_int_equal(kl_shared_get(map, &keys[0], text, 16, &value),
                     KL_SHARED_OK);
    /* The name of the first entry is not what its hash says any more. */
    kl__word_store(&slot[keys[0].at + KL__BLOCK_HEAD], 0);
    assert_int_equal(kl__shared_take(map, NULL), KL_OK);
    assert_int_equal(kl_shared_remove(map, &keys[1], NULL), KL_OK);
    assert_int_equal(kl_shared_publish(map, NULL), KL_OK);
    kl_shared_get_status(map, &status);
    assert_int_equal(status.entries, 2);
    assert_int_equal(kl_shared_pick(map, &keys[3], NULL, &pick), KL_SHARED_OK);
    kl_shared_close(map);
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(a_file_is_a_map_for_all_that_open_it),
        FILE_TEST(another_layout_is_refused_with_the_remedy),
        FILE_TEST(a_file_that_is_not_a_map_is_refused),
        FILE_TEST(sizes_that_lie_are_refused),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(each_word_of_a_slot_may_be_anything),
        cmocka_unit_test(a_generation_may_be_anything),
        cmocka_unit_test(the_next_owner_keeps_undamaged_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
