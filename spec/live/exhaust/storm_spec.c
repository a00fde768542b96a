/*
 * storm_spec.c - allocations fail at random on every thread of a client while
 * its informers list, watch, relist and resync, and handlers, queries and
 * informers come and go. Afterwards no event is lost and no object left.
 */
#include "base/clock.h"
#include "failing_alloc.h"
#include "live_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The time of a storm is limited, also on a slow machine: after many failures
 * the backoff is long. */
enum { CHANGES = 120, STORM_MS = 500, KEYS = 8 };

/* A thread that uses the informer during the storm. */
typedef struct guest {
    live_world *live;
    uint64_t random;
    atomic_bool is_over;
    kl_event_queue *queue;
    long refused;
    long served;
} guest;

static int64_t now_ms(void)
{
    return kl__clock_now(kl__clock_real());
}

static unsigned draw(uint64_t *random, unsigned sides)
{
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(*random >> 40) % sides;
}

/* Checks that a failure has a code for memory, or for a connection that the
 * server broke because it had no memory. */
static void note(guest *self, kl_code code, const kl_error *err)
{
    if (code == KL_OK) {
        self->served++;
        return;
    }
    assert_int_equal(code, err->code);
    assert_true(code == KL_ENOMEM || code == KL_EUNAVAILABLE ||
                code == KL_ETLS || code == KL_EINTERNAL || code == KL_ETIMEOUT);
    assert_int_not_equal(err->message[0], '\0');
    self->refused++;
}

static void on_add(void *context, kl_object *object, bool initial)
{
    (void)context;
    (void)initial;
    assert_true(kl_object_key(object)[0] != '\0');
}

static void query(guest *self)
{
    kl_informer *informer = self->live->informer;
    kl_object_list objects = {0};
    kl_string_list values = {0};
    kl_error err = {0};
    kl_object *object = kl_informer_get(informer, "default/a");

    if (object != NULL && kl_object_open(object, &err) != NULL) {
        kl_object_close(object);
    }
    kl_object_unref(object);
    note(self, err.code, &err);
    note(self, kl_informer_list(informer, NULL, NULL, &objects, &err), &err);
    kl_object_list_clear(&objects);
    note(self, kl_informer_by_index(informer, "value", "1", &objects, &err),
         &err);
    kl_object_list_clear(&objects);
    note(self, kl_informer_index_values(informer, "value", &values, &err),
         &err);
    kl_string_list_clear(&values);
}

static void handle(guest *self)
{
    const kl_handler handler = {.add = on_add};
    kl_error err = {0};

    kl_registration_remove(
        kl_informer_add_handler(self->live->informer, &handler, NULL, &err));
    note(self, err.code, &err);
}

static void pull(guest *self)
{
    kl_error err = {0};
    kl_registration *registration = kl_informer_subscribe(
        self->live->informer, self->queue, self, NULL, &err);
    kl_event event;

    note(self, err.code, &err);
    if (registration != NULL) {
        while (kl_registration_next(registration, &event)) {
            kl_registration_done(registration, &event);
        }
        kl_registration_remove(registration);
    }
}

static void open_another(guest *self)
{
    static const char *const resources[] = {"pods", "cm", "secrets"};
    kl_error err = {0};
    kl_informer *informer = kl_informer_open(
        self->live->client,
        &(kl_informer_options){.resource = resources[draw(&self->random, 3)]},
        &err);

    note(self, err.code, &err);
    if (informer != NULL) {
        note(self, kl_informer_wake_synced(informer, self->queue, &err), &err);
        (void)kl_informer_wait_synced(informer, draw(&self->random, 10), NULL);
        kl_informer_close(informer);
    }
}

static void call(guest *self)
{
    const kl_call asked = {.method = "GET", .target = LIVE_WORLD_TARGET};
    kl_error err = {0};
    kl_reply reply;

    note(self, kl_client_call(self->live->client, &asked, &reply, &err), &err);
    kl_reply_clear(&reply);
}

static void *visit(void *arg)
{
    static void (*const deeds[])(guest *) = {query, handle, pull, open_another,
                                             call};
    guest *self = arg;

    while (!atomic_load(&self->is_over)) {
        deeds[draw(&self->random, 5)](self);
    }
    return NULL;
}

/* Makes a random change on the server. */
static void change(live_world *live, uint64_t *random)
{
    char name = (char)('b' + draw(random, KEYS));

    switch (draw(random, 12)) {
    case 0:
        kl_sim_cut(live->sim);
        break;
    case 1:
        kl_sim_compact(live->sim);
        kl_sim_cut(live->sim);
        break;
    case 2:
    case 3:
        live_world_delete(live, name);
        break;
    default:
        live_world_touch(live, name);
        break;
    }
}

/* One storm: one allocation in `one_in` fails, on all threads but the one that
 * changes the server. After it nothing may be lost. */
static void blow(live_world *live, unsigned one_in, uint64_t seed)
{
    guest visitor = {.live = live, .random = seed};
    uint64_t random = seed ^ one_in;
    int64_t end = now_ms() + STORM_MS;
    kl__thread thread;

    visitor.queue = kl_event_queue_new(NULL);
    assert_non_null(visitor.queue);
    assert_int_equal(kl__thread_start(&thread, "guest", visit, &visitor, NULL),
                     KL_OK);
    failing_plan_follow(
        (failing_plan){.one_in = one_in, .seed = seed, .not_here = true});
    for (int i = 0; i < CHANGES && now_ms() < end; i++) {
        change(live, &random);
        (void)kl_event_queue_wait(live->queue, 1);
        live_world_pull(live);
    }
    failing_plan_pause();
    atomic_store(&visitor.is_over, true);
    kl__thread_join(&thread);
    kl_event_queue_free(visitor.queue);
    assert_true(visitor.served + visitor.refused > 0);
    assert_true(one_in > 100 || failing_plan_failures() > 0);
    live_world_assert_resynced(live);
}

static void weather(live_world_way way, const unsigned *rates, size_t count)
{
    static live_world live;
    const char *wanted = getenv("KUBELUA_SEED");
    uint64_t seed = wanted != NULL ? strtoull(wanted, NULL, 10) : 1;

    failing_alloc_install();
    live_world_open(&live, way);
    for (size_t i = 0; i < count; i++) {
        blow(&live, rates[i], seed);
    }
    live_world_close(&live);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

static void no_event_is_lost_in_process_while_memory_runs_out(void **state)
{
    static const unsigned rates[] = {10000, 1000, 100, 30, 10};

    (void)state;
    weather(LIVE_WORLD_INSIDE, rates, sizeof(rates) / sizeof(rates[0]));
}

static void no_event_is_lost_over_http_while_memory_runs_out(void **state)
{
    static const unsigned rates[] = {1000, 100, 10};

    (void)state;
    weather(LIVE_WORLD_HTTP, rates, sizeof(rates) / sizeof(rates[0]));
}

static void no_event_is_lost_over_tls_while_memory_runs_out(void **state)
{
    static const unsigned rates[] = {200, 20};

    (void)state;
    weather(LIVE_WORLD_TLS, rates, sizeof(rates) / sizeof(rates[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_event_is_lost_in_process_while_memory_runs_out),
        cmocka_unit_test(no_event_is_lost_over_http_while_memory_runs_out),
        cmocka_unit_test(no_event_is_lost_over_tls_while_memory_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
