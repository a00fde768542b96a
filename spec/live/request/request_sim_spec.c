/*
 * request_sim_spec.c - requests to a simulated cluster in-process, over HTTP
 * and over TLS, with and without faults.
 */
#include "base/clock.h"
#include "kubelua/kubelua.h"
#include "kubelua/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

enum { PATIENCE_MS = 60000, MANY = 200 };

typedef enum way { INSIDE, HTTP, TLS } way;

typedef struct world {
    way way;
    kl_sim *sim;
    kl_client *client;
    kl_event_queue *queue;
    kl_error err;
} world;

/* ---- a cluster, a client and requests ---- */

static kl_client *connect(const world *self)
{
    kl_transport *transport = NULL;
    kl_config *config = NULL;
    kl_client *client;

    if (self->way == INSIDE) {
        transport = kl_sim_transport(self->sim, NULL);
    } else {
        config =
            kl_config_load(&(kl_config_options){.server = kl_sim_url(self->sim),
                                                .insecure = self->way == TLS},
                           NULL);
    }
    client = kl_client_new(
        &(kl_client_options){.config = config, .transport = transport}, NULL);
    assert_non_null(client);
    kl_transport_unref(transport);
    kl_config_unref(config);
    return client;
}

static void begin(world *self, way how)
{
    *self = (world){.way = how, .sim = kl_sim_new(NULL, NULL)};
    assert_non_null(self->sim);
    if (how != INSIDE) {
        const kl_sim_listen_options options = {.tls = how == TLS};

        assert_int_equal(kl_sim_listen(self->sim, &options, &self->err), KL_OK);
    }
    self->client = connect(self);
    self->queue = kl_event_queue_new(NULL);
    assert_non_null(self->queue);
}

static void end(world *self)
{
    kl_client_unref(self->client);
    kl_event_queue_free(self->queue);
    kl_sim_unref(self->sim);
    assert_int_equal(kl_live_count(KL_LIVE_REQUEST), 0);
    assert_int_equal(kl_live_count(KL_LIVE_STREAM), 0);
    assert_int_equal(kl_live_count(KL_LIVE_CLIENT), 0);
    assert_int_equal(kl_live_count(KL_LIVE_QUEUE), 0);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

static kl_request *send_call(world *self, const kl_call *call, void *tag)
{
    kl_request *request =
        kl_client_send(self->client, call, self->queue, tag, &self->err);

    if (request == NULL) {
        fail_msg("%s", self->err.message);
    }
    return request;
}

static void *next_tag(world *self)
{
    void *tag;

    while ((tag = kl_event_queue_next(self->queue)) == NULL) {
        assert_int_equal(kl_event_queue_wait(self->queue, PATIENCE_MS), KL_OK);
    }
    return tag;
}

static kl_code end_of(world *self, kl_request *request, int *status)
{
    kl_reply reply;
    kl_code code;

    assert_int_equal(kl_request_wait(request, PATIENCE_MS), KL_OK);
    self->err = (kl_error){0};
    code = kl_request_result(request, &reply, &self->err);
    *status = reply.status;
    kl_reply_clear(&reply);
    kl_request_free(request);
    while (kl_event_queue_next(self->queue) != NULL) {
    }
    return code;
}

/* A call that creates a ConfigMap; its body is valid until the next call. */
static kl_call create(const char *name)
{
    static char body[128];
    int length = snprintf(body, sizeof(body),
                          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                          "\"metadata\":{\"name\":\"%s\"}}",
                          name);

    return (kl_call){.method = "POST",
                     .target = CONFIGMAPS,
                     .body = body,
                     .body_length = (size_t)length};
}

static void order(world *self, const char *fault)
{
    assert_int_equal(
        kl_sim_fault(self->sim, fault, strlen(fault), NULL, &self->err), KL_OK);
}

/* How many requests with this method the cluster got. */
static int asked(world *self, const char *method)
{
    char *all = kl_sim_requests(self->sim, NULL);
    char wanted[32];
    int count = 0;

    assert_non_null(all);
    snprintf(wanted, sizeof(wanted), "\"method\":\"%s\"", method);
    for (char *at = all; (at = strstr(at, wanted)) != NULL; at++) {
        count++;
    }
    kl_free(all);
    return count;
}

/* ---- each way ---- */

static void hundreds_at_once_are_all_answered(world *self)
{
    kl_request *requests[MANY];
    char name[16];
    int status;

    order(self, "{\"action\":\"delay\",\"verb\":\"create\",\"before\":0.05}");
    for (int i = 0; i < MANY; i++) {
        kl_call call;

        snprintf(name, sizeof(name), "c%d", i);
        call = create(name);
        requests[i] = send_call(self, &call, &requests[i]);
    }
    for (int i = 0; i < MANY; i++) {
        kl_request **which = next_tag(self);
        kl_reply reply;

        assert_true(kl_request_is_complete(*which));
        assert_int_equal(kl_request_result(*which, &reply, &self->err), KL_OK);
        assert_int_equal(reply.status, 201);
        assert_non_null(kl_reply_header(&reply, "Content-Type"));
        assert_non_null(kl_reply_header(&reply, "cache-control"));
        kl_reply_clear(&reply);
        kl_request_free(*which);
    }
    assert_int_equal(asked(self, "POST"), MANY);
    assert_int_equal(end_of(self,
                            send_call(self,
                                      &(kl_call){.method = "GET",
                                                 .target = CONFIGMAPS "/c199"},
                                      self),
                            &status),
                     KL_OK);
    assert_int_equal(status, 200);
}

static void a_write_whose_connection_is_cut_is_unknown(world *self)
{
    const kl_call call = create("cut");
    int status;

    order(self, "{\"action\":\"cut\",\"verb\":\"create\",\"count\":1}");
    assert_int_equal(end_of(self, send_call(self, &call, self), &status),
                     KL_EUNKNOWN);
    assert_int_equal(asked(self, "POST"), 1);
}

static void a_read_whose_connection_is_cut_is_tried_again(world *self)
{
    const kl_call call = {.method = "GET", .target = CONFIGMAPS};
    int status;

    order(self, "{\"action\":\"cut\",\"verb\":\"list\",\"count\":1}");
    assert_int_equal(end_of(self, send_call(self, &call, self), &status),
                     KL_OK);
    assert_int_equal(status, 200);
    assert_int_equal(asked(self, "GET"), 2);
}

static void a_429_with_retry_after_is_tried_again_by_a_request(world *self)
{
    const kl_sim_failure busy = {
        .verb = "create", .count = 1, .status = 429, .retry_after_seconds = 1};
    const kl_call call = create("again");
    int status;

    assert_int_equal(kl_sim_fail(self->sim, &busy, NULL), KL_OK);
    assert_int_equal(end_of(self, send_call(self, &call, self), &status),
                     KL_OK);
    assert_int_equal(status, 201);
    assert_int_equal(asked(self, "POST"), 2);
}

static void a_frozen_server_is_a_timeout_or_unknown(world *self)
{
    kl_call get = {.method = "GET", .target = CONFIGMAPS, .timeout_ms = 50};
    kl_call post = create("frozen");
    kl_request *one, *two;
    int status;

    /* Open a connection before the server freezes. */
    get.timeout_ms = 0;
    assert_int_equal(end_of(self, send_call(self, &get, self), &status), KL_OK);
    kl_sim_freeze(self->sim, true);
    get.timeout_ms = 200;
    post.timeout_ms = 200;
    one = send_call(self, &get, self);
    two = send_call(self, &post, self);
    assert_int_equal(end_of(self, one, &status), KL_ETIMEOUT);
    assert_int_equal(end_of(self, two, &status), KL_EUNKNOWN);
    kl_sim_freeze(self->sim, false);
}

static void a_server_that_refuses_is_unavailable(world *self)
{
    const kl_call call = create("refused");
    int status;

    kl_sim_refuse(self->sim, true);
    assert_int_equal(end_of(self, send_call(self, &call, self), &status),
                     KL_EUNAVAILABLE);
    assert_int_equal(asked(self, "POST"), 0);
    kl_sim_refuse(self->sim, false);
}

/* A watch is the only stream of a simulator. */
static void a_watch_is_read_as_its_events_come(world *self)
{
    const kl_call watch = {
        .method = "GET", .target = CONFIGMAPS "?watch=true", .streams = true};
    kl_request *request = send_call(self, &watch, self);
    char text[4096] = "", name[16], wanted[32];
    int status;

    assert_int_equal(kl_request_wait(request, PATIENCE_MS), KL_OK);
    for (int i = 0; i < 3; i++) {
        size_t used = 0, length;
        kl_reply reply;
        kl_call call;

        snprintf(name, sizeof(name), "w%d", i);
        snprintf(wanted, sizeof(wanted), "\"name\":\"%s\"", name);
        call = create(name);
        assert_int_equal(kl_sim_call(self->sim, &call, &reply, NULL), KL_OK);
        kl_reply_clear(&reply);
        while (strstr(text, wanted) == NULL) {
            kl_code code =
                kl_request_read(request, text + used, sizeof(text) - 1 - used,
                                &length, &self->err);

            if (code == KL_ETIMEOUT) {
                assert_ptr_equal(next_tag(self), self);
            } else {
                assert_int_equal(code, KL_OK);
                assert_true(length != 0);
                used += length;
                text[used] = '\0';
            }
        }
    }
    kl_request_cancel(request);
    (void)end_of(self, request, &status);
}

static void closing_ends_hundreds_in_flight(world *self)
{
    const kl_call get = {.method = "GET", .target = CONFIGMAPS};
    kl_request *requests[MANY];
    int64_t began_ms;

    kl_sim_freeze(self->sim, true);
    for (int i = 0; i < MANY; i++) {
        requests[i] = send_call(self, &get, &requests[i]);
    }
    began_ms = kl__clock_now(kl__clock_real());
    kl_client_close(self->client);
    for (int i = 0; i < MANY; i++) {
        kl_request **which = next_tag(self);
        kl_reply reply;

        assert_int_equal(kl_request_result(*which, &reply, NULL), KL_ECLOSED);
        kl_request_free(*which);
    }
    assert_true(kl__clock_now(kl__clock_real()) - began_ms < 2000);
}

static void freeing_hundreds_in_flight_leaves_nothing(world *self)
{
    kl_request *requests[MANY];

    kl_sim_freeze(self->sim, true);
    for (int i = 0; i < MANY; i++) {
        const kl_call call = create("freed");

        requests[i] = send_call(self, &call, self);
    }
    for (int i = 0; i < MANY; i++) {
        kl_request_free(requests[i]);
    }
    kl_sim_freeze(self->sim, false);
    assert_null(kl_event_queue_next(self->queue));
}

static void each_way(void (*spec)(world *self))
{
    for (way how = INSIDE; how <= TLS; how++) {
        world self;

        begin(&self, how);
        spec(&self);
        end(&self);
    }
}

#define EACH_WAY(spec)                    \
    static void spec##_each_way(void **s) \
    {                                     \
        (void)s;                          \
        each_way(spec);                   \
    }

EACH_WAY(hundreds_at_once_are_all_answered)
EACH_WAY(a_write_whose_connection_is_cut_is_unknown)
EACH_WAY(a_read_whose_connection_is_cut_is_tried_again)
EACH_WAY(a_429_with_retry_after_is_tried_again_by_a_request)
EACH_WAY(a_frozen_server_is_a_timeout_or_unknown)
EACH_WAY(a_server_that_refuses_is_unavailable)
EACH_WAY(a_watch_is_read_as_its_events_come)
EACH_WAY(closing_ends_hundreds_in_flight)
EACH_WAY(freeing_hundreds_in_flight_leaves_nothing)

#define SPEC(spec) cmocka_unit_test(spec##_each_way)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(hundreds_at_once_are_all_answered),
        SPEC(a_write_whose_connection_is_cut_is_unknown),
        SPEC(a_read_whose_connection_is_cut_is_tried_again),
        SPEC(a_429_with_retry_after_is_tried_again_by_a_request),
        SPEC(a_frozen_server_is_a_timeout_or_unknown),
        SPEC(a_server_that_refuses_is_unavailable),
        SPEC(a_watch_is_read_as_its_events_come),
        SPEC(closing_ends_hundreds_in_flight),
        SPEC(freeing_hundreds_in_flight_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
