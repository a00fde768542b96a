/*
 * discovery.h - finds the resource of a name as people type it ("po",
 * "deployments.apps"), from what the server says that it serves; cached for
 * each client, asked again for an unknown name.
 */
#ifndef KL_API_DISCOVERY_H
#define KL_API_DISCOVERY_H

#include "api/client.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "object/resource.h"

/* Each client has one. NULL: out of memory. */
kl__discovery *kl__discovery_new(kl_client *client);
void kl__discovery_free(kl__discovery *discovery); /* NULL is fine */

/* For specs: sets the clock that measures the age of answers; borrowed. Not
 * while another thread resolves. */
void kl__discovery_set_clock(kl__discovery *discovery, kl__clock *clock);

/*
 * Resolves "po", "Pod", "pods", "deployments.apps", "apps/v1/Deployment",
 * "deployments.v1.apps", ... as kubectl does. The caller clears `resource`:
 * kl__resource_clear. KL_EUNKNOWN_KIND names the nearest ones, KL_ENOT_ALLOWED:
 * it cannot be listed and watched; otherwise as kl__client_open. A cached name
 * costs no request. For any other name the server is asked again: once for all
 * threads that wait, and at most once a second. A group that hangs costs at
 * most 5 s, and then only its own resources; what was known is kept.
 * Thread-safe.
 */
kl_code kl__discovery_resolve(kl_client *client, const char *name,
                              kl__resource *resource, kl__cancel *cancel,
                              kl_error *err);

/* The same with a limit: at `deadline_ms` of the real clock (< 0: none but
 * discovery's own, 30 s) it fails with KL_ETIMEOUT, and what was learned is
 * kept. */
typedef struct kl__lookup {
    kl_client *client;
    const char *name;
    int64_t deadline_ms;
    kl__cancel *cancel;
} kl__lookup;

kl_code kl__discovery_look_up(const kl__lookup *lookup, kl__resource *resource,
                              kl_error *err);

/*
 * Fills `resource` as above without a request: from the server's last answer
 * (`is_cached`), else from the table of built-in names. KL_EUNKNOWN_KIND: in
 * neither, or it cannot be watched; KL_ENOMEM. Thread-safe.
 */
kl_code kl__discovery_guess(kl_client *client, const char *name,
                            kl__resource *resource, bool *is_cached);

/* Makes the next kl__discovery_resolve ask the server even for a cached name,
 * unless it was asked within the last second. Called when a cached resource
 * turned out to be gone. Thread-safe. */
void kl__discovery_expire(kl_client *client);

#endif
