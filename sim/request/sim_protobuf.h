/*
 * sim_protobuf.h - bodies of typed Go clients: application/vnd.kubernetes.
 * protobuf, read into the document that JSON would have given.
 */
#ifndef KL_SIM_PROTOBUF_H
#define KL_SIM_PROTOBUF_H

#include "sim/schema/schema.h"
#include "sim/request/sim_ask.h"

/* Whether a body of that type is protobuf. */
bool kl__sim_is_protobuf(const char *content_type);

/* The schema of a kind by the words of an object: "apps/v1", "Deployment".
 * NULL: KL_EUNKNOWN_KIND, KL_ENOMEM. */
const kl__schema *kl__sim_protobuf_schema(const char *api_version,
                                          const char *kind, kl_error *err);

/* Fills ask->doc, or ask->parse with why there is none. KL_ENOMEM. */
kl_code kl__sim_protobuf_read(kl__sim_ask *ask, kl_error *err);

#endif
