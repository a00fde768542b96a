/*
 * case_file.h - histories that are kept as text. A history that has found a
 * failure is written down, operation by operation, and run again in each check.
 * The file keeps its meaning when history.c draws other histories.
 */
#ifndef KL_SPEC_MODEL_CASE_FILE_H
#define KL_SPEC_MODEL_CASE_FILE_H

#include "history.h"

#include <stdio.h>

/* Prints a history as the text of a case. */
void case_file_write(const history *what, FILE *out);

/* Runs the cases of a file, or the one of FILE:NAME. False: a case failed; it
 * is printed, with the command that repeats it. */
bool case_file_run(const char *where);

/* Runs the case of FILE:NAME once with this seed, and prints a trace. */
bool case_file_trace(const char *where, uint64_t seed);

#endif
