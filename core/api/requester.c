/*
 * requester.c - the life of a client's requester, its turns on the loop, and
 * its sender. The sender takes requests out of the outbox, gets credentials for
 * all of them once, and opens their streams. A turn handles each request that
 * has news or whose time has come. See requester.h.
 */
#include "api/requester.h"

#include "base/clock.h"
#include "base/mem.h"

enum { TURN = 16 /* chores of one turn on the loop, which others may share */ };

/* ---- news for the loop ---- */

/* Unlocks the news and wakes the requester if it rests, once for all news until
 * it has a turn. The requester is not freed during the call: the caller holds
 * the client, or a mutex that the loop needs to drop the request. */
static void unlock_news_and_wake(kl__requester *requester)
{
    bool must_wake = requester->is_resting;

    requester->is_resting = false;
    kl__mutex_unlock(&requester->news_mutex);
    if (must_wake) {
        kl__request_loop_wake(&requester->member);
    }
}

void kl__request_tell(kl_request *request)
{
    kl__requester *requester = request->requester;

    kl__mutex_lock(&requester->news_mutex);
    if (kl__list_empty(&request->news_node)) {
        kl__list_append(&requester->news, &request->news_node);
    }
    unlock_news_and_wake(requester);
}

void kl__request_due_locked(kl_request *request, int64_t ms)
{
    kl__requester *requester = request->requester;

    request->due_ms = ms;
    kl__mutex_lock(&requester->news_mutex);
    if (ms < requester->due_ms) {
        requester->due_ms = ms;
        unlock_news_and_wake(requester);
    } else {
        kl__mutex_unlock(&requester->news_mutex);
    }
}

static void tell_to_look(kl__requester *requester, bool *at)
{
    kl__mutex_lock(&requester->news_mutex);
    *at = true;
    unlock_news_and_wake(requester);
}

/* Makes the loop check if it has to end. With or without the mutex held. */
static void look_again(kl__requester *requester)
{
    tell_to_look(requester, &requester->look_at_all);
}

void kl__request_post_locked(kl_request *request)
{
    kl__requester *requester = request->requester;

    request->phase = KL__PHASE_WAITING;
    kl__list_append(&requester->outbox, &request->outbox_node);
    if (requester->has_sender) {
        kl__cond_signal(&requester->outbox_cond);
    } else {
        tell_to_look(requester, &requester->look_at_outbox);
    }
}

/* The hook in the client's token: the client is being closed. Runs on the
 * closing thread, with the token's mutex held. */
static void look_at_all(void *arg)
{
    kl__requester *requester = arg;

    look_again(requester);
}

void kl__request_unref(kl_request *request)
{
    if (atomic_fetch_sub_explicit(&request->refs, 1, memory_order_acq_rel) ==
        1) {
        kl__request_destroy(request);
    }
}

static void take_outbox_locked(kl__requester *requester)
{
    kl__list *node;

    while ((node = kl__list_shift(&requester->outbox)) != NULL) {
        kl__list_append(&requester->batch, node);
    }
}

/* False also while the client is being freed: then the loop completes the
 * requests in the batch, which are cancelled. */
static bool has_batch(kl__requester *requester)
{
    bool has;

    kl__mutex_lock(&requester->mutex);
    has = !requester->is_ending && !kl__list_empty(&requester->batch);
    kl__mutex_unlock(&requester->mutex);
    return has;
}

/* ---- the sender: requests that were answered with 401 ---- */

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

/* Looks for new credentials; a request for which there are none completes with
 * its 401. */
static void judge_refused(kl__requester *requester)
{
    kl_request *request;

    while ((request = find_refused(requester)) != NULL) {
        bool may_differ =
            kl__client_refused(requester->client, request->generation);

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

/* ---- the sender: credentials ---- */

/* Makes the token that ends the wait for credentials. False: no request waits
 * for them any more. */
static bool begin_flight(kl__requester *requester)
{
    /* The loop takes a request out of the batch first, and then looks for a
     * flight to end. So either this thread sees the empty batch, or the loop
     * sees the flight. */
    kl__mutex_lock(&requester->flight_mutex);
    requester->is_flying = has_batch(requester);
    if (requester->is_flying) {
        kl__cancel_init(&requester->flight);
    }
    kl__mutex_unlock(&requester->flight_mutex);
    return requester->is_flying;
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

static kl_code get_credentials(kl__requester *requester,
                               kl__credentials *credentials, kl_error *err)
{
    kl__cancel_either either;
    kl_code code;

    *credentials = (kl__credentials){.tls = NULL};
    if (requester->config == NULL) {
        return KL_OK;
    }
    if (!begin_flight(requester)) {
        return kl_error_set(err, KL_ECANCELED, "no request waits for it");
    }
    kl__cancel_either_init(&either, &requester->flight,
                           kl__client_closed(requester->client));
    code = kl__config_credentials(requester->config, credentials, &either.token,
                                  err);
    kl__cancel_either_deinit(&either);
    end_flight(requester);
    if (code == KL_ECANCELED &&
        kl__cancel_fired(kl__client_closed(requester->client))) {
        code = kl_error_set(err, KL_ECLOSED, "the client is closed");
    }
    return code;
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

/* ---- the sender: opening ---- */

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
        look_again(requester);
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

static void open_batch(kl__requester *requester,
                       const kl__credentials *credentials)
{
    kl_request *request;

    while ((request = take_next_request(requester)) != NULL) {
        open_stream(request, credentials);
        kl__request_unref(request);
    }
}

void kl__request_open(kl_request *request)
{
    kl__requester *requester = request->requester;
    kl__credentials credentials = {.tls = NULL};
    kl_code code = KL_OK;
    kl_error failure;

    if (requester->config != NULL) {
        code = kl__config_credentials(requester->config, &credentials, NULL,
                                      &failure);
    }
    if (code == KL_OK) {
        open_stream(request, &credentials);
        kl__credentials_clear(&credentials);
    } else {
        kl__mutex_lock(&requester->mutex);
        kl__request_complete_locked(request, &failure);
        kl__mutex_unlock(&requester->mutex);
    }
}

/* Opens the streams of all requests in the batch. */
static void send_batch(kl__requester *requester)
{
    kl__credentials credentials;
    kl_error failure;
    kl_code code;

    judge_refused(requester);
    code = get_credentials(requester, &credentials, &failure);
    if (code == KL_OK) {
        open_batch(requester, &credentials);
        kl__credentials_clear(&credentials);
    } else if (code != KL_ECANCELED) {
        fail_batch(requester, &failure);
    }
    /* The flight was cancelled together with the last request that waited. A
     * later request waits in the outbox, or is in the batch and starts a new
     * flight. */
}

/* Empties the outbox. */
static void send_all(kl__requester *requester)
{
    do {
        kl__mutex_lock(&requester->mutex);
        take_outbox_locked(requester);
        kl__mutex_unlock(&requester->mutex);
        send_batch(requester);
    } while (has_batch(requester));
}

/* Waits for a request to send. False: the client is being freed. */
static bool await_outbox(kl__requester *requester)
{
    bool goes_on;

    kl__mutex_lock(&requester->mutex);
    while (!requester->is_ending && kl__list_empty(&requester->outbox)) {
        kl__cond_wait(&requester->outbox_cond, &requester->mutex, -1);
    }
    goes_on = !requester->is_ending;
    kl__mutex_unlock(&requester->mutex);
    return goes_on;
}

static void *run_sender(void *arg)
{
    kl__requester *requester = arg;

    while (await_outbox(requester)) {
        send_all(requester);
    }
    return NULL;
}

/* ---- the loop ---- */

/* One piece of work for the loop; one field is set. */
typedef struct chore {
    kl_request *request; /* handle this request; a reference */
    bool is_all;         /* handle all requests */
    bool is_outbox;      /* empty the outbox */
    bool is_due;         /* look for requests whose time has come */
} chore;

/* Clears `*flag`; returns what it was. */
static bool take_flag(bool *flag)
{
    bool was_set = *flag;

    *flag = false;
    return was_set;
}

/* Finds the next piece of work. False: there is none now. */
static bool find_chore_locked(kl__requester *requester, chore *found)
{
    kl__list *node;

    *found = (chore){.is_all = take_flag(&requester->look_at_all)};
    if (!found->is_all) {
        found->is_outbox = take_flag(&requester->look_at_outbox);
    }
    if (found->is_all || found->is_outbox) {
        return true;
    }
    if (requester->due_ms != INT64_MAX &&
        kl__clock_now(kl__clock_real()) >= requester->due_ms) {
        requester->due_ms = INT64_MAX;
        found->is_due = true;
        return true;
    }
    node = kl__list_shift(&requester->news);
    if (node != NULL) {
        found->request = KL__CONTAINER(node, kl_request, news_node);
        /* another thread may drop the request after the unlock */
        atomic_fetch_add_explicit(&found->request->refs, 1,
                                  memory_order_relaxed);
    }
    return node != NULL;
}

/* As find_chore_locked. If there is none, the requester rests until `*due_ms`,
 * or until there is news. */
static bool take_chore(kl__requester *requester, chore *found, int64_t *due_ms)
{
    bool has_found;

    kl__mutex_lock(&requester->news_mutex);
    has_found = find_chore_locked(requester, found);
    requester->is_resting = !has_found;
    *due_ms = requester->due_ms;
    kl__mutex_unlock(&requester->news_mutex);
    return has_found;
}

/* Adds the requests that are due by `until_ms` to the news, and sets the next
 * time to do this. It goes through all requests. That happens seldom, as nearly
 * every request is answered long before its time is over. */
static void look_for_due(kl__requester *requester, int64_t until_ms)
{
    int64_t next_ms = INT64_MAX;

    kl__mutex_lock(&requester->mutex);
    for (kl__list *node = requester->all.next; node != &requester->all;
         node = node->next) {
        kl_request *request = KL__CONTAINER(node, kl_request, node);

        if (request->due_ms <= until_ms) {
            kl__request_tell(request);
        } else if (request->due_ms < next_ms) {
            next_ms = request->due_ms;
        }
    }
    kl__mutex_lock(&requester->news_mutex);
    if (next_ms < requester->due_ms) {
        requester->due_ms = next_ms;
    }
    kl__mutex_unlock(&requester->news_mutex);
    kl__mutex_unlock(&requester->mutex);
}

/* True once the client is being freed, the sender has ended, no request is
 * left, and no thread of the transport attends to one. */
static bool loop_is_over(kl__requester *requester)
{
    bool over;

    kl__mutex_lock(&requester->mutex);
    over = requester->is_ending && requester->sender_ended &&
           kl__list_empty(&requester->all) &&
           atomic_load_explicit(&requester->held, memory_order_relaxed) == 0;
    kl__mutex_unlock(&requester->mutex);
    return over;
}

static void do_chore(kl__requester *requester, const chore *todo)
{
    if (todo->request != NULL) {
        kl__request_attend(todo->request);
        kl__request_unref(todo->request);
    } else if (todo->is_outbox) {
        send_all(requester);
    } else {
        requester->may_end = requester->may_end || todo->is_all;
        look_for_due(requester, todo->is_all ? INT64_MAX
                                             : kl__clock_now(kl__clock_real()));
    }
}

/* A turn on the loop. */
static int64_t run_turn(void *arg)
{
    kl__requester *requester = arg;

    for (int done = 0; done < TURN; done++) {
        int64_t due_ms;
        chore todo;

        if (!take_chore(requester, &todo, &due_ms)) {
            return due_ms;
        }
        do_chore(requester, &todo);
        if (requester->may_end && loop_is_over(requester)) {
            return KL__LOOP_OVER;
        }
    }
    return KL__LOOP_AGAIN;
}

/* ---- life ---- */

static void deinit_requester(kl__requester *requester)
{
    kl__mutex_deinit(&requester->news_mutex);
    kl__cond_deinit(&requester->result_cond);
    kl__cond_deinit(&requester->outbox_cond);
    kl__mutex_deinit(&requester->mutex);
    kl__mutex_deinit(&requester->flight_mutex);
    kl__free(requester);
}

/* Leaves the loop, after the sender has ended or if there is none. */
static void leave_loop(kl__requester *requester)
{
    kl__mutex_lock(&requester->mutex);
    requester->is_ending = true;
    requester->sender_ended = true;
    kl__mutex_unlock(&requester->mutex);
    tell_to_look(requester, &requester->look_at_all);
    kl__request_loop_leave(&requester->member);
}

static kl_code start_threads(kl__requester *requester, kl_error *err)
{
    kl_code code = kl__request_loop_join(
        &requester->member, kl__client_shares_thread(requester->client), err);

    if (code != KL_OK || !requester->has_sender) {
        return code;
    }
    code = kl__thread_start(&requester->sender, "kl-sender", run_sender,
                            requester, err);
    if (code != KL_OK) {
        leave_loop(requester);
    }
    return code;
}

/* Makes a client's requester, at the client's first request. NULL: KL_ENOMEM,
 * KL_EIO. */
static kl__requester *new_requester(kl_client *client, kl_config *config,
                                    kl_error *err)
{
    kl__requester *requester = kl__calloc(1, sizeof(*requester));

    if (requester == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for requests");
        return NULL;
    }
    requester->client = client;
    requester->config = config;
    requester->member.run = run_turn;
    requester->member.arg = requester;
    requester->has_sender = config != NULL && !kl__config_is_still(config);
    requester->sender_ended = !requester->has_sender;
    requester->due_ms = INT64_MAX;
    atomic_init(&requester->held, 0);
    kl__mutex_init(&requester->flight_mutex, KL__RANK_FLIGHT);
    kl__mutex_init(&requester->mutex, KL__RANK_REQUESTS);
    kl__cond_init(&requester->outbox_cond);
    kl__cond_init(&requester->result_cond);
    kl__mutex_init(&requester->news_mutex, KL__RANK_NEWS);
    kl__list_init(&requester->all);
    kl__list_init(&requester->outbox);
    kl__list_init(&requester->batch);
    kl__list_init(&requester->news);
    if (start_threads(requester, err) != KL_OK) {
        deinit_requester(requester);
        return NULL;
    }
    requester->closing.wake = look_at_all;
    requester->closing.arg = requester;
    /* If the client is closed already, the caller checks that again before it
     * sends. */
    (void)kl__cancel_add(kl__client_closed(client), &requester->closing);
    return requester;
}

/* Ends its sender, leaves the loop and frees it. Each request of a user holds
 * the client, so no user has one any more. Requests that are left were freed by
 * their users, which cancelled them. */
static void free_requester(kl__requester *requester)
{
    kl__cancel_remove(kl__client_closed(requester->client),
                      &requester->closing);
    /* 1. End the sender, also if it waits for a plugin: the requests that
     * needed the plugin may all have timed out. */
    if (requester->has_sender) {
        kl__mutex_lock(&requester->mutex);
        requester->is_ending = true;
        kl__cond_signal(&requester->outbox_cond);
        kl__mutex_unlock(&requester->mutex);
        kl__request_end_flight(requester);
        tell_to_look(requester, &requester->look_at_all);
        kl__thread_join(&requester->sender);
    }
    /* 2. Leave the loop, after the last request. */
    leave_loop(requester);
    deinit_requester(requester);
}

kl__requester *kl__requester_of(kl_client *client, kl_error *err)
{
    static const kl__requester_life life = {new_requester, free_requester};

    return kl__client_requester(client, &life, err);
}
