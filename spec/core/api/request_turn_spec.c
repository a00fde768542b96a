/*
 * request_turn_spec.c - what a turn on the shared loop sends, and what it
 * leaves for the next one: no request waits for requests that came after it.
 */
#include "client_rig.h"

#include "gate.h"
#include "kubeconfigs.h"
#include "kubelua/memory.h"
#include "temp_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TOKEN_ANSWER PLUGIN_ANSWER("\"token\":\"t\"")

/* A fake transport behind a function that sees each request that is opened, on
 * the thread that opens it. */
typedef struct door {
    kl_transport base;
    fake_transport *fake;
    void (*see)(const kl__request *request);
} door;

typedef struct world {
    request_rig rig; /* first: for client_rig.h */
    door door;
} world;

static kl__stream *open_behind(kl_transport *transport,
                               const kl__request *request, kl_error *err)
{
    door *self = (door *)(void *)transport;

    if (self->see != NULL) {
        self->see(request);
    }
    return kl__transport_open(fake_transport_of(self->fake), request, err);
}

static void close_behind(kl_transport *transport)
{
    door *self = (door *)(void *)transport;

    kl__transport_close(fake_transport_of(self->fake));
}

static void free_door(kl_transport *transport)
{
    (void)transport; /* a part of the world */
}

static int set_up(void **state)
{
    static const kl__transport_ops ops = {open_behind, close_behind, free_door};
    static world self;
    void *folder, *rig;

    assert_int_equal(temp_files_setup(&folder), 0);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(request_rig_set_up(&rig), 0);
    self = (world){.rig = *(request_rig *)rig};
    self.door.base.ops = &ops;
    atomic_init(&self.door.base.refs, 1);
    self.door.fake = self.rig.fake;
    kl_client_unref(self.rig.client);
    self.rig.client = NULL;
    *state = &self;
    return 0;
}

static int tear_down(void **state)
{
    request_rig_tear_down(state);
    assert_int_equal(chdir("/"), 0);
    return temp_files_teardown(NULL);
}

/* A client that shares its thread, with a config that it takes. */
static kl_client *client_with(world *self, kl_config *config)
{
    kl_client *client =
        kl_client_new(&(kl_client_options){.config = config,
                                           .transport = &self->door.base,
                                           .shares_thread = true},
                      NULL);

    assert_non_null(client);
    kl_config_unref(config);
    return client;
}

/* A client whose token is in a file, which is read again for each request. */
static kl_client *client_of_file(world *self)
{
    temp_write("token", "one");
    return client_with(self, config_load(&(kl_config_options){
                                 .kubeconfig = kubeconfig_write(
                                     PLUGIN_CLUSTER, "{tokenFile: token}")}));
}

static kl_request *send_to(kl_client *client, const char *target)
{
    const kl_call call = {.method = "GET", .target = target};

    return kl_client_send(client, &call, NULL, NULL, NULL);
}

static void end_all(kl_request **requests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_non_null(requests[i]);
        assert_int_equal(kl_request_wait(requests[i], 60000), KL_OK);
        kl_request_free(requests[i]);
    }
}

/* ---- requests that come all the time ---- */

enum { CHAIN = 400, SOON = 8 };

static struct {
    kl_client *client;
    kl_request *victim;
    kl_request *requests[CHAIN];
    size_t count;
    size_t sent_at_end; /* how many were sent when the victim was complete */
    gate is_over;
} chain;

/* Each request that is opened sends the next one, at once: the outbox is never
 * empty after a chore. The first one cancels the victim. */
static void send_next(const kl__request *request)
{
    if (strcmp(request->target, "/chain") != 0) {
        return;
    }
    if (chain.count == 1) {
        kl_request_cancel(chain.victim);
    }
    if (chain.sent_at_end == 0 && kl_request_is_complete(chain.victim)) {
        chain.sent_at_end = chain.count;
    }
    if (chain.count < CHAIN) {
        chain.requests[chain.count++] = send_to(chain.client, "/chain");
    } else {
        gate_pass(&chain.is_over);
    }
}

static void requests_that_keep_coming_hold_up_no_cancel(void **state)
{
    world *self = *state;

    memset(&chain, 0, sizeof(chain));
    gate_init(&chain.is_over);
    fake_transport_answer(
        self->rig.fake, &(fake_answer){.target = "/held", .holds_head = true});
    self->door.see = send_next;
    chain.client = client_of_file(self);
    chain.victim = send_to(chain.client, "/held");
    assert_true(fake_transport_await(self->rig.fake, 1));
    chain.count = 1;
    chain.requests[0] = send_to(chain.client, "/chain");
    assert_true(gate_await(&chain.is_over, 1));
    end_all(chain.requests, CHAIN);
    end_all(&chain.victim, 1);
    assert_in_range(chain.sent_at_end, 1, SOON);
    kl_client_unref(chain.client);
    gate_deinit(&chain.is_over);
}

/* ---- a crowd of requests ---- */

enum { CROWD = 900, TURN = 300 /* requests that one turn may send */ };

static struct {
    gate is_open, may_go;
    size_t crowd;
    size_t before_other; /* requests of the crowd that went before the other */
} order;

static void note_order(const kl__request *request)
{
    if (strcmp(request->target, "/first") == 0) {
        gate_pass(&order.is_open);
        (void)gate_await(&order.may_go, 1);
    } else if (strcmp(request->target, "/other") == 0) {
        order.before_other = order.crowd;
    } else {
        order.crowd++;
    }
}

static void a_crowd_of_requests_holds_up_no_other_client(void **state)
{
    world *self = *state;
    static kl_request *crowd[CROWD];
    kl_client *client, *other;
    kl_request *first, *one;

    memset(&order, 0, sizeof(order));
    gate_init(&order.is_open);
    gate_init(&order.may_go);
    self->door.see = note_order;
    client = client_of_file(self);
    other = client_of_file(self);
    first = send_to(client, "/first");
    assert_true(gate_await(&order.is_open, 1));
    /* the loop is held in a turn: these wait for the next ones */
    for (size_t i = 0; i < CROWD; i++) {
        crowd[i] = send_to(client, "/crowd");
    }
    one = send_to(other, "/other");
    gate_pass(&order.may_go);
    end_all(&one, 1);
    end_all(&first, 1);
    end_all(crowd, CROWD);
    assert_in_range(order.before_other, 0, TURN);
    assert_int_equal(order.crowd, CROWD);
    kl_client_unref(client);
    kl_client_unref(other);
    gate_deinit(&order.is_open);
    gate_deinit(&order.may_go);
}

/* ---- a thread that does not start ---- */

static struct {
    atomic_bool is_armed;
    gate is_failing, may_fail;
} memory;

/* Once armed, the next allocation on the loop's thread fails, after the spec
 * has had time to send. */
static void *allocate(size_t size)
{
    char name[16] = "";

    if (atomic_load(&memory.is_armed) &&
        pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
        strcmp(name, "kl-requests") == 0 &&
        atomic_exchange(&memory.is_armed, false)) {
        gate_pass(&memory.is_failing);
        (void)gate_await(&memory.may_fail, 1);
        return NULL;
    }
    return malloc(size);
}

static void fails_for_lack_of_memory(kl_request *request)
{
    kl_error err;
    kl_reply reply;

    assert_non_null(request);
    assert_int_equal(kl_request_wait(request, 60000), KL_OK);
    assert_int_equal(kl_request_result(request, &reply, &err), KL_ENOMEM);
    assert_non_null(strstr(err.message, "out of memory for a thread"));
    kl_request_free(request);
}

static void
a_request_sent_while_the_thread_cannot_start_is_not_lost(void **state)
{
    static const kl_allocator failing = {allocate, realloc, free};
    world *self = *state;
    kl_client *client =
        client_with(self, plugin_config("echo '" TOKEN_ANSWER "'", ""));
    kl_request *first, *second, *third;

    kl_set_allocator(&failing);
    gate_init(&memory.is_failing);
    gate_init(&memory.may_fail);
    atomic_store(&memory.is_armed, true);
    first = send_to(client, "/first");
    assert_true(gate_await(&memory.is_failing, 1));
    second = send_to(client, "/second");
    gate_pass(&memory.may_fail);
    fails_for_lack_of_memory(first);
    end_all(&second, 1);
    third = send_to(client, "/third");
    end_all(&third, 1);
    assert_int_equal(fake_transport_count(self->rig.fake), 2);
    assert_int_equal(temp_count_lines("runs"), 1);
    kl_client_unref(client);
    gate_deinit(&memory.is_failing);
    gate_deinit(&memory.may_fail);
    kl_set_allocator(NULL);
}

#define TURN_SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TURN_SPEC(requests_that_keep_coming_hold_up_no_cancel),
        TURN_SPEC(a_crowd_of_requests_holds_up_no_other_client),
        TURN_SPEC(a_request_sent_while_the_thread_cannot_start_is_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
