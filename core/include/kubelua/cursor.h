/*
 * cursor.h - reads values where they stand in the text of an object, without
 * parsing the rest of it: for readers of a few fields, to which a tree would
 * cost more than all else.
 *
 * The text is that of kl_object_json; other JSON must be valid, must not have
 * whitespace outside of strings, and must have a NUL behind it. `end` is always
 * the end of the whole text, where that NUL is. A value is given by its first
 * byte. NULL stands for a value that is not there: all functions read it as a
 * JSON null, except kl_cursor_skip and kl_cursor_decode, which need a value.
 * All are thread-safe. They allocate nothing, except for [*] over an object,
 * and where an error says so.
 *
 * Of several members of one name, which an API server written in Go never
 * sends, the last counts, as in Go's decoder.
 */
#ifndef KUBELUA_CURSOR_H
#define KUBELUA_CURSOR_H

#include "kubelua/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The end of a value: the byte behind it. */
KL_API const char *kl_cursor_skip(const char *value, const char *end);

/* The member of that name, `length` bytes long (the last, if there are
 * several), or NULL: as kl_value_get_n. */
KL_API const char *kl_cursor_member(const char *value, const char *end,
                                    const char *name, size_t length);

/* The same; `*passed` is the end of what the search has passed by, so that its
 * cost can be counted: a large object is read to its end, since a later member
 * of the name would count. */
KL_API const char *kl_cursor_member_passed(const char *value, const char *end,
                                           const char *name, size_t length,
                                           const char **passed);

/* The element at `index`, from 0, or NULL: as kl_value_at. */
KL_API const char *kl_cursor_element(const char *value, const char *end,
                                     size_t index);

/* The first value at the path, or NULL: as kl_path_first. */
KL_API const char *kl_cursor_path(const kl_path *path, const char *value,
                                  const char *end);

/* The value of a tree that stands at `wanted` in the text: the tree was parsed
 * from the same text, and its `value` stands at `at`, before `wanted` or there.
 * Reads the bytes between them once, however deep they are nested. */
KL_API const kl_value *kl_cursor_in_tree(const kl_value *value, const char *at,
                                         const char *wanted);

enum { KL_CURSOR_PATHS = 64 }; /* paths of one call, at most */

/* Sets found[i] to what kl_cursor_path finds for path i, for `count` paths, 1
 * to KL_CURSOR_PATHS, in one pass over the value. Out of memory: to NULL. */
KL_API void kl_cursor_paths(const kl_path *const *paths, size_t count,
                            const char *value, const char *end,
                            const char **found);

/* The same for the whole text of an object (kl_object_json), but faster: no
 * name is twice among its outermost members, and in its metadata. */
KL_API void kl_cursor_object_paths(const kl_path *const *paths, size_t count,
                                   const char *text, const char *end,
                                   const char **found);

/* A walk over the members of an object or the elements of an array. */
typedef struct kl_cursor {
    const char *name;  /* the current member's: a string; NULL in an array */
    const char *value; /* the current one */
    const char *end;   /* of the text; after the walk: the same as `at` */
    const char *at;    /* where to go on; NULL: behind the current value */
} kl_cursor;

/* Begins a walk. It has no steps if the value is neither array nor object. */
KL_API void kl_cursor_begin(kl_cursor *cursor, const char *value,
                            const char *end);

/* Goes to the next member or element. It shows also the members that do not
 * count (kl_cursor_replaced). False: there is none; then cursor->at is
 * the end of the array or object. A caller that knows the end of the current
 * value may set cursor->at to it before: then it is not looked for. */
KL_API bool kl_cursor_next(kl_cursor *cursor);

/*
 * The members of the object at `value` that do not count, as a later one has
 * the same name: sets *numbers to their numbers from 0, ascending, and *count.
 * The caller frees *numbers with kl_free; NULL: there are none. KL_ENOMEM.
 */
KL_API kl_code kl_cursor_replaced(const char *value, const char *end,
                                  size_t **numbers, size_t *count,
                                  kl_error *err);

/* Copies the text without the members that do not count, at any depth. The
 * caller frees *copy with kl_free; NULL: there are none, so the text is its own
 * copy. KL_ENOMEM. */
KL_API kl_code kl_cursor_distinct(const char *text, const char *end,
                                  char **copy, size_t *length, kl_error *err);

/* Room for one value that kl_value_* can read. */
typedef struct kl_scalar {
    uint64_t words[2];
} kl_scalar;

/*
 * Makes a value in `room`, the same as in the tree of the text; it borrows from
 * the text. NULL: an array or object, or a string with escapes
 * (kl_cursor_decode). Unlike in a tree, no NUL stands behind the bytes of a
 * KL_STRING or KL_NUMBER.
 */
KL_API const kl_value *kl_cursor_scalar(const char *value, const char *end,
                                        kl_scalar *room);

/* Writes the bytes of a string, with its escapes resolved, to `out`; returns
 * their number. They are fewer than those from `string` to kl_cursor_skip. */
KL_API size_t kl_cursor_decode(const char *string, const char *end, char *out);

#ifdef __cplusplus
}
#endif
#endif
