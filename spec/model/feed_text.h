/*
 * feed_text.h - as much JSON as is needed to see what the server said, read by
 * hand: the core's reader is among what is tested.
 */
#ifndef KL_SPEC_MODEL_FEED_TEXT_H
#define KL_SPEC_MODEL_FEED_TEXT_H

#include <stdint.h>

/* The number in the next "resourceVersion" from there on, or -1; `after` (may
 * be NULL) gets where it is. */
int64_t feed_text_version(const char *text, const char **after);

/* Behind the JSON object that begins there; NULL: it is not complete, and never
 * will be where a bracket closes another one's. */
char *feed_text_end(char *text);

#endif
