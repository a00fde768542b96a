/*
 * request_sending.c - sends the requests in the outbox of a requester: gets
 * credentials for all of them once, and opens their streams. This is done on
 * the loop, in a turn, if nothing has to be waited for. Else a thread does it,
 * the sender, which ends when it has emptied the outbox: so a client has one
 * only while its plugin runs. See requester.h.
 */
#include "api/requester.h"

#include "base/clock.h"

/* How many streams the loop opens before it gives other requests and other
 * clients a turn: one takes about 20 us. */
enum { MOST_AT_ONCE = 16, ALL = -1 };

/* Moves the outbox to the end of the batch. False: the batch is empty. Also
 * false while the client is being freed: then the loop completes the requests
 * in the batch, which are cancelled. */
static bool take_outbox_locked(kl__requester *requester)
{
    kl__list *node;

    while ((node = kl__list_shift(&requester->outbox)) != NULL) {
        kl__list_append(&requester->batch, node);
    }
    return !requester->is_ending && !kl__list_empty(&requester->batch);
}

static bool has_batch(kl__requester *requester)
{
    bool has;

    kl__mutex_lock(&requester->mutex);
    has = !requester->is_ending && !kl__list_empty(&requester->batch);
    kl__mutex_unlock(&requester->mutex);
    return has;
}

/* ---- requests that were answered with 401 ---- */

/* The first request in the batch that was answered with 401, with a reference;
 * NULL: none. */
static kl_request *find_refused(kl__requester *requester)
{
    kl_request *found = NULL;

    kl__mutex_lock(&requester->mutex);
    for (kl__list *node = requester->batch.next;
         found == NULL && node != &requester->batch; node = node->next) {
        kl_request *request = KL__CONTAINER(node, kl_request, outbox_node);

        if (request->is_refused) {
            atomic_fetch_add_explicit(&request->refs, 1, memory_order_relaxed);
            found = request;
        }
    }
    kl__mutex_unlock(&requester->mutex);
    return found;
}

/* Looks for new credentials; a request for which there are none, or for which
 * `cancel` ends the search, completes with its 401. */
static void judge_refused(kl__requester *requester, kl__cancel *cancel)
{
    kl_request *request;

    while ((request = find_refused(requester)) != NULL) {
        bool may_differ =
            kl__client_refused(requester->client, request->generation, cancel);

        kl__mutex_lock(&requester->mutex);
        if (request->phase == KL__PHASE_WAITING) {
            request->is_refused = false;
            if (may_differ) {
                kl_reply_clear(&request->reply);
            } else {
                kl__list_remove(&request->outbox_node);
                kl__request_complete_locked(request, NULL);
            }
        }
        kl__mutex_unlock(&requester->mutex);
        kl__request_unref(request);
    }
}

/* ---- credentials ---- */

/* Makes the token that ends the wait for credentials. */
static void begin_flight(kl__requester *requester)
{
    kl__mutex_lock(&requester->flight_mutex);
    requester->is_flying = true;
    kl__cancel_init(&requester->flight);
    kl__mutex_unlock(&requester->flight_mutex);
}

static void end_flight(kl__requester *requester)
{
    kl__mutex_lock(&requester->flight_mutex);
    requester->is_flying = false;
    kl__cancel_deinit(&requester->flight);
    kl__mutex_unlock(&requester->flight_mutex);
}

void kl__request_end_flight(kl__requester *requester)
{
    bool is_idle;

    kl__mutex_lock(&requester->flight_mutex);
    kl__mutex_lock(&requester->mutex);
    is_idle = requester->is_ending || (kl__list_empty(&requester->batch) &&
                                       kl__list_empty(&requester->outbox));
    kl__mutex_unlock(&requester->mutex);
    if (is_idle && requester->is_flying) {
        kl__cancel_fire(&requester->flight);
    }
    kl__mutex_unlock(&requester->flight_mutex);
}

/* Looks for other credentials after a 401, and gets the present ones. Both may
 * wait for a pipe, or for another thread that does. */
static kl_code get_credentials(kl__requester *requester,
                               kl__credentials *credentials, kl_error *err)
{
    kl__cancel *closed = kl__client_closed(requester->client);
    kl__cancel_either either;
    kl_code code;

    *credentials = (kl__credentials){.tls = NULL};
    begin_flight(requester);
    kl__cancel_either_init(&either, &requester->flight, closed);
    judge_refused(requester, &either.token);
    /* Does a request wait still? The loop takes a request out of the batch
     * first, and then looks for a flight to end: so either this thread sees the
     * empty batch, or the loop sees the flight. And a 401 may have been the
     * outcome of all. Nothing is read for none: a caller that looks for new
     * credentials would wait for that read, and take its result, which may be
     * older than the call. */
    code = has_batch(requester)
               ? kl__config_credentials(requester->config, credentials,
                                        &either.token, err)
               : kl_error_set(err, KL_ECANCELED, "no request waits for it");
    kl__cancel_either_deinit(&either);
    end_flight(requester);
    if (code == KL_ECANCELED && kl__cancel_fired(closed)) {
        code = kl_error_set(err, KL_ECLOSED, "the client is closed");
    }
    return code;
}

/* The present credentials, if they never have to be waited for. */
static kl_code get_credentials_now(kl__requester *requester,
                                   kl__credentials *credentials, kl_error *err)
{
    *credentials = (kl__credentials){.tls = NULL};
    return requester->config != NULL
               ? kl__config_credentials(requester->config, credentials, NULL,
                                        err)
               : KL_OK;
}

static void fail_batch(kl__requester *requester, const kl_error *failure)
{
    kl__list *node;

    kl__mutex_lock(&requester->mutex);
    while ((node = kl__list_shift(&requester->batch)) != NULL) {
        kl__request_complete_locked(
            KL__CONTAINER(node, kl_request, outbox_node), failure);
    }
    kl__mutex_unlock(&requester->mutex);
}

/* ---- opening ---- */

/* The stream's hook: the stream has news. Runs on any thread of the
 * transport. */
static void tell_loop(void *arg)
{
    kl__request_tell(arg);
}

/* The stream's hook before attend_end: keeps the request alive until then. The
 * request exists here, as its stream is open. */
static void hold(void *arg)
{
    kl_request *request = arg;

    atomic_fetch_add_explicit(&request->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&request->requester->held, 1,
                              memory_order_relaxed);
}

/* The stream's hook when a short answer has come as a whole, on the transport's
 * thread. It completes the request here: to wake the loop for it would cost two
 * switches of threads. */
static void attend_end(void *arg)
{
    kl_request *request = arg;
    kl__requester *requester = request->requester;

    kl__request_attend(request);
    kl__mutex_lock(&requester->mutex);
    atomic_fetch_sub_explicit(&requester->held, 1, memory_order_relaxed);
    if (requester->is_ending) {
        kl__requester_look(requester);
    }
    kl__mutex_unlock(&requester->mutex);
    kl__request_unref(request);
}

/* Takes the next request of the batch, with a reference. From here on only this
 * thread may end it. */
static kl_request *take_next_request(kl__requester *requester)
{
    kl_request *request = NULL;
    kl__list *node;

    kl__mutex_lock(&requester->mutex);
    node = kl__list_shift(&requester->batch);
    if (node != NULL) {
        request = KL__CONTAINER(node, kl_request, outbox_node);
        request->phase = KL__PHASE_OPENING;
        request->was_passed_by = false;
        atomic_fetch_add_explicit(&request->refs, 1, memory_order_relaxed);
    }
    kl__mutex_unlock(&requester->mutex);
    return request;
}

/* Opens the stream; NULL: the request is not sent. If the transport has to
 * wait, it checks send_by_ms again before it sends. */
static kl__stream *begin(const kl_request *request,
                         const kl__credentials *credentials, kl_error *failure)
{
    int64_t send_by_ms = request->call.send_by_ms;

    if (send_by_ms > 0 && kl__boottime_ms() >= send_by_ms) {
        kl_error_set(failure, KL_ETIMEOUT,
                     "the request was not sent: its time was over");
        return NULL;
    }
    return kl__client_begin(request->requester->client, &request->call,
                            credentials, failure);
}

static void open_stream(kl_request *request, const kl__credentials *credentials)
{
    kl__requester *requester = request->requester;
    const kl__stream_hook hook = {.wake = tell_loop,
                                  .hold = request->streams ? NULL : hold,
                                  .end = request->streams ? NULL : attend_end,
                                  .arg = request,
                                  .at_end = !request->streams};
    kl_error failure;
    kl__stream *stream = begin(request, credentials, &failure);
    bool has_news = stream != NULL && kl__stream_set_hook(stream, &hook);

    kl__mutex_lock(&requester->mutex);
    if (stream != NULL) {
        request->generation = credentials->generation;
        request->stream = stream;
        request->phase = KL__PHASE_OPEN;
        if (has_news || request->was_passed_by) {
            kl__request_tell(request);
        }
    } else {
        kl__request_complete_locked(request, &failure);
    }
    kl__mutex_unlock(&requester->mutex);
}

/* Opens the streams of the first `most` requests in the batch, or of all. */
static void open_batch(kl__requester *requester,
                       const kl__credentials *credentials, int most)
{
    kl_request *request;

    for (int i = 0; i != most; i++) {
        request = take_next_request(requester);
        if (request == NULL) {
            return;
        }
        open_stream(request, credentials);
        kl__request_unref(request);
    }
}

void kl__request_open(kl_request *request)
{
    kl__requester *requester = request->requester;
    kl__credentials credentials;
    kl_error failure;

    if (get_credentials_now(requester, &credentials, &failure) == KL_OK) {
        open_stream(request, &credentials);
        kl__credentials_clear(&credentials);
    } else {
        kl__mutex_lock(&requester->mutex);
        kl__request_complete_locked(request, &failure);
        kl__mutex_unlock(&requester->mutex);
    }
}

/* Opens the streams of the first `most` requests in the batch, with these
 * credentials, which it clears; or completes all with the failure to get any.
 */
static void send_with(kl__requester *requester, int most, kl_code code,
                      kl__credentials *credentials, const kl_error *failure)
{
    if (code == KL_OK) {
        open_batch(requester, credentials, most);
        kl__credentials_clear(credentials);
    } else if (code != KL_ECANCELED) {
        fail_batch(requester, failure);
    }
    /* The flight was cancelled together with the last request that waited. A
     * later request waits in the outbox, or is in the batch and starts a new
     * flight. */
}

/* ---- on the loop ---- */

static bool has_refused(kl__requester *requester)
{
    kl_request *found = find_refused(requester);

    if (found != NULL) {
        kl__request_unref(found);
    }
    return found != NULL;
}

/* Sends the first requests of the batch, and lets the loop come back for the
 * rest. False: something has to be waited for, and none was sent. After a 401
 * the plugin may have to run, or a file that another thread reads is waited
 * for. */
static bool send_batch_now(kl__requester *requester)
{
    kl__credentials credentials = {.tls = NULL};
    bool must_wait = false;
    kl_code code = KL_OK;
    kl_error failure;

    if (requester->may_wait) {
        if (has_refused(requester)) {
            return false;
        }
        code = kl__config_credentials_now(requester->config, &credentials,
                                          &must_wait, &failure);
    } else {
        judge_refused(requester, NULL);
        code = get_credentials_now(requester, &credentials, &failure);
    }
    if (must_wait) {
        return false;
    }
    send_with(requester, MOST_AT_ONCE, code, &credentials, &failure);
    if (has_batch(requester)) {
        kl__requester_look_at_outbox(requester);
    }
    return true;
}

/* ---- the sender ---- */

static void send_batch(kl__requester *requester)
{
    kl__credentials credentials;
    kl_error failure;
    kl_code code = get_credentials(requester, &credentials, &failure);

    send_with(requester, ALL, code, &credentials, &failure);
}

/* Once `sender_runs` is false, the loop may join the thread: it touches nothing
 * after the mutex. */
static void *run_sender(void *arg)
{
    kl__requester *requester = arg;
    bool goes_on = true;

    while (goes_on) {
        send_batch(requester);
        kl__mutex_lock(&requester->mutex);
        goes_on = take_outbox_locked(requester);
        if (!goes_on) {
            requester->sender_runs = false;
            if (requester->is_ending) {
                kl__requester_look(requester);
            }
        }
        kl__mutex_unlock(&requester->mutex);
    }
    return NULL;
}

/* The thread has emptied the outbox, so this does not wait. */
static void join_sender(kl__requester *requester)
{
    if (requester->has_sender) {
        requester->has_sender = false;
        kl__thread_join(&requester->sender);
    }
}

static void start_sender(kl__requester *requester)
{
    kl_error err;

    join_sender(requester);
    kl__mutex_lock(&requester->mutex);
    requester->sender_runs = true;
    kl__mutex_unlock(&requester->mutex);
    if (kl__thread_start(&requester->sender, "kl-sender", run_sender, requester,
                         &err) == KL_OK) {
        requester->has_sender = true;
        return;
    }
    kl__mutex_lock(&requester->mutex);
    requester->sender_runs = false;
    kl__mutex_unlock(&requester->mutex);
    fail_batch(requester, &err);
    /* requests that came meanwhile left it to the sender to look */
    kl__requester_look_at_outbox(requester);
}

void kl__requester_send(kl__requester *requester)
{
    bool has_batch = false;

    kl__mutex_lock(&requester->mutex);
    if (!requester->sender_runs) {
        has_batch = take_outbox_locked(requester);
    }
    kl__mutex_unlock(&requester->mutex);
    if (has_batch && !send_batch_now(requester)) {
        start_sender(requester);
    }
}

void kl__requester_end_sending(kl__requester *requester)
{
    join_sender(requester);
}
