/*
 * threads_spec.c - no thread can be started: each call that needs one fails
 * with an error that names the limit and leaves nothing behind; a running
 * informer goes on. pthread_create is replaced, for the libraries too.
 */
#include "live_world.h"
#include "sim_client.h"
#include "sim_socket.h"

#include "kubelua/request.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                      void *);

/* How many threads may still start; < 0: any number. */
static atomic_int allowed = -1;

/* Replaces the function of the C library, or of a sanitizer. */
KL_API int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*entry)(void *), void *arg)
{
    static _Atomic(uintptr_t) found;
    uintptr_t next = atomic_load(&found);

    if (next == 0) {
        next = (uintptr_t)dlsym(RTLD_NEXT, "pthread_create");
        atomic_store(&found, next);
    }
    if (atomic_load(&allowed) >= 0 && atomic_fetch_sub(&allowed, 1) <= 0) {
        atomic_store(&allowed, 0);
        return EAGAIN;
    }
    return ((create_fn *)next)(thread, attributes, entry, arg);
}

static void allow(int threads)
{
    atomic_store(&allowed, threads);
}

static void expect_remedy(const kl_error *err)
{
    if (err->code != KL_EIO || strstr(err->message, "ulimit -u") == NULL) {
        fail_msg("%s: %s", kl_code_name(err->code), err->message);
    }
}

static void a_client_names_the_limit(void **state)
{
    const kl_config_options options = {.server = "http://127.0.0.1:1"};
    kl_config *config = kl_config_load(&options, NULL);
    kl_error err = {0};

    (void)state;
    allow(0);
    assert_null(kl_client_new(&(kl_client_options){.config = config}, &err));
    allow(-1);
    expect_remedy(&err);
    kl_config_unref(config);
    sim_expect_nothing_lives();
}

/* The first request of a client needs a thread; the next try starts it. */
static void a_request_names_the_limit(void **state)
{
    const kl_config_options options = {.server = "http://127.0.0.1:1"};
    const kl_call call = {.method = "GET", .target = "/x"};

    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        kl_config *config = kl_config_load(&options, NULL);
        kl_client *client =
            kl_client_new(&(kl_client_options){.config = config,
                                               .shares_thread = shares == 1},
                          NULL);
        kl_error err = {0};
        kl_request *request;

        assert_non_null(client);
        allow(0);
        assert_null(kl_client_send(client, &call, NULL, NULL, &err));
        allow(-1);
        expect_remedy(&err);
        request = kl_client_send(client, &call, NULL, NULL, &err);
        assert_non_null(request);
        kl_request_free(request);
        kl_client_unref(client);
        kl_config_unref(config);
        sim_expect_nothing_lives();
    }
}

static void a_port_names_the_limit(void **state)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);
    kl_error err = {0};

    (void)state;
    allow(0);
    assert_int_equal(kl_sim_listen(sim, NULL, &err), KL_EIO);
    allow(-1);
    expect_remedy(&err);
    assert_null(kl_sim_url(sim));
    assert_int_equal(kl_sim_listen(sim, NULL, &err), KL_OK);
    kl_sim_unref(sim);
    sim_expect_nothing_lives();
}

static void a_timed_refusal_needs_a_thread_to_end_it(void **state)
{
    const char rule[] = "{\"action\":\"refuse\",\"seconds\":60}";
    kl_sim *sim = kl_sim_new(NULL, NULL);
    kl_error err = {0};
    char *answer;

    (void)state;
    assert_int_equal(kl_sim_listen(sim, NULL, NULL), KL_OK);
    allow(0);
    assert_int_equal(kl_sim_fault(sim, rule, sizeof(rule) - 1, NULL, &err),
                     KL_EIO);
    allow(-1);
    expect_remedy(&err);
    answer = sim_talk(sim, "GET /version HTTP/1.0\r\n\r\n");
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
    kl_free(answer);
    kl_sim_unref(sim);
    sim_expect_nothing_lives();
}

static void count_drop(void *context)
{
    (*(int *)context)++;
}

static void on_add(void *context, kl_object *object, bool initial)
{
    (void)context;
    (void)object;
    (void)initial;
    fail();
}

/* The call fails: the handler is not called, and its context is not dropped, as
 * it is still the caller's. */
static void a_handler_names_the_limit(void **state)
{
    static live_world live;
    int drops = 0;
    const kl_handler handler = {
        .add = on_add, .context = &drops, .drop_context = count_drop};
    kl_error err = {0};

    (void)state;
    live_world_open(&live, LIVE_WORLD_INSIDE);
    allow(0);
    assert_null(kl_informer_add_handler(live.informer, &handler, NULL, &err));
    allow(-1);
    expect_remedy(&err);
    live_world_assert_whole(&live);
    live_world_close(&live);
    assert_int_equal(drops, 0);
}

/* Opens an informer with as few threads as it needs; returns their number. A
 * try that fails leaves none behind. */
static int threads_of_informer(kl_client *client, kl_informer **informer)
{
    const kl_informer_options options = {.resource = "secrets"};
    long before = kl_live_count(KL_LIVE_THREAD);
    long informers = kl_live_count(KL_LIVE_INFORMER);
    int threads = -1;

    do {
        kl_error err = {0};

        threads++;
        assert_true(threads < 4);
        allow(threads);
        *informer = kl_informer_open(client, &options, &err);
        allow(-1);
        if (*informer == NULL) {
            expect_remedy(&err);
            assert_int_equal(kl_live_count(KL_LIVE_THREAD), before);
            assert_int_equal(kl_live_count(KL_LIVE_INFORMER), informers);
        }
    } while (*informer == NULL);
    return threads;
}

/* The first informer needs two threads, which all share. */
static void an_informer_names_the_limit(void **state)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);
    kl_transport *transport = kl_sim_transport(sim, NULL);
    kl_client *client =
        kl_client_new(&(kl_client_options){.transport = transport}, NULL);
    kl_informer *informer;

    (void)state;
    kl_transport_unref(transport);
    assert_int_equal(threads_of_informer(client, &informer), 2);
    assert_int_equal(kl_informer_wait_synced(informer, -1, NULL), KL_OK);
    kl_informer_close(informer);
    kl_client_unref(client);
    kl_sim_unref(sim);
    sim_expect_nothing_lives();
}

/* Its tasks wait for the threads that are there. */
static void a_second_informer_needs_no_thread(void **state)
{
    static live_world live;
    kl_informer *informer;

    (void)state;
    live_world_open(&live, LIVE_WORLD_INSIDE);
    assert_int_equal(threads_of_informer(live.client, &informer), 0);
    assert_int_equal(kl_informer_wait_synced(informer, -1, NULL), KL_OK);
    kl_informer_close(informer);
    live_world_assert_whole(&live);
    live_world_close(&live);
}

/* The server needs a thread for each connection, so it cannot serve this
 * informer. */
static void an_informer_outlives_a_server_without_threads(void **state)
{
    static live_world live;
    kl_informer_status status;
    uint64_t failures;

    (void)state;
    live_world_open(&live, LIVE_WORLD_HTTP);
    kl_informer_status_get(live.informer, &status);
    failures = status.failures;
    allow(0);
    kl_sim_refuse(live.sim, true);
    kl_sim_refuse(live.sim, false);
    while (status.failures < failures + 2) {
        (void)kl_event_queue_wait(live.queue, 10);
        live_world_pull(&live);
        kl_informer_status_get(live.informer, &status);
    }
    assert_int_not_equal(status.error.message[0], '\0');
    allow(-1);
    kl_sim_refuse(live.sim, false);
    live_world_assert_whole(&live);
    live_world_close(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timed_refusal_needs_a_thread_to_end_it),
        cmocka_unit_test(a_client_names_the_limit),
        cmocka_unit_test(a_request_names_the_limit),
        cmocka_unit_test(a_port_names_the_limit),
        cmocka_unit_test(a_handler_names_the_limit),
        cmocka_unit_test(an_informer_names_the_limit),
        cmocka_unit_test(a_second_informer_needs_no_thread),
        cmocka_unit_test(an_informer_outlives_a_server_without_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
