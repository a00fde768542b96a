/*
 * search.h - finds the values at many paths in one pass over a text, without a
 * tree: for indexes by path (cache/index.c), kl_fields (object/fields.c),
 * kl_cursor_path and kl_cursor_paths (search.c).
 */
#ifndef KL_JSON_SEARCH_H
#define KL_JSON_SEARCH_H

#include "kubelua/cursor.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KL__SEARCH_MOST = KL_CURSOR_PATHS };

/* What is searched for; constant while a search runs. */
typedef struct kl__search {
    const kl_path *const *paths;
    size_t count; /* of the paths: 1 to KL__SEARCH_MOST */
    /* Called with a value at path number `i`, one to read with json/cursor.h.
     * False: no more values of this path are wanted. */
    bool (*take)(void *context, size_t i, const char *value);
    /* Forgets all values: an object has a name twice, and the search begins
     * again. At most once. */
    void (*forget)(void *context);
    void *context;
    /* The text is that of a kl_object: no name is twice among its outermost
     * members, and in its metadata. */
    bool is_object;
} kl__search;

/* Calls search->take with all values that kl_path_each would find in a tree of
 * the text, those of each path in the same order. The text is as cursor.h wants
 * it; `end` is its end. False: out of memory, only with [*] over an object.
 * Thread-safe. */
bool kl__search_run(const kl__search *search, const char *text,
                    const char *end);

#endif
