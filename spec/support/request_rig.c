/*
 * request_rig.c - see request_rig.h.
 */
#include "request_rig.h"

#include "kubelua/memory.h"
#include "served.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PATIENCE_MS = 60000 };

int request_rig_set_up(void **state)
{
    static request_rig shared;

    shared = (request_rig){.fake = fake_transport_new()};
    shared.client = client_on(shared.fake);
    shared.queue = kl_event_queue_new(NULL);
    *state = &shared;
    return 0;
}

int request_rig_tear_down(void **state)
{
    request_rig *self = *state;

    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    kl_event_queue_free(self->queue);
    assert_int_equal(kl_live_count(KL_LIVE_REQUEST), 0);
    assert_int_equal(kl_live_count(KL_LIVE_QUEUE), 0);
    assert_nothing_lives();
    return 0;
}

kl_request *request_send_call(request_rig *self, const kl_call *call, void *tag)
{
    kl_request *request =
        kl_client_send(self->client, call, self->queue, tag, &self->err);

    if (request == NULL) {
        fail_msg("%s", self->err.message);
    }
    return request;
}

kl_request *request_send_it(request_rig *self, const char *method,
                            const char *target)
{
    const kl_call call = {.method = method, .target = target};

    return request_send_call(self, &call, self);
}

void *request_next_tag(request_rig *self)
{
    void *tag;

    while ((tag = kl_event_queue_next(self->queue)) == NULL) {
        assert_int_equal(kl_event_queue_wait(self->queue, PATIENCE_MS), KL_OK);
    }
    return tag;
}

kl_code request_end_of(request_rig *self, kl_request *request, kl_reply *reply)
{
    kl_code code;

    assert_ptr_equal(request_next_tag(self), self);
    self->err = (kl_error){0};
    code = kl_request_result(request, reply, &self->err);
    kl_request_free(request);
    return code;
}

kl_code request_failure_of(request_rig *self, kl_request *request)
{
    kl_reply reply;
    kl_code code = request_end_of(self, request, &reply);

    assert_int_not_equal(code, KL_OK);
    assert_int_equal(self->err.code, code);
    assert_null(reply.body);
    return code;
}

int request_status_of(request_rig *self, kl_request *request)
{
    kl_reply reply;
    int status;

    if (request_end_of(self, request, &reply) != KL_OK) {
        fail_msg("%s", self->err.message);
    }
    status = reply.status;
    kl_reply_clear(&reply);
    return status;
}
