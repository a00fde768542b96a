/*
 * requester.c - the life of a client's requester, and its loop thread, which
 * handles each request that has news or whose time has come.
 */
#include "api/requester.h"

#include "base/clock.h"
#include "base/mem.h"

/* ---- news for the loop ---- */

/* Unlocks the news and wakes the loop if it sleeps. The loop is woken once for
 * all news until it runs, and after the unlock: before, it would only wait for
 * the mutex. The requester is not freed during the call: the caller holds the
 * client, or a mutex that the loop needs to drop the request. */
static void unlock_news_and_wake(kl__requester *requester)
{
    bool must_wake = requester->is_asleep;

    requester->is_asleep = false;
    kl__mutex_unlock(&requester->news_mutex);
    if (must_wake) {
        kl__cond_signal(&requester->news_cond);
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

void kl__requester_look(kl__requester *requester)
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

    kl__requester_look(requester);
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

static chore await_chore(kl__requester *requester)
{
    chore found;

    kl__mutex_lock(&requester->news_mutex);
    while (!find_chore_locked(requester, &found)) {
        requester->is_asleep = true;
        kl__cond_wait(&requester->news_cond, &requester->news_mutex,
                      requester->due_ms != INT64_MAX ? requester->due_ms : -1);
    }
    requester->is_asleep = false;
    kl__mutex_unlock(&requester->news_mutex);
    return found;
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

static void *run_loop(void *arg)
{
    kl__requester *requester = arg;
    bool may_end = false; /* look_at_all was set: it may be the end */

    while (!may_end || !loop_is_over(requester)) {
        chore todo = await_chore(requester);

        if (todo.request != NULL) {
            kl__request_attend(todo.request);
            kl__request_unref(todo.request);
        } else if (todo.is_outbox) {
            kl__request_send_all(requester);
        } else {
            may_end = may_end || todo.is_all;
            look_for_due(requester, todo.is_all
                                        ? INT64_MAX
                                        : kl__clock_now(kl__clock_real()));
        }
    }
    return NULL;
}

/* ---- life ---- */

static void deinit_requester(kl__requester *requester)
{
    kl__cond_deinit(&requester->news_cond);
    kl__mutex_deinit(&requester->news_mutex);
    kl__cond_deinit(&requester->result_cond);
    kl__cond_deinit(&requester->outbox_cond);
    kl__mutex_deinit(&requester->mutex);
    kl__mutex_deinit(&requester->flight_mutex);
    kl__free(requester);
}

/* Ends the loop's thread, after the sender has ended or if there is none. */
static void end_loop(kl__requester *requester)
{
    kl__mutex_lock(&requester->mutex);
    requester->is_ending = true;
    requester->sender_ended = true;
    kl__mutex_unlock(&requester->mutex);
    tell_to_look(requester, &requester->look_at_all);
    kl__thread_join(&requester->loop);
}

static kl_code start_threads(kl__requester *requester, kl_error *err)
{
    kl_code code = kl__thread_start(&requester->loop, "kl-requests", run_loop,
                                    requester, err);

    if (code != KL_OK || !requester->has_sender) {
        return code;
    }
    code = kl__thread_start(&requester->sender, "kl-sender", kl__request_sender,
                            requester, err);
    if (code != KL_OK) {
        end_loop(requester);
    }
    return code;
}

kl__requester *kl__requester_new(kl_client *client, kl_config *config,
                                 kl_error *err)
{
    kl__requester *requester = kl__calloc(1, sizeof(*requester));

    if (requester == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for requests");
        return NULL;
    }
    requester->client = client;
    requester->config = config;
    requester->has_sender = config != NULL && !kl__config_is_still(config);
    requester->sender_ended = !requester->has_sender;
    requester->due_ms = INT64_MAX;
    atomic_init(&requester->held, 0);
    kl__mutex_init(&requester->flight_mutex, KL__RANK_FLIGHT);
    kl__mutex_init(&requester->mutex, KL__RANK_REQUESTS);
    kl__cond_init(&requester->outbox_cond);
    kl__cond_init(&requester->result_cond);
    kl__mutex_init(&requester->news_mutex, KL__RANK_NEWS);
    kl__cond_init(&requester->news_cond);
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

/* Each request of a user holds the client, so no user has one any more.
 * Requests that are left were freed by their users, which cancelled them. */
void kl__requester_free(kl__requester *requester)
{
    if (requester == NULL) {
        return;
    }
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
    /* 2. End the loop, after the last request. */
    end_loop(requester);
    deinit_requester(requester);
}

void kl__request_unref(kl_request *request)
{
    if (atomic_fetch_sub_explicit(&request->refs, 1, memory_order_acq_rel) ==
        1) {
        kl__request_destroy(request);
    }
}
