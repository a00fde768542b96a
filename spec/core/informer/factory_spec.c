/*
 * factory_spec.c - the same resource, scope and selectors are one informer,
 * however they are spelt; and it ends with its last user.
 */
#include "base/clock.h"
#include "base/thread.h"
#include "failing_alloc.h"
#include "kubelua/handler.h"
#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Nothing listens on the discard port: informers live in backoff. */
static kl_client *new_client(kl_error *err)
{
    kl_config *config = kl_config_load(
        &(kl_config_options){.server = "http://127.0.0.1:9"}, err);
    kl_client *client = NULL;

    if (config != NULL) {
        client = kl_client_new(&(kl_client_options){.config = config}, err);
        kl_config_unref(config);
    }
    return client;
}

static int setup(void **state)
{
    *state = new_client(NULL);
    return *state != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    long live = 0;

    kl_client_unref(*state);
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        live += kl_live_count((kl_live_kind)kind);
    }
    return live == 0 ? 0 : -1;
}

static kl_informer *open_with(kl_client *client,
                              const kl_informer_options *options)
{
    kl_informer *informer = kl_informer_open(client, options, NULL);

    assert_non_null(informer);
    return informer;
}

/* How many shared informers two handles make. */
static long informers_of(kl_client *client, const kl_informer_options *a,
                         const kl_informer_options *b)
{
    kl_informer *first = open_with(client, a);
    kl_informer *second = open_with(client, b);
    long count = kl_live_count(KL_LIVE_INFORMER);

    kl_informer_close(first);
    kl_informer_close(second);
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
    return count;
}

static void same_options_share_one_informer(void **state)
{
    kl_informer_options options = {
        .resource = "foos.example.com",
        .name_space = "web",
        .labels = "app=shop",
        .fields = "metadata.name=a",
    };

    assert_int_equal(informers_of(*state, &options, &options), 1);
}

static void spellings_of_a_resource_share_one_informer(void **state)
{
    static const char *const spelt[] = {"po",     "Pod",     "pod",
                                        "v1/Pod", "v1/pods", "pods.v1."};

    for (size_t i = 0; i < sizeof(spelt) / sizeof(spelt[0]); i++) {
        assert_int_equal(
            informers_of(*state, &(kl_informer_options){.resource = "pods"},
                         &(kl_informer_options){.resource = spelt[i]}),
            1);
    }
}

static void other_selectors_make_another_informer(void **state)
{
    kl_informer_options base = {.resource = "pods"};
    kl_informer_options other[] = {base, base, base, base, base, base};

    other[0].resource = "services";
    other[1].name_space = "web";
    other[2].labels = "app=shop";
    other[3].fields = "spec.nodeName=n1";
    other[4].keep_managed_fields = true;
    other[5].metadata_only = true;
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        assert_int_equal(informers_of(*state, &base, &other[i]), 2);
    }
}

static void apart_shares_no_open_informer_and_later_ones_join_it(void **state)
{
    const kl_informer_options plain = {.resource = "pods"};
    const kl_informer_options apart = {.resource = "pods", .apart = true};
    kl_informer *first = open_with(*state, &plain);
    kl_informer *second = open_with(*state, &apart);
    kl_informer *third;

    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 2);
    assert_int_equal(
        kl_informer_add_path_index(first, "by", "spec.nodeName", NULL), KL_OK);
    assert_int_equal(
        kl_informer_add_path_index(second, "by", "status.phase", NULL), KL_OK);
    third = open_with(*state, &plain);
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 2);
    assert_int_equal(
        kl_informer_add_path_index(third, "by", "status.phase", NULL), KL_OK);
    kl_informer_close(first);
    kl_informer_close(second);
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 1);
    kl_informer_close(third);
}

static void page_size_and_timeouts_share_one_informer(void **state)
{
    assert_int_equal(
        informers_of(*state, &(kl_informer_options){.resource = "pods"},
                     &(kl_informer_options){.resource = "pods",
                                            .name_space = "*",
                                            .labels = "",
                                            .fields = "",
                                            .page_size = 10,
                                            .idle_timeout_ms = 1000,
                                            .resync_ms = 1000,
                                            .no_streaming_list = true}),
        1);
}

static void the_last_close_ends_the_informer(void **state)
{
    kl_informer_options options = {.resource = "pods"};
    kl_informer *first = open_with(*state, &options);
    kl_informer *second = open_with(*state, &options);
    kl_informer *third;

    kl_informer_close(first);
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 1);
    third = open_with(*state, &options);
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 1);
    kl_informer_close(second);
    kl_informer_close(third);
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
}

static void options_that_can_never_work_are_refused(void **state)
{
    static const kl_informer_options wrong[] = {
        {.resource = NULL},
        {.resource = ""},
        {.resource = "pods", .labels = "app in (a"},
        {.resource = "pods", .fields = "spec.nodeName"},
        {.resource = "pods", .resync_ms = -1},
        {.resource = "pods", .page_size = -1},
    };
    kl_error err;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        err.code = KL_OK;
        assert_null(kl_informer_open(*state, &wrong[i], &err));
        assert_int_equal(err.code, KL_EINVAL);
        assert_null(kl_informer_open(*state, &wrong[i], NULL));
    }
    assert_null(kl_informer_open(
        NULL, &(kl_informer_options){.resource = "pods"}, &err));
    assert_int_equal(err.code, KL_EINVAL);
}

static void an_unreachable_server_does_not_fail_the_open(void **state)
{
    kl_informer *informer =
        open_with(*state, &(kl_informer_options){.resource = "pods"});
    kl_error err;

    assert_int_equal(kl_informer_wait_synced(informer, 300, &err), KL_ETIMEOUT);
    assert_non_null(strstr(err.message, "pods has not synced"));
    assert_non_null(strstr(err.message, "127.0.0.1"));
    kl_informer_close(informer);
}

static void a_closed_client_ends_its_informers(void **state)
{
    kl_client *client = *state;
    kl_informer *informer =
        open_with(client, &(kl_informer_options){.resource = "pods"});
    kl_informer_status status;
    kl_error err;

    kl_client_close(client);
    assert_int_equal(kl_informer_wait_synced(informer, -1, &err), KL_ECLOSED);
    kl_informer_status_get(informer, &status);
    assert_int_equal(status.state, KL_STATE_STOPPED);
    assert_null(kl_informer_add_handler(
        informer, &(kl_handler){.context = NULL}, NULL, &err));
    assert_int_equal(err.code, KL_ECLOSED);
    assert_null(kl_informer_open(
        client, &(kl_informer_options){.resource = "pods"}, &err));
    assert_int_equal(err.code, KL_ECLOSED);
    kl_informer_close(informer);
}

static void an_informer_keeps_its_client(void **state)
{
    kl_informer *informer =
        open_with(*state, &(kl_informer_options){.resource = "pods"});

    kl_client_unref(*state);
    *state = NULL;
    assert_int_equal(kl_live_count(KL_LIVE_CLIENT), 1);
    assert_int_equal(kl_informer_count(informer), 0);
    kl_informer_close(informer);
    assert_int_equal(kl_live_count(KL_LIVE_CLIENT), 0);
}

static void a_close_takes_no_time(void **state)
{
    kl_informer *informer =
        open_with(*state, &(kl_informer_options){.resource = "pods"});
    int64_t began;

    assert_int_equal(kl_informer_wait_synced(informer, 100, NULL), KL_ETIMEOUT);
    began = kl__clock_now(kl__clock_real());
    kl_informer_close(informer);
    /* 50 ms are promised; a sanitizer on a busy machine takes its share. */
    assert_in_range(kl__clock_now(kl__clock_real()) - began, 0, 1000);
}

static void *open_and_close(void *client)
{
    static const char *const spelt[] = {"pods", "po", "services", "v1/Pod"};

    for (int i = 0; i < 20; i++) {
        kl_informer *informer = kl_informer_open(
            client, &(kl_informer_options){.resource = spelt[i % 4]}, NULL);

        kl_informer_close(informer);
    }
    return NULL;
}

static void many_threads_may_open_and_close_at_once(void **state)
{
    kl__thread threads[4];

    for (int i = 0; i < 4; i++) {
        assert_int_equal(kl__thread_start(&threads[i], "opener", open_and_close,
                                          *state, NULL),
                         KL_OK);
    }
    for (int i = 0; i < 4; i++) {
        kl__thread_join(&threads[i]);
    }
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
}

/* The whole of it, as the transport's thread frees what it likes when it
 * likes, as long as the client lives. */
static kl_code try_open(void *context)
{
    kl_error err = {.code = KL_OK};
    kl_client *client = new_client(&err);
    kl_informer *informer = NULL;

    (void)context;
    if (client != NULL) {
        informer = kl_informer_open(
            client,
            &(kl_informer_options){.resource = "pods", .name_space = "web"},
            &err);
    }
    kl_informer_close(informer);
    kl_client_unref(client);
    return informer != NULL ? KL_OK : err.code;
}

static void out_of_memory_in_open_leaks_nothing(void **state)
{
    kl_client_unref(*state);
    *state = NULL;
    failing_alloc_each(try_open, NULL);
}

#define CLIENT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void refuses(kl_client *client, const char *resource,
                    const char *name_space, const char *message)
{
    kl_error err = {0};
    kl_informer_options options = {.resource = resource,
                                   .name_space = name_space};

    assert_null(kl_informer_open(client, &options, &err));
    assert_int_equal(err.code, KL_EINVAL);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\": \"%s\"", name_space, err.message);
    }
}

static void an_invalid_namespace_is_refused(void **state)
{
    char longest[65] = "";

    refuses(*state, "pods", "default,web", "one namespace at a time");
    refuses(*state, "pods", "../x", "without a slash");
    refuses(*state, "foos.example.com", "Web", "lower-case");
    refuses(*state, "pods", "-a", "lower-case");
    refuses(*state, "pods", "a-", "lower-case");
    memset(longest, 'a', 64);
    refuses(*state, "pods", longest, "at most 63");
    longest[63] = '\0';
    kl_informer_close(
        open_with(*state, &(kl_informer_options){.resource = "pods",
                                                 .name_space = longest}));
}

static void a_namespace_of_a_kind_without_any_is_refused(void **state)
{
    refuses(*state, "no", "web", "nodes (Node) have no namespace");
    refuses(*state, "v1/Namespace", "web", "leave `namespace` out");
    kl_informer_close(
        open_with(*state, &(kl_informer_options){.resource = "nodes",
                                                 .name_space = "*"}));
}

static void a_default_namespace_is_left_out_where_a_kind_has_none(void **state)
{
    kl_informer_options all = {.resource = "nodes"};
    kl_informer_options web = {
        .resource = "nodes", .name_space = "web", .namespace_if_any = true};

    assert_int_equal(informers_of(*state, &all, &web), 1);
}

static void a_list_of_an_invalid_namespace_is_refused(void **state)
{
    kl_informer *informer =
        open_with(*state, &(kl_informer_options){.resource = "pods"});
    kl_object_list list;
    kl_error err;

    assert_int_equal(kl_informer_list(informer, "a,b", NULL, &list, &err),
                     KL_EINVAL);
    assert_int_equal(kl_informer_list(informer, "*", NULL, &list, &err), KL_OK);
    kl_object_list_clear(&list);
    kl_informer_close(informer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(same_options_share_one_informer),
        CLIENT_TEST(spellings_of_a_resource_share_one_informer),
        CLIENT_TEST(other_selectors_make_another_informer),
        CLIENT_TEST(apart_shares_no_open_informer_and_later_ones_join_it),
        CLIENT_TEST(page_size_and_timeouts_share_one_informer),
        CLIENT_TEST(the_last_close_ends_the_informer),
        CLIENT_TEST(options_that_can_never_work_are_refused),
        CLIENT_TEST(an_unreachable_server_does_not_fail_the_open),
        CLIENT_TEST(a_closed_client_ends_its_informers),
        CLIENT_TEST(an_informer_keeps_its_client),
        CLIENT_TEST(a_close_takes_no_time),
        CLIENT_TEST(many_threads_may_open_and_close_at_once),
        CLIENT_TEST(out_of_memory_in_open_leaks_nothing),
        CLIENT_TEST(an_invalid_namespace_is_refused),
        CLIENT_TEST(a_namespace_of_a_kind_without_any_is_refused),
        CLIENT_TEST(a_default_namespace_is_left_out_where_a_kind_has_none),
        CLIENT_TEST(a_list_of_an_invalid_namespace_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
