/*
 * case_file.h - histories that are kept as text. A history that has found a
 * failure is written down, operation by operation, and run again in each check.
 * The file keeps its meaning when history.c draws other histories.
 */
#ifndef KL_SPEC_MODEL_CASE_FILE_H
#define KL_SPEC_MODEL_CASE_FILE_H

#include "history.h"

#include <stdio.h>

typedef struct case_file {
    history history;
    /* how many seeds to run it with: its own, and the next ones */
    int schedules;
} case_file;

/* Prints a history as the text of a case. */
void case_file_write(const history *what, FILE *out);

/* Reads a file. False: `why` says what is wrong with it. */
bool case_file_read(const char *path, case_file *out, char *why, size_t size);

/* Runs a file, or each file of a folder. False: a file failed; it is printed,
 * with the command that repeats it. */
bool case_file_run(const char *path);

/* Runs a file once with this seed, and prints a trace. */
bool case_file_trace(const char *path, uint64_t seed);

#endif
