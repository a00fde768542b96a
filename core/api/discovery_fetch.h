/*
 * discovery_fetch.h - asks a server for all its resources: two requests if it
 * has the aggregated form (Kubernetes 1.26 and later), else two and one for
 * each group and version.
 */
#ifndef KL_API_DISCOVERY_FETCH_H
#define KL_API_DISCOVERY_FETCH_H

#include "api/catalogue.h"
#include "api/client.h"

/* What is asked, and for what. */
typedef struct kl__survey {
    kl_client *client;
    kl__catalogue *catalogue;    /* empty; it is filled */
    const kl__catalogue *former; /* what was known; NULL: nothing */
    const char *name;    /* that is looked up: its group is asked first, and
                            the others have less time. NULL: none */
    int64_t deadline_ms; /* on the real clock */
    int64_t now_ms;      /* on the clock of kl__catalogue_hung_ms */
    kl__cancel *cancel;
} kl__survey;

/*
 * Fills the catalogue. If the server answers with an error for one group and
 * version, or not in time, that is noted in the catalogue and is no error; what
 * was known of it is kept. A 403 or 404 for /api or /apis is an error only if
 * both fail. All other failures are errors. As kl__client_open and
 * kl__status_error; KL_EPARSE, KL_ENOMEM, KL_ETOO_LARGE.
 */
kl_code kl__discovery_fetch(const kl__survey *survey, kl_error *err);

#endif
