/*
 * request_rig.h - a client on a scripted transport, an event queue, and what
 * specs do with requests, in a line each.
 */
#ifndef KL_SPEC_REQUEST_RIG_H
#define KL_SPEC_REQUEST_RIG_H

#include "fake_transport.h"
#include "kubelua/request.h"

typedef struct request_rig {
    fake_transport *fake;
    kl_client *client;
    kl_event_queue *queue;
    kl_error err; /* of the last result */
} request_rig;

/* Of cmocka; the second asserts that nothing lives. */
int request_rig_set_up(void **state);
int request_rig_tear_down(void **state);

/* Sends a call; asserts that it was sent. Its tag is `tag`, or the rig. */
kl_request *request_send_call(request_rig *self, const kl_call *call,
                              void *tag);
kl_request *request_send_it(request_rig *self, const char *method,
                            const char *target);

/* The next tag; asserts that one comes within 60 s. */
void *request_next_tag(request_rig *self);

/* Waits for the tag of a request, which is the rig, takes its result and frees
 * it: its code, with the error in the rig; the same of one that must fail; the
 * status of one that must be answered. */
kl_code request_end_of(request_rig *self, kl_request *request, kl_reply *reply);
kl_code request_failure_of(request_rig *self, kl_request *request);
int request_status_of(request_rig *self, kl_request *request);

#endif
