/*
 * sim_protobuf.h - request bodies of typed Go clients
 * (application/vnd.kubernetes.protobuf), decoded into the document that JSON
 * would have given.
 */
#ifndef KL_SIM_PROTOBUF_H
#define KL_SIM_PROTOBUF_H

#include "sim/schema/schema.h"
#include "sim/request/sim_ask.h"

/* True if a Content-Type is protobuf. */
bool kl__sim_is_protobuf(const char *content_type);

/* The schema of a kind, named as objects name it: "apps/v1", "Deployment".
 * NULL: KL_EUNKNOWN_KIND, KL_ENOMEM. */
const kl__schema *kl__sim_protobuf_schema(const char *api_version,
                                          const char *kind, kl_error *err);

/* Decodes the body into ask->doc; if that fails, ask->parse says why.
 * KL_ENOMEM. */
kl_code kl__sim_protobuf_read(kl__sim_ask *ask, kl_error *err);

#endif
