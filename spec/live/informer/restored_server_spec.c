/*
 * restored_server_spec.c - another simulator starts on the port of one that
 * ended, with fewer objects and lower versions, like a cluster that was
 * restored from a backup.
 */
#include "sim_client.h"

#include "base/clock.h"
#include "kubelua/informer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOST = 20, IDLE_MS = 300, PATIENCE_MS = 60000 };

/* A simulator with `maps` ConfigMaps; port 0: a free port. */
static kl_sim *serve(int maps, int port)
{
    kl_sim *sim = kl_sim_new(&(kl_sim_options){.bookmark_ms = 50}, NULL);
    kl_sim_listen_options options = {.port = port};
    kl_error err;

    assert_non_null(sim);
    for (int i = 0; i < maps; i++) {
        char name[16];

        snprintf(name, sizeof(name), "m%d", i);
        sim_add(sim, name);
    }
    if (kl_sim_listen(sim, &options, &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
    return sim;
}

static kl_client *connect_to(const kl_sim *sim)
{
    kl_config *config =
        kl_config_load(&(kl_config_options){.server = kl_sim_url(sim)}, NULL);
    kl_client *client =
        kl_client_new(&(kl_client_options){.config = config}, NULL);

    assert_non_null(client);
    kl_config_unref(config);
    return client;
}

static void await_count(const kl_informer *informer, size_t count)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;

    while (kl_informer_count(informer) != count) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        usleep(1000);
    }
}

static void objects_lost_by_a_restore_are_deleted_by_a_relist(void **state)
{
    kl_sim *sim = serve(LOST + 1, 0);
    int port = atoi(strrchr(kl_sim_url(sim), ':') + 1);
    kl_client *client = connect_to(sim);
    kl_informer_options options = {.resource = "configmaps",
                                   .name_space = "default",
                                   .idle_timeout_ms = IDLE_MS};
    kl_informer *informer = kl_informer_open(client, &options, NULL);

    (void)state;
    assert_non_null(informer);
    await_count(informer, LOST + 1);
    kl_sim_unlisten(sim);
    kl_sim_unref(sim);
    sim = serve(1, port);
    await_count(informer, 1);
    sim_add(sim, "later"); /* far below the version that the informer knows */
    await_count(informer, 2);
    kl_informer_close(informer);
    kl_client_unref(client);
    kl_sim_unref(sim);
    sim_expect_nothing_lives();
}

static void await_text(const kl_informer *informer, const char *key,
                       const char *text)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool has_text = false;

    while (!has_text) {
        kl_object *object = kl_informer_get(informer, key);

        has_text = object != NULL &&
                   strstr(kl_object_json(object, NULL, NULL), text) != NULL;
        kl_object_unref(object);
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        usleep(1000);
    }
}

static void await_version(const kl_informer *informer, int64_t version)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    char text[64] = "";

    while (strtoll(text, NULL, 10) != version) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        usleep(1000);
        kl_informer_resource_version(informer, text, sizeof(text));
    }
}

/* The same object has the same version, but other content. */
static void a_resource_version_used_twice_hides_no_change(void **state)
{
    kl_sim *sim = kl_sim_new(&(kl_sim_options){.bookmark_ms = 50}, NULL);
    kl_transport *transport = kl_sim_transport(sim, NULL);
    kl_client *client =
        kl_client_new(&(kl_client_options){.transport = transport}, NULL);
    kl_informer_options options = {.resource = "configmaps",
                                   .name_space = "default",
                                   .idle_timeout_ms = IDLE_MS};
    kl_informer *informer;
    int64_t version;

    (void)state;
    sim_add(sim, "m");
    sim_add(sim, "n");
    assert_int_equal(kl_sim_snapshot(sim, &version, NULL), KL_OK);
    informer = kl_informer_open(client, &options, NULL);
    await_count(informer, 2);
    sim_touch(sim, "m", "lost");
    sim_touch(sim, "n", "lost");
    await_text(informer, "default/n", "lost");
    kl_sim_refuse(sim, true);
    assert_int_equal(kl_sim_restore(sim, version, NULL), KL_OK);
    sim_touch(sim, "m", "found");
    kl_sim_refuse(sim, false);
    await_version(informer, version + 1);
    await_text(informer, "default/m", "found");
    kl_informer_close(informer);
    kl_client_unref(client);
    kl_transport_unref(transport);
    kl_sim_unref(sim);
    sim_expect_nothing_lives();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resource_version_used_twice_hides_no_change),
        cmocka_unit_test(objects_lost_by_a_restore_are_deleted_by_a_relist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
