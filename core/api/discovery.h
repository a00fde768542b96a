/*
 * discovery.h - from a name as people type it to a resource that the server
 * serves; cached per client, asked again when a name is unknown.
 */
#ifndef KL_API_DISCOVERY_H
#define KL_API_DISCOVERY_H

#include "base/cancel.h"
#include "kubelua/client.h"
#include "object/resource.h"

/*
 * Resolves "po", "Pod", "pods", "deployments.apps", "apps/v1/Deployment",
 * "deployments.v1.apps", ... as kubectl does. `resource` is the caller's:
 * kl__resource_clear. KL_EUNKNOWN_KIND names the nearest ones; otherwise as
 * kl__client_open. Asks the network unless cached. Thread-safe.
 */
kl_code kl__discovery_resolve(kl_client *client, const char *name,
                              kl__resource *resource, kl__cancel *cancel,
                              kl_error *err);

/* The same from the cache alone: false if the name is not in it. */
bool kl__discovery_cached(kl_client *client, const char *name,
                          kl__resource *resource);

#endif
