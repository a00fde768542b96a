/*
 * client.h (internal) - what the layers above need of a client: its requests
 * with credentials, its discovery, and a place for its informer factory.
 */
#ifndef KL_API_CLIENT_H
#define KL_API_CLIENT_H

#include "base/buf.h"
#include "base/cancel.h"

#include "http/transport.h"
#include "kubelua/client.h"

/*
 * Opens a stream with the client's credentials and user agent and waits for the
 * response's head; a 401 refreshes what can be refreshed and tries once more.
 * Any HTTP status is KL_OK. The stream is the caller's. `request` needs
 * method, target, headers, body, window, fresh_connection; the rest is filled
 * in. Errors as kl__stream_response, and KL_ECONFIG.
 */
kl_code kl__client_open(kl_client *client, const kl__request *request,
                        int64_t deadline_ms, kl__cancel *cancel,
                        kl__stream **stream, kl__response *response,
                        kl_error *err);

/* Reads the rest of a body into `body`, at most `limit` bytes: KL_ETOO_LARGE
 * beyond. Errors as kl__stream_read. */
kl_code kl__client_read_all(kl__stream *stream, size_t limit,
                            int64_t deadline_ms, kl__cancel *cancel,
                            kl__buf *body, kl_error *err);

/*
 * The slot of the layer above: whatever shares informers. `make` runs at most
 * once a client, under its mutex (rank CLIENT), and returns NULL when out of
 * memory; `drop` runs when the client is freed. Returns the slot's content.
 */
void *kl__client_slot(kl_client *client, void *(*make)(void),
                      void (*drop)(void *content));

/* Fires when the client is closed: hang hooks into it. */
kl__cancel *kl__client_closed(kl_client *client);

#endif
