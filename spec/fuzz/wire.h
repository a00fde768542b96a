/*
 * wire.h - a transport whose answers are a text: parts between lines of "--",
 * each with "/target status" on its first line ("break" after it: the body
 * breaks off) and a body on the others. Bodies come in chunks of a pattern.
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

/* The first answer to a path is the first part of that target that was not
 * taken yet; there being none, 404. Texts are borrowed. The wire must outlive
 * what uses it, and has nothing to free. */
void fuzz_wire_init(fuzz_wire *wire, fuzz_text answers, fuzz_text pattern);

/* More answers, after those that are there. */
void fuzz_wire_add(fuzz_wire *wire, fuzz_text answers);

#endif
