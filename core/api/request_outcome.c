/*
 * request_outcome.c - decides the outcome of a try: a pause and another try, or
 * a result, which it hands to the user.
 */
#include "api/requester.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/random.h"

/* The pause before a request is tried again: d to 2d, where d is 0.1 s the
 * first time and doubles each time after that, up to 3.2 s. A Retry-After makes
 * it longer (base/backoff.h). */
static const kl__backoff_range pauses = {100, 3200};

/* True if the server refused the request without carrying it out, and said when
 * to try again. */
static bool is_turned_away(const kl__response *response)
{
    return (response->status == 429 || response->status == 503) &&
           response->retry_after_ms >= 0;
}

int64_t kl__request_pause_ms(kl_request *request, bool was_sent,
                             const kl_error *failure)
{
    int64_t asked_ms = -1, pause_ms;
    bool may_repeat;

    if (failure == NULL) {
        may_repeat = is_turned_away(&request->response);
        asked_ms = request->response.retry_after_ms;
    } else {
        may_repeat =
            was_sent && !request->is_write && failure->code == KL_EUNAVAILABLE;
    }
    if (request->no_retry || !may_repeat) {
        return -1;
    }
    if (request->random == 0) { /* only when needed, as it is a system call */
        request->random = kl__random_seed(request) | 1;
    }
    pause_ms =
        kl__backoff_wait(pauses, request->pauses, asked_ms, &request->random);
    /* If the pause does not fit into the timeout, the user gets this answer or
     * failure. */
    return kl__clock_now(kl__clock_real()) + pause_ms < request->deadline_ms
               ? pause_ms
               : -1;
}

/* True for failures after which the server may have carried the request out. */
static bool leaves_open(kl_code code)
{
    switch (code) {
    case KL_ETIMEOUT:
    case KL_EUNAVAILABLE:
    case KL_ECANCELED:
    case KL_ECLOSED:
    case KL_EPARSE:
        return true;
    default:
        return false;
    }
}

void kl__request_judge(const kl_request *request, bool was_sent,
                       kl_error *failure)
{
    if (request->has_head) {
        failure->http_status = request->response.status;
    }
    if (request->is_write && was_sent && leaves_open(failure->code)) {
        kl_error told = *failure;
        bool is_done = told.http_status >= 200 && told.http_status < 300;

        kl_error_set(failure, KL_EUNKNOWN,
                     is_done ? "%s %.200s was carried out, but its answer did "
                               "not come whole; look before you repeat it: %s"
                             : "%s %.200s was sent: it may have been carried "
                               "out, or may still be; look before you repeat "
                               "it: %s",
                     request->call.method, request->call.target, told.message);
        failure->http_status = told.http_status;
    }
}

void kl__request_complete_locked(kl_request *request, const kl_error *failure)
{
    if (!request->has_result) {
        request->has_result = true;
        request->is_answered = failure == NULL;
        if (failure != NULL) {
            kl_reply_clear(&request->reply);
        }
    }
    if (failure != NULL) {
        request->failure = *failure;
    }
    if (failure != NULL &&
        (failure->code == KL_ECANCELED || failure->code == KL_ECLOSED)) {
        kl__buf_deinit(&request->bytes);
        request->bytes_used = 0;
    }
    request->has_ended = true;
    request->phase = KL__PHASE_DONE;
    kl__request_announce_locked(request);
    if (!request->is_attended) { /* else the thread that attends to the request
                                    drops it */
        kl__request_tell(request);
    }
}

void kl__request_announce_locked(kl_request *request)
{
    if (request->queue != NULL) {
        kl__event_queue_add(request->queue, &request->ready);
    }
    kl__cond_broadcast(&request->requester->result_cond);
}
