/*
 * cursor_walk.h - compares json/cursor.h with the tree, at every value of a
 * document: for its spec and for the fuzz target of values.
 */
#ifndef KL_SPEC_CURSOR_WALK_H
#define KL_SPEC_CURSOR_WALK_H

#include "kubelua/value.h"

#include <stddef.h>

/* Walks over a document and over its text, from which spaces are removed.
 * Returns NULL, or the claim that does not hold. `tree` is the root of the
 * parsed text. */
const char *cursor_walk(const char *json, size_t length, const kl_value *tree);

#endif
