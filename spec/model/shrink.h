/*
 * shrink.h - makes a failing history small: fewer operations, simpler switches,
 * fewer preemptions, as long as the same rule is broken.
 */
#ifndef KL_SPEC_MODEL_SHRINK_H
#define KL_SPEC_MODEL_SHRINK_H

#include "history.h"
#include "schedule.h"

/* The schedule options of a history. */
schedule_options shrink_options(const history *of);

/* The history of a seed, after a cut. */
void shrink_make(history *self, uint64_t seed, const history_cut *cut);

/* Runs such a history in a process of its own. */
void shrink_try(uint64_t seed, const history_cut *cut,
                schedule_outcome *outcome);

/* Searches for a small cut that breaks the same rule as `message` says, for at
 * most `seconds`; begins with `cut`, which gets the result. */
void shrink(uint64_t seed, const char *message, int seconds, history_cut *cut);

/* "12:ff:3:0", and back (false: it is none). The mask, what is simpler and the
 * preemptions may be left out. */
void shrink_text(uint64_t seed, const history_cut *cut, char *text,
                 size_t size);
bool shrink_parse(const char *text, uint64_t *seed, history_cut *cut);

#endif
