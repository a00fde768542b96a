/*
 * young_spec.c - the objects of a watch are packed where they are, some seconds
 * later; what was replaced by then never is. Young objects without memory, read
 * by many threads while they are packed, damaged, and in a forked child.
 */
#include "kubelua/memory.h"

#include "failing_alloc.h"
#include "pods.h"

#include "base/thread.h"
#include "object/block.h"
#include "object/packer.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOW = 100500, DUE = 104000, ALL = 100000 };

static kl_object *keep(kl__packer *packer, const char *family, unsigned i)
{
    return kl__packer_keep_young(packer, pack_plain(family, i, PACK_LENGTH),
                                 PACK_CROWD, NOW);
}

static void a_young_object_reads_as_a_plain_one(void **state)
{
    static const size_t lengths[] = {300, 3000, 70000, 5000000};
    kl__packer *packer = pack_trained();

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        kl_object *plain = pack_plain("other", 1, lengths[i]);
        kl_object *young = kl__packer_keep_young(
            packer, pack_plain("other", 1, lengths[i]), PACK_CROWD, NOW);
        const char *text = kl_object_json(young, NULL, NULL);

        kl_object_close_json(young);
        assert_ptr_equal(kl_object_json(young, NULL, NULL), text);
        kl_object_close_json(young);
        assert_false(kl__object_is_packed(young));
        assert_true(kl_object_bytes(young) > lengths[i]);
        pack_expect_same(young, plain);
        pack_expect_same(young, plain);
        kl_object_unref(young);
        kl_object_unref(plain);
    }
    kl__packer_free(packer);
}

static void it_is_packed_where_it_is_when_it_is_due(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *plain = pack_plain("shop", 7, PACK_LENGTH);
    kl_object *object = keep(packer, "shop", 7);

    (void)state;
    assert_int_equal(kl__packer_pack_due(packer, DUE - 1, ALL), DUE);
    assert_false(kl__object_is_packed(object));
    assert_true(kl__packer_pack_due(packer, DUE, ALL) == INT64_MAX);
    assert_true(kl__object_is_packed(object));
    assert_in_range(kl_object_bytes(object), 1, PACK_LENGTH / 5);
    assert_int_equal(kl__text_slab_total(), 0);
    pack_expect_same(object, plain);
    pack_expect_same(object, plain);
    assert_ptr_equal(kl__packer_pack(packer, object, PACK_CROWD), object);
    kl_object_unref(object);
    kl_object_unref(plain);
    kl__packer_free(packer);
}

static void few_are_packed_at_once(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *objects[10];
    int64_t due = 0;

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        objects[i] = keep(packer, "shop", i);
    }
    for (int turn = 0; turn < 3; turn++) {
        due = kl__packer_pack_due(packer, DUE, 3);
        assert_int_equal(due, DUE);
    }
    assert_true(kl__object_is_packed(objects[8]));
    assert_false(kl__object_is_packed(objects[9]));
    assert_true(kl__packer_pack_due(packer, DUE, 3) == INT64_MAX);
    for (unsigned i = 0; i < 10; i++) {
        assert_true(kl__object_is_packed(objects[i]));
        kl_object_unref(objects[i]);
    }
    kl__packer_free(packer);
}

static void an_object_that_was_replaced_is_never_packed(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *kept = keep(packer, "shop", 1);
    size_t seen = packer->seen;

    (void)state;
    for (unsigned i = 2; i < 9; i++) {
        kl_object_unref(keep(packer, "shop", i));
    }
    kl__packer_pack_due(packer, DUE, ALL);
    assert_int_equal(packer->seen, seen + 1);
    kl_object_unref(kept);
    kl__packer_free(packer);
}

static void what_is_replaced_is_freed_at_once(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *first = keep(packer, "shop", 1000);
    kl_object *last;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        kl_object_unref(keep(packer, "shop", i));
        assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 1);
    }
    last = keep(packer, "shop", 2000);
    assert_int_equal(kl__young_count(&packer->young), 2);
    kl_object_unref(first);
    assert_int_equal(kl__young_count(&packer->young), 1);
    kl_object_unref(last);
    assert_int_equal(kl__young_count(&packer->young), 0);
    /* The memory of their texts goes later: more may come. */
    assert_true(kl__text_slab_total() > 0);
    assert_int_equal(kl__packer_pack_due(packer, DUE - 1, ALL), DUE);
    assert_true(kl__packer_pack_due(packer, DUE, ALL) == INT64_MAX);
    assert_int_equal(kl__text_slab_total(), 0);
    kl__packer_free(packer);
}

static void a_text_that_is_open_stays_over_its_packing(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *plain = pack_plain("shop", 7, PACK_LENGTH);
    kl_object *object = keep(packer, "shop", 7);
    const char *text = kl_object_json(object, NULL, NULL);

    (void)state;
    kl__packer_pack_due(packer, DUE, ALL);
    assert_true(kl__object_is_packed(object));
    assert_ptr_equal(kl_object_json(object, NULL, NULL), text);
    kl_object_close_json(object);
    assert_string_equal(text, kl_object_json(plain, NULL, NULL));
    assert_true(kl__text_slab_total() > 0);
    kl_object_close_json(object);
    assert_int_equal(kl__text_slab_total(), 0);
    pack_expect_same(object, plain);
    kl_object_unref(object);
    kl_object_unref(plain);
    kl__packer_free(packer);
}

static void a_tree_that_is_open_stays_over_its_packing(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object = keep(packer, "shop", 7);
    const kl_value *root = kl_object_open(object, NULL);

    (void)state;
    kl__packer_pack_due(packer, DUE, ALL);
    assert_int_equal(kl__text_slab_total(), 0);
    assert_ptr_equal(kl_object_open(object, NULL), root);
    assert_non_null(kl_value_get(root, "spec"));
    kl_object_close(object);
    kl_object_close(object);
    kl_object_unref(object);
    kl__packer_free(packer);
}

/* Limits with room for so many bytes of young texts. */
static kl__packer *make_limited(kl__pack_limits *limits, size_t bytes)
{
    kl__packer *packer = pack_trained();

    *limits = (kl__pack_limits)KL__PACK_USUAL;
    limits->young_bytes = bytes;
    packer->limits = limits;
    return packer;
}

static void without_room_a_new_object_is_packed_at_once(void **state)
{
    enum { COUNT = 200, ROOM = 128 * 1024, LEAST = ROOM / 2 / PACK_LENGTH };
    kl__pack_limits limits;
    kl__packer *packer = make_limited(&limits, ROOM);
    kl_object *objects[COUNT];

    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        objects[i] = keep(packer, "shop", i);
        assert_in_range(kl__text_slab_total(), 1, ROOM);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        bool is_packed = kl__object_is_packed(objects[i]);

        assert_true(i < LEAST ? !is_packed : i < COUNT / 2 || is_packed);
        kl_object_unref(objects[i]);
    }
    /* The texts of those that are gone make room: two for each new one. */
    for (unsigned i = 0; i < COUNT; i++) {
        kl_object_unref(keep(packer, "shop", i));
    }
    objects[0] = keep(packer, "shop", COUNT);
    assert_false(kl__object_is_packed(objects[0]));
    kl_object_unref(objects[0]);
    kl__packer_free(packer);
}

static void without_any_room_an_object_is_packed_at_once(void **state)
{
    kl__pack_limits limits;
    kl__packer *packer = make_limited(&limits, 0);
    kl_object *object = keep(packer, "shop", 7);

    (void)state;
    assert_true(kl__object_is_packed(object));
    kl_object_unref(object);
    limits.young_bytes = ALL;
    limits.young_ms = 0;
    object = keep(packer, "shop", 7);
    assert_true(kl__object_is_packed(object));
    assert_true(kl__packer_pack_due(packer, DUE, ALL) == INT64_MAX);
    kl_object_unref(object);
    kl__packer_free(packer);
}

static void texts_that_readers_keep_open_count(void **state)
{
    enum { COUNT = 100 };
    kl__pack_limits limits;
    kl__packer *packer = make_limited(&limits, 128 * 1024);
    kl_object *objects[COUNT];

    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        objects[i] = keep(packer, "shop", i);
        assert_non_null(kl_object_json(objects[i], NULL, NULL));
        assert_in_range(kl__text_slab_total(), 1, 128 * 1024);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        kl_object_close_json(objects[i]);
        kl_object_unref(objects[i]);
    }
    kl__packer_free(packer);
    assert_int_equal(kl__text_slab_total(), 0);
}

static void one_that_does_not_get_smaller_leaves_its_slab(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *plain = pack_random();
    kl_object *object =
        kl__packer_keep_young(packer, pack_random(), PACK_CROWD, NOW);
    const char *text = kl_object_json(object, NULL, NULL);

    (void)state;
    /* A reader is in the way: it is tried again. */
    assert_int_equal(kl__packer_pack_due(packer, DUE, ALL), DUE + 3000);
    assert_string_equal(text, kl_object_json(plain, NULL, NULL));
    kl_object_close_json(object);
    assert_true(kl__packer_pack_due(packer, DUE + 3000, ALL) == INT64_MAX);
    assert_false(kl__object_is_packed(object));
    assert_int_equal(kl__text_slab_total(), 0);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(kl_object_json(object, NULL, NULL),
                            kl_object_json(plain, NULL, NULL));
        kl_object_close_json(object);
        assert_non_null(kl_object_open(object, NULL));
        kl_object_close(object);
    }
    kl_object_unref(object);
    kl_object_unref(plain);
    kl__packer_free(packer);
}

static void young_objects_replace_a_dictionary_that_does_not_fit(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *first = keep(packer, "shop", 1);
    kl_object *last = NULL;

    (void)state;
    kl__packer_pack_due(packer, DUE, ALL);
    for (unsigned i = 0; i < 2000; i++) {
        kl_object_unref(last);
        last = keep(packer, i < 300 ? "shop" : "elsewhere", i);
        kl__packer_pack_due(packer, DUE, ALL);
    }
    assert_true(kl__object_is_packed(last));
    assert_ptr_not_equal(first->dictionary, last->dictionary);
    assert_in_range(kl_object_bytes(last), 1, PACK_LENGTH / 5);
    kl_object_unref(first);
    kl_object_unref(last);
    kl__packer_free(packer);
}

static void the_end_of_a_packer_packs_what_a_user_keeps(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *plain = pack_plain("shop", 7, PACK_LENGTH);
    kl_object *object = keep(packer, "shop", 7);

    (void)state;
    kl_object_unref(keep(packer, "shop", 8));
    kl__packer_free(packer);
    assert_int_equal(kl__text_slab_total(), 0);
    assert_true(kl__object_is_packed(object));
    pack_expect_same(object, plain);
    kl_object_unref(object);
    kl_object_unref(plain);
}

static void an_object_of_another_kind_keeps_its_own(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object =
        kl__packer_keep_young(packer, pack_of_another_kind(), PACK_CROWD, NOW);

    (void)state;
    assert_false(kl__object_is_packed(object));
    pack_expect_of_another_kind(object);
    kl__packer_pack_all(packer);
    assert_true(kl__object_is_packed(object));
    pack_expect_of_another_kind(object);
    kl__packer_free(packer);
    kl_object_unref(object);
}

static void without_a_dictionary_an_object_is_not_young(void **state)
{
    kl__packer *packer = kl__packer_new();
    kl_object *object = keep(packer, "shop", 1);

    (void)state;
    assert_false(object->is_apart);
    assert_true(kl__packer_pack_due(packer, DUE, ALL) == INT64_MAX);
    kl_object_unref(object);
    kl__packer_free(packer);
    assert_true(kl__packer_pack_due(NULL, DUE, ALL) == INT64_MAX);
    assert_ptr_equal(kl__packer_keep_young(NULL, NULL, 0, NOW), NULL);
    kl__packer_pack_all(NULL);
}

#define YOUNG_TEST(name) \
    cmocka_unit_test_teardown(name, pack_expect_nothing_lives)

enum { FAULTS_NOW = 100000, COUNT = 24, ROUNDS = 40 };

static kl_object *keep_shop(kl__packer *packer, unsigned i)
{
    return kl__packer_keep_young(packer, pack_plain("shop", i, PACK_LENGTH),
                                 PACK_CROWD, FAULTS_NOW);
}

static void read_object(kl_object *object, kl_error *err)
{
    if (kl_object_open(object, err) != NULL) {
        kl_object_close(object);
    }
    if (kl_object_json(object, NULL, err) != NULL) {
        kl_object_close_json(object);
    }
}

static kl_code keep_and_read(void *context)
{
    kl_object *plain = context;
    kl__packer *packer = kl__packer_new();
    kl_error err = {0};
    kl_object *objects[120] = {0};

    for (unsigned i = 0; packer != NULL && i < 120; i++) {
        objects[i] = kl__packer_keep_young(packer, kl_object_ref(plain),
                                           PACK_CROWD, FAULTS_NOW);
        read_object(objects[i], &err);
        if (i % 8 == 0) {
            kl__packer_pack_due(packer, INT64_MAX / 2, 6);
        }
    }
    kl__packer_pack_all(packer);
    for (unsigned i = 0; i < 120; i++) {
        if (objects[i] != NULL) {
            read_object(objects[i], &err);
        }
        kl_object_unref(objects[i]);
    }
    kl__packer_free(packer);
    return packer != NULL ? err.code : KL_ENOMEM;
}

static void without_memory_nothing_is_lost(void **state)
{
    kl_object *plain = pack_plain("shop", 1, PACK_LENGTH);

    (void)state;
    failing_alloc_each(keep_and_read, plain);
    kl_object_unref(plain);
}

static void without_memory_it_is_packed_later(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object = keep_shop(packer, 1);
    kl_object *plain = pack_plain("shop", 1, PACK_LENGTH);
    int64_t due = kl__packer_pack_due(packer, FAULTS_NOW, 10);

    (void)state;
    kl_object_unref(pack_one(packer, 2)); /* zstd has its memory */
    failing_alloc_install();
    failing_alloc_fail_at(1, 1);
    assert_true(kl__packer_pack_due(packer, due, 10) > due);
    assert_false(kl__object_is_packed(object));
    failing_alloc_fail_at(0, 0);
    failing_alloc_uninstall();
    pack_expect_same(object, plain);
    kl__packer_pack_all(packer);
    assert_true(kl__object_is_packed(object));
    pack_expect_same(object, plain);
    kl_object_unref(object);
    kl_object_unref(plain);
    kl__packer_free(packer);
}

typedef struct reader {
    kl__thread thread;
    kl_object *objects[COUNT]; /* a reference each */
} reader;

static void *read_all(void *arg)
{
    reader *self = arg;

    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            kl_object *object = self->objects[i];
            const kl_value *root = kl_object_open(object, NULL);
            const char *json = kl_object_json(object, NULL, NULL);

            if (root == NULL || json == NULL ||
                kl_value_get(root, "spec") == NULL ||
                strlen(json) != kl_object_json_length(object) ||
                kl_object_bytes(object) == 0) {
                abort();
            }
            kl_object_close_json(object);
            kl_object_close(object);
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        kl_object_unref(self->objects[i]);
    }
    return NULL;
}

static void many_threads_read_an_object_while_it_is_packed(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *objects[COUNT];
    reader readers[4];

    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        objects[i] = keep_shop(packer, i);
    }
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            readers[i].objects[k] = kl_object_ref(objects[k]);
        }
        assert_int_equal(kl__thread_start(&readers[i].thread, "reader",
                                          read_all, &readers[i], NULL),
                         KL_OK);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        kl_object_unref(objects[i]);
    }
    for (int64_t due = 0; due != INT64_MAX;) {
        due = kl__packer_pack_due(packer, INT64_MAX / 2, 1);
        kl_object_unref(keep_shop(packer, COUNT));
        kl_object_unref(pack_one(packer, COUNT + 1));
    }
    kl__packer_free(packer);
    for (size_t i = 0; i < 4; i++) {
        kl__thread_join(&readers[i].thread);
    }
}

static void *drop_all(void *arg)
{
    reader *self = arg;

    for (size_t i = COUNT; i > 0; i--) {
        kl_object_unref(self->objects[i - 1]);
    }
    return NULL;
}

static void a_last_reference_goes_while_the_queue_takes_its_object(void **state)
{
    kl__packer *packer = pack_trained();
    reader dropper;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < COUNT; i++) {
            dropper.objects[i] = keep_shop(packer, i);
        }
        assert_int_equal(kl__thread_start(&dropper.thread, "dropper", drop_all,
                                          &dropper, NULL),
                         KL_OK);
        while (kl__packer_pack_due(packer, INT64_MAX / 2, 1) != INT64_MAX) {
        }
        kl__thread_join(&dropper.thread);
        assert_int_equal(kl__young_count(&packer->young), 0);
    }
    kl__packer_free(packer);
}

/* What a child says that reads the object's JSON. */
static void read_in_child(kl_object *object, int *status, char *said,
                          size_t size)
{
    int pipes[2];
    ssize_t length;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(pipes[1], STDERR_FILENO);
        _exit(kl_object_json(object, NULL, NULL) != NULL ? 0 : 1);
    }
    close(pipes[1]);
    length = read(pipes[0], said, size - 1);
    close(pipes[0]);
    said[length > 0 ? length : 0] = '\0';
    assert_int_equal(waitpid(child, status, 0), child);
}

static void its_damaged_frame_aborts_with_a_message(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object = keep_shop(packer, 3);
    char said[300];
    char *frame;
    int status = 0;

    (void)state;
    read_in_child(object, &status, said, sizeof(said));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    kl__packer_pack_all(packer);
    frame = (char *)(uintptr_t)kl__object_frame(object);
    frame[object->frame_length / 2] ^= 4;
    read_in_child(object, &status, said, sizeof(said));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(said, "damaged in memory"));
    frame[object->frame_length / 2] ^= 4;
    read_in_child(object, &status, said, sizeof(said));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    kl_object_unref(object);
    kl__packer_free(packer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        YOUNG_TEST(a_young_object_reads_as_a_plain_one),
        YOUNG_TEST(it_is_packed_where_it_is_when_it_is_due),
        YOUNG_TEST(few_are_packed_at_once),
        YOUNG_TEST(an_object_that_was_replaced_is_never_packed),
        YOUNG_TEST(what_is_replaced_is_freed_at_once),
        YOUNG_TEST(a_text_that_is_open_stays_over_its_packing),
        YOUNG_TEST(a_tree_that_is_open_stays_over_its_packing),
        YOUNG_TEST(without_room_a_new_object_is_packed_at_once),
        YOUNG_TEST(without_any_room_an_object_is_packed_at_once),
        YOUNG_TEST(texts_that_readers_keep_open_count),
        YOUNG_TEST(one_that_does_not_get_smaller_leaves_its_slab),
        YOUNG_TEST(young_objects_replace_a_dictionary_that_does_not_fit),
        YOUNG_TEST(the_end_of_a_packer_packs_what_a_user_keeps),
        YOUNG_TEST(an_object_of_another_kind_keeps_its_own),
        YOUNG_TEST(without_a_dictionary_an_object_is_not_young),
        YOUNG_TEST(without_memory_nothing_is_lost),
        YOUNG_TEST(without_memory_it_is_packed_later),
        YOUNG_TEST(many_threads_read_an_object_while_it_is_packed),
        YOUNG_TEST(a_last_reference_goes_while_the_queue_takes_its_object),
        YOUNG_TEST(its_damaged_frame_aborts_with_a_message),
    };

    return cmocka_run_group_tests(tests, pack_choose_usual_limits, NULL);
}
