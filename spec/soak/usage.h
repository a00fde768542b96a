/*
 * usage.h - what a soak uses of the machine, as a line for judge.lua, and how
 * long it is to last.
 */
#ifndef KL_SOAK_USAGE_H
#define KL_SOAK_USAGE_H

#include <stdbool.h>

/* Samples that a soak takes on its way. */
enum { USAGE_SAMPLES = 36 };

/* "100000": so many of what it counts, or "5m": so many minutes. */
typedef struct usage_length {
    long count; /* 0: by time */
    double seconds;
    double began;
} usage_length;

/* False: that is no length. It begins now. */
bool usage_length_read(usage_length *length, const char *text);
/* How much of it is over, 1 being all. */
double usage_progress(const usage_length *length, long count);

double usage_now(void); /* seconds */
int usage_threads(void);
int usage_descriptors(void);

/* Prints descriptors and threads behind a word. */
void usage_print_rest(const char *word);
/* Trims memory, and prints a sample after so many events; `extra`: what is
 * alive that should not be. */
void usage_print_sample(const usage_length *length, long count, long extra);
/* Prints what of the library's is still alive. */
void usage_print_alive(void);
/* Waits until threads and descriptors are down to what they were at first, so
 * many milliseconds at most. */
void usage_rest(int threads, int descriptors, int patience_ms);

#endif
