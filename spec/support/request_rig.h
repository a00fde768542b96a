/*
 * request_rig.h - a client on a scripted transport, an event queue, and
 * one-line calls for specs of requests.
 */
#ifndef KL_SPEC_REQUEST_RIG_H
#define KL_SPEC_REQUEST_RIG_H

#include "fake_transport.h"
#include "kubelua/request.h"

typedef struct request_rig {
    fake_transport *fake;
    kl_client *client;
    kl_event_queue *queue;
    kl_error err; /* the error of the last result */
} request_rig;

/* cmocka's setup and teardown; the teardown asserts that nothing is left. */
int request_rig_set_up(void **state);
int request_rig_tear_down(void **state);

/* Sends a call; asserts that it was sent. Its tag is `tag`, or (NULL) the
 * rig. */
kl_request *request_send_call(request_rig *self, const kl_call *call,
                              void *tag);
kl_request *request_send_it(request_rig *self, const char *method,
                            const char *target);

/* The tag of the next event; asserts that one comes within 60 s. */
void *request_next_tag(request_rig *self);

/* Waits for the end of a request whose tag is the rig, takes its result and
 * frees it: returns the code, with the error in the rig. The second: asserts
 * that it failed; the third: that it was answered, and returns the status. */
kl_code request_end_of(request_rig *self, kl_request *request, kl_reply *reply);
kl_code request_failure_of(request_rig *self, kl_request *request);
int request_status_of(request_rig *self, kl_request *request);

#endif
