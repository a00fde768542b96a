/*
 * every_call.h - tries public calls with each of their allocations failing in
 * turn. spec/lint/every_call.lua compares the tables of specs with the public
 * headers, so no call is left out.
 */
#ifndef KL_SPEC_EVERY_CALL_H
#define KL_SPEC_EVERY_CALL_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes the call and undoes its effect. Returns the call's result; if the call
 * takes no kl_error, this fills `err` itself. */
typedef kl_code (*every_call_fn)(void *world, kl_error *err);

typedef struct every_call {
    const char *name;
    /* the call itself: the compiler checks that it exists */
    void (*function)(void);
    every_call_fn run;
    bool allocates;
    /* runs before each try, without failures; may be NULL */
    every_call_fn prepare;
} every_call;

/* A row for a call that can fail for lack of memory; and for one that needs no
 * memory. */
#define REFUSES(call, run)                             \
    {                                                  \
#call, (void (*)(void))(call), run, true, NULL \
    }
#define NEVER_ALLOCATES(call, run)                      \
    {                                                   \
#call, (void (*)(void))(call), run, false, NULL \
    }
/* The same, with a function that runs before each try. */
#define REFUSES_AFTER(call, run, prepare)                 \
    {                                                     \
#call, (void (*)(void))(call), run, true, prepare \
    }
#define NEVER_ALLOCATES_AFTER(call, run, prepare)          \
    {                                                      \
#call, (void (*)(void))(call), run, false, prepare \
    }

/* The world that calls are tried on. */
typedef struct every_call_stage {
    void *world;
    /* Asserts that the world is intact; runs after each failure. May be
     * NULL. */
    void (*assert_whole)(void *world);
    /* Other threads allocate too: only allocations of the calling thread fail,
     * and leaks are looked for when the world ends. */
    bool is_busy;
} every_call_stage;

/*
 * Tries each call with its first allocation failing, then its second, and so on
 * until a run needs no more: once with that allocation alone, once with all
 * after it too; then with allocations failing at random, of fixed seeds.
 * Asserts that each run returns KL_ENOMEM with a message (or KL_OK if the call
 * can do without), that at least one returned KL_ENOMEM, that nothing leaked,
 * that the world is intact, and that the same call succeeds afterwards. A call
 * that needs no memory is run once with every allocation failing, and must make
 * none.
 */
void every_call_try(const every_call *calls, size_t count,
                    const every_call_stage *stage);

#endif
