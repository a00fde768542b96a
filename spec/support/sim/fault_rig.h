/*
 * fault_rig.h - a simulator that is ordered to misbehave, and requests to it
 * over a transport.
 */
#ifndef KL_SPEC_FAULT_RIG_H
#define KL_SPEC_FAULT_RIG_H

#include "sim_rig.h"

#define FAULT_OBJECTS "/api/v1/namespaces/default/configmaps"
#define FAULT_WATCH FAULT_OBJECTS "?watch=true&resourceVersion=3"

/* A deadline so far from now. */
int64_t fault_in(int ms);

/* Orders a fault, which must be possible; its number. */
int64_t fault_order(sim_rig *f, const char *rule);

/* Sends a GET; `agent` (may be NULL) says who asks. */
kl__stream *fault_send(sim_rig *f, const char *target, const char *agent);
/* The same of what is accepted; `accept` may be NULL. */
kl__stream *fault_send_as(sim_rig *f, const char *target, const char *accept);
/* The status that it gets, or minus the code. */
int fault_outcome(sim_rig *f, const char *target, const char *agent);
/* Appends its body up to the end, or to the failure that is returned. */
kl_code fault_body(sim_rig *f, const char *target, int patience_ms,
                   kl__buf *body);
kl_code fault_body_as(sim_rig *f, const char *target, const char *accept,
                      int patience_ms, kl__buf *body);

#endif
