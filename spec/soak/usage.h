/*
 * usage.h - prints what a soak uses of the machine, as a line for judge.lua,
 * and measures how long it lasts.
 */
#ifndef KL_SOAK_USAGE_H
#define KL_SOAK_USAGE_H

#include <stdbool.h>

/* How many samples a soak takes. */
enum { USAGE_SAMPLES = 36 };

/* How long a soak lasts: "100000" events (or connections), or "5m", five
 * minutes. */
typedef struct usage_length {
    long count; /* 0: `seconds` counts */
    double seconds;
    double began;
} usage_length;

/* Reads a length; it begins now. False: the text is not a length. */
bool usage_length_read(usage_length *length, const char *text);
/* The part of it that is over, from 0 to 1. */
double usage_progress(const usage_length *length, long count);

double usage_now(void); /* seconds */
int usage_threads(void);
int usage_descriptors(void);

/* Prints the number of descriptors and threads after a word. */
void usage_print_rest(const char *word);
/* Trims memory, and prints a sample; `count`: events so far; `extra`: objects
 * that should not be alive. */
void usage_print_sample(const usage_length *length, long count, long extra);
/* Prints how many objects of the library are still alive. */
void usage_print_alive(void);
/* Waits until there are no more threads and descriptors than at first, for
 * `patience_ms` at most. */
void usage_rest(int threads, int descriptors, int patience_ms);

#endif
