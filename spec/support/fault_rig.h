/*
 * fault_rig.h - a simulator that is ordered to misbehave, and requests to it
 * over a transport.
 */
#ifndef KL_SPEC_FAULT_RIG_H
#define KL_SPEC_FAULT_RIG_H

#include "sim_client.h"

#define FAULT_OBJECTS "/api/v1/namespaces/default/configmaps"
#define FAULT_WATCH FAULT_OBJECTS "?watch=true&resourceVersion=3"

typedef struct fault_rig {
    kl_sim *sim;
    kl_transport *transport; /* in-process */
} fault_rig;

/* Of cmocka: *state is a fault_rig. Nothing may live after it. */
int fault_set_up(void **state);
int fault_tear_down(void **state);

/* A deadline so far from now. */
int64_t fault_in(int ms);

/* Orders a fault, which must be possible; its number. */
int64_t fault_order(fault_rig *f, const char *rule);

/* Sends a GET; `agent` (may be NULL) says who asks. */
kl__stream *fault_send(fault_rig *f, const char *target, const char *agent);
/* The status that it gets, or minus the code. */
int fault_outcome(fault_rig *f, const char *target, const char *agent);
/* Appends its body up to the end, or to the failure that is returned. */
kl_code fault_body(fault_rig *f, const char *target, int patience_ms,
                   kl__buf *body);

#endif
