/*
 * request_turns_spec.c - requests of clients that share a loop or have one
 * each, under every order of their users, of answers and of plugins: each has
 * one result, a right one, and has it in time, whatever other requests wait
 * for; and nothing is left. See README.md of the folder above.
 */
#include "requests.h"
#include "blocks.h"
#include "schedule.h"

#include "api/client.h"
#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SEEDS = 40000,
    USERS = 3,
    SLOTS = 24, /* requests that a user has at once */
    DEEDS = 14,
    CROWD = 20 /* requests at once: more than a turn of a loop handles */
};

typedef struct slot {
    asked *of; /* NULL: free */
    kl_request *request;
    bool has_queue;
    bool was_told; /* the queue has told its tag */
} slot;

typedef struct user {
    kl_client *clients[CLIENTS]; /* references; NULL: dropped */
    kl_event_queue *queue;
    slot slots[SLOTS];
} user;

world w;
static user users[USERS];
/* Guards `slots` of all users: one that cancels a request of another user holds
 * it, and the request is not freed meanwhile. Rank LISTENER. */
static kl__mutex registry;

/* Time stands still while a thread can run, so what waits for no other thing
 * takes none. */
static void check_took(int64_t began_ms, int64_t most_ms, const char *what)
{
    schedule_check(schedule_now() - began_ms <= most_ms, "%s took %lld ms",
                   what, (long long)(schedule_now() - began_ms));
}

/* ---- users ---- */

/* Takes it out of the slots: no other user cancels it after that. */
static slot take_slot(slot *at)
{
    slot taken;

    kl__mutex_lock(&registry);
    taken = *at;
    *at = (slot){.of = NULL};
    kl__mutex_unlock(&registry);
    return taken;
}

static void note_cancel(asked *of)
{
    if (of->cancel_ms < 0 && !asked_is_over(of)) {
        of->cancel_ms = schedule_now();
    }
}

/* The last reference to a client waits for a plugin that ends, or a pipe. */
static void free_request(slot *at)
{
    int64_t began_ms = schedule_now();
    slot taken = take_slot(at);
    long clients;

    note_cancel(taken.of);
    taken.of->request = NULL;
    schedule_note("free request %d", taken.of->number);
    clients = kl_live_count(KL_LIVE_CLIENT);
    kl_request_free(taken.request);
    if (kl_live_count(KL_LIVE_CLIENT) < clients) {
        saw(SEEN_LAST_IN_FREE);
    }
    check_took(began_ms, PIPE_MS, "kl_request_free");
}

static void drop_client(user *self, int place)
{
    kl_client *client = self->clients[place];
    int64_t began_ms = schedule_now();

    self->clients[place] = NULL;
    kl_client_unref(client);
    check_took(began_ms, PIPE_MS, "kl_client_unref");
}

static asked *draw_request(known_client *door, kl_call *call, char *target,
                           size_t size)
{
    static const char *const methods[] = {"GET", "GET", "GET", "POST", "PUT"};
    asked *of = &w.asked[w.asked_count];
    int64_t now = schedule_now();

    *of = (asked){.number = w.asked_count, .door = door};
    snprintf(target, size, "/%d", of->number);
    call->target = target;
    call->method = methods[schedule_random(5)];
    call->timeout_ms =
        schedule_chance(700) ? 1 + (int)schedule_random(2500) : 30000;
    call->no_retry = of->no_retry = schedule_chance(150);
    call->streams = of->streams = schedule_chance(150);
    of->is_write = call->method[0] == 'P';
    of->deadline_ms = now + call->timeout_ms;
    of->cancel_ms = of->over_ms = -1;
    of->ready_ms = of->late_ms = now;
    of->refused_token = -1;
    of->is_sending = true;
    w.asked_count++;
    return of;
}

static void send_request(user *self, int place)
{
    slot *at = self->slots;
    known_client *door = &w.doors[place];
    int64_t began_ms = schedule_now();
    kl_request *request;
    char target[16];
    kl_call call = {.body = NULL};
    bool has_queue = schedule_chance(600);
    kl_error err;
    asked *of;

    while (at < self->slots + SLOTS && at->of != NULL) {
        at++;
    }
    if (self->clients[place] == NULL || at == self->slots + SLOTS ||
        w.asked_count == ASKED) {
        return;
    }
    of = draw_request(door, &call, target, sizeof(target));
    schedule_note("%s %s to client %d within %d ms", call.method, target, place,
                  call.timeout_ms);
    request = kl_client_send(self->clients[place], &call,
                             has_queue ? self->queue : NULL, of, &err);
    check_took(began_ms, 0, "kl_client_send");
    of->is_sending = false;
    of->request = request;
    if (request == NULL) {
        schedule_check((err.code == KL_ECLOSED && door->closed_ms >= 0) ||
                           (err.code == KL_EIO && w.fails_per_mille > 0),
                       "a request is refused: %s", err.message);
        schedule_check(of->tries == 0, "a request that was refused is sent");
        return;
    }
    kl__mutex_lock(&registry);
    *at = (slot){.of = of, .request = request, .has_queue = has_queue};
    kl__mutex_unlock(&registry);
}

static void check_in_time(const asked *of, int64_t began_ms)
{
    int64_t limit_ms = asked_limit_ms(of);

    limit_ms = limit_ms > began_ms ? limit_ms : began_ms;
    schedule_check(schedule_now() <= limit_ms,
                   "request %d has to be complete at %lld ms", of->number,
                   (long long)limit_ms);
}

static void await_request(const slot *at, int64_t timeout_ms)
{
    int64_t began_ms = schedule_now();
    kl_code code;

    code = kl_request_wait(at->request, timeout_ms);
    check_in_time(at->of, began_ms);
    schedule_check(code == KL_OK || timeout_ms >= 0, "a wait without a result");
}

/* Tags that are ready: each comes once, and only for a complete request. */
static void drain_queue(user *self)
{
    asked *of;

    while ((of = kl_event_queue_next(self->queue)) != NULL) {
        slot *at = self->slots;

        while (at < self->slots + SLOTS && at->of != of) {
            at++;
        }
        schedule_check(at < self->slots + SLOTS && at->has_queue,
                       "a tag of request %d, which was freed", of->number);
        schedule_check(kl_request_is_complete(at->request),
                       "a tag of request %d, which goes on", of->number);
        schedule_check(!at->was_told || of->streams,
                       "a second tag of request %d", of->number);
        at->was_told = true;
    }
}

/* Waits until the queue has told the tag of this request. */
static void await_tag(user *self, const slot *at)
{
    int64_t began_ms = schedule_now();

    drain_queue(self);
    while (!at->was_told) {
        (void)kl_event_queue_wait(self->queue, -1);
        drain_queue(self);
    }
    check_in_time(at->of, began_ms);
}

/* Reads a stream for a while. */
static void read_stream(const slot *at)
{
    asked *of = at->of;
    char bytes[8000];
    size_t got = 0;
    int64_t got_ms = schedule_now();

    for (int looks = 0; looks < 12;) {
        size_t length;
        kl_error err;
        int64_t now = schedule_now();
        kl_code code =
            kl_request_read(at->request, bytes, sizeof(bytes), &length, &err);

        asked_check_body(of, bytes, length);
        got += length;
        got_ms = length > 0 ? now : got_ms;
        if (code == KL_ETIMEOUT) {
            schedule_check(of->come_ms >= now || got_ms >= now ||
                               got == of->come,
                           "request %d: %zu bytes of %zu cannot be read",
                           of->number, got, of->come);
            schedule_wait_until(now + 1 + (int64_t)schedule_random(300));
            looks++;
        } else if (code != KL_OK || length == 0) {
            schedule_check(code != KL_OK || (of->is_whole && got == of->come),
                           "request %d ends after %zu bytes of %zu", of->number,
                           got, of->come);
            schedule_check(code != KL_EUNAVAILABLE ||
                               (of->is_broken && got == of->come),
                           "request %d breaks after %zu bytes of %zu",
                           of->number, got, of->come);
            if (code == KL_OK) {
                saw(SEEN_STREAM);
            } else if (code == KL_EUNAVAILABLE) {
                saw(SEEN_STREAM_BROKE);
            }
            return;
        }
    }
}

/* Awaits the result of a request, checks it, and frees the request. */
static void finish_request(user *self, slot *at)
{
    asked *of = at->of;
    kl_reply reply, second;
    kl_error err;

    if (at->has_queue && schedule_chance(700)) {
        await_tag(self, at);
    } else {
        await_request(at, -1);
    }
    if (kl_request_result(at->request, &reply, &err) == KL_OK) {
        asked_check_answer(of, &reply);
        schedule_check(kl_request_result(at->request, &second, NULL) ==
                           KL_EINVAL,
                       "a second reply");
        if (of->streams && reply.status / 100 == 2) {
            read_stream(at);
        }
        kl_reply_clear(&reply);
    } else {
        asked_check_failure(of, &err);
    }
    if (at->has_queue) {
        await_tag(self, at);
    }
    free_request(at);
}

/* A request of any user. */
static void cancel_request(void)
{
    int64_t began_ms = schedule_now();
    const slot *at = users[schedule_random(USERS)].slots;
    int place = (int)schedule_random(SLOTS);

    kl__mutex_lock(&registry);
    for (int i = 0; i < SLOTS && at[place].of == NULL; i++) {
        place = (place + 1) % SLOTS;
    }
    at += place;
    if (at->of != NULL) {
        note_cancel(at->of);
        schedule_note("cancel request %d", at->of->number);
        kl_request_cancel(at->request);
    }
    kl__mutex_unlock(&registry);
    check_took(began_ms, 0, "kl_request_cancel");
}

static void close_client(user *self, int place)
{
    known_client *door = &w.doors[place];
    int64_t began_ms = schedule_now();

    if (self->clients[place] != NULL) {
        door->closed_ms = door->closed_ms < 0 ? began_ms : door->closed_ms;
        kl_client_close(self->clients[place]);
        check_took(began_ms, 0, "kl_client_close");
    }
}

/* The server takes no token of before, or none at all for a while; or files
 * have new ones. */
static void change_tokens(void)
{
    int place = (int)schedule_random((uint64_t)w.login_count);

    w.logins[place].is_file_changed = true;
    if (schedule_chance(300)) {
        w.valid_from = w.token_count + 1;
    } else if (schedule_chance(200)) {
        w.refuses_until_ms = schedule_now() + (int64_t)schedule_random(500);
    }
}

/* A request of this user; NULL: it has none. */
static slot *draw_slot(user *self)
{
    size_t place = (size_t)schedule_random(SLOTS);

    for (size_t i = 0; i < SLOTS; i++) {
        slot *at = &self->slots[(place + i) % SLOTS];

        if (at->of != NULL) {
            return at;
        }
    }
    return NULL;
}

/* Sleeps until a plugin ends, or for a while: so that what a user does next
 * meets what the sender does then. */
static void sleep_for_a_while(void)
{
    const known_login *at = &w.logins[schedule_random((uint64_t)w.login_count)];

    schedule_wait_until(at->is_busy
                            ? at->ends_ms
                            : schedule_now() + (int64_t)schedule_random(900));
}

/* Sends many at once, and may free them at once. */
static void send_crowd(user *self, int place)
{
    bool frees = schedule_chance(300);

    for (int i = (int)schedule_random(CROWD); i >= 0; i--) {
        send_request(self, place);
    }
    for (int i = 0; frees && i < SLOTS; i++) {
        if (self->slots[i].of != NULL) {
            free_request(&self->slots[i]);
        }
    }
}

static void use_request(user *self, slot *at)
{
    if (at == NULL) {
        schedule_yield();
    } else if (schedule_chance(450)) {
        finish_request(self, at);
    } else if (schedule_chance(400)) {
        free_request(at);
    } else {
        await_request(at, (int64_t)schedule_random(400));
    }
}

static void do_something(user *self)
{
    int place = (int)schedule_random((uint64_t)w.door_count);

    switch (schedule_random(20)) {
    case 0:
        send_crowd(self, place);
        break;
    case 1:
    case 2:
    case 3:
        cancel_request();
        break;
    case 4:
        sleep_for_a_while();
        break;
    case 5:
        drain_queue(self);
        break;
    case 6:
        change_tokens();
        break;
    case 7:
        if (schedule_chance(300)) {
            close_client(self, place);
        } else if (self->clients[place] != NULL && schedule_chance(500)) {
            drop_client(self, place);
        }
        break;
    case 8:
    case 9:
    case 10:
    case 11:
        use_request(self, draw_slot(self));
        break;
    default:
        send_request(self, place);
    }
}

/* Leaves nothing, in a drawn order. */
static void leave_all(user *self)
{
    bool drops_first = schedule_chance(500), finishes = schedule_chance(500);

    for (int i = 0; i < w.door_count && drops_first; i++) {
        drop_client(self, i);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (self->slots[i].of == NULL) {
            continue;
        }
        if (finishes) {
            finish_request(self, &self->slots[i]);
        } else {
            free_request(&self->slots[i]);
        }
    }
    for (int i = 0; i < w.door_count; i++) {
        drop_client(self, i);
    }
}

static void *use_clients(void *arg)
{
    user *self = arg;

    for (int i = (int)schedule_random(DEEDS); i >= 0; i--) {
        do_something(self);
    }
    leave_all(self);
    return NULL;
}

/* ---- a history ---- */

static void make_doors(void)
{
    int shared_per_mille = schedule_chance(600)   ? 1000
                           : schedule_chance(500) ? 0
                                                  : 500;

    w.login_count = w.door_count = 2 + (int)schedule_random(CLIENTS - 1);
    for (int i = 0; i < w.door_count; i++) {
        static const login_kind kinds[] = {
            LOGIN_NONE,   LOGIN_TOKEN,  LOGIN_FILE,   LOGIN_PIPE,
            LOGIN_PLUGIN, LOGIN_PLUGIN, LOGIN_PLUGIN, LOGIN_PLUGIN};
        known_client *door = &w.doors[i];
        kl_client_options options = {.transport = wire_new()};
        kl_error err;

        login_init(&w.logins[i], kinds[schedule_random(8)]);
        door->login = &w.logins[i > 0 && schedule_chance(150) ? i - 1 : i];
        door->login->users++;
        door->closed_ms = -1;
        options.config = door->login->config;
        options.shares_thread = schedule_chance(shared_per_mille);
        door->client = kl_client_new(&options, &err);
        schedule_check(door->client != NULL, "no client");
        door->closed = kl__client_closed(door->client);
        schedule_note("client %d has login %d, kind %d, %s loop", i,
                      (int)(door->login - w.logins), (int)door->login->kind,
                      options.shares_thread ? "the shared" : "its own");
        kl_transport_unref(options.transport);
    }
}

static void make_user(user *self)
{
    kl_error err;

    self->queue = kl_event_queue_new(&err);
    for (int i = 0; i < w.door_count; i++) {
        self->clients[i] = kl_client_ref(w.doors[i].client);
    }
}

static void check_nothing_lives(void)
{
    for (int i = 0; i < KL_LIVE_KINDS; i++) {
        schedule_check(kl_live_count((kl_live_kind)i) == 0, "%ld %s live on",
                       kl_live_count((kl_live_kind)i),
                       kl_live_name((kl_live_kind)i));
    }
}

static void run_users(void *arg)
{
    kl__thread threads[USERS];

    (void)arg;
    w.fails_per_mille = schedule_chance(150) ? 250 : 0;
    kl__mutex_init(&registry, KL__RANK_LISTENER);
    make_doors();
    for (int i = 0; i < USERS; i++) {
        make_user(&users[i]);
    }
    for (int i = 0; i < w.door_count; i++) {
        kl_client_unref(w.doors[i].client);
    }
    for (int i = 0; i < USERS; i++) {
        kl__thread_start(&threads[i], "user", use_clients, &users[i], NULL);
    }
    for (int i = 0; i < USERS; i++) {
        kl__thread_join(&threads[i]);
        kl_event_queue_free(users[i].queue);
    }
    for (int i = 0; i < w.login_count; i++) {
        login_deinit(&w.logins[i]);
    }
    kl__mutex_deinit(&registry);
    check_nothing_lives();
}

static uint64_t first_seed = 1, histories = SEEDS;
static bool replays;
static void run_seed(uint64_t seed, bool traces)
{
    static schedule_outcome outcome;
    const schedule_options wanted = {.seed = seed,
                                     .preemptions = -1,
                                     .spurious_per_mille =
                                         seed % 4 == 0 ? 20 : 0,
                                     .max_steps = 400000};
    long before = blocks_count();
    char text[120];

    snprintf(text, sizeof(text),
             "\nFAILED  seed %llu, after %llu histories\nit crashes",
             (unsigned long long)seed, (unsigned long long)(seed - first_seed));
    schedule_describe(text);
    memset(&w, 0, sizeof(w));
    memset(users, 0, sizeof(users));
    schedule_trace(traces);
    schedule_run(&wanted, run_users, NULL, &outcome);
    if (!outcome.failed && blocks_count() != before) {
        outcome.failed = true;
        snprintf(outcome.message, sizeof(outcome.message),
                 "%ld blocks of memory are left", blocks_count() - before);
    }
    if (outcome.failed) {
        printf("%.*s\n%s\n", (int)strcspn(text + 1, "\n") + 1, text,
               outcome.message);
        fail();
    }
}

static void requests_have_one_right_result_in_time(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < histories; i++) {
        run_seed(first_seed + i, replays);
    }
    assert_true(print_seen() || histories < SEEDS);
}

/* "--seed S" and "--histories N" choose other ones than the first SEEDS;
 * "--replay S" is that one alone, with a trace. */
int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_have_one_right_result_in_time),
    };

    blocks_watch();
    for (int i = 1; i + 1 < count; i += 2) {
        uint64_t value = strtoull(words[i + 1], NULL, 10);

        replays |= strcmp(words[i], "--replay") == 0;
        first_seed =
            strcmp(words[i], "--seed") == 0 || replays ? value : first_seed;
        histories = strcmp(words[i], "--histories") == 0 ? value : histories;
    }
    histories = replays ? 1 : histories;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
