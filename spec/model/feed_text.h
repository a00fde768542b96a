/*
 * feed_text.h - reads the little JSON that the oracle needs. It does not use
 * the core's reader, which is under test.
 */
#ifndef KL_SPEC_MODEL_FEED_TEXT_H
#define KL_SPEC_MODEL_FEED_TEXT_H

#include <stdint.h>

/* Returns the number in the first "resourceVersion" of a text, or -1; `after`
 * (may be NULL) gets the place of the number. */
int64_t feed_text_version(const char *text, const char **after);

/* Returns the place behind the JSON object that begins at `text`. NULL: the
 * object is not complete, or its brackets do not match. */
char *feed_text_end(char *text);

#endif
