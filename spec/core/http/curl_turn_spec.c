/*
 * curl_turn_spec.c - readers that are told of bytes: one that lends its turn
 * while it waits, so that the transport thread reads what little has come and
 * the reader's thread sleeps on; and one that must not block, and can do
 * nothing with a part of an answer.
 */
#include "http/transport.h"

#include "gate.h"
#include "hostile_server.h"
#include "http_client.h"
#include "lent_wait.h"

#include "base/clock.h"
#include "base/thread.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 1024 * 1024, PIECES = 40 };

/* A reader on a thread of its own, and its turn. */
typedef struct lender {
    kl__stream *stream;
    pthread_t thread;
    atomic_int number;   /* of the thread, once it waits */
    kl__cancel cancel;   /* of its wait */
    int64_t deadline_ms; /* of its wait */
    bool wants;          /* the turn returns false */
    bool holds;          /* the turn waits at `leave` */
    gate entered;        /* the turn has begun */
    gate leave;          /* it may go on */
    gate read;           /* passed once for each turn that was carried out */
    char bytes[MOST];    /* what was read, by either */
    size_t count;        /* of these */
    size_t lent;         /* how many of them in a turn */
    size_t longest;      /* the most bytes of one turn */
    atomic_bool is_back; /* the wait has returned */
    kl_code code;        /* what it has returned */
    bool is_odd; /* a turn ran on the reader's thread, or was not read dry */
} lender;

/* Reads without a wait until nothing is there. */
static kl_code read_all(lender *self)
{
    size_t length = 1;
    kl_code code = KL_OK;

    while (code == KL_OK && length > 0 && self->count < MOST) {
        code = kl__stream_read(self->stream, self->bytes + self->count,
                               MOST - self->count, &length, 0, NULL, NULL);
        self->count += code == KL_OK ? length : 0;
    }
    return code;
}

static bool take_turn(void *arg)
{
    lender *self = arg;
    size_t before = self->count;

    self->is_odd |= pthread_equal(self->thread, pthread_self()) != 0;
    gate_pass(&self->entered);
    if (self->holds) {
        gate_await(&self->leave, 1);
    }
    self->is_odd |= read_all(self) != KL_ETIMEOUT;
    self->lent += self->count - before;
    if (self->count - before > self->longest) {
        self->longest = self->count - before;
    }
    gate_pass(&self->read);
    return !self->wants;
}

static kl_code lend(lender *self)
{
    return lend_and_wait(&(lent_wait){.stream = self->stream,
                                      .run = take_turn,
                                      .arg = self,
                                      .deadline_ms = self->deadline_ms,
                                      .cancel = &self->cancel});
}

static void *wait_once(void *arg)
{
    lender *self = arg;

    atomic_store(&self->number, gettid());
    self->code = lend(self);
    atomic_store(&self->is_back, true);
    return NULL;
}

/* Reads all, and lends its turn whenever it waits. */
static void *read_to_the_end(void *arg)
{
    lender *self = arg;

    atomic_store(&self->number, gettid());
    self->code = KL_OK;
    while (self->code == KL_OK && (self->code = read_all(self)) != KL_OK) {
        self->code = self->code == KL_ETIMEOUT ? lend(self) : self->code;
    }
    atomic_store(&self->is_back, true);
    return NULL;
}

static void init(lender *self, fixture *f)
{
    memset(self, 0, sizeof(*self));
    kl__cancel_init(&self->cancel);
    gate_init(&self->entered);
    gate_init(&self->leave);
    gate_init(&self->read);
    self->deadline_ms = -1;
    self->stream = ask(f, "/");
    await_head(self->stream);
}

static void await_sleep(lender *self)
{
    int64_t deadline = soon();

    while (atomic_load(&self->number) == 0 ||
           !is_asleep(atomic_load(&self->number))) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        sched_yield();
    }
}

static void start(lender *self, void *(*entry)(void *))
{
    assert_int_equal(pthread_create(&self->thread, NULL, entry, self), 0);
    await_sleep(self);
}

static void end(lender *self)
{
    assert_false(self->is_odd);
    kl__stream_close(self->stream);
    gate_deinit(&self->read);
    gate_deinit(&self->leave);
    gate_deinit(&self->entered);
    kl__cancel_deinit(&self->cancel);
}

/* The script of one short piece, once `go` is open. */
#define ONE_PIECE                                                       \
    STEPS(HOSTILE_STREAM, HOSTILE_GATE("go"), HOSTILE_CHUNK("0123456"), \
          HOSTILE_GATE("end"), HOSTILE_STREAM_END)

static lender the_lender;

static void short_pieces_are_read_on_the_transport_thread(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "", ONE_PIECE);
    init(&the_lender, f);
    start(&the_lender, wait_once);
    hostile_open_gate(f->server, "go");
    assert_true(gate_await(&the_lender.read, 1));
    assert_int_equal(the_lender.lent, 7);
    assert_memory_equal(the_lender.bytes, "0123456", 7);
    assert_false(atomic_load(&the_lender.is_back));
    await_sleep(&the_lender);
    hostile_open_gate(f->server, "end");
    pthread_join(the_lender.thread, NULL);
    assert_int_equal(the_lender.code, KL_OK);
    assert_int_equal(read_all(&the_lender), KL_OK); /* the end */
    assert_int_equal(the_lender.entered.count, 1);
    end(&the_lender);
}

static void a_turn_that_returns_false_wakes_the_reader(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "", ONE_PIECE);
    init(&the_lender, f);
    the_lender.wants = true;
    start(&the_lender, wait_once);
    hostile_open_gate(f->server, "go");
    pthread_join(the_lender.thread, NULL);
    assert_int_equal(the_lender.code, KL_OK);
    assert_int_equal(the_lender.lent, 7);
    end(&the_lender);
}

/* Waits until the turn is held, then lets `disturb` end the reader's wait: it
 * does not return before the turn has ended. */
static void disturb_a_turn(fixture *f, void (*disturb)(fixture *f))
{
    the_lender.holds = true;
    start(&the_lender, wait_once);
    hostile_open_gate(f->server, "go");
    assert_true(gate_await(&the_lender.entered, 1));
    disturb(f);
    await_sleep(&the_lender);
    assert_false(atomic_load(&the_lender.is_back));
    gate_pass(&the_lender.leave);
    pthread_join(the_lender.thread, NULL);
    assert_int_equal(the_lender.lent, 7);
}

static void cancel_wait(fixture *f)
{
    (void)f;
    kl__cancel_fire(&the_lender.cancel);
}

static void a_reader_that_is_cancelled_waits_for_the_turn_to_end(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "", ONE_PIECE);
    init(&the_lender, f);
    disturb_a_turn(f, cancel_wait);
    assert_int_equal(the_lender.code, KL_ECANCELED);
    end(&the_lender);
}

static void pass_deadline(fixture *f)
{
    (void)f;
    while (kl__clock_now(kl__clock_real()) <= the_lender.deadline_ms) {
        sched_yield();
    }
}

static void a_reader_whose_time_is_over_waits_for_the_turn_to_end(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "", ONE_PIECE);
    init(&the_lender, f);
    /* Long enough for the turn to begin; if it does not, the wait ends without
     * one, and there is nothing to see. */
    the_lender.deadline_ms = kl__clock_now(kl__clock_real()) + 2000;
    the_lender.holds = true;
    start(&the_lender, wait_once);
    hostile_open_gate(f->server, "go");
    if (gate_await(&the_lender.entered, 1) &&
        !atomic_load(&the_lender.is_back)) {
        pass_deadline(f);
        await_sleep(&the_lender);
        assert_false(atomic_load(&the_lender.is_back));
    }
    gate_pass(&the_lender.leave);
    pthread_join(the_lender.thread, NULL);
    assert_int_equal(the_lender.code, KL_ETIMEOUT);
    end(&the_lender);
}

static void close_transport(fixture *f)
{
    kl__transport_close(f->transport);
}

static void
a_transport_that_closes_in_a_turn_ends_the_wait_after_it(void **state)
{
    fixture *f = *state;
    kl_error err = {0};
    size_t length;
    char byte;

    hostile_on(f->server, "", ONE_PIECE);
    init(&the_lender, f);
    disturb_a_turn(f, close_transport);
    assert_int_equal(the_lender.code, KL_OK);
    assert_int_equal(kl__stream_read(the_lender.stream, &byte, 1, &length,
                                     soon(), NULL, &err),
                     KL_ECLOSED);
    end(&the_lender);
}

/* How the bytes are cut into pieces depends on the machine; but never is there
 * a turn of 16 KB. */
static void much_is_left_to_the_reader(void **state)
{
    enum { MUCH = 256 * 1024 };
    fixture *f = *state;

    hostile_on(f->server, "",
               STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: "
                                  "262144\r\n\r\n"),
                     HOSTILE_GATE("go"), HOSTILE_FLOOD("0123456789", MUCH)));
    init(&the_lender, f);
    start(&the_lender, read_to_the_end);
    hostile_open_gate(f->server, "go");
    pthread_join(the_lender.thread, NULL);
    assert_int_equal(the_lender.code, KL_OK);
    assert_int_equal(the_lender.count, MUCH);
    assert_true(the_lender.longest < 16 * 1024);
    assert_true(the_lender.lent < MUCH);
    end(&the_lender);
}

/* Each piece comes when the one before it was read. */
static void many_pieces_come_in_order_and_none_wakes_the_reader(void **state)
{
    enum { STEPS_IN_ALL = 3 + 2 * PIECES };
    fixture *f = *state;
    hostile_step steps[STEPS_IN_ALL] = {HOSTILE_STREAM};
    static char names[PIECES][16], texts[PIECES][16];
    char all[PIECES * 16] = "";

    for (int i = 0; i < PIECES; i++) {
        snprintf(names[i], sizeof(names[i]), "gate-%d", i);
        snprintf(texts[i], sizeof(texts[i]), "piece %d;", i);
        strcat(all, texts[i]);
        steps[1 + 2 * i] = (hostile_step)HOSTILE_GATE(names[i]);
        steps[2 + 2 * i] = (hostile_step)HOSTILE_CHUNK(texts[i]);
    }
    steps[STEPS_IN_ALL - 2] = (hostile_step)HOSTILE_GATE("end");
    steps[STEPS_IN_ALL - 1] = (hostile_step)HOSTILE_STREAM_END;
    hostile_on(f->server, "", steps, STEPS_IN_ALL);
    init(&the_lender, f);
    start(&the_lender, wait_once);
    for (int i = 0; i < PIECES; i++) {
        hostile_open_gate(f->server, names[i]);
        assert_true(gate_await(&the_lender.read, i + 1));
    }
    assert_false(atomic_load(&the_lender.is_back));
    hostile_open_gate(f->server, "end");
    pthread_join(the_lender.thread, NULL);
    assert_int_equal(the_lender.code, KL_OK);
    assert_int_equal(the_lender.lent, strlen(all));
    assert_memory_equal(the_lender.bytes, all, strlen(all));
    end(&the_lender);
}

enum { REST = 256 * 1024, LONG_ANSWER = 96 * 1024 };

/* Counts how often it was told. */
typedef struct ear {
    kl__mutex mutex;
    kl__cond cond;
    int count;
} ear;

static void hear(void *arg)
{
    ear *self = arg;

    kl__mutex_lock(&self->mutex);
    self->count++;
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

static void init_ear(ear *self)
{
    *self = (ear){.count = 0};
    kl__mutex_init(&self->mutex, KL__RANK_NEWS);
    kl__cond_init(&self->cond);
}

static void deinit_ear(ear *self)
{
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
}

static int count_of(ear *self)
{
    int count;

    kl__mutex_lock(&self->mutex);
    count = self->count;
    kl__mutex_unlock(&self->mutex);
    return count;
}

static void await_count(ear *self, int count)
{
    int64_t deadline = soon();
    bool in_time = true;

    kl__mutex_lock(&self->mutex);
    while (in_time && self->count < count) {
        in_time = kl__cond_wait(&self->cond, &self->mutex, deadline);
    }
    kl__mutex_unlock(&self->mutex);
    assert_true(in_time);
}

/* A stream whose reader is told of the end. */
static kl__stream *ask_for_all(fixture *f, ear *heard)
{
    const kl__stream_hook hook = {.wake = hear, .arg = heard, .at_end = true};
    kl__stream *stream;

    init_ear(heard);
    stream = ask(f, "/");
    assert_false(kl__stream_set_hook(stream, &hook));
    return stream;
}

static char read_byte(kl__stream *stream)
{
    char byte = 0;
    size_t length;

    assert_int_equal(
        kl__stream_read(stream, &byte, 1, &length, soon(), NULL, NULL), KL_OK);
    assert_int_equal(length, 1);
    return byte;
}

static void a_part_of_a_body_does_not_wake_a_reader_of_the_whole(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    ear heard;

    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("head"), HOSTILE_STREAM, HOSTILE_CHUNK("x"),
                     HOSTILE_GATE("end"), HOSTILE_CHUNK("y"),
                     HOSTILE_STREAM_END));
    stream = ask_for_all(f, &heard);
    hostile_open_gate(f->server, "head");
    await_head(stream);
    assert_int_equal(read_byte(stream), 'x');
    assert_int_equal(count_of(&heard), 0);
    hostile_open_gate(f->server, "end");
    await_count(&heard, 1);
    assert_int_equal(read_byte(stream), 'y');
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_OK);
    assert_int_equal(count_of(&heard), 1);
    deinit_ear(&heard);
}

/* With a byte unread, the next piece that curl has, of 16 KB, does not fit. It
 * is sent in one piece: of several, the first would be news of its own. */
static void a_reader_of_the_whole_is_woken_when_its_window_is_full(void **state)
{
    fixture *f = *state;
    const kl__request request = {.method = "GET",
                                 .base_url = hostile_url(f->server),
                                 .target = "/",
                                 .window = 16 * 1024};
    kl__stream_hook hook = {.wake = hear, .at_end = true};
    kl__stream *stream;
    kl__buf body = {0};
    static char rest[REST + 1];
    ear heard;

    memset(rest, 'z', REST);
    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("head"),
                     HOSTILE_TEXT("HTTP/1.1 200 OK\r\nConnection: close"
                                  "\r\n\r\nxy"),
                     HOSTILE_GATE("rest"), HOSTILE_TEXT(rest), HOSTILE_CLOSE));
    init_ear(&heard);
    hook.arg = &heard;
    stream = kl__transport_open(f->transport, &request, NULL);
    assert_non_null(stream);
    assert_false(kl__stream_set_hook(stream, &hook));
    hostile_open_gate(f->server, "head");
    await_head(stream);
    assert_int_equal(read_byte(stream), 'x');
    assert_int_equal(count_of(&heard), 0);
    hostile_open_gate(f->server, "rest");
    await_count(&heard, 1);
    assert_int_equal(read_to_end(stream, &body, NULL), KL_OK);
    assert_int_equal(body.length, 1 + REST);
    kl__buf_deinit(&body);
    deinit_ear(&heard);
}

static void set_hook_returns_true_if_the_response_has_arrived(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    kl__stream_hook hook = {.wake = hear, .at_end = true};
    ear heard;

    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "x")));
    init_ear(&heard);
    hook.arg = &heard;
    stream = ask(f, "/");
    await_head(stream);
    assert_true(kl__stream_set_hook(stream, &hook));
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_OK);
    deinit_ear(&heard);
}

/* The loop has left it: close frees it, with what was not read. */
static void a_stream_can_be_closed_when_its_end_was_reported(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    ear heard;

    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, "x")));
    stream = ask_for_all(f, &heard);
    hostile_open_gate(f->server, "go");
    await_count(&heard, 1);
    kl__stream_close(stream);
    deinit_ear(&heard);
}

/* A reader that takes the answer on the transport's thread. */
typedef struct taker {
    kl__stream *stream;
    ear woken;
    ear held;
    ear ended;
    kl__buf body;
    kl_code code; /* how the body ended */
} taker;

static void hear_wake(void *arg)
{
    hear(&((taker *)arg)->woken);
}

static void hear_hold(void *arg)
{
    hear(&((taker *)arg)->held);
}

static void take_all(void *arg)
{
    taker *self = arg;

    self->code = read_to_end(self->stream, &self->body, NULL); /* closes */
    hear(&self->ended);
}

static void open_taken(fixture *f, taker *self)
{
    const kl__stream_hook hook = {.wake = hear_wake,
                                  .hold = hear_hold,
                                  .end = take_all,
                                  .arg = self,
                                  .at_end = true};
    const kl__request request = {
        .method = "GET", .base_url = hostile_url(f->server), .target = "/"};

    *self = (taker){.code = KL_ETIMEOUT};
    init_ear(&self->woken);
    init_ear(&self->held);
    init_ear(&self->ended);
    self->stream = kl__transport_open(f->transport, &request, NULL);
    assert_non_null(self->stream);
    assert_false(kl__stream_set_hook(self->stream, &hook));
}

static void free_taken(taker *self)
{
    kl__buf_deinit(&self->body);
    deinit_ear(&self->woken);
    deinit_ear(&self->held);
    deinit_ear(&self->ended);
}

static void a_short_answer_is_taken_and_closed_on_the_transport(void **state)
{
    fixture *f = *state;
    taker reader;

    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, "short")));
    open_taken(f, &reader);
    hostile_open_gate(f->server, "go");
    await_count(&reader.ended, 1);
    assert_int_equal(reader.code, KL_OK);
    assert_string_equal(reader.body.bytes, "short");
    assert_int_equal(count_of(&reader.held), 1);
    assert_int_equal(count_of(&reader.woken), 0);
    free_taken(&reader);
}

static void a_broken_answer_is_taken_on_the_transport(void **state)
{
    fixture *f = *state;
    taker reader;

    hostile_on(f->server, "", STEPS(HOSTILE_GATE("go"), HOSTILE_RESET));
    open_taken(f, &reader);
    hostile_open_gate(f->server, "go");
    await_count(&reader.ended, 1);
    assert_int_equal(reader.code, KL_EUNAVAILABLE);
    assert_int_equal(count_of(&reader.woken), 0);
    free_taken(&reader);
}

/* To decode it would hold up the other streams. */
static void a_long_answer_wakes_its_reader(void **state)
{
    fixture *f = *state;
    static char text[LONG_ANSWER + 1];
    taker reader;

    memset(text, 'z', LONG_ANSWER);
    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, text)));
    open_taken(f, &reader);
    hostile_open_gate(f->server, "go");
    await_count(&reader.woken, 1);
    assert_int_equal(read_to_end(reader.stream, &reader.body, NULL), KL_OK);
    assert_int_equal(reader.body.length, LONG_ANSWER);
    assert_int_equal(count_of(&reader.held), 0);
    free_taken(&reader);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(short_pieces_are_read_on_the_transport_thread),
        SPEC(a_turn_that_returns_false_wakes_the_reader),
        SPEC(a_reader_that_is_cancelled_waits_for_the_turn_to_end),
        SPEC(a_reader_whose_time_is_over_waits_for_the_turn_to_end),
        SPEC(a_transport_that_closes_in_a_turn_ends_the_wait_after_it),
        SPEC(much_is_left_to_the_reader),
        SPEC(many_pieces_come_in_order_and_none_wakes_the_reader),
        SPEC(a_part_of_a_body_does_not_wake_a_reader_of_the_whole),
        SPEC(a_reader_of_the_whole_is_woken_when_its_window_is_full),
        SPEC(set_hook_returns_true_if_the_response_has_arrived),
        SPEC(a_stream_can_be_closed_when_its_end_was_reported),
        SPEC(a_short_answer_is_taken_and_closed_on_the_transport),
        SPEC(a_broken_answer_is_taken_on_the_transport),
        SPEC(a_long_answer_wakes_its_reader),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
