/*
 * sim_protobuf.h - bodies of typed Go clients: application/vnd.kubernetes.
 * protobuf, read into the document that JSON would have given.
 */
#ifndef KL_SIM_PROTOBUF_H
#define KL_SIM_PROTOBUF_H

#include "sim/request/sim_ask.h"

/* Whether a body of that type is protobuf. */
bool kl__sim_is_protobuf(const char *content_type);

/* Fills ask->doc, or ask->parse with why there is none. KL_ENOMEM. */
kl_code kl__sim_protobuf_read(kl__sim_ask *ask, kl_error *err);

#endif
