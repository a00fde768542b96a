/*
 * wire.h - a transport whose answers come from a text: parts between lines of
 * "--", each with "/target status" on its first line ("break" after it: the
 * body breaks off) and a body on the others. Bodies come in chunks of a
 * pattern.
 */
#ifndef KL_FUZZ_WIRE_H
#define KL_FUZZ_WIRE_H

#include "fuzz.h"
#include "http/transport.h"
#include "kubelua/client.h"

enum { FUZZ_MOST_ANSWERS = 64 };

typedef struct fuzz_wire {
    kl_transport base;
    fuzz_text targets[FUZZ_MOST_ANSWERS];
    fuzz_text bodies[FUZZ_MOST_ANSWERS];
    int statuses[FUZZ_MOST_ANSWERS];
    bool breaks[FUZZ_MOST_ANSWERS];
    bool used[FUZZ_MOST_ANSWERS];
    size_t count;
    fuzz_text pattern;
} fuzz_wire;

/* The answer to a path is the first part with that target that was not used
 * yet; if there is none, a 404. Texts are borrowed. The wire must outlive its
 * users, and has nothing to free. */
void fuzz_wire_init(fuzz_wire *wire, fuzz_text answers, fuzz_text pattern);

/* Adds answers after those that are there. */
void fuzz_wire_add(fuzz_wire *wire, fuzz_text answers);

#endif
