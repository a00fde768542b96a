/*
 * port_calls_spec.c - orders faults of a port that is in use, by calls and by
 * requests, with each allocation failing. After each failure a request is
 * served as before, or as ordered.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "kubelua/kubelua.h"
#include "kubelua/sim.h"
#include "sim_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

/* A cluster on a port, and a spare one, whose port is opened in a run. */
typedef struct port {
    kl_sim *sim;
    kl_sim *spare;
} port;

static kl_code order(kl_sim *sim, const char *rule, kl_error *err)
{
    return kl_sim_fault(sim, rule, strlen(rule), NULL, err);
}

static kl_code order_certificate(void *world, kl_error *err)
{
    const port *self = world;

    return order(self->sim, "{\"action\":\"certificate\",\"seconds\":60}", err);
}

static kl_code order_refusal(void *world, kl_error *err)
{
    const port *self = world;
    kl_code code =
        order(self->sim, "{\"action\":\"refuse\",\"seconds\":3600}", err);

    kl_sim_refuse(self->sim, false);
    return code;
}

static kl_code order_slow_handshakes(void *world, kl_error *err)
{
    const port *self = world;
    kl_code code = order(self->sim, "{\"action\":\"tls\"}", err);

    (void)kl_sim_heal(self->sim, 0);
    return code;
}

static kl_code order_by_request(void *world, kl_error *err)
{
    static const char rule[] =
        "{\"action\":\"wire\",\"how\":\"no_http\",\"verb\":\"patch\"}";
    const port *self = world;
    const kl_call call = {.method = "POST",
                          .target = "/kubelua/faults",
                          .body = rule,
                          .body_length = sizeof(rule) - 1};
    kl_reply reply;
    kl_code code = kl_sim_call(self->sim, &call, &reply, err);

    if (code == KL_OK) {
        assert_int_equal(reply.status, 201);
        kl_reply_clear(&reply);
    }
    (void)kl_sim_heal(self->sim, 0);
    return code;
}

static kl_code move_certificate(void *world, kl_error *err)
{
    const port *self = world;
    const kl_sim_listen_options options = {.tls = true};

    kl_sim_unlisten(self->spare);
    return kl_sim_listen(self->spare, &options, err);
}

static const every_call calls[] = {
    REFUSES(kl_sim_fault, order_certificate),
    REFUSES(kl_sim_fault, order_refusal),
    REFUSES(kl_sim_fault, order_slow_handshakes),
    REFUSES(kl_sim_call, order_by_request),
    REFUSES(kl_sim_listen, move_certificate),
};

static void assert_served(void *world)
{
    const port *self = world;

    assert_non_null(kl_sim_url(self->sim));
    sim_expect(self->sim, "GET", CONFIGMAPS, NULL, 200);
}

static void faults_of_a_port_survive_each_failed_allocation(void **state)
{
    port world;

    (void)state;
    failing_alloc_install();
    world.sim = kl_sim_new(NULL, NULL);
    world.spare = kl_sim_new(NULL, NULL);
    assert_int_equal(
        kl_sim_listen(world.sim, &(kl_sim_listen_options){.tls = true}, NULL),
        KL_OK);
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = &world,
                                       .assert_whole = assert_served,
                                       .is_busy = true});
    kl_sim_unref(world.spare);
    kl_sim_unref(world.sim);
    sim_expect_nothing_lives();
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_a_port_survive_each_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
