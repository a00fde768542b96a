/*
 * owner_rig.h - Services and EndpointSlices of a simulated cluster, and what a
 * shared map says of them.
 */
#ifndef KL_SPEC_OWNER_RIG_H
#define KL_SPEC_OWNER_RIG_H

#include "kubelua/shared.h"
#include "kubelua/sim.h"

#include <stdint.h>

enum { OWNER_PATIENCE_MS = 20000 };

/* Creates or replaces the Service "web/NAME" with the port http, 80. */
void owner_service(kl_sim *sim, const char *name);

/* Creates or replaces the slice "web/NAME" of "web/SERVICE": its endpoints, a
 * space apart, at port 8080; "!" before one that is not ready. */
void owner_slice(kl_sim *sim, const char *name, const char *service,
                 const char *endpoints);

void owner_delete_service(kl_sim *sim, const char *name);
void owner_delete_slice(kl_sim *sim, const char *name);

/* What the map says of "web/NAME:http": its endpoints as above, sorted, or the
 * name of the result. Static until the next call. */
const char *owner_text(const kl_shared *map, const char *name);

/* Waits until that is `text`. */
void owner_await(const kl_shared *map, const char *name, const char *text);

/* Waits until the map has heard nothing for so many milliseconds more, and
 * asserts that it says `text` of the name all the time. */
void owner_await_age(const kl_shared *map, int64_t more_ms, const char *name,
                     const char *text);

/* Waits until a claim is true; asserts that it becomes so. */
void owner_await_claim(bool (*claim)(const void *context), const void *context,
                       const char *what);

#endif
