/*
 * discovery_fetch.h - asks a server for all its resources: two requests if it
 * has the aggregated form (Kubernetes 1.26 and later), else two and one for
 * each group and version.
 */
#ifndef KL_API_DISCOVERY_FETCH_H
#define KL_API_DISCOVERY_FETCH_H

#include "api/catalogue.h"
#include "api/client.h"

/* Fills an empty catalogue. A group for which the request fails is noted in it;
 * it is an error only if no request succeeds. As kl__client_open and
 * kl__status_error; KL_EPARSE, KL_ENOMEM. */
kl_code kl__discovery_fetch(kl_client *client, kl__catalogue *catalogue,
                            kl__cancel *cancel, kl_error *err);

#endif
