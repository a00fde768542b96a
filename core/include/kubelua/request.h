/*
 * request.h - requests that do not block the caller: hundreds in flight over
 * one connection; an event queue returns a request's tag when its answer has
 * come.
 *
 *     request = kl_client_send(client, &call, queue, tag, &err);
 *     ... kl_event_queue_next(queue) returns `tag` ...
 *     code = kl_request_result(request, &reply, &err);
 *     kl_request_free(request);
 *
 * What a user can rely on:
 *
 * - A request that was accepted completes exactly once: with an answer of any
 *   HTTP status, or with an error; at the latest when its timeout is over.
 * - A write is sent again only if the server answered that it did not carry it
 *   out (401, or 429 or 503 with Retry-After). If a write was sent and no
 *   answer came, the error is KL_EUNKNOWN: it may have been carried out.
 * - Requests are independent: they may be answered in any order, and a slow one
 *   does not delay the others.
 * - Calls are thread-safe, except kl_request_result and kl_request_read: one
 *   thread at a time for a request. No other call runs during kl_request_free
 *   or comes after it; kl_client_close may run beside all of them.
 * - In the child of a fork() a request never completes; calls fail with
 *   KL_EFORKED, and kl_request_free does nothing.
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
 * Sends a request and does not wait: other threads read credentials, run
 * plugins and use the network. When the request is complete,
 * kl_event_queue_next(queue) returns `tag`, once. With a queue, `tag` is not
 * NULL. Without one (NULL) the caller uses kl_request_is_complete or
 * kl_request_wait.
 *
 * The caller owns the request: kl_request_free. It holds the client and the
 * queue until then. NULL: KL_EINVAL (a method, target or header that cannot be
 * sent; no tag), KL_ECLOSED, KL_ENOMEM, KL_EIO (no thread), KL_EFORKED; then
 * nothing was sent, and `tag` does not come. Thread-safe.
 *
 * Unless `call->no_retry`, a request is sent again, after a pause that must fit
 * into the timeout: after a 429 or 503 with Retry-After (as late as that says),
 * whatever the method, as the server has not carried it out; and after a broken
 * connection, if it only reads (GET, HEAD, OPTIONS). After a 401 it is sent
 * once more if there are new credentials.
 */
KL_API kl_request *kl_client_send(kl_client *client, const kl_call *call,
                                  kl_event_queue *queue, void *tag,
                                  kl_error *err);

/* True once there is a result; it stays true. Thread-safe. */
KL_API bool kl_request_is_complete(const kl_request *request);

/* Blocks until the request is complete, at most `timeout_ms` (< 0: no limit):
 * KL_OK; KL_ETIMEOUT, and the request goes on; KL_EFORKED. Thread-safe. */
KL_API kl_code kl_request_wait(kl_request *request, int64_t timeout_ms);

/*
 * The result of a complete request. Any HTTP status is an answer and KL_OK; the
 * caller gets the reply, once, and owns it (kl_reply_clear). Otherwise the
 * reply is empty, and the code is one of these.
 *
 * - KL_EUNKNOWN: a write (any method but GET, HEAD and OPTIONS) was sent, and
 *   no answer came: timeout, broken connection, cancelled, closed, or something
 *   that is not HTTP. The server may have carried it out, or still may. The
 *   library did not send it twice.
 * - KL_ETIMEOUT (no answer in time), KL_EUNAVAILABLE (no connection, or it
 *   broke), KL_ECANCELED (kl_request_cancel), KL_ECLOSED (kl_client_close). A
 *   write has one of these codes only if it was not sent, and never will be.
 * - KL_ETLS, KL_EPARSE (not HTTP), KL_ECONFIG (credentials, or a request that
 *   cannot be sent), KL_ETOO_LARGE (an answer over 64 MB), KL_ENOMEM. If
 *   err->http_status is set, the server has answered with that status.
 * - KL_EINVAL: the request is not complete, or the caller got the reply before.
 * - KL_EFORKED.
 *
 * One thread at a time.
 */
KL_API kl_code kl_request_result(kl_request *request, kl_reply *reply,
                                 kl_error *err);

/*
 * Reads the body of a call that streams. Such a request is complete when the
 * head of the answer has come. If the status is 2xx, the reply has no body: it
 * is read here, as it comes, without a timeout. An answer of any other status
 * has its whole body in the reply, and there is nothing to read here.
 *
 * Copies up to `size` (> 0) bytes and does not block. KL_OK with *length > 0:
 * there may be more. KL_OK with *length 0: the clean end. KL_ETIMEOUT: no
 * bytes yet; `tag` comes again when there are. KL_EUNAVAILABLE: the stream
 * broke, and all bytes before that were read. KL_ECANCELED, KL_ECLOSED: the
 * stream has ended, and unread bytes are dropped. KL_ENOMEM, KL_EPARSE (a
 * damaged gzip), KL_EFORKED; KL_EINVAL: it does not stream, or is not
 * complete. If the caller does not read, this stream stops after about 300 KB;
 * other streams go on. One thread at a time.
 */
KL_API kl_code kl_request_read(kl_request *request, char *buffer, size_t size,
                               size_t *length, kl_error *err);

/* Ends a request, or a stream, within 50 ms: then it is complete, and `tag`
 * comes. A request that is complete (and does not stream) does not change.
 * Thread-safe, as long as the request is not freed. */
KL_API void kl_request_cancel(kl_request *request);

/* Cancels the request if it is in flight, and frees it; does not wait. `tag`
 * does not come any more (but see kl_event_queue_next). NULL is fine. Any
 * thread. */
KL_API void kl_request_free(kl_request *request);

#ifdef __cplusplus
}
#endif
#endif
