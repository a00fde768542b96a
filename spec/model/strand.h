/*
 * strand.h - what the files of the scheduler share: the strands, one for each
 * kl__thread and one for the entry of the run, and how one waits and is woken.
 */
#ifndef KL_SPEC_MODEL_STRAND_H
#define KL_SPEC_MODEL_STRAND_H

#include "fiber.h"

#include "base/thread.h"

enum { STRANDS_MAX = 64, HELD_MAX = 16 };

/* Strands are members of sets: bit i is the strand at i. */
typedef uint64_t strand_set;

typedef enum strand_state {
    STRAND_NONE,    /* the place is free */
    STRAND_READY,   /* runs, or could */
    STRAND_WAITING, /* until it is woken, or for its deadline */
    STRAND_ENDED    /* until it is joined */
} strand_state;

typedef enum strand_wait {
    WAIT_MUTEX,
    WAIT_READ,
    WAIT_WRITE,
    WAIT_COND,
    WAIT_JOIN,
    WAIT_WAKEUP,
    WAIT_TIME,
    WAIT_IDLE
} strand_wait;

typedef struct strand {
    fiber fiber; /* kept when the place is used again */
    strand_state state;
    char name[16];
    void *(*entry)(void *arg);
    void *arg;
    uint64_t serial; /* of this thread; places are used again */
    uint64_t priority;
    kl__role role;
    bool is_detached;
    strand_set joiners;

    kl__rank held[HELD_MAX]; /* the ranks that it holds, lowest first */
    int held_count;

    /* While it waits; the first three are noted before it does. */
    strand_wait wait;
    int wait_rank;    /* of the mutex */
    int wait_owner;   /* the place of the strand that holds it; < 0: none */
    int64_t deadline; /* < 0: none */
    bool timed_out;
} strand;

/* The strand that runs; NULL outside of a run. Its place, and its bit. */
strand *strand_self(void);
int strand_place(const strand *self);
strand_set strand_bit(const strand *self);
strand *strand_at(int place);

/* A new one, ready; NULL: there are too many. */
strand *strand_new(const char *name, void *(*entry)(void *arg), void *arg);
/* One that has ended was joined: its place is free. */
void strand_drop(strand *self);

/* Stands still until strand_wake or the deadline (< 0: none): false then. */
bool strand_sleep(int64_t deadline);
/* Those of a set that sleep are ready. */
void strand_wake(strand_set set);
/* One of a set that is not empty, drawn. */
strand *strand_draw(strand_set set);

/* True if this wait ends without a reason; drawn from the seed. */
bool strand_is_spurious(void);

/* Virtual time; standing still outside of a run. */
int64_t strand_now(void);

/* Forgets the wake-ups of a run that was abandoned. */
void strand_forget_wakeups(void);

/* What every strand that has not ended waits for, for people. */
void strand_describe_all(char *text, size_t size);

#endif
