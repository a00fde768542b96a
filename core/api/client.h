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

typedef struct kl__discovery kl__discovery;
typedef struct kl__requester kl__requester;
typedef struct kl__credentials kl__credentials;

/*
 * Opens a stream with the client's credentials and user agent and waits for the
 * response's head; a 401 refreshes what can be refreshed and tries once more.
 * Any HTTP status is KL_OK. The stream is the caller's; NULL unless KL_OK.
 * `request` needs method, target, headers, body, window, fresh_connection; the
 * rest is filled in. `deadline_ms` is on the real clock (< 0: none); running a
 * credential plugin does not look at it, but `cancel` and closing the client
 * end that too. Errors as kl__stream_response, KL_ECONFIG, KL_ECLOSED.
 */
kl_code kl__client_open(kl_client *client, const kl__request *request,
                        int64_t deadline_ms, kl__cancel *cancel,
                        kl__stream **stream, kl__response *response,
                        kl_error *err);

/*
 * Opens a stream with the credentials, which are borrowed, and does not wait
 * for anything. The rest of the request is filled in as above. NULL: KL_ENOMEM,
 * KL_ECLOSED. Thread-safe.
 */
kl__stream *kl__client_begin(kl_client *client, const kl__request *request,
                             const kl__credentials *credentials, kl_error *err);

/* Notes that the credentials of a generation were answered with 401, and looks
 * for others, which may read files. True: another try may differ. Thread-safe.
 */
bool kl__client_refused(kl_client *client, uint64_t generation);

/* Logs what the server warns of. Thread-safe. */
void kl__client_warn(kl_client *client, const kl__response *response);

/* What carries its requests out (requester.h); made at the first call. NULL:
 * KL_ENOMEM, KL_EIO (no thread). Borrowed. Thread-safe. */
kl__requester *kl__client_requester(kl_client *client, kl_error *err);

/* Appends the rest of a body to `body`, until that is `limit` bytes long:
 * KL_ETOO_LARGE beyond. Errors as kl__stream_read; what came in before one is
 * in `body`. */
kl_code kl__client_read_all(kl__stream *stream, size_t limit,
                            int64_t deadline_ms, kl__cancel *cancel,
                            kl__buf *body, kl_error *err);

/*
 * The slot of the layer above: whatever shares informers. `make` runs under the
 * client's mutex (rank CLIENT) until it has succeeded once, and returns NULL
 * when out of memory; `drop` runs when the last reference to the client goes,
 * on that thread, with no mutex held. The content must not hold a reference to
 * the client for longer than something else needs it: that would be a cycle.
 * Returns the slot's content. Thread-safe.
 */
void *kl__client_slot(kl_client *client, void *(*make)(void),
                      void (*drop)(void *content));

/* True if a request was answered with 401, and the credentials are others now:
 * worth a try at once. Reads files, runs no plugin. Thread-safe. */
bool kl__client_has_new_credentials(kl_client *client);

/* The exec plugin that its requests wait for: see kl__config_plugin_ms. */
int64_t kl__client_plugin_ms(kl_client *client, const char **command);

/* Fires when the client is closed: hang hooks into it. Borrowed. */
kl__cancel *kl__client_closed(kl_client *client);

/* What it knows of the server's resources (discovery.h); borrowed. */
kl__discovery *kl__client_discovery(kl_client *client);

#endif
