/*
 * server_spec.c - an informer gets the state of the model's server, with each
 * manner of answering, and after each fault.
 */
#include "schedule.h"
#include "server.h"

#include "kubelua/informer.h"
#include "kubelua/memory.h"
#include "kubelua/object.h"
#include "kubelua/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 100, KEYS = 12, MINUTE_MS = 60000, TRIES = 100 };

/* The settings of a run; the fault is armed in the middle of it. */
typedef struct scene {
    server_options options;
    server_fault fault;
    bool has_fault;
    void (*trouble)(server *at);
    const char *labels;
} scene;

static void write_something(server *at, int round)
{
    for (int i = 0; i < KEYS; i++) {
        server_spec spec = {
            .value = round * 100 + i, .node = i % 3, .app = (i + round) % 3};
        char key[16];

        snprintf(key, sizeof(key), "n%d/p%d", i % 2, i);
        if (schedule_chance(300)) {
            server_delete(at, SERVER_PODS, key);
        } else if (server_update(at, SERVER_PODS, key, &spec) == 0) {
            server_create(at, SERVER_PODS, key, &spec);
        }
        if (schedule_chance(200)) {
            schedule_wait_until(schedule_now() + 300);
        }
    }
}

typedef struct comparison {
    kl_informer *informer;
    const char *labels;
    size_t expected;
    bool is_equal;
} comparison;

static void compare(const server_change *object, void *context)
{
    comparison *self = context;
    kl_object *cached;
    char version[32];

    if (self->labels != NULL && object->spec.app != 1) {
        return;
    }
    self->expected++;
    cached = kl_informer_get(self->informer, object->key);
    snprintf(version, sizeof(version), "%lld", (long long)object->version);
    if (cached == NULL || strcmp(kl_object_uid(cached), object->uid) != 0 ||
        strcmp(kl_object_resource_version(cached), version) != 0) {
        self->is_equal = false;
    }
    kl_object_unref(cached);
}

static bool is_equal(server *at, kl_informer *informer, const char *labels)
{
    comparison self = {
        .informer = informer, .labels = labels, .is_equal = true};

    server_each(at, SERVER_PODS, compare, &self);
    return self.is_equal && kl_informer_count(informer) == self.expected;
}

static void play(void *arg)
{
    const scene *what = arg;
    server *at = server_new(&what->options);
    kl_transport *transport = server_transport(at);
    kl_client_options client_options = {.transport = transport};
    kl_client *client = kl_client_new(&client_options, NULL);
    kl_informer_options options = {
        .resource = "pods", .page_size = 3, .labels = what->labels};
    kl_informer *informer;
    int tries = 0;

    kl_transport_unref(transport);
    write_something(at, 1);
    informer = kl_informer_open(client, &options, NULL);
    schedule_check(informer != NULL, "no informer");
    write_something(at, 2);
    if (what->has_fault) {
        server_arm(at, &what->fault);
    }
    if (what->trouble != NULL) {
        what->trouble(at);
    }
    write_something(at, 3);
    server_settle(at);
    schedule_check(kl_informer_wait_synced(informer, 10 * MINUTE_MS, NULL) ==
                       KL_OK,
                   "not synced");
    while (!is_equal(at, informer, what->labels)) {
        schedule_check(++tries < TRIES, "the cache is not what the server has");
        schedule_wait_until(schedule_now() + MINUTE_MS);
    }
    kl_informer_close(informer);
    kl_client_unref(client);
    server_free(at);
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        schedule_check(kl_live_count((kl_live_kind)kind) == 0, "%s are left",
                       kl_live_name((kl_live_kind)kind));
    }
}

/* Returns the hash of all runs. */
static uint64_t assert_plays(scene *what)
{
    uint64_t hash = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        schedule_options options = {
            .seed = seed, .preemptions = -1, .spurious_per_mille = 10};
        schedule_outcome outcome;

        schedule_run(&options, play, what, &outcome);
        if (outcome.failed) {
            fail_msg("seed %llu: %s", (unsigned long long)seed,
                     outcome.message);
        }
        hash = hash * 31 + outcome.hash;
    }
    return hash;
}

static void each_manner_of_lists_leads_to_its_state(void **state)
{
    (void)state;
    for (int streaming = 0; streaming <= SERVER_STREAM_ENDS; streaming++) {
        for (int bits = 0; bits < 8; bits++) {
            scene what = {.options = {.streaming = (server_streaming)streaming,
                                      .rv_after_items = (bits & 1) != 0,
                                      .cached_lists = (bits & 2) != 0,
                                      .no_bookmarks = (bits & 4) != 0,
                                      .chunk_max = bits == 0 ? 1 : 300,
                                      .delay_max_ms = bits * 20}};

            assert_plays(&what);
        }
    }
}

static void a_selection_leads_to_what_it_selects(void **state)
{
    scene what = {.labels = "app=app-1"};

    (void)state;
    assert_plays(&what);
    what.options.streaming = SERVER_FORBIDS;
    assert_plays(&what);
}

static void each_fault_is_survived(void **state)
{
    static const int statuses[] = {401, 403, 404, 410, 429, 500, 503, 504};

    (void)state;
    for (int type = 0; type < SERVER_FAULT_TYPES; type++) {
        for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
            scene what = {.options = {.chunk_max = 100},
                          .has_fault = true,
                          .fault = {.type = (server_fault_type)type,
                                    .on_open = i % 2 == 0,
                                    .bytes = 7 + 13 * i,
                                    .ms = 100 << i,
                                    .status = statuses[i],
                                    .retry_after_s = i % 3 == 0 ? 2 : 0,
                                    .times = (int)i}};

            assert_plays(&what);
        }
    }
}

static void compact(server *at)
{
    server_arm(at,
               &(server_fault){.type = SERVER_FAULT_BREAK, .on_open = true});
    server_compact(at, 2);
}

/* Restores a backup. The waits let the client see the changes that are undone,
 * and connect again before their versions are given out again: later it could
 * not notice the restore. */
static void restore(server *at)
{
    schedule_wait_until(schedule_now() + MINUTE_MS);
    server_restore(at, 5);
    schedule_wait_until(schedule_now() + MINUTE_MS);
}

static void lost_history_is_survived(void **state)
{
    scene what = {.trouble = compact};

    (void)state;
    assert_plays(&what);
    what.trouble = restore;
    what.options.future = SERVER_FUTURE_GONE;
    assert_plays(&what);
    what.options.future = SERVER_FUTURE_TELLS;
    assert_plays(&what);
}

static void everything_at_once_is_survived(void **state)
{
    scene what = {.options = {.fault_per_mille = 400,
                              .delay_max_ms = 500,
                              .cached_lists = true,
                              .chunk_max = 50,
                              .watch_ms = 3000,
                              .bookmark_ms = 500},
                  .trouble = compact};

    (void)state;
    assert_true(assert_plays(&what) == assert_plays(&what));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_manner_of_lists_leads_to_its_state),
        cmocka_unit_test(a_selection_leads_to_what_it_selects),
        cmocka_unit_test(each_fault_is_survived),
        cmocka_unit_test(lost_history_is_survived),
        cmocka_unit_test(everything_at_once_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
