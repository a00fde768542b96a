/*
 * sim_said.h - checks kind and apiVersion of a body. kube-apiserver reads these
 * two first, and refuses a body for them before anything else.
 */
#ifndef KL_SIM_SAID_H
#define KL_SIM_SAID_H

#include "sim/core/json/edit.h"
#include "sim/core/request/sim_ask.h"

enum { KL__SIM_SAID_SIZE = 320 };

/* Writes why kind and apiVersion cannot be read from the body, in the server's
 * words, to `out` (KL__SIM_SAID_SIZE bytes) and returns it. NULL: no fault. */
const char *kl__sim_body_fault(const kl__sim_ask *ask, char *out);
/* The same for an object that a patch has made. */
const char *kl__sim_node_fault(const kl__node *root, char *out);

#endif
