/*
 * random_json.h - random JSON with all that is rare in it: for specs that hold
 * a reader of JSON against another one.
 */
#ifndef KL_SPEC_RANDOM_JSON_H
#define KL_SPEC_RANDOM_JSON_H

#include <stddef.h>

/* The scalars, and the names of members with their quotes, that documents are
 * made of; NULL is behind the last one. */
extern const char *const random_json_atoms[];
extern const char *const random_json_names[];

/* Writes a random value of at most `room` bytes, which are at least 100,
 * without whitespace and without a NUL. Returns their number. The sequence is
 * the same in each run. Not thread-safe. */
size_t random_json(char *out, size_t room);

#endif
