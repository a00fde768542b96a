/*
 * temp_files.h - a folder for one test, gone after it, and an environment in
 * which nothing of the machine's own configuration is found.
 */
#ifndef KL_SPEC_TEMP_FILES_H
#define KL_SPEC_TEMP_FILES_H

#include "kubelua/error.h"

#include <stddef.h>

/* Makes a new folder, makes it HOME, and unsets what leads to a cluster, a
 * service account or a proxy. cmocka's setup and teardown: *state is the path
 * of the folder. */
int temp_files_setup(void **state);
int temp_files_teardown(void **state);

/* "FOLDER/name": good until 32 more were asked for. */
const char *temp_path(const char *name);

/* Writes a whole file of the folder and returns its path. */
const char *temp_write(const char *name, const char *text);
const char *temp_printf(const char *name, const char *format, ...)
    KL_PRINTF(2, 3);
const char *temp_write_bytes(const char *name, const void *bytes,
                             size_t length);

/* As temp_printf, and it can be run. */
const char *temp_script(const char *name, const char *format, ...)
    KL_PRINTF(2, 3);

/* How many lines a file of the folder has; 0 if it is not there. */
int temp_count_lines(const char *name);

#endif
