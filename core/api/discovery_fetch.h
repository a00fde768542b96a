/*
 * discovery_fetch.h - asks a server for all resources that it serves: two
 * requests where it answers in the aggregated form (Kubernetes 1.26 and
 * later), else two and one for each group and version.
 */
#ifndef KL_API_DISCOVERY_FETCH_H
#define KL_API_DISCOVERY_FETCH_H

#include "api/catalogue.h"
#include "api/client.h"

/* Fills an empty catalogue. A group that cannot be asked is noted in it and is
 * no error; no answer at all is. As kl__client_open and kl__status_error;
 * KL_EPARSE, KL_ENOMEM. */
kl_code kl__discovery_fetch(kl_client *client, kl__catalogue *catalogue,
                            kl__cancel *cancel, kl_error *err);

#endif
