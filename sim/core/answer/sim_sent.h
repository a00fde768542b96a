/*
 * sim_sent.h - counts the events of a watch in its ready bytes, of which each
 * is a line: for faults that let so many of them through.
 */
#ifndef KL_SIM_SENT_H
#define KL_SIM_SENT_H

#include "sim/core/answer/sim_answer.h"

/* How many ready bytes there are up to the end of the next `events` events;
 * SIZE_MAX: none are ready. */
size_t kl__sim_events_reach(const kl__sim_answer *answer, int64_t events);
/* How many events end in the last `length` bytes before answer->out_at. */
int64_t kl__sim_events_sent(const kl__sim_answer *answer, size_t length);

#endif
