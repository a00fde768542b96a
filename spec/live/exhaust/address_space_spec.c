/*
 * address_space_spec.c - no more memory can be mapped: calls with big objects,
 * lists and threads fail with an error that names the limit, other calls
 * succeed, and everything works again without the limit. A sanitizer maps too
 * much memory for such a limit.
 */
#include "live_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

/* LEFT_MB is enough for small things, but not for half of a big object or the
 * stack of a thread. */
enum { LEFT_MB = 2, BIG_MB = 32 };

static struct rlimit before;

/* Leaves `left_mb` megabytes to be mapped; the second function restores the
 * limit. */
static void limit_address_space(int left_mb)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    struct rlimit limit;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur =
        pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)left_mb << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void restore_address_space(void)
{
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

static char *big_manifest(size_t *length)
{
    static const char head[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
        "\"metadata\":{\"name\":\"z\"},\"data\":{\"x\":\"";
    static const char tail[] = "\"}}";
    size_t size = (size_t)BIG_MB << 20;
    char *text = malloc(sizeof(head) + size + sizeof(tail));

    assert_non_null(text);
    memcpy(text, head, sizeof(head));
    memset(text + sizeof(head) - 1, 'x', size);
    memcpy(text + sizeof(head) - 1 + size, tail, sizeof(tail));
    *length = sizeof(head) - 1 + size + sizeof(tail) - 1;
    return text;
}

static void on_add(void *context, kl_object *object, bool initial)
{
    (void)context;
    (void)object;
    (void)initial;
}

static void memory_that_cannot_be_mapped_is_an_error(void **state)
{
    const kl_handler handler = {.add = on_add};
    static live_world live;
    kl_error big = {0}, thread = {0};
    kl_registration *registration;
    kl_object *object;
    size_t length;
    char *text;

    (void)state;
    text = big_manifest(&length);
    live_world_open(&live, LIVE_WORLD_INSIDE);
    limit_address_space(LEFT_MB);
    object = kl_object_parse(text, length, NULL, &big);
    registration =
        kl_informer_add_handler(live.informer, &handler, NULL, &thread);
    live_world_touch(&live, 'c');
    live_world_assert_whole(&live);
    restore_address_space();
    assert_null(object);
    assert_int_equal(big.code, KL_ENOMEM);
    assert_null(registration);
    assert_int_equal(thread.code, KL_EIO);
    assert_non_null(strstr(thread.message, "ulimit -v"));
    object = kl_object_parse(text, length, NULL, &big);
    registration =
        kl_informer_add_handler(live.informer, &handler, NULL, &thread);
    assert_non_null(object);
    assert_non_null(registration);
    kl_object_unref(object);
    kl_registration_remove(registration);
    live_world_assert_whole(&live);
    live_world_close(&live);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_cannot_be_mapped_is_an_error),
    };

    if (IS_SANITIZED) {
        print_message("a sanitizer maps terabytes: nothing is tried\n");
        return 77; /* skipped */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
