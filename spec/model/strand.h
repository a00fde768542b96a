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
    STRAND_WAITING, /* waits to be woken, or for its deadline */
    STRAND_ENDED    /* waits to be joined */
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
    uint64_t serial; /* number of this thread; places are used again */
    uint64_t priority;
    kl__role role;
    bool is_detached;
    strand_set joiners;

    kl__rank held[HELD_MAX]; /* the ranks that it holds, lowest first */
    int held_count;

    /* What the strand waits for; the first three are set before it sleeps. */
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

/* Makes a strand, ready to run; NULL: there are too many. */
strand *strand_new(const char *name, void *(*entry)(void *arg), void *arg);
/* Frees the place of a strand that has ended and was joined. */
void strand_drop(strand *self);

/* Stops the running strand until strand_wake, or until the deadline (< 0:
 * none): then false. */
bool strand_sleep(int64_t deadline);
/* Makes the sleeping strands of a set ready. */
void strand_wake(strand_set set);
/* Draws one strand of a set that is not empty. */
strand *strand_draw(strand_set set);

/* True if this wait ends without a reason; drawn from the seed. */
bool strand_is_spurious(void);

/* Virtual time; outside of a run it stands still. */
int64_t strand_now(void);

/* Forgets the wake-ups of a run that was abandoned. */
void strand_forget_wakeups(void);

/* Describes what every strand that has not ended waits for. */
void strand_describe_all(char *text, size_t size);

#endif
