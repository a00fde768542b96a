/*
 * schedule.c - see schedule.h: the strands of a run, which of them runs, and
 * virtual time. The other files of the scheduler make strands wait and wake
 * them.
 */
#include "schedule.h"

#include "chooser.h"
#include "strand.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCH_MS = 1000000, STEPS_MAX = 20000000 };

static struct {
    const schedule_options *options;
    schedule_outcome *outcome; /* NULL: no run */
    void (*entry)(void *arg);
    void *arg;
    strand host; /* the caller of schedule_run; only its fiber is used */
    strand strands[STRANDS_MAX];
    strand *current;
    fiber *left; /* the fiber that the last jump came from */
    strand_set ready;
    strand_set waiting; /* strands that wait with a deadline */
    strand_set idle;    /* strands that wait until no other can run */
    int alive;
    uint64_t serials;
    uint64_t max_steps;
    uint64_t world; /* the state of schedule_random */
    chooser chooser;
    int64_t now;
    bool traces;
} run;

strand *strand_self(void)
{
    return run.current;
}

int strand_place(const strand *self)
{
    return (int)(self - run.strands);
}

strand_set strand_bit(const strand *self)
{
    return UINT64_C(1) << strand_place(self);
}

strand *strand_at(int place)
{
    return &run.strands[place];
}

static strand *first_of(strand_set set)
{
    return strand_at(__builtin_ctzll(set));
}

int64_t strand_now(void)
{
    return run.outcome != NULL ? run.now : EPOCH_MS;
}

/* Mixes a word into the hash: FNV-1a on words, with a shift so that high bits
 * count too. */
static void mix(uint64_t word)
{
    uint64_t hash = run.outcome->hash;

    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    run.outcome->hash = hash ^ hash >> 29;
}

static void trace(const char *what, const char *text)
{
    if (run.traces) {
        fprintf(stderr, "%8llu %8lld %-15s %s%s\n",
                (unsigned long long)run.outcome->steps,
                (long long)(run.now - EPOCH_MS), run.current->name, what, text);
    }
}

void schedule_trace(bool on)
{
    run.traces = on;
}

static void jump(fiber *to)
{
    fiber *from = &run.current->fiber;

    run.left = from;
    fiber_jump(from, to);
}

/* Jumps back to the caller of schedule_run. */
static void jump_out(void)
{
    jump(&run.host.fiber);
}

void schedule_fail(const char *format, ...)
{
    schedule_outcome *outcome = run.outcome;
    char message[sizeof(outcome->message) - 100];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (outcome == NULL) {
        fprintf(stderr, "outside of a run: %s\n", message);
        abort();
    }
    outcome->failed = true;
    snprintf(outcome->message, sizeof(outcome->message),
             "%s (on %s, at %lld ms, step %llu)", message, run.current->name,
             (long long)(run.now - EPOCH_MS),
             (unsigned long long)outcome->steps);
    jump_out(); /* the fibers stay as they are; no jump returns to them */
    abort();
}

static void switch_to(strand *next)
{
    if (next == run.current) {
        return;
    }
    run.outcome->switches++;
    mix(run.outcome->steps << 8 | (uint64_t)strand_place(next));
    trace("-> ", next->name);
    run.left = &run.current->fiber;
    run.current = next;
    fiber_jump(run.left, &next->fiber);
}

/* The earliest deadline; -1: no strand has one. */
static int64_t next_deadline(void)
{
    int64_t next = -1;

    for (strand_set rest = run.waiting; rest != 0; rest &= rest - 1) {
        int64_t deadline = first_of(rest)->deadline;

        next = next < 0 || deadline < next ? deadline : next;
    }
    return next;
}

static void make_ready(strand *self)
{
    strand_set bit = strand_bit(self);

    self->state = STRAND_READY;
    run.ready |= bit;
    run.waiting &= ~bit;
    run.idle &= ~bit;
}

/* Moves time to the nearest deadline; false: there is none. */
static bool leap(void)
{
    int64_t next = next_deadline();

    if (next < 0) {
        return false;
    }
    run.now = next > run.now ? next : run.now;
    mix((uint64_t)run.now);
    for (strand_set rest = run.waiting; rest != 0; rest &= rest - 1) {
        strand *each = first_of(rest);

        if (each->deadline <= run.now) {
            each->timed_out = true;
            make_ready(each);
        }
    }
    return true;
}

/* Wakes the strands of schedule_wait_idle if no other deadline comes before
 * theirs, or at the same time. */
static bool wake_idle(void)
{
    int64_t next = next_deadline();
    bool found = false;

    for (strand_set rest = run.idle; rest != 0; rest &= rest - 1) {
        strand *each = first_of(rest);

        if (next < 0 || next > each->deadline) {
            make_ready(each);
            found = true;
        }
    }
    return found;
}

static _Noreturn void deadlock(void)
{
    char text[2000];

    strand_describe_all(text, sizeof(text));
    schedule_fail("deadlock: %s", text);
}

/* The running strand has to wait: runs another one, or the same one once it can
 * run on. */
static void run_another(void)
{
    while (run.ready == 0) {
        if (!wake_idle() && !leap()) {
            deadlock();
        }
    }
    switch_to(chooser_next(&run.chooser, run.ready));
}

static void count_step(void)
{
    if (++run.outcome->steps > run.max_steps) {
        char text[2000];

        strand_describe_all(text, sizeof(text));
        schedule_fail("livelock: no end after %llu steps: %s",
                      (unsigned long long)run.max_steps, text);
    }
}

void schedule_point(void)
{
    strand_set others;

    if (run.current == NULL) {
        return;
    }
    count_step();
    if (chooser_hurries(&run.chooser)) {
        leap();
    }
    others = run.ready & ~strand_bit(run.current);
    if (chooser_preempts(&run.chooser, run.current, others)) {
        run.outcome->preemptions++;
        switch_to(chooser_next(&run.chooser, others));
    }
}

void schedule_yield(void)
{
    strand_set others = run.ready & ~strand_bit(run.current);

    count_step();
    chooser_demote(&run.chooser, run.current);
    if (others != 0) {
        switch_to(chooser_next(&run.chooser, others));
    }
}

void schedule_calm(void)
{
    run.chooser.hurry_mean = 0;
}

bool strand_sleep(int64_t deadline)
{
    strand *self = run.current;
    strand_set bit = strand_bit(self);

    count_step();
    self->state = STRAND_WAITING;
    self->deadline = deadline;
    self->timed_out = false;
    run.ready &= ~bit;
    if (self->wait == WAIT_IDLE) {
        run.idle |= bit;
    } else if (deadline >= 0) {
        run.waiting |= bit;
    }
    run_another();
    return !self->timed_out;
}

void strand_wake(strand_set set)
{
    for (; set != 0; set &= set - 1) {
        if (first_of(set)->state == STRAND_WAITING) {
            make_ready(first_of(set));
        }
    }
}

strand *strand_draw(strand_set set)
{
    uint64_t place =
        chooser_draw(&run.chooser.random) % (uint64_t)__builtin_popcountll(set);

    for (; place > 0; place--) {
        set &= set - 1;
    }
    return first_of(set);
}

bool strand_is_spurious(void)
{
    int per_mille = run.options->spurious_per_mille;

    return per_mille > 0 &&
           chooser_draw(&run.chooser.random) % 1000 < (uint64_t)per_mille;
}

/* Ends the running strand; its fiber is used again for a later strand. */
static void end(strand *self)
{
    if (self->held_count > 0) {
        schedule_fail("a thread ended with a mutex of rank %d locked",
                      (int)self->held[self->held_count - 1]);
    }
    strand_wake(self->joiners);
    run.ready &= ~strand_bit(self);
    run.alive--;
    self->state = self->is_detached ? STRAND_NONE : STRAND_ENDED;
    if (run.alive > 0) {
        run_another();
    } else {
        jump_out();
    }
}

/* The entry of every fiber: runs the strands of one place, one after the
 * other. */
static void fiber_main(void)
{
    fiber_begun(run.left);
    for (;;) {
        strand *self = run.current;

        self->entry(self->arg);
        end(self);
    }
}

strand *strand_new(const char *name, void *(*entry)(void *arg), void *arg)
{
    for (int i = 0; i < STRANDS_MAX; i++) {
        strand *self = &run.strands[i];

        if (self->state != STRAND_NONE) {
            continue;
        }
        *self = (strand){.fiber = self->fiber,
                         .entry = entry,
                         .arg = arg,
                         .serial = ++run.serials};
        snprintf(self->name, sizeof(self->name), "%s", name);
        if (self->fiber.at == NULL) {
            fiber_make(&self->fiber, fiber_main);
        }
        chooser_rank(&run.chooser, self);
        make_ready(self);
        run.alive++;
        return self;
    }
    return NULL;
}

void strand_drop(strand *self)
{
    self->state = STRAND_NONE;
}

static void *run_entry(void *arg)
{
    (void)arg;
    run.entry(run.arg);
    return NULL;
}

/* Resets all state: an earlier run that was abandoned may have left some. */
static void prepare(const schedule_options *options, schedule_outcome *outcome)
{
    *outcome = (schedule_outcome){.hash = UINT64_C(0xcbf29ce484222325)};
    run.options = options;
    run.outcome = outcome;
    run.ready = 0;
    run.waiting = 0;
    run.idle = 0;
    run.alive = 0;
    run.serials = 0;
    run.max_steps = options->max_steps != 0 ? options->max_steps : STEPS_MAX;
    run.world = chooser_seed(options->seed, 2);
    run.now = EPOCH_MS;
    run.current = &run.host;
    chooser_init(&run.chooser, options);
    strand_forget_wakeups();
}

/* No strand runs any more: checks that each was joined or detached. */
static void check_joined(schedule_outcome *outcome)
{
    for (int i = 0; i < STRANDS_MAX; i++) {
        if (run.strands[i].state == STRAND_ENDED) {
            outcome->failed = true;
            snprintf(outcome->message, sizeof(outcome->message),
                     "the thread %s was neither joined nor detached",
                     run.strands[i].name);
        }
    }
}

void schedule_run(const schedule_options *options, void (*entry)(void *arg),
                  void *arg, schedule_outcome *outcome)
{
    strand *root;

    prepare(options, outcome);
    run.entry = entry;
    run.arg = arg;
    root = strand_new("main", run_entry, NULL);
    root->is_detached = true;
    run.left = &run.host.fiber;
    run.current = root;
    fiber_jump(&run.host.fiber, &root->fiber);
    if (!outcome->failed) {
        check_joined(outcome);
    }
    for (int i = 0; i < STRANDS_MAX; i++) {
        run.strands[i].state = STRAND_NONE;
        if (outcome->failed) {
            run.strands[i].fiber.at = NULL;
        }
    }
    mix(outcome->steps);
    outcome->now_ms = run.now;
    run.current = NULL;
    run.outcome = NULL;
}

uint64_t schedule_random(uint64_t bound)
{
    return chooser_draw(&run.world) % bound;
}

bool schedule_chance(int per_mille)
{
    return per_mille > 0 && schedule_random(1000) < (uint64_t)per_mille;
}

int64_t schedule_now(void)
{
    return strand_now();
}

void schedule_wait_until(int64_t ms)
{
    while (run.now < ms) {
        run.current->wait = WAIT_TIME;
        run.current->wait_owner = -1;
        strand_sleep(ms);
    }
}

void schedule_wait_idle(int64_t limit_ms)
{
    run.current->wait = WAIT_IDLE;
    run.current->wait_owner = -1;
    strand_sleep(limit_ms);
}

void schedule_note(const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (const char *at = text; *at != '\0'; at++) {
        mix((unsigned char)*at);
    }
    trace("", text);
}

const char *schedule_name(void)
{
    return run.current->name;
}

int schedule_alive(void)
{
    return run.alive;
}

static void describe(const strand *self, char *text, size_t size)
{
    static const char *const waits[] = {
        [WAIT_MUTEX] = "a mutex of rank ",
        [WAIT_READ] = "a reader's lock of rank ",
        [WAIT_WRITE] = "a writer's lock of rank ",
        [WAIT_COND] = "a condition, with a mutex of rank ",
        [WAIT_JOIN] = "the end of a thread",
        [WAIT_WAKEUP] = "an event queue's descriptor",
        [WAIT_TIME] = "time",
        [WAIT_IDLE] = "all other strands to have nothing to do",
    };
    char rank[16] = "";
    int owner = self->wait_owner;

    if (self->state == STRAND_READY) {
        snprintf(text, size, "%s runs", self->name);
        return;
    }
    if (self->wait <= WAIT_COND) {
        snprintf(rank, sizeof(rank), "%d", self->wait_rank);
    }
    snprintf(text, size, "%s waits for %s%s%s%s", self->name, waits[self->wait],
             rank, owner >= 0 ? ": " : "",
             owner >= 0 ? strand_at(owner)->name : "");
}

void strand_describe_all(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < STRANDS_MAX && used + 1 < size; i++) {
        const strand *each = strand_at(i);
        char line[160];

        if (each->state != STRAND_READY && each->state != STRAND_WAITING) {
            continue;
        }
        describe(each, line, sizeof(line));
        snprintf(text + used, size - used, "%s%s", used > 0 ? "; " : "", line);
        used = strlen(text);
    }
}
