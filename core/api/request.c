/*
 * request.c - the public calls on requests. Each holds the requester's mutex
 * for a moment; the loop does the work.
 */
#include "api/requester.h"

#include "base/clock.h"
#include "kubelua/request.h"

#include <string.h>

enum { MAX_AHEAD = 64 * 1024 };

static kl_code refuse_closed(kl_error *err)
{
    return kl_error_set(err, KL_ECLOSED, "the client is closed");
}

/* Puts a request into the outbox, or opens its stream on this thread if that
 * never waits. If the client is closed after the check, the close ends the
 * request, as it handles all of them. */
static kl_code post_request(kl_request *request, kl_error *err)
{
    kl__requester *requester = request->requester;
    bool is_closed;

    kl__mutex_lock(&requester->mutex);
    is_closed = kl__cancel_fired(kl__client_closed(request->client));
    if (!is_closed) {
        atomic_fetch_add_explicit(&request->refs, 1, memory_order_relaxed);
        kl__list_append(&requester->all, &request->node);
        if (requester->may_wait) {
            kl__request_post_locked(request);
        } else {
            request->phase = KL__PHASE_OPENING;
        }
        kl__request_due_locked(request, request->deadline_ms);
    }
    kl__mutex_unlock(&requester->mutex);
    if (!is_closed && !requester->may_wait) {
        kl__request_open(request);
    }
    return is_closed ? refuse_closed(err) : KL_OK;
}

kl_request *kl_client_send(kl_client *client, const kl_call *call,
                           kl_event_queue *queue, void *tag, kl_error *err)
{
    kl_request *request;
    kl__requester *requester;

    if (kl_client_check(client, err) != KL_OK ||
        (queue != NULL && kl_event_queue_check(queue, err) != KL_OK)) {
        return NULL;
    }
    if (queue != NULL && tag == NULL) {
        kl_error_set(err, KL_EINVAL,
                     "a request in an event queue needs a tag: NULL is how the "
                     "queue says that nothing is ready");
        return NULL;
    }
    if (kl__cancel_fired(kl__client_closed(client))) {
        refuse_closed(err);
        return NULL;
    }
    request = kl__request_new(call, err);
    if (request == NULL) {
        return NULL;
    }
    requester = kl__requester_of(client, err);
    if (requester == NULL) {
        kl__request_unref(request);
        return NULL;
    }
    request->made_in = kl__process_here();
    request->requester = requester;
    request->client = kl_client_ref(client);
    request->ready.tag = tag;
    if (queue != NULL) {
        request->queue = queue;
        kl__event_queue_ref(queue);
    }
    if (post_request(request, err) != KL_OK) {
        kl_request_free(request);
        return NULL;
    }
    return request;
}

bool kl_request_is_complete(const kl_request *request)
{
    kl__mutex *mutex = &request->requester->mutex;
    bool is_complete;

    if (kl__check_process(request->made_in, NULL) != KL_OK) {
        return false;
    }
    kl__mutex_lock(mutex);
    is_complete = request->has_result;
    kl__mutex_unlock(mutex);
    return is_complete;
}

kl_code kl_request_wait(kl_request *request, int64_t timeout_ms)
{
    kl__requester *requester = request->requester;
    int64_t deadline_ms = kl__clock_after(kl__clock_real(), timeout_ms);
    bool in_time = timeout_ms != 0, is_complete;

    if (kl__check_process(request->made_in, NULL) != KL_OK) {
        return KL_EFORKED;
    }
    kl__mutex_lock(&requester->mutex);
    while (in_time && !request->has_result) {
        in_time = kl__cond_wait(&requester->result_cond, &requester->mutex,
                                deadline_ms);
    }
    is_complete = request->has_result;
    kl__mutex_unlock(&requester->mutex);
    return is_complete ? KL_OK : KL_ETIMEOUT;
}

static kl_code copy_failure(const kl_request *request, kl_error *err)
{
    if (err != NULL) {
        *err = request->failure;
    }
    return request->failure.code;
}

static kl_code take_result_locked(kl_request *request, kl_reply *reply,
                                  kl_error *err)
{
    if (!request->has_result) {
        return kl_error_set(err, KL_EINVAL, "the request is not complete yet");
    }
    if (!request->is_answered) {
        return copy_failure(request, err);
    }
    if (request->was_taken) {
        return kl_error_set(err, KL_EINVAL, "the reply was taken already");
    }
    request->was_taken = true;
    *reply = request->reply;
    request->reply = (kl_reply){0};
    return KL_OK;
}

kl_code kl_request_result(kl_request *request, kl_reply *reply, kl_error *err)
{
    kl__mutex *mutex = &request->requester->mutex;
    kl_code code = kl__check_process(request->made_in, err);

    *reply = (kl_reply){0};
    if (code == KL_OK) {
        kl__mutex_lock(mutex);
        code = take_result_locked(request, reply, err);
        kl__mutex_unlock(mutex);
    }
    return code;
}

/* Copies bytes that have come. When at most half of MAX_AHEAD is left, it makes
 * the loop read more. */
static size_t copy_bytes_locked(kl_request *request, char *buffer, size_t size)
{
    size_t unread = request->bytes.length - request->bytes_used;
    size_t length = unread < size ? unread : size;

    memcpy(buffer, request->bytes.bytes + request->bytes_used, length);
    request->bytes_used += length;
    if (!request->has_ended && unread > MAX_AHEAD / 2 &&
        unread - length <= MAX_AHEAD / 2) {
        kl__request_tell(request);
    }
    if (length == unread) {
        kl__buf_reset(&request->bytes);
        request->bytes_used = 0;
    }
    return length;
}

static kl_code read_locked(kl_request *request, char *buffer, size_t size,
                           size_t *length, kl_error *err)
{
    if (!request->streams || !request->has_result || !request->is_answered) {
        return kl_error_set(err, KL_EINVAL,
                            "only a request that streams and was answered is "
                            "read");
    }
    if (size == 0) {
        return kl_error_set(err, KL_EINVAL, "reading needs a buffer");
    }
    if (!request->has_ended && request->is_canceled) {
        return kl_error_set(err, KL_ECANCELED, "the request was cancelled");
    }
    if (!request->has_ended &&
        kl__cancel_fired(kl__client_closed(request->client))) {
        return refuse_closed(err);
    }
    if (request->bytes.length > request->bytes_used) {
        *length = copy_bytes_locked(request, buffer, size);
        return KL_OK;
    }
    return request->has_ended
               ? copy_failure(request, err)
               : kl_error_set(err, KL_ETIMEOUT, "nothing to be read yet");
}

kl_code kl_request_read(kl_request *request, char *buffer, size_t size,
                        size_t *length, kl_error *err)
{
    kl__mutex *mutex = &request->requester->mutex;
    kl_code code = kl__check_process(request->made_in, err);

    *length = 0;
    if (code == KL_OK) {
        kl__mutex_lock(mutex);
        code = read_locked(request, buffer, size, length, err);
        kl__mutex_unlock(mutex);
    }
    return code;
}

static void cancel_locked(kl_request *request)
{
    if (request->phase != KL__PHASE_DONE && !request->is_canceled) {
        request->is_canceled = true;
        kl__request_tell(request);
    }
}

void kl_request_cancel(kl_request *request)
{
    kl__mutex *mutex = &request->requester->mutex;

    if (kl__check_process(request->made_in, NULL) == KL_OK) {
        kl__mutex_lock(mutex);
        cancel_locked(request);
        kl__mutex_unlock(mutex);
    }
}

void kl_request_free(kl_request *request)
{
    kl_event_queue *queue;
    kl_client *client;

    /* in a child of fork() the loop does not exist, and locks may be held for
     * ever */
    if (request == NULL || kl__check_process(request->made_in, NULL) != KL_OK) {
        return;
    }
    client = request->client;
    kl__mutex_lock(&request->requester->mutex);
    if (!kl__list_empty(&request->node)) {
        cancel_locked(request);
    }
    queue = request->queue;
    request->queue = NULL;
    kl__mutex_unlock(&request->requester->mutex);
    if (queue != NULL) {
        kl__event_queue_forget(queue, &request->ready);
        kl__event_queue_unref(queue);
    }
    kl__request_unref(request);
    /* Last: it may free the client, which waits for the loop to end. */
    kl_client_unref(client);
}

kl_code kl_client_call(kl_client *client, const kl_call *call, kl_reply *reply,
                       kl_error *err)
{
    kl_request *request;
    kl_error local;
    kl_code code;

    *reply = (kl_reply){0};
    err = err != NULL ? err : &local;
    if (call->streams) {
        return kl_error_set(err, KL_EINVAL,
                            "a call that streams is sent with kl_client_send");
    }
    request = kl_client_send(client, call, NULL, NULL, err);
    if (request == NULL) {
        return err->code;
    }
    /* Without a limit: call->timeout_ms ends the request. */
    code = kl_request_wait(request, -1);
    if (code == KL_OK) {
        code = kl_request_result(request, reply, err);
    }
    kl_request_free(request);
    return code;
}
