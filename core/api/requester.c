/*
 * requester.c - the life of a client's requester, and its turns on the loop. A
 * turn handles each request that has news or whose time has come, and sends
 * those in the outbox (request_sending.c). See requester.h.
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

void kl__requester_look(kl__requester *requester)
{
    tell_to_look(requester, &requester->look_at_all);
}

void kl__requester_look_at_outbox(kl__requester *requester)
{
    tell_to_look(requester, &requester->look_at_outbox);
}

void kl__request_post_locked(kl_request *request)
{
    kl__requester *requester = request->requester;

    request->phase = KL__PHASE_WAITING;
    kl__list_append(&requester->outbox, &request->outbox_node);
    if (!requester->sender_runs) {
        kl__requester_look_at_outbox(requester);
    }
}

/* The hook in the client's token: the client is being closed. Runs on the
 * closing thread, with the token's mutex held. */
static void look_at_all(void *arg)
{
    kl__requester *requester = arg;

    kl__requester_look(requester);
}

void kl__request_unref(kl_request *request)
{
    if (atomic_fetch_sub_explicit(&request->refs, 1, memory_order_acq_rel) ==
        1) {
        kl__request_destroy(request);
    }
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

/* True if the outbox is to be looked at now. */
static bool take_outbox_flag(kl__requester *requester)
{
    requester->sent_last = take_flag(&requester->look_at_outbox);
    return requester->sent_last;
}

/* Takes the first request with news, with a reference. */
static kl_request *take_news_locked(kl__requester *requester)
{
    kl__list *node = kl__list_shift(&requester->news);
    kl_request *request = NULL;

    if (node != NULL) {
        request = KL__CONTAINER(node, kl_request, news_node);
        /* another thread may drop the request after the unlock */
        atomic_fetch_add_explicit(&request->refs, 1, memory_order_relaxed);
    }
    return request;
}

/* Finds the next piece of work. False: there is none now. The outbox comes
 * first, but not twice in a row: else answers, cancels and timeouts would wait
 * for as long as new requests keep coming. */
static bool find_chore_locked(kl__requester *requester, chore *found)
{
    bool may_send = !requester->sent_last;

    requester->sent_last = false;
    *found = (chore){.is_all = take_flag(&requester->look_at_all)};
    if (found->is_all) {
        return true;
    }
    if (may_send && take_outbox_flag(requester)) {
        found->is_outbox = true;
        return true;
    }
    if (requester->due_ms != INT64_MAX &&
        kl__clock_now(kl__clock_real()) >= requester->due_ms) {
        requester->due_ms = INT64_MAX;
        found->is_due = true;
        return true;
    }
    found->request = take_news_locked(requester);
    found->is_outbox = found->request == NULL && take_outbox_flag(requester);
    return found->request != NULL || found->is_outbox;
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

/* True once the client is being freed, no sender runs, no request is left, and
 * no thread of the transport attends to one. */
static bool loop_is_over(kl__requester *requester)
{
    bool over;

    kl__mutex_lock(&requester->mutex);
    over = requester->is_ending && !requester->sender_runs &&
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
        kl__requester_send(requester);
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
    kl__mutex_deinit(&requester->mutex);
    kl__mutex_deinit(&requester->flight_mutex);
    kl__free(requester);
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
    requester->may_wait = config != NULL && !kl__config_is_still(config);
    requester->due_ms = INT64_MAX;
    atomic_init(&requester->held, 0);
    kl__mutex_init(&requester->flight_mutex, KL__RANK_FLIGHT);
    kl__mutex_init(&requester->mutex, KL__RANK_REQUESTS);
    kl__cond_init(&requester->result_cond);
    kl__mutex_init(&requester->news_mutex, KL__RANK_NEWS);
    kl__list_init(&requester->all);
    kl__list_init(&requester->outbox);
    kl__list_init(&requester->batch);
    kl__list_init(&requester->news);
    if (kl__request_loop_join(&requester->member,
                              kl__client_shares_thread(client), err) != KL_OK) {
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

/* Ends it. Each request of a user holds the client, so no user has one any
 * more. Requests that are left were freed by their users, which cancelled
 * them. */
static void free_requester(kl__requester *requester)
{
    kl__cancel_remove(kl__client_closed(requester->client),
                      &requester->closing);
    /* 1. End the sender, also if it waits for a plugin: the requests that
     * needed the plugin may all have timed out. 2. Leave the loop, after the
     * last request and the sender. */
    kl__mutex_lock(&requester->mutex);
    requester->is_ending = true;
    kl__mutex_unlock(&requester->mutex);
    kl__request_end_flight(requester);
    kl__requester_look(requester);
    kl__request_loop_leave(&requester->member);
    kl__requester_end_sending(requester);
    deinit_requester(requester);
}

kl__requester *kl__requester_of(kl_client *client, kl_error *err)
{
    static const kl__requester_life life = {new_requester, free_requester};

    return kl__client_requester(client, &life, err);
}
