/*
 * client.h (internal) - the parts of a client that other files use: requests
 * with credentials, discovery, and the slot for the informer factory.
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
 * Opens a stream with these credentials (borrowed), and does not wait.
 * `request` needs method, target, headers, and what is not the default of a
 * stream; server, user agent and credentials are filled in. NULL: KL_ENOMEM,
 * KL_ECLOSED. Thread-safe.
 */
kl__stream *kl__client_begin(kl_client *client, const kl__request *request,
                             const kl__credentials *credentials, kl_error *err);

/* Waits for the client's credentials, so that a request which follows at once
 * need not: for a caller whose limit is for the server, not for a plugin that
 * may ask a person. KL_ECANCELED, KL_ECLOSED, and the errors of credentials.
 * `err` is not NULL. */
kl_code kl__client_log_in(kl_client *client, kl__cancel *cancel, kl_error *err);

/* A request that was sent. Its owner closes `stream`. */
typedef struct kl__sent {
    kl__stream *stream;  /* NULL: there is none (any more) */
    uint64_t generation; /* of the credentials */
    int64_t began_ms;    /* on the real clock */
} kl__sent;

/*
 * Sends a request, filled in as above, with the client's credentials, and does
 * not wait for the head of the answer. It may have to read files or run a
 * plugin for the credentials: `cancel` and a close of the client end that.
 * KL_ECONFIG, KL_ECLOSED, KL_ECANCELED, KL_ENOMEM. `err` is not NULL.
 */
kl_code kl__client_send(kl_client *client, const kl__request *request,
                        kl__cancel *cancel, kl__sent *sent, kl_error *err);

/* Waits for the head of the answer until `deadline_ms` of the real clock (< 0:
 * no limit; 0: not at all). `request` is what was sent. Any HTTP status is
 * KL_OK. KL_ETIMEOUT: it has not come yet, call again or give up. After any
 * other error `sent` has no stream. As kl__stream_response; KL_ECLOSED. */
kl_code kl__client_head(kl_client *client, const kl__request *request,
                        kl__sent *sent, int64_t deadline_ms, kl__cancel *cancel,
                        kl__response *response, kl_error *err);

/* Closes the stream of a request whose head has not come; `err` says why. */
void kl__client_give_up(kl_client *client, const kl__request *request,
                        kl__sent *sent, const kl_error *err);

/* True if the answer is a 401, and there are new credentials: send it again.
 * `cancel` (may be NULL) ends the reading of files. */
bool kl__client_may_retry(kl_client *client, const kl__sent *sent,
                          const kl__response *response, kl__cancel *cancel);

/* Notes that the server answered 401 to the credentials of a generation, and
 * looks for new ones, which may read files, until `cancel` (may be NULL) is
 * fired. True: there are some, so another try may succeed. Thread-safe. */
bool kl__client_refused(kl_client *client, uint64_t generation,
                        kl__cancel *cancel);

/* KL_EPARSE for a redirect, which is not followed: a credential must not go to
 * another server. The message names its Location. `err` is not NULL. */
kl_code kl__client_check_redirect(const kl__response *response, kl_error *err);

/* Counts a request that was sent, for kl_client_requests; status 0: it had no
 * answer. Takes no lock. Thread-safe. */
void kl__client_count(kl_client *client, const char *method, int status);
/* How many of these were answered with success. Takes no lock. Thread-safe. */
uint64_t kl__client_answers(const kl_client *client);

/* Logs the Warning headers of an answer. Thread-safe. */
void kl__client_warn(kl_client *client, const kl__response *response);

/* How a requester (requester.h) is made and freed. `make` gets the client and
 * its config (NULL: no credentials), both borrowed. */
typedef struct kl__requester_life {
    kl__requester *(*make)(kl_client *client, kl_config *config, kl_error *err);
    void (*free)(kl__requester *requester);
} kl__requester_life;

/* The client's requester, which `make` makes at the first call: as
 * kl__requester_of. It is freed with the client, before its other parts. `life`
 * is constant. */
kl__requester *kl__client_requester(kl_client *client,
                                    const kl__requester_life *life,
                                    kl_error *err);

/* Appends the rest of a stream to `body`, at most up to `limit` bytes:
 * KL_ETOO_LARGE beyond. Errors as kl__stream_read; the bytes before the error
 * are in `body`. */
kl_code kl__client_read_all(kl__stream *stream, size_t limit,
                            int64_t deadline_ms, kl__cancel *cancel,
                            kl__buf *body, kl_error *err);

/*
 * A slot for the informer layer, which keeps its factory there. `make` runs
 * with the client's mutex held (rank CLIENT), until it has succeeded once; it
 * returns NULL when out of memory. `drop` runs when the last reference to the
 * client is dropped, on that thread, with no mutex held. The content must not
 * hold a reference to the client all the time: that would be a cycle. Returns
 * the content. Thread-safe.
 */
void *kl__client_slot(kl_client *client, void *(*make)(void),
                      void (*drop)(void *content));

/* True if a request was answered with 401 and the credentials have changed
 * since, so that a try is worthwhile. Reads files, runs no plugin. Thread-safe.
 */
bool kl__client_has_new_credentials(kl_client *client);

/* The exec plugin that requests wait for: see kl__config_plugin_ms. */
int64_t kl__client_plugin_ms(kl_client *client, const char **command);

/* The token that fires when the client is closed. Borrowed. */
kl__cancel *kl__client_closed(kl_client *client);

/* The client's `shares_thread` of kl_client_options. */
bool kl__client_shares_thread(const kl_client *client);

/* The client's `name` of kl_client_options; NULL: it has none. Borrowed. */
const char *kl__client_name(const kl_client *client);

/* The client's discovery (discovery.h); borrowed. */
kl__discovery *kl__client_discovery(kl_client *client);

#endif
