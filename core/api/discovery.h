/*
 * discovery.h - from a name as people type it to a resource that the server
 * serves; cached per client, asked again when a name is unknown.
 */
#ifndef KL_API_DISCOVERY_H
#define KL_API_DISCOVERY_H

#include "api/client.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "object/resource.h"

/* A client's own, made and freed with it. NULL: out of memory. */
kl__discovery *kl__discovery_new(kl_client *client);
void kl__discovery_free(kl__discovery *discovery); /* NULL is fine */

/* For specs: the clock that tells how old an answer is; borrowed. While
 * nobody resolves. */
void kl__discovery_set_clock(kl__discovery *discovery, kl__clock *clock);

/*
 * Resolves "po", "Pod", "pods", "deployments.apps", "apps/v1/Deployment",
 * "deployments.v1.apps", ... as kubectl does. `resource` is the caller's:
 * kl__resource_clear. KL_EUNKNOWN_KIND names the nearest ones, KL_ENOT_ALLOWED
 * is a resource that cannot be listed and watched; otherwise as
 * kl__client_open. A name in the cache costs no request; for any other the
 * server is asked again, once for all who wait for it, and at most once a
 * second. Thread-safe.
 */
kl_code kl__discovery_resolve(kl_client *client, const char *name,
                              kl__resource *resource, kl__cancel *cancel,
                              kl_error *err);

/*
 * Fills `resource` as above without asking the server: from what it said before
 * (`is_cached`), else from the table of built-in names. KL_EUNKNOWN_KIND: it is
 * in neither, or cannot be watched; KL_ENOMEM. Thread-safe.
 */
kl_code kl__discovery_guess(kl_client *client, const char *name,
                            kl__resource *resource, bool *is_cached);

/* Makes the next kl__discovery_resolve ask the server, whatever is cached,
 * unless it was asked within the last second: a resource of the cache turned
 * out to be gone. Thread-safe. */
void kl__discovery_expire(kl_client *client);

#endif
