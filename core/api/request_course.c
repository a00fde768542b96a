/*
 * request_course.c - moves a request forward: reads what its stream has,
 * without waiting, and decides how the try ends: a result for the user, or a
 * pause and another try. Runs on the requester's loop; on the transport's
 * thread if the answer is complete.
 */
#include "api/requester.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/random.h"

#include "kubelua/log.h"

#include <string.h>

enum {
    MAX_BODY = 64 * 1024 * 1024,
    READ_SIZE = 16 * 1024,
    FIRST_READ = 4 * 1024, /* most answers are one object */
    TURN = 256 * 1024,     /* bytes of one body that are read in one turn */
    MAX_AHEAD = 64 * 1024  /* bytes of a stream that may wait for the user */
};

/* The code of a stream that has no bytes now; the functions below return it if
 * they can do no more until there is news. */
#define NOT_NOW KL_ETIMEOUT

/* The pause before a request is tried again: d to 2d, where d is 0.1 s the
 * first time and doubles each time after that, up to 3.2 s. A Retry-After makes
 * it longer (base/backoff.h). */
static const kl__backoff_range pauses = {100, 3200};

/* ---- the outcome of a try ---- */

/* True if the server refused the request without carrying it out, and said when
 * to try again. */
static bool is_turned_away(const kl__response *response)
{
    return (response->status == 429 || response->status == 503) &&
           response->retry_after_ms >= 0;
}

/* The ms to wait before the request is tried again; < 0: it is not tried again.
 * `failure` is the stream's; NULL: the server answered. */
static int64_t choose_pause_ms(kl_request *request, bool was_sent,
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

/* Turns a failure into the one that the user gets: KL_EUNKNOWN if a write was
 * sent and the server may have carried it out. */
static void judge_failure(const kl_request *request, bool was_sent,
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

/* Puts the request's tag into the event queue and wakes threads in
 * kl_request_wait. */
static void announce_locked(kl_request *request)
{
    if (request->queue != NULL) {
        kl__event_queue_add(request->queue, &request->ready);
    }
    kl__cond_broadcast(&request->requester->result_cond);
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
    announce_locked(request);
    if (!request->is_attended) { /* else the thread that attends to the request
                                    drops it */
        kl__request_tell(request);
    }
}

/* ---- ends of a try ---- */

/* Counts a try and logs how it ended; not its headers, which contain tokens. */
static void note_try(const kl_request *request, const kl_error *failure)
{
    long long took_ms = kl__clock_now(kl__clock_real()) - request->began_ms;

    kl__client_count(request->requester->client, request->call.method,
                     failure == NULL ? request->response.status : 0);
    if (failure == NULL) {
        kl_log(KL_LOG_DEBUG, "%s %s: HTTP %d in %lld ms", request->call.method,
               request->call.target, request->response.status, took_ms);
    } else {
        kl_log(KL_LOG_DEBUG, "%s %s: failed in %lld ms: %s",
               request->call.method, request->call.target, took_ms,
               failure->message);
    }
}

/* After this the stream calls no hook, and the request may be freed. */
static void close_stream(kl_request *request)
{
    kl__stream_close(request->stream);
    request->stream = NULL;
    request->has_head = false;
    kl__buf_deinit(&request->body);
}

/* Completes the request. `failure` NULL: it was answered, or its stream has
 * ended. */
static void finish_request(kl_request *request, const kl_error *failure)
{
    kl__requester *requester = request->requester;

    close_stream(request);
    kl__mutex_lock(&requester->mutex);
    kl__request_complete_locked(request, failure);
    kl__mutex_unlock(&requester->mutex);
}

/* Puts the request aside; it is tried again after the pause. */
static void pause_request(kl_request *request, int64_t pause_ms)
{
    kl__requester *requester = request->requester;

    close_stream(request);
    request->pauses++;
    kl__mutex_lock(&requester->mutex);
    kl_reply_clear(&request->reply);
    request->phase = KL__PHASE_RESTING;
    request->rest_until_ms = kl__clock_now(kl__clock_real()) + pause_ms;
    kl__request_due_locked(request, request->rest_until_ms);
    kl__mutex_unlock(&requester->mutex);
}

/* ---- an answer ---- */

static kl_code fill_reply(kl_request *request, kl_error *err)
{
    const char *lines = NULL;
    kl_code code = kl__stream_headers(request->stream, &lines, err);

    return code == KL_OK
               ? kl__reply_fill(&request->reply, &request->response, lines, err)
               : code;
}

/* Makes the reply of a complete answer. `is_last`: it is the outcome, and the
 * request is not sent again. */
static kl_code take_answer(kl_request *request, bool is_last, kl_error *err)
{
    kl__requester *requester = request->requester;
    int64_t pause_ms = is_last ? -1 : choose_pause_ms(request, true, NULL);
    kl_reply *reply = &request->reply;
    kl_code code = fill_reply(request, err);

    if (code != KL_OK) {
        return code;
    }
    reply->body = kl__buf_take(&request->body, &reply->body_length);
    if (reply->body == NULL) {
        kl_reply_clear(reply);
        return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
    }
    note_try(request, NULL);
    if (reply->status == 401 && !is_last && requester->config != NULL &&
        !request->was_refreshed) {
        close_stream(request);
        request->was_refreshed = true;
        kl__mutex_lock(&requester->mutex);
        request->is_refused = true;
        kl__request_post_locked(request);
        kl__request_due_locked(request, request->deadline_ms);
        kl__mutex_unlock(&requester->mutex);
    } else if (pause_ms >= 0) {
        pause_request(request, pause_ms);
    } else {
        finish_request(request, NULL);
    }
    return KL_OK;
}

/* For a call that streams: completes the request with the head of the answer.
 */
static kl_code publish_head(kl_request *request, kl_error *err)
{
    kl__requester *requester = request->requester;
    kl_code code = fill_reply(request, err);

    if (code != KL_OK) {
        return code;
    }
    note_try(request, NULL);
    kl__mutex_lock(&requester->mutex);
    request->has_result = true;
    request->is_answered = true;
    announce_locked(request);
    kl__mutex_unlock(&requester->mutex);
    return KL_OK;
}

static kl_code take_head(kl_request *request, kl_error *err)
{
    kl_code code =
        kl__stream_response(request->stream, &request->response, 0, NULL, err);
    int status = request->response.status;

    if (code != KL_OK) {
        return code;
    }
    request->has_head = true;
    kl__client_warn(request->requester->client, &request->response);
    return request->streams && status >= 200 && status < 300
               ? publish_head(request, err)
               : KL_OK;
}

/* ---- the end of a try that failed ---- */

/*
 * True if the answer broke off, but its status says that the request was not
 * carried out. That status is the outcome, with the part of the body that came:
 * over HTTP/2, a server that refuses a large body after some MB resets the
 * stream, and libcurl 7.88 loses the body of every fourth such answer.
 */
static bool has_refusal(const kl_request *request)
{
    return !request->has_result && !request->streams && request->has_head &&
           request->response.status >= 400;
}

/* True if the request itself has to end, not only this try: it was cancelled,
 * closed, or its time is over. */
static bool ends_request(kl_code code)
{
    return code == KL_ECANCELED || code == KL_ECLOSED || code == KL_ETIMEOUT;
}

/* Repeats the request, or completes it: with the server's refusal if one has
 * come, else with the failure. */
static void end_try(kl_request *request, kl_error *failure)
{
    bool was_sent = kl__stream_withdraw(request->stream);
    int64_t pause_ms = -1;
    kl_error ignored;

    if (failure->code != KL_ENOMEM && has_refusal(request) &&
        take_answer(request, ends_request(failure->code), &ignored) == KL_OK) {
        return;
    }
    note_try(request, failure);
    if (!request->has_result) {
        pause_ms = choose_pause_ms(request, was_sent, failure);
    }
    if (pause_ms >= 0) {
        pause_request(request, pause_ms);
        return;
    }
    if (!request->has_result) {
        judge_failure(request, was_sent, failure);
    }
    finish_request(request, failure);
}

/* ---- a body ---- */

/* Collects the bytes of the body that have come, at most TURN. */
static kl_code collect_body(kl_request *request, kl_error *err)
{
    kl__buf *body = &request->body;

    for (size_t got = 0; got < TURN;) {
        size_t left = MAX_BODY - body->length;
        size_t most = body->length < FIRST_READ ? FIRST_READ : READ_SIZE;
        size_t room = left < most ? left + 1 : most;
        size_t length = 0;
        char *end = kl__buf_reserve(body, room);
        kl_code code;

        if (end == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a body");
        }
        code =
            kl__stream_read(request->stream, end, room, &length, 0, NULL, err);
        if (code != KL_OK) {
            return code;
        }
        if (length == 0) {
            return take_answer(request, false, err);
        }
        got += length;
        body->length += length;
        if (body->length > MAX_BODY) {
            return kl_error_set(err, KL_ETOO_LARGE,
                                "the answer is larger than 64 MB");
        }
        body->bytes[body->length] = '\0';
    }
    kl__request_tell(request); /* let other requests have a turn */
    return NOT_NOW;
}

/* How many bytes may be read before the user takes some. */
static size_t stream_room(kl_request *request)
{
    kl__mutex *mutex = &request->requester->mutex;
    size_t unread;

    kl__mutex_lock(mutex);
    unread = request->bytes.length - request->bytes_used;
    kl__mutex_unlock(mutex);
    return unread < MAX_AHEAD ? MAX_AHEAD - unread : 0;
}

static kl_code hand_over_bytes(kl_request *request, const char *bytes,
                               size_t length, kl_error *err)
{
    kl__mutex *mutex = &request->requester->mutex;
    kl__buf *to = &request->bytes;
    bool was_empty, failed;

    kl__mutex_lock(mutex);
    kl__buf_consume(to, request->bytes_used);
    request->bytes_used = 0;
    was_empty = to->length == 0;
    kl__buf_append(to, bytes, length);
    failed = to->failed;
    if (was_empty && !failed) {
        announce_locked(request);
    }
    kl__mutex_unlock(mutex);
    return !failed ? KL_OK
                   : kl_error_set(err, KL_ENOMEM, "out of memory for a stream");
}

/* Hands bytes of a stream to the user, as far as there is room. kl_request_read
 * tells the loop when there is room again. */
static kl_code pump_stream(kl_request *request, kl_error *err)
{
    char bytes[READ_SIZE];

    for (size_t got = 0; got < TURN;) {
        size_t room = stream_room(request), length = 0;
        kl_code code;

        request->is_held_up = room == 0;
        if (room == 0) {
            return NOT_NOW;
        }
        code = kl__stream_read(request->stream, bytes,
                               room < READ_SIZE ? room : READ_SIZE, &length, 0,
                               NULL, err);
        if (code == KL_OK && length != 0) {
            code = hand_over_bytes(request, bytes, length, err);
        } else if (code == KL_OK) {
            finish_request(request, NULL);
            return KL_OK;
        }
        if (code != KL_OK) {
            return code;
        }
        got += length;
    }
    kl__request_tell(request);
    return NOT_NOW;
}

/* Sets the time when the loop has to look at the request even without news. The
 * stream's own time is not used while the stream waits for the user to read: it
 * is counted from the last byte, so it would be over already, and the loop
 * would look again and again. */
static void note_due(kl_request *request)
{
    kl__mutex *mutex = &request->requester->mutex;
    int64_t again_ms = kl__stream_look_again_ms(request->stream);
    int64_t due_ms = request->has_result ? INT64_MAX : request->deadline_ms;

    if (!request->is_held_up && again_ms >= 0 && again_ms < due_ms) {
        due_ms = again_ms;
    }
    kl__mutex_lock(mutex);
    kl__request_due_locked(request, due_ms);
    kl__mutex_unlock(mutex);
}

/* Reads what the stream has. True: it has nothing more now. */
static bool advance_request(kl_request *request)
{
    kl_error err;
    kl_code code = KL_OK;

    if (!request->has_head) {
        code = take_head(request, &err);
    }
    if (code == KL_OK) {
        code = request->has_result ? pump_stream(request, &err)
                                   : collect_body(request, &err);
    }
    if (code != KL_OK && code != NOT_NOW) {
        end_try(request, &err);
    }
    return code == NOT_NOW;
}

/* ---- handling a request ---- */

/* Makes the error of a timeout: it says what the request waited for. */
static kl_code explain_timeout_locked(const kl_request *request, kl_error *err)
{
    double seconds = (double)(request->deadline_ms - request->began_ms) / 1000;
    const char *plugin = NULL;
    int64_t plugin_ms = -1;

    if (request->phase == KL__PHASE_WAITING) {
        plugin_ms = kl__client_plugin_ms(request->requester->client, &plugin);
    }
    if (plugin_ms >= 0) {
        return kl_error_set(err, KL_ETIMEOUT,
                            "%s %.200s was not sent within %.1f s: it waits "
                            "for the exec credential plugin %.200s, which has "
                            "been running for %.1f s",
                            request->call.method, request->call.target, seconds,
                            plugin, (double)plugin_ms / 1000);
    }
    return kl_error_set(err, KL_ETIMEOUT, "%s %.200s: no answer within %.1f s",
                        request->call.method, request->call.target, seconds);
}

/* Checks if the request has to end: cancelled, closed, or its time is over.
 * KL_OK: it may go on. */
static kl_code find_end_locked(const kl_request *request, kl_error *err)
{
    kl_client *client = request->requester->client;

    if (request->is_canceled) {
        return kl_error_set(err, KL_ECANCELED, "the request was cancelled");
    }
    if (kl__cancel_fired(kl__client_closed(client))) {
        return kl_error_set(err, KL_ECLOSED, "the client is closed");
    }
    if (!request->has_result &&
        kl__clock_now(kl__clock_real()) >= request->deadline_ms) {
        return explain_timeout_locked(request, err);
    }
    return KL_OK;
}

/* Handles a request with an open stream. If the request has to end, `code` and
 * `why` are the error. A complete answer counts, even if the time is over. */
static void attend_open(kl_request *request, kl_code code, kl_error *why)
{
    if (code == KL_OK || code == KL_ETIMEOUT) {
        if (!advance_request(request)) {
            return;
        }
        if (code == KL_OK || request->has_result) {
            note_due(request);
            return;
        }
    }
    end_try(request, why);
}

/* Handles a request without a stream. Called with the mutex held, returns
 * without it. */
static void attend_waiting_locked(kl_request *request, kl_code code,
                                  const kl_error *why)
{
    kl__requester *requester = request->requester;
    int64_t due_ms = request->deadline_ms;

    if (code != KL_OK) {
        kl__list_remove(&request->outbox_node);
        kl__request_complete_locked(request, why);
        kl__mutex_unlock(&requester->mutex);
        /* After a timeout the plugin is not ended: it may only be slow, and can
         * serve the next request. */
        if (code != KL_ETIMEOUT) {
            kl__request_end_flight(requester);
        }
        return;
    }
    if (request->phase == KL__PHASE_RESTING) {
        if (kl__clock_now(kl__clock_real()) >= request->rest_until_ms) {
            kl__request_post_locked(request);
        } else {
            due_ms = request->rest_until_ms;
        }
    }
    kl__request_due_locked(request, due_ms);
    kl__mutex_unlock(&requester->mutex);
}

/* Removes a request that is DONE from the loop's list and drops the loop's
 * reference. Called with the mutex held, returns without it. No news of the
 * request comes later: its stream is closed, and other threads add news only
 * with the mutex held, and only while the request is in the list. Another
 * thread may have done all this already. */
static void let_go_locked(kl_request *request)
{
    kl__requester *requester = request->requester;

    if (kl__list_empty(&request->node)) {
        kl__mutex_unlock(&requester->mutex);
        return;
    }
    kl__list_remove(&request->node);
    kl__mutex_lock(&requester->news_mutex);
    kl__list_remove(&request->news_node);
    kl__mutex_unlock(&requester->news_mutex);
    kl__mutex_unlock(&requester->mutex);
    kl__request_unref(request);
}

/* Ends this thread's work on the request. Called with the mutex held, returns
 * without it. */
static void end_attending_locked(kl_request *request)
{
    request->is_attended = false;
    if (request->phase == KL__PHASE_DONE) {
        let_go_locked(request);
        return;
    }
    if (request->is_overlooked) {
        request->is_overlooked = false;
        kl__request_tell(request);
    }
    kl__mutex_unlock(&request->requester->mutex);
}

void kl__request_attend(kl_request *request)
{
    kl__mutex *mutex = &request->requester->mutex;
    kl_error why;
    kl_code code;

    kl__mutex_lock(mutex);
    if (request->is_attended) {
        request->is_overlooked = true;
        kl__mutex_unlock(mutex);
        return;
    }
    code = find_end_locked(request, &why);
    switch (request->phase) {
    case KL__PHASE_DONE:
        let_go_locked(request);
        return;
    case KL__PHASE_OPENING: /* the thread that opens it tells the loop
                               afterwards */
        request->was_passed_by = true;
        kl__mutex_unlock(mutex);
        return;
    case KL__PHASE_OPEN:
        request->is_attended = true;
        kl__mutex_unlock(mutex);
        attend_open(request, code, &why);
        kl__mutex_lock(mutex);
        end_attending_locked(request);
        return;
    default:
        attend_waiting_locked(request, code, &why);
        return;
    }
}
