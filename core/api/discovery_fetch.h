/*
 * discovery_fetch.h - asks a server for all its resources: two requests if it
 * has the aggregated form (Kubernetes 1.26 and later), else two and one for
 * each group and version.
 */
#ifndef KL_API_DISCOVERY_FETCH_H
#define KL_API_DISCOVERY_FETCH_H

#include "api/catalogue.h"
#include "api/client.h"

/* Fills an empty catalogue. If the server answers with an error for one group
 * and version, that is noted in the catalogue and is no error. A 403 or 404 for
 * /api or /apis is an error only if both fail. All other failures are errors.
 * As kl__client_open and kl__status_error; KL_EPARSE, KL_ENOMEM. */
kl_code kl__discovery_fetch(kl_client *client, kl__catalogue *catalogue,
                            kl__cancel *cancel, kl_error *err);

#endif
