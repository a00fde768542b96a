/*
 * pack_faults_spec.c - packed objects without memory, damaged, read by many
 * threads, and in a forked child.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include "base/thread.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "object/block.h"
#include "object/pack_context.h"
#include "pods.h"

#include <dlfcn.h>
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

/* zstd takes its memory from malloc: these stand before its own, and fail where
 * a test says so. */
static bool zstd_fails;
static unsigned dictionaries_asked_for;

ZSTD_DCtx *ZSTD_createDCtx(void)
{
    ZSTD_DCtx *(*next)(void);

    *(void **)&next = dlsym(RTLD_NEXT, "ZSTD_createDCtx");
    return zstd_fails ? NULL : next();
}

ZSTD_CCtx *ZSTD_createCCtx(void)
{
    ZSTD_CCtx *(*next)(void);

    *(void **)&next = dlsym(RTLD_NEXT, "ZSTD_createCCtx");
    return zstd_fails ? NULL : next();
}

/* The parameters are zstd's. */
#define CREATE_PARAMETERS                                             \
    const void *bytes, size_t length, ZSTD_dictLoadMethod_e load,     \
        ZSTD_dictContentType_e type, ZSTD_compressionParameters with, \
        ZSTD_customMem memory

ZSTD_CDict *ZSTD_createCDict_advanced(CREATE_PARAMETERS)
{
    ZSTD_CDict *(*next)(CREATE_PARAMETERS);
    bool is_ours = type == ZSTD_dct_auto; /* else zstd calls itself */

    dictionaries_asked_for += is_ours;
    *(void **)&next = dlsym(RTLD_NEXT, "ZSTD_createCDict_advanced");
    return zstd_fails && is_ours
               ? NULL
               : next(bytes, length, load, type, with, memory);
}

/* The first test: no context of zstd waits to be used again. */
static void without_memory_for_zstd_an_object_stays_plain(void **state)
{
    kl__packer *packer = kl__packer_new();
    kl_object *object;
    kl_error err;

    (void)state;
    zstd_fails = true;
    for (unsigned i = 0; i < 1000; i++) {
        object = pack_one(packer, i);
        assert_false(kl__object_is_packed(object));
        kl_object_unref(object);
    }
    kl__packer_free(packer);
    zstd_fails = false;
    packer = pack_trained();
    object = pack_one(packer, 1);
    assert_true(kl__object_is_packed(object));
    zstd_fails = true;
    assert_null(kl_object_json(object, NULL, &err));
    assert_int_equal(err.code, KL_ENOMEM);
    assert_null(kl_object_open(object, &err));
    assert_int_equal(err.code, KL_ENOMEM);
    zstd_fails = false;
    assert_non_null(kl_object_open(object, &err));
    kl_object_close(object);
    kl_object_unref(object);
    kl__packer_free(packer);
}

static void *refuse_large(size_t size)
{
    return size < 400000 ? malloc(size) : NULL;
}

/* zstd 1.5.4 crashes there. */
static void zstd_is_not_asked_for_a_dictionary_without_memory(void **state)
{
    const kl_allocator small = {refuse_large, realloc, free};
    unsigned before = dictionaries_asked_for;
    kl__packer *packer;

    (void)state;
    kl_set_allocator(&small);
    packer = kl__packer_new();
    for (unsigned i = 0; i < 1000; i++) {
        kl_object *object = pack_one(packer, i);

        assert_false(kl__object_is_packed(object));
        kl_object_unref(object);
    }
    kl__packer_free(packer);
    kl_set_allocator(NULL);
    assert_int_equal(dictionaries_asked_for, before);
}

static kl_code pack_and_read(void *context)
{
    kl_object *plain = context;
    kl__packer *packer = kl__packer_new();
    kl_error err = {0};

    for (unsigned i = 0; packer != NULL && i < 120; i++) {
        kl_object *object =
            kl__packer_pack(packer, kl_object_ref(plain), PACK_CROWD);

        if (kl_object_open(object, &err) != NULL) {
            kl_object_close(object);
        }
        if (kl_object_json(object, NULL, &err) != NULL) {
            kl_object_close_json(object);
        }
        kl_object_unref(object);
    }
    kl__packer_free(packer);
    return packer != NULL ? err.code : KL_ENOMEM;
}

static void without_memory_nothing_is_lost(void **state)
{
    kl_object *plain = pack_plain("shop", 1, PACK_LENGTH);

    (void)state;
    failing_alloc_each(pack_and_read, plain);
    kl_object_unref(plain);
}

/* Reads a damaged object in a child. True: it aborted, and said why; false: it
 * read `expected` all the same. */
static bool aborts(kl_object *object, const char *expected)
{
    char said[300];
    int pipes[2], status = 0;
    ssize_t length;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        const char *json;

        signal(SIGABRT, SIG_DFL);
        dup2(pipes[1], STDERR_FILENO);
        json = kl_object_json(object, NULL, NULL);
        _exit(json != NULL && strcmp(json, expected) == 0 ? 0 : 1);
    }
    close(pipes[1]);
    length = read(pipes[0], said, sizeof(said) - 1);
    close(pipes[0]);
    said[length > 0 ? length : 0] = '\0';
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
        assert_int_equal(WEXITSTATUS(status), 0);
        return false;
    }
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(said, "damaged in memory"));
    return true;
}

static void a_damaged_frame_aborts_with_a_message(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object = pack_one(packer, 3);
    kl_object *plain = pack_plain("shop", 3, PACK_LENGTH);
    const char *json = kl_object_json(plain, NULL, NULL);
    unsigned aborted = 0, tried = 0;

    (void)state;
    for (uint32_t i = 0; i < object->frame_length; i += 7) {
        char *byte = &object->bytes[object->json + i];

        *byte = (char)(*byte ^ 4);
        aborted += aborts(object, json);
        tried++;
        *byte = (char)(*byte ^ 4);
    }
    assert_in_range(aborted, tried / 2, tried);
    object->json_length--;
    assert_true(aborts(object, json));
    object->json_length++;
    assert_false(aborts(object, json));
    kl_object_unref(plain);
    kl_object_unref(object);
    kl__packer_free(packer);
}

static void a_frame_that_was_cut_aborts_with_a_message(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object = pack_one(packer, 3);
    uint32_t whole = object->frame_length;

    (void)state;
    for (uint32_t length = 0; length < whole; length += 11) {
        object->frame_length = length;
        assert_true(aborts(object, ""));
    }
    object->frame_length = whole;
    assert_non_null(kl_object_json(object, NULL, NULL));
    kl_object_close_json(object);
    kl_object_unref(object);
    kl__packer_free(packer);
}

static void a_damaged_dictionary_aborts_with_a_message(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object = pack_one(packer, 3);
    /* The second member of both: what zstd reads with, and its content, whose
     * size is the third. */
    void **members = (void **)object->dictionary;
    unsigned char *content = ((void **)members[1])[1];
    size_t size = ((size_t *)members[1])[2];

    (void)state;
    assert_memory_equal(content, "\x37\xa4\x30\xec", 4); /* as in RFC 8878 */
    for (size_t i = 1000; i < size; i++) {
        content[i] ^= 1;
    }
    assert_true(aborts(object, ""));
    kl_object_unref(object);
    kl__packer_free(packer);
}

typedef struct reader {
    kl__thread thread;
    kl_object **objects;
    size_t count;
} reader;

static void *read_all(void *arg)
{
    reader *self = arg;

    for (unsigned round = 0; round < 40; round++) {
        for (size_t i = 0; i < self->count; i++) {
            kl_object *object = kl_object_ref(self->objects[i]);
            const kl_value *root = kl_object_open(object, NULL);
            const char *json = kl_object_json(object, NULL, NULL);

            if (root == NULL || json == NULL ||
                kl_value_get(root, "spec") == NULL || json[0] != '{') {
                abort();
            }
            kl_object_close_json(object);
            kl_object_close(object);
            kl_object_unref(object);
        }
    }
    for (size_t i = 0; i < self->count; i++) {
        kl_object_unref(self->objects[i]);
    }
    return NULL;
}

static void many_threads_read_while_others_pack(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *objects[24];
    reader readers[4];

    (void)state;
    for (unsigned i = 0; i < 24; i++) {
        objects[i] = pack_one(packer, i);
    }
    for (size_t i = 0; i < 4; i++) {
        readers[i] = (reader){.objects = objects, .count = 24};
        for (size_t k = 0; k < 24; k++) {
            kl_object_ref(objects[k]);
        }
        assert_int_equal(kl__thread_start(&readers[i].thread, "reader",
                                          read_all, &readers[i], NULL),
                         KL_OK);
    }
    for (unsigned i = 0; i < 24; i++) {
        kl_object_unref(objects[i]);
    }
    for (unsigned i = 0; i < 300; i++) {
        kl_object_unref(pack_one(packer, i));
    }
    kl__packer_free(packer);
    for (size_t i = 0; i < 4; i++) {
        kl__thread_join(&readers[i].thread);
    }
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void the_last_reference_is_dropped_under_any_lock(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object = pack_one(packer, 3);
    kl__mutex mutex;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_non_null(kl_object_open(object, NULL));
        kl_object_close(object);
    }
    kl__mutex_init(&mutex, KL__RANK_WATCHDOG);
    kl__mutex_lock(&mutex); /* a lock out of order aborts */
    kl_object_unref(object);
    kl__mutex_unlock(&mutex);
    kl__mutex_deinit(&mutex);
    kl__packer_free(packer);
}

static void a_forked_child_reads_what_was_packed_before(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object = pack_one(packer, 3);
    int status = 0;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        _exit(kl_object_open(object, NULL) != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    kl_object_unref(object);
    kl__packer_free(packer);
}

#define PACK_TEST(name) \
    cmocka_unit_test_teardown(name, pack_expect_nothing_lives)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PACK_TEST(without_memory_for_zstd_an_object_stays_plain),
        PACK_TEST(zstd_is_not_asked_for_a_dictionary_without_memory),
        PACK_TEST(without_memory_nothing_is_lost),
        PACK_TEST(a_damaged_frame_aborts_with_a_message),
        PACK_TEST(a_frame_that_was_cut_aborts_with_a_message),
        PACK_TEST(a_damaged_dictionary_aborts_with_a_message),
        PACK_TEST(many_threads_read_while_others_pack),
        PACK_TEST(the_last_reference_is_dropped_under_any_lock),
        PACK_TEST(a_forked_child_reads_what_was_packed_before),
    };

    return cmocka_run_group_tests(tests, pack_choose_usual_limits, NULL);
}
