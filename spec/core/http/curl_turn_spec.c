/*
 * curl_turn_spec.c - a reader that lends its turn while it waits: the transport
 * thread reads what little has come, and the reader's thread sleeps on, until
 * there is something that it has to do itself.
 */
#include "http/transport.h"

#include "gate.h"
#include "hostile_server.h"
#include "http_client.h"

#include "base/clock.h"

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
    const kl__stream_turn turn = {.run = take_turn, .arg = self};

    return kl__stream_wait(self->stream, &turn, self->deadline_ms,
                           &self->cancel, NULL);
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

static lender self;

static void short_pieces_are_read_on_the_transport_thread(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "", ONE_PIECE);
    init(&self, f);
    start(&self, wait_once);
    hostile_open_gate(f->server, "go");
    assert_true(gate_await(&self.read, 1));
    assert_int_equal(self.lent, 7);
    assert_memory_equal(self.bytes, "0123456", 7);
    assert_false(atomic_load(&self.is_back));
    await_sleep(&self);
    hostile_open_gate(f->server, "end");
    pthread_join(self.thread, NULL);
    assert_int_equal(self.code, KL_OK);
    assert_int_equal(read_all(&self), KL_OK); /* the end */
    assert_int_equal(self.entered.count, 1);
    end(&self);
}

static void a_turn_that_returns_false_wakes_the_reader(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "", ONE_PIECE);
    init(&self, f);
    self.wants = true;
    start(&self, wait_once);
    hostile_open_gate(f->server, "go");
    pthread_join(self.thread, NULL);
    assert_int_equal(self.code, KL_OK);
    assert_int_equal(self.lent, 7);
    end(&self);
}

/* Waits until the turn is held, then lets `disturb` end the reader's wait: it
 * does not return before the turn has ended. */
static void disturb_a_turn(fixture *f, void (*disturb)(fixture *f))
{
    self.holds = true;
    start(&self, wait_once);
    hostile_open_gate(f->server, "go");
    assert_true(gate_await(&self.entered, 1));
    disturb(f);
    await_sleep(&self);
    assert_false(atomic_load(&self.is_back));
    gate_pass(&self.leave);
    pthread_join(self.thread, NULL);
    assert_int_equal(self.lent, 7);
}

static void cancel_wait(fixture *f)
{
    (void)f;
    kl__cancel_fire(&self.cancel);
}

static void a_reader_that_is_cancelled_waits_for_the_turn_to_end(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "", ONE_PIECE);
    init(&self, f);
    disturb_a_turn(f, cancel_wait);
    assert_int_equal(self.code, KL_ECANCELED);
    end(&self);
}

static void pass_deadline(fixture *f)
{
    (void)f;
    while (kl__clock_now(kl__clock_real()) <= self.deadline_ms) {
        sched_yield();
    }
}

static void a_reader_whose_time_is_over_waits_for_the_turn_to_end(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "", ONE_PIECE);
    init(&self, f);
    /* Long enough for the turn to begin; if it does not, the wait ends without
     * one, and there is nothing to see. */
    self.deadline_ms = kl__clock_now(kl__clock_real()) + 2000;
    self.holds = true;
    start(&self, wait_once);
    hostile_open_gate(f->server, "go");
    if (gate_await(&self.entered, 1) && !atomic_load(&self.is_back)) {
        pass_deadline(f);
        await_sleep(&self);
        assert_false(atomic_load(&self.is_back));
    }
    gate_pass(&self.leave);
    pthread_join(self.thread, NULL);
    assert_int_equal(self.code, KL_ETIMEOUT);
    end(&self);
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
    init(&self, f);
    disturb_a_turn(f, close_transport);
    assert_int_equal(self.code, KL_OK);
    assert_int_equal(
        kl__stream_read(self.stream, &byte, 1, &length, soon(), NULL, &err),
        KL_ECLOSED);
    end(&self);
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
    init(&self, f);
    start(&self, read_to_the_end);
    hostile_open_gate(f->server, "go");
    pthread_join(self.thread, NULL);
    assert_int_equal(self.code, KL_OK);
    assert_int_equal(self.count, MUCH);
    assert_true(self.longest < 16 * 1024);
    assert_true(self.lent < MUCH);
    end(&self);
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
    init(&self, f);
    start(&self, wait_once);
    for (int i = 0; i < PIECES; i++) {
        hostile_open_gate(f->server, names[i]);
        assert_true(gate_await(&self.read, i + 1));
    }
    assert_false(atomic_load(&self.is_back));
    hostile_open_gate(f->server, "end");
    pthread_join(self.thread, NULL);
    assert_int_equal(self.code, KL_OK);
    assert_int_equal(self.lent, strlen(all));
    assert_memory_equal(self.bytes, all, strlen(all));
    end(&self);
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
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
