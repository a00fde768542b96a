/*
 * young_faults_spec.c - young objects without memory, read by many threads
 * while they are packed, damaged, and in a forked child.
 */
#include "base/thread.h"
#include "failing_alloc.h"
#include "object/block.h"
#include "object/packer.h"
#include "pods.h"

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

enum { NOW = 100000, COUNT = 24, ROUNDS = 40 };

static kl_object *keep(kl__packer *packer, unsigned i)
{
    return kl__packer_keep_young(packer, pack_plain("shop", i, PACK_LENGTH),
                                 PACK_CROWD, NOW);
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
                                           PACK_CROWD, NOW);
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
    kl_object *object = keep(packer, 1);
    kl_object *plain = pack_plain("shop", 1, PACK_LENGTH);
    int64_t due = kl__packer_pack_due(packer, NOW, 10);

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
        objects[i] = keep(packer, i);
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
        kl_object_unref(keep(packer, COUNT));
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
            dropper.objects[i] = keep(packer, i);
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
    kl_object *object = keep(packer, 3);
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

#define YOUNG_TEST(name) \
    cmocka_unit_test_teardown(name, pack_expect_nothing_lives)

int main(void)
{
    const struct CMUnitTest tests[] = {
        YOUNG_TEST(without_memory_nothing_is_lost),
        YOUNG_TEST(without_memory_it_is_packed_later),
        YOUNG_TEST(many_threads_read_an_object_while_it_is_packed),
        YOUNG_TEST(a_last_reference_goes_while_the_queue_takes_its_object),
        YOUNG_TEST(its_damaged_frame_aborts_with_a_message),
    };

    return cmocka_run_group_tests(tests, pack_choose_usual_limits, NULL);
}
