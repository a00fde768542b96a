/*
 * asleep.h - tells whether a thread sleeps, for specs that must not go on
 * before another thread waits.
 */
#ifndef KL_SPEC_ASLEEP_H
#define KL_SPEC_ASLEEP_H

#include <stdbool.h>

/* True if the thread of this process (gettid) sleeps, or has ended. */
bool is_asleep(int thread);

#endif
