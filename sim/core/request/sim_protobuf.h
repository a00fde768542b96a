/*
 * sim_protobuf.h - decodes request bodies of typed Go clients
 * (application/vnd.kubernetes.protobuf) into the document that the same object
 * in JSON would give.
 */
#ifndef KL_SIM_PROTOBUF_H
#define KL_SIM_PROTOBUF_H

#include "sim/core/request/sim_ask.h"

/* True if a Content-Type is protobuf. */
bool kl__sim_is_protobuf(const char *content_type);

/* Decodes the body into ask->doc. If the body is malformed, ask->doc stays NULL
 * and ask->parse says why. KL_ENOMEM. */
kl_code kl__sim_protobuf_read(kl__sim_ask *ask, kl_error *err);

#endif
