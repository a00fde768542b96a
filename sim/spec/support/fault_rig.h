/*
 * fault_rig.h - a simulator with faults, and requests to it over a transport.
 */
#ifndef KL_SPEC_FAULT_RIG_H
#define KL_SPEC_FAULT_RIG_H

#include "sim_rig.h"

#define FAULT_OBJECTS "/api/v1/namespaces/default/configmaps"
#define FAULT_WATCH FAULT_OBJECTS "?watch=true&resourceVersion=3"

/* A deadline `ms` milliseconds from now. */
int64_t fault_in(int ms);

/* Orders a fault, in JSON or YAML; asserts that it was accepted. Returns its
 * id. */
int64_t fault_order(sim_rig *f, const char *rule);

/* Sends a GET; `agent` (may be NULL) is the User-Agent. */
kl__stream *fault_send(sim_rig *f, const char *target, const char *agent);
/* The status of the answer, or minus the code of the failure. */
int fault_outcome(sim_rig *f, const char *target, const char *agent);
/* Appends the body up to its end, or to the failure that it returns. */
kl_code fault_body(sim_rig *f, const char *target, int patience_ms,
                   kl__buf *body);

#endif
