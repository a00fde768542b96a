/*
 * discovery_cache.h - a client's cache of the resources that its server serves,
 * and the state of the lookup that refreshes it. discovery.c sends the
 * requests; this file sends none.
 */
#ifndef KL_API_DISCOVERY_CACHE_H
#define KL_API_DISCOVERY_CACHE_H

#include "api/catalogue.h"
#include "api/discovery.h"
#include "kubelua/error.h"

struct kl__discovery {
    kl_client *client; /* its owner */
    kl__clock *clock;

    kl__mutex mutex;  /* rank CLIENT; guards all below; not held during a
                         request */
    kl__list waiting; /* lookups that wait for the refresh of another one */
    kl__catalogue *catalogue; /* NULL before the first answer */
    int64_t answered_ms;      /* when the last answer came, on the clock */
    bool is_expired;
    bool in_flight;
    uint64_t flights; /* refreshes that have ended */
    kl_error outcome; /* the result of the last refresh */
};

/* The cache at one moment. */
typedef struct kl__discovery_known {
    kl__catalogue *catalogue; /* a reference, or NULL */
    bool is_young; /* the answer is younger than YOUNG_MS, and whole */
    bool is_valid; /* its entries may be used (see kl__discovery_expire) */
    uint64_t flights;
} kl__discovery_known;

/* Thread-safe. The caller unrefs the catalogue, if there is one. */
kl__discovery_known kl__discovery_view(kl__discovery *self);

#endif
