/*
 * case_file.h - histories that are kept as text: what a failure was found by is
 * written down, operation by operation, and run again in each check. Such a
 * file stays what it is when history.c draws other histories.
 */
#ifndef KL_SPEC_MODEL_CASE_FILE_H
#define KL_SPEC_MODEL_CASE_FILE_H

#include "history.h"

#include <stdio.h>

typedef struct case_file {
    history history;
    int schedules; /* how many seeds it is run with, from its own on */
} case_file;

/* Prints a history as the text of a case. */
void case_file_write(const history *what, FILE *out);

/* Reads a file. False: `why` says what is wrong with it. */
bool case_file_read(const char *path, case_file *out, char *why, size_t size);

/* Runs a file, or each file of a folder. False: one did not hold, which was
 * printed, with the command that repeats it. */
bool case_file_run(const char *path);

/* Runs a file once with a seed, and a trace. */
bool case_file_trace(const char *path, uint64_t seed);

#endif
