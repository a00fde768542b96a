/*
 * sim_said.h - what a body says that it is, kind and apiVersion: the first that
 * kube-apiserver reads of it, and the first that it refuses it for.
 */
#ifndef KL_SIM_SAID_H
#define KL_SIM_SAID_H

#include "sim/json/edit.h"
#include "sim/request/sim_ask.h"

enum { KL__SIM_SAID_SIZE = 320 };

/* Why the body says nothing, in the server's words, in `out` of
 * KL__SIM_SAID_SIZE bytes; NULL: it may be an object. */
const char *kl__sim_body_fault(const kl__sim_ask *ask, char *out);
/* The same of an object that a patch has made. */
const char *kl__sim_node_fault(const kl__node *root, char *out);

#endif
