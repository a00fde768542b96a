/*
 * shared_client.h - clients that several Lua states of this process share:
 * kubelua.connect { share = "NAME" }. One client has one watch for all
 * informers of a resource, so these states share watches and caches.
 */
#ifndef KUBELUA_SHARED_CLIENT_H
#define KUBELUA_SHARED_CLIENT_H

#include "kubelua/kubelua.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden) /* a rock is built without that flag */

/*
 * The client of that name, made by the first user; adds a user. NULL:
 * KL_EINVAL if another option than the first user's is given (the message names
 * it), KL_ENOMEM, or what kl_config_load and kl_client_new say. Thread-safe.
 */
kl_client *shared_client_open(const char *name,
                              const kl_config_options *options, kl_error *err);

/* Removes a user, and drops its reference. The last user closes the client if
 * `ends` is true. Thread-safe. */
void shared_client_close(kl_client *client, bool ends);

#pragma GCC visibility pop

#endif
