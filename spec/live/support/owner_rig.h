/*
 * owner_rig.h - makes Services and EndpointSlices in a simulated cluster, and
 * reads their endpoints from a shared map.
 */
#ifndef KL_SPEC_OWNER_RIG_H
#define KL_SPEC_OWNER_RIG_H

#include "kubelua/shared.h"
#include "kubelua/sim.h"

#include <stdint.h>

enum { OWNER_PATIENCE_MS = 20000 };

/* Creates or replaces the Service "web/NAME" with the port http, 80. */
void owner_service(kl_sim *sim, const char *name);

/* Creates or replaces the slice "web/NAME" of the Service "web/SERVICE": its
 * endpoints, separated by blanks, at port 8080; "!" before one that is not
 * ready. */
void owner_slice(kl_sim *sim, const char *name, const char *service,
                 const char *endpoints);

void owner_delete_service(kl_sim *sim, const char *name);
void owner_delete_slice(kl_sim *sim, const char *name);

/* The map's endpoints of "web/NAME:http", sorted and in the form of
 * owner_slice; or the name of the result code, if there are none. Valid until
 * the next call. */
const char *owner_text(const kl_shared *map, const char *name);

/* Waits until the map's text is `text`. */
void owner_await(const kl_shared *map, const char *name, const char *text);

/* Waits until the map's age has grown by `more_ms`, and asserts that its text
 * is `text` all the time. */
void owner_await_age(const kl_shared *map, int64_t more_ms, const char *name,
                     const char *text);

/* Waits until a claim is true; asserts that it becomes so within 60 s. */
void owner_await_claim(bool (*claim)(const void *context), const void *context,
                       const char *what);

#endif
