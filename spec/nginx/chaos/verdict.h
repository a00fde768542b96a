/*
 * verdict.h - what an answer may be while a cluster changes. Each subject (a
 * route, a certificate) has identities, numbers that its answers tell: the
 * spec allows one before it makes a change, and bans the old one after the
 * change was seen. An answer is wrong if its identity was banned before its
 * request began. No time is compared: only this order counts.
 *
 * A change is seen in the answer of a request that began after the rule. A
 * worker that stands still, or a busy machine, brings answers late: that of a
 * request before may have the same identity, from the time before the last
 * change, and says nothing about this one.
 */
#ifndef CHAOS_VERDICT_H
#define CHAOS_VERDICT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { VERDICT_IDENTITIES = 4096, VERDICT_NAME_SIZE = 32 };

typedef struct {
    char name[VERDICT_NAME_SIZE];
    atomic_uint_fast64_t moment;   /* grows with each rule */
    atomic_uint_fast64_t loose_at; /* the last moment in which it might fail */
    /* the last moment in which each identity was allowed; 0: never */
    atomic_uint_fast64_t allowed_at[VERDICT_IDENTITIES];
    /* The identity that was allowed last, and the moment since then, until it
     * is seen; 0: it was seen. */
    atomic_uint_fast64_t expected;
    /* The moment since "loose", until a request has failed; 0: one has. */
    atomic_uint_fast64_t failure_expected;
} verdict_subject;

void verdict_init(verdict_subject *self, const char *name);
/* The moment at which a request begins: for the two calls below. Any thread. */
uint64_t verdict_begin(verdict_subject *self);
/* True if an answer may have this identity. Any thread. */
bool verdict_allows(verdict_subject *self, uint64_t begun, unsigned identity);
/* True if a request may have failed. Any thread. */
bool verdict_forgives(verdict_subject *self, uint64_t begun);

/* True once for an identity that was allowed: the first answer to a request
 * that has begun since then. Any thread. */
bool verdict_is_first(verdict_subject *self, uint64_t begun, unsigned identity);
/* True once after "loose": the first failure of a request that has begun since
 * then. Any thread. */
bool verdict_is_first_failure(verdict_subject *self, uint64_t begun);

/* One thread calls this. `verb` is "allow" or "ban" with an identity,
 * "loose" (may fail from now on) or "strict". False: no such verb. */
bool verdict_rule(verdict_subject *self, const char *verb, unsigned identity);

#endif
