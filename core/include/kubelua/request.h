/*
 * request.h - requests that do not block their caller: hundreds in flight over
 * one connection, each told through an event queue when it is answered.
 *
 *     request = kl_client_send(client, &call, queue, tag, &err);
 *     ... kl_event_queue_next(queue) returns `tag` ...
 *     code = kl_request_result(request, &reply, &err);
 *     kl_request_free(request);
 */
#ifndef KUBELUA_REQUEST_H
#define KUBELUA_REQUEST_H

#include "kubelua/client.h"
#include "kubelua/event_queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_request kl_request;

/*
 * Sends a request as the client's user, and does not wait for anything: reading
 * credentials, running plugins and the network are matters of other threads.
 * When it is complete, kl_event_queue_next(queue) returns `tag`, once; it is
 * complete at the latest when `call->timeout_ms` is over. Without a queue
 * (NULL) the caller asks, or waits with kl_request_wait; with one, `tag` is not
 * NULL.
 *
 * The request is the caller's: kl_request_free. It keeps the client and the
 * queue until then. NULL: KL_EINVAL (a method, target or header that cannot be
 * sent; no tag), KL_ECLOSED, KL_ENOMEM, KL_EIO (no thread), KL_EFORKED; then
 * nothing was sent, and `tag` does not come. Thread-safe.
 *
 * What is tried again, each time with a pause and as long as that fits into the
 * timeout (unless `call->no_retry`): what was answered with 429 or 503 and a
 * Retry-After, after so long a time, whatever the method, as the server has not
 * carried it out; and reads (GET, HEAD, OPTIONS) whose connection broke. A 401
 * is tried once more if other credentials are to be had.
 */
KL_API kl_request *kl_client_send(kl_client *client, const kl_call *call,
                                  kl_event_queue *queue, void *tag,
                                  kl_error *err);

/* True once there is a result; it stays. Thread-safe. */
KL_API bool kl_request_is_complete(const kl_request *request);

/* Blocks until the request is complete, at most `timeout_ms` (< 0: for ever):
 * KL_OK; KL_ETIMEOUT, and the request goes on; KL_EFORKED. Thread-safe. */
KL_API kl_code kl_request_wait(kl_request *request, int64_t timeout_ms);

/*
 * What came of a complete request. Any HTTP status is an answer and KL_OK, and
 * the reply is the caller's (kl_reply_clear); it is handed over once. Else the
 * reply is empty:
 *   KL_EUNKNOWN      a write (all but GET, HEAD and OPTIONS) was sent, and not
 *                    answered: time over, connection broken, cancelled, closed.
 *                    It may have been carried out, or may be yet; it was not
 *                    sent twice
 *   KL_ETIMEOUT      no answer in time   }
 *   KL_EUNAVAILABLE  no connection, or   } of a read; of a write only if
 *                    it broke            } it was not sent, and never will be
 *   KL_ECANCELED     kl_request_cancel   }
 *   KL_ECLOSED       kl_client_close     }
 *   KL_ETLS, KL_EPARSE (not HTTP), KL_ECONFIG (credentials, or a request that
 *   cannot be sent), KL_ETOO_LARGE (an answer over 64 MB), KL_ENOMEM: with
 *   err->http_status set, the server has answered with that status all the same
 *   KL_EINVAL        it is not complete, or the reply was handed over before
 *   KL_EFORKED
 * For one thread at a time.
 */
KL_API kl_code kl_request_result(kl_request *request, kl_reply *reply,
                                 kl_error *err);

/*
 * For a call that streams. The request is complete when the head of the answer
 * is there.
 * If the status is 2xx, the reply has no body: that is read here, as it comes,
 * for as long as it goes on (no timeout). Any other status is complete with its
 * whole body, as of calls that do not stream, and there is nothing to read.
 *
 * Copies up to `size` (> 0) bytes and does not block. KL_OK with *length > 0:
 * bytes, and perhaps there are more. KL_OK with *length 0: the clean end.
 * KL_ETIMEOUT: none is there now; `tag` comes back when that changes.
 * KL_EUNAVAILABLE: it broke off (after the bytes that came before).
 * KL_ECANCELED, KL_ECLOSED: at once, what was unread is dropped. KL_ENOMEM,
 * KL_EPARSE (a damaged gzip), KL_EFORKED; KL_EINVAL: it does not stream, or is
 * not complete. A caller that does not read holds up its own stream, after some
 * 300 KB, and no other. For one thread at a time.
 */
KL_API kl_code kl_request_read(kl_request *request, char *buffer, size_t size,
                               size_t *length, kl_error *err);

/* Ends a request, or a stream, within 50 ms: it is complete then, and `tag`
 * comes as ever. One that is complete (and does not stream) stays as it is.
 * Thread-safe, while the request is not freed. */
KL_API void kl_request_cancel(kl_request *request);

/* Cancels it if it is in flight, and gives it back; does not wait. `tag` does
 * not come any more (but see kl_event_queue_next). NULL is fine. Any thread. */
KL_API void kl_request_free(kl_request *request);

#ifdef __cplusplus
}
#endif
#endif
