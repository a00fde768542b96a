/*
 * request_calls_spec.c - every public call on requests, with each allocation
 * failing on the thread that makes it: the caller's thread, or a thread of the
 * request sender.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "kubelua/kubelua.h"
#include "kubelua/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

/* Each run has its own client, whose threads end with the run. */
typedef struct world {
    kl_sim *sim;
    kl_client *client;
    kl_event_queue *queue;
    kl_request *request;
} world;

static const kl_header extra[] = {{"X-Reason", "spec"}};

static kl_code begin(void *world_, kl_error *err)
{
    world *self = world_;
    kl_transport *transport = kl_sim_transport(self->sim, err);

    self->client =
        kl_client_new(&(kl_client_options){.transport = transport}, err);
    self->queue = kl_event_queue_new(err);
    self->request = NULL;
    kl_transport_unref(transport);
    return self->client != NULL && self->queue != NULL ? KL_OK : err->code;
}

static void end(world *self)
{
    kl_request_free(self->request);
    kl_event_queue_free(self->queue);
    kl_client_unref(self->client);
    /* requests that it remembers are no leak */
    kl_sim_requests_clear(self->sim);
}

static kl_code send_call(world *self, bool streams, kl_error *err)
{
    const kl_call call = {.method = "GET",
                          .target = CONFIGMAPS,
                          .headers = extra,
                          .header_count = 1,
                          .streams = streams};

    self->request = kl_client_send(self->client, &call, self->queue, self, err);
    return self->request != NULL ? KL_OK : err->code;
}

/* Waits for the request as an event loop does. */
static void await_tag(world *self)
{
    while (kl_event_queue_next(self->queue) != self) {
        assert_int_equal(kl_event_queue_wait(self->queue, 60000), KL_OK);
    }
    assert_true(kl_request_is_complete(self->request));
    assert_int_equal(kl_request_wait(self->request, 0), KL_OK);
}

static kl_code send_and_await(void *world_, kl_error *err)
{
    world *self = world_;
    kl_code code = send_call(self, false, err);
    kl_reply reply;

    if (code == KL_OK) {
        await_tag(self);
        code = kl_request_result(self->request, &reply, err);
        assert_true(code == KL_OK ? reply.status == 200 : reply.body == NULL);
        kl_reply_clear(&reply);
    }
    end(self);
    return code;
}

static kl_code read_all(world *self, kl_error *err)
{
    char bytes[256];
    size_t length = 0;
    kl_code code;

    do {
        code =
            kl_request_read(self->request, bytes, sizeof(bytes), &length, err);
        if (code == KL_ETIMEOUT) {
            await_tag(self);
        }
    } while (code == KL_ETIMEOUT || length != 0);
    return code;
}

static kl_code send_and_read(void *world_, kl_error *err)
{
    world *self = world_;
    kl_code code = send_call(self, true, err);
    kl_reply reply;

    if (code == KL_OK) {
        await_tag(self);
        code = kl_request_result(self->request, &reply, err);
        kl_reply_clear(&reply);
    }
    if (code == KL_OK) {
        code = read_all(self, err);
    }
    end(self);
    return code;
}

static kl_code send_and_wait(void *world_, kl_error *err)
{
    world *self = world_;
    kl_code code = send_call(self, false, err);
    kl_reply reply;

    if (code == KL_OK) {
        assert_int_equal(kl_request_wait(self->request, -1), KL_OK);
        code = kl_request_result(self->request, &reply, err);
        kl_reply_clear(&reply);
    }
    end(self);
    return code;
}

static kl_code call_inside(void *world_, kl_error *err)
{
    world *self = world_;
    const kl_call call = {.method = "GET", .target = CONFIGMAPS};
    kl_reply reply;
    kl_code code = kl_client_call(self->client, &call, &reply, err);

    assert_true(code == KL_OK ? reply.status == 200 : reply.body == NULL);
    if (code == KL_OK) {
        assert_string_equal(kl_reply_header(&reply, "Content-Type"),
                            "application/json");
    }
    kl_reply_clear(&reply);
    end(self);
    return code;
}

#define VERB_JSON                                    \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," \
    "\"metadata\":{\"name\":\"shop\"}}"
#define VERB_NEW "{\"metadata\":{\"generateName\":\"shop-\"}}"

/* ---- verbs: as if only, so that the cluster stays as it is ---- */

static const kl_target shop = {.resource = "configmaps", .name = "shop"};
static const kl_verb_options as_if = {.dry_run = true,
                                      .propagation = "Background"};

static kl_code end_with(world *self, kl_object *object, const kl_error *err)
{
    kl_code code = object != NULL ? KL_OK : err->code;

    kl_object_unref(object);
    end(self);
    return code;
}

static kl_code create_as_if(void *world_, kl_error *err)
{
    world *self = world_;

    return end_with(self, kl_create(self->client, &shop, VERB_NEW, &as_if, err),
                    err);
}

static kl_code apply_as_if(void *world_, kl_error *err)
{
    world *self = world_;

    return end_with(self, kl_apply(self->client, &shop, VERB_JSON, &as_if, err),
                    err);
}

static kl_code patch_as_if(void *world_, kl_error *err)
{
    world *self = world_;

    return end_with(
        self, kl_patch(self->client, &shop, "{\"data\":{}}", &as_if, err), err);
}

static kl_code get_one(void *world_, kl_error *err)
{
    world *self = world_;

    return end_with(self, kl_get(self->client, &shop, NULL, err), err);
}

static kl_code list_all(void *world_, kl_error *err)
{
    world *self = world_;
    kl_object_list list;
    kl_code code = kl_list(self->client, &shop, NULL, &list, err);

    assert_true(code == KL_OK ? list.count > 0 : list.items == NULL);
    kl_object_list_clear(&list);
    end(self);
    return code;
}

static kl_code delete_as_if(void *world_, kl_error *err)
{
    world *self = world_;
    kl_code code = kl_delete(self->client, &shop, &as_if, err);

    end(self);
    return code;
}

static kl_code look_at_reply(void *world_, kl_error *err)
{
    const kl_header headers[] = {{"a", "1"}};
    const kl_reply reply = {.headers = (kl_header *)(uintptr_t)headers,
                            .header_count = 1};

    (void)world_;
    (void)err;
    assert_string_equal(kl_reply_header(&reply, "A"), "1");
    return KL_OK;
}

/* ---- calls that need no memory, on a request that is in flight ---- */

static kl_code begin_frozen(void *world_, kl_error *err)
{
    world *self = world_;
    kl_code code = begin(self, err);

    kl_sim_freeze(self->sim, true);
    return code == KL_OK ? send_call(self, true, err) : code;
}

static kl_code cancel_it(void *world_, kl_error *err)
{
    world *self = world_;

    (void)err;
    kl_request_cancel(self->request);
    return KL_OK;
}

static kl_code ask_it(void *world_, kl_error *err)
{
    world *self = world_;
    kl_reply reply;
    char byte;
    size_t length;

    (void)err;
    assert_false(kl_request_is_complete(self->request));
    assert_int_equal(kl_request_wait(self->request, 0), KL_ETIMEOUT);
    assert_int_equal(kl_request_result(self->request, &reply, NULL), KL_EINVAL);
    assert_int_equal(kl_request_read(self->request, &byte, 1, &length, NULL),
                     KL_EINVAL);
    return KL_OK;
}

static kl_code free_it(void *world_, kl_error *err)
{
    world *self = world_;

    (void)err;
    kl_request_free(self->request);
    self->request = NULL;
    return KL_OK;
}

static const every_call calls[] = {
    REFUSES_AFTER(kl_client_call, call_inside, begin),
    NEVER_ALLOCATES(kl_reply_header, look_at_reply),
    REFUSES_AFTER(kl_client_send, send_and_await, begin),
    REFUSES_AFTER(kl_request_wait, send_and_wait, begin),
    REFUSES_AFTER(kl_request_result, send_and_await, begin),
    REFUSES_AFTER(kl_request_read, send_and_read, begin),
    REFUSES_AFTER(kl_create, create_as_if, begin),
    REFUSES_AFTER(kl_apply, apply_as_if, begin),
    REFUSES_AFTER(kl_patch, patch_as_if, begin),
    REFUSES_AFTER(kl_get, get_one, begin),
    REFUSES_AFTER(kl_list, list_all, begin),
    REFUSES_AFTER(kl_delete, delete_as_if, begin),
};

static const every_call frugal[] = {
    NEVER_ALLOCATES_AFTER(kl_request_is_complete, ask_it, begin_frozen),
    NEVER_ALLOCATES_AFTER(kl_request_cancel, cancel_it, begin_frozen),
    NEVER_ALLOCATES_AFTER(kl_request_free, free_it, begin_frozen),
};

static void each_call_on_requests_survives_each_failed_allocation(void **state)
{
    world self = {0};

    (void)state;
    failing_alloc_install();
    self.sim = kl_sim_new(NULL, NULL);
    assert_non_null(self.sim);
    assert_int_equal(kl_sim_load(self.sim, VERB_JSON, strlen(VERB_JSON), NULL),
                     KL_OK);
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = &self});
    kl_sim_unref(self.sim);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

static void ending_a_request_needs_no_memory(void **state)
{
    world self = {0};

    (void)state;
    failing_alloc_install();
    for (size_t i = 0; i < sizeof(frugal) / sizeof(frugal[0]); i++) {
        self.sim = kl_sim_new(NULL, NULL);
        assert_non_null(self.sim);
        every_call_try(&frugal[i], 1, &(every_call_stage){.world = &self});
        end(&self);
        kl_sim_unref(self.sim);
        assert_int_equal(failing_alloc_live(), 0);
    }
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_on_requests_survives_each_failed_allocation),
        cmocka_unit_test(ending_a_request_needs_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
