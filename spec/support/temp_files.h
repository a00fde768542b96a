/*
 * temp_files.h - a temporary folder for one test, and an environment in which
 * the machine's own configuration is not found.
 */
#ifndef KL_SPEC_TEMP_FILES_H
#define KL_SPEC_TEMP_FILES_H

#include "kubelua/error.h"

#include <stddef.h>

/* Makes a folder, sets HOME to it, and unsets variables that lead to a cluster,
 * a service account or a proxy. cmocka's setup and teardown: *state is the
 * folder's path. */
int temp_files_setup(void **state);
int temp_files_teardown(void **state);

/* "FOLDER/name": valid until temp_path was called 32 more times. */
const char *temp_path(const char *name);

/* Writes a file in the folder and returns its path; the second formats its
 * text. */
const char *temp_write(const char *name, const char *text);
const char *temp_printf(const char *name, const char *format, ...)
    KL_PRINTF(2, 3);
const char *temp_write_bytes(const char *name, const void *bytes,
                             size_t length);

/* Like temp_printf, and makes the file executable. */
const char *temp_script(const char *name, const char *format, ...)
    KL_PRINTF(2, 3);

/* How many lines a file in the folder has; 0 if there is none. */
int temp_count_lines(const char *name);

#endif
