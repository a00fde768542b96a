/*
 * every_call.h - tries public calls with each of their allocations failing in
 * turn. spec/lint/every_call.lua holds the tables of the specs that use it
 * against the public headers: no call is left out.
 */
#ifndef KL_SPEC_EVERY_CALL_H
#define KL_SPEC_EVERY_CALL_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes the call and undoes what it did. What it returns came of the call; of
 * one that takes no kl_error, it fills `err` itself. */
typedef kl_code (*every_call_fn)(void *world, kl_error *err);

typedef struct every_call {
    const char *name;
    void (*function)(void); /* of that name: there is one */
    every_call_fn run;
    bool allocates;
    every_call_fn prepare; /* before each run, out of reach; may be NULL */
} every_call;

/* A call that fails without memory; and one that needs none. */
#define REFUSES(call, run)                             \
    {                                                  \
#call, (void (*)(void))(call), run, true, NULL \
    }
#define NEVER_ALLOCATES(call, run)                      \
    {                                                   \
#call, (void (*)(void))(call), run, false, NULL \
    }
/* The same, with something to be made ready before each run. */
#define REFUSES_AFTER(call, run, prepare)                 \
    {                                                     \
#call, (void (*)(void))(call), run, true, prepare \
    }
#define NEVER_ALLOCATES_AFTER(call, run, prepare)          \
    {                                                      \
#call, (void (*)(void))(call), run, false, prepare \
    }

/* What the calls are tried on. */
typedef struct every_call_stage {
    void *world;
    /* Asserts that nothing of it suffered; after each failure. May be NULL. */
    void (*assert_whole)(void *world);
    /* Other threads allocate too: only the caller's allocations fail, and
     * leaks are for whoever ends the world to find. */
    bool is_busy;
} every_call_stage;

/*
 * Tries each call with its first allocation failing, its second, and so on
 * until a run needs no more: that one alone, then with all after it; and then
 * with allocations failing at random, of fixed seeds. Asserts that it says
 * KL_ENOMEM with a message, or KL_OK where it can do without; that it said
 * KL_ENOMEM at least once; that nothing leaked; that the world is whole; that
 * the same call succeeds afterwards. A call that never allocates is
 * run once, with every allocation failing: there must be none.
 */
void every_call_try(const every_call *calls, size_t count,
                    const every_call_stage *stage);

#endif
