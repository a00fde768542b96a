/*
 * edit.h - a JSON document that can be changed: a tree of nodes. A write edits
 * such a tree on the way from its request to an immutable kl_doc. A node
 * belongs to its kl__edit and lives as long as that. Only one thread at a time
 * may use a kl__edit.
 */
#ifndef KL_JSON_EDIT_H
#define KL_JSON_EDIT_H

#include "base/buf.h"
#include "kubelua/value.h"

/* The simulator's parsers refuse deeper nesting, since what checks, converts
 * and merges objects recurses over their levels. A real API server: 10,000. */
enum { KL__NODE_DEPTH = 512 };

typedef struct kl__edit kl__edit;
typedef struct kl__node kl__node;

/* An empty document (its root is NULL), or a copy of a value. The caller owns
 * it, and frees it with kl__edit_free. NULL: KL_ENOMEM. */
kl__edit *kl__edit_new(kl_error *err);
kl__edit *kl__edit_of(const kl_value *value, kl_error *err);
void kl__edit_free(kl__edit *edit); /* NULL is fine */

kl__node *kl__edit_root(const kl__edit *edit);
void kl__edit_set_root(kl__edit *edit, kl__node *root);

/* The document as it is now: an immutable copy (one reference for the caller),
 * or its compact JSON, NUL terminated (owned by the caller, freed with
 * kl__free; `length` may be NULL). NULL: KL_ENOMEM, or KL_EPARSE (nested deeper
 * than KL__NODE_DEPTH). */
kl_doc *kl__edit_doc(const kl__edit *edit, kl_error *err);
char *kl__edit_json(const kl__edit *edit, size_t *length, kl_error *err);
/* The compact JSON of one node; as above. */
char *kl__node_json(const kl__node *node, size_t *length, kl_error *err);

/* --- Making nodes. NULL: out of memory. A node is in one container at most,
 * which takes it. Texts are copied.  */

kl__node *kl__edit_null(kl__edit *edit);
kl__node *kl__edit_bool(kl__edit *edit, bool value);
kl__node *kl__edit_integer(kl__edit *edit, int64_t value);
kl__node *kl__edit_real(kl__edit *edit, double value);
kl__node *kl__edit_text(kl__edit *edit, const char *text);
kl__node *kl__edit_text_n(kl__edit *edit, const char *text, size_t length);
/* A string of the bytes in a buffer, which is emptied, also on failure. */
kl__node *kl__edit_take(kl__edit *edit, kl__buf *text);
kl__node *kl__edit_array(kl__edit *edit);
kl__node *kl__edit_object(kl__edit *edit);
/* A copy of a value, or of a node of this or another document. */
kl__node *kl__edit_value(kl__edit *edit, const kl_value *value);
kl__node *kl__edit_copy(kl__edit *edit, const kl__node *node);
/* Parses a JSON text. NULL: KL_EPARSE, KL_ENOMEM. */
kl__node *kl__edit_parse(kl__edit *edit, const char *json, size_t length,
                         kl_error *err);

/* --- Reading nodes, like kl_value: a NULL node reads as KL_NULL. ---------- */

kl_type kl__node_type(const kl__node *node);
bool kl__node_is(const kl__node *node, kl_type type); /* false for NULL */
bool kl__node_bool(const kl__node *node);
int64_t kl__node_integer(const kl__node *node);
uint64_t kl__node_unsigned(const kl__node *node);
double kl__node_real(const kl__node *node);
/* The bytes of a string or of a KL_NUMBER; else NULL. Borrowed. */
const char *kl__node_string(const kl__node *node, size_t *length);
size_t kl__node_size(const kl__node *node);
/* Takes time in proportion to `index`: use an iterator for whole arrays. */
kl__node *kl__node_at(const kl__node *array, size_t index);
kl__node *kl__node_get(const kl__node *object, const char *name);
kl__node *kl__node_get_n(const kl__node *object, const char *name,
                         size_t length);
/* A string member, or NULL: kl__node_string of kl__node_get. */
const char *kl__node_text(const kl__node *object, const char *name);
/* Follows names from member to member; the last name is NULL. NULL: not
 * there. */
kl__node *kl__node_find(const kl__node *object, const char *const *names);
/* True if both are the same JSON; the order of members does not matter. */
bool kl__node_equal(const kl__node *a, const kl__node *b);
/* True if two objects are equal but for the members named; the last name is
 * NULL. A node that is no object counts as an empty object. */
bool kl__node_equal_but(const kl__node *a, const kl__node *b,
                        const char *const *names);
/* Levels of objects and arrays: 0 for "a", 1 for [] and {}. Returns
 * KL__NODE_DEPTH + 1 for anything deeper than KL__NODE_DEPTH. */
size_t kl__node_depth(const kl__node *node);

/* A walk through an array or object in order; the caller zeroes it first.
 * During the walk only the node that kl__node_next gave last may be removed
 * (kl__node_drop). */
typedef struct kl__node_iter {
    size_t index;
    size_t count;
    void *current;
    void *previous;
    void *within;
} kl__node_iter;

/* The next element, or the next member's value; NULL at the end. `name` (may be
 * NULL) gets the member's name, `length` (may be NULL) its length. */
kl__node *kl__node_next(const kl__node *node, kl__node_iter *iter,
                        const char **name, size_t *length);
/* Removes the node that kl__node_next gave last. */
void kl__node_drop(kl__node_iter *iter);

/* --- Changing. False: out of memory, or the node to put in is NULL (so the
 * argument may be a call that makes a node); then nothing is changed. */

/* Sets a member: replaces its value in place, or appends it. */
bool kl__node_put(kl__edit *edit, kl__node *object, const char *name,
                  kl__node *value);
bool kl__node_put_n(kl__edit *edit, kl__node *object, const char *name,
                    size_t length, kl__node *value);
/* Appends a member that is known to be new, without a lookup. */
bool kl__node_add_n(kl__edit *edit, kl__node *object, const char *name,
                    size_t length, kl__node *value);
/* The member of that name. If there is none, or it is no object, it becomes an
 * empty object. NULL: out of memory. */
kl__node *kl__node_ensure(kl__edit *edit, kl__node *object, const char *name);
/* True if a list contains that text; false for NULL. */
bool kl__node_holds(const kl__node *list, const char *text);

/* Removes a member and returns it; NULL: not there. */
kl__node *kl__node_remove(kl__node *object, const char *name);
kl__node *kl__node_remove_n(kl__node *object, const char *name, size_t length);
bool kl__node_append(kl__node *array, kl__node *value);
/* Inserts before `index`, which may be the size; false beyond it. */
bool kl__node_insert(kl__node *array, size_t index, kl__node *value);
/* Removes an element and returns it; NULL: not there. */
kl__node *kl__node_remove_at(kl__node *array, size_t index);
/* Empties an object or array. */
void kl__node_clear(kl__node *node);
/* Compares two names: less than 0, 0, or more than 0. */
typedef int (*kl__name_order)(const char *a, size_t a_length, const char *b,
                              size_t b_length);
/* Compares names by their bytes. */
int kl__name_compare(const char *a, size_t a_length, const char *b,
                     size_t b_length);
/* Sorts the members of an object by their names. */
bool kl__node_sort(kl__edit *edit, kl__node *object, kl__name_order order);
/* Replaces the value of a node by that of another node of the same document, in
 * constant time; the node stays in its container. Takes `other`, which is in no
 * container and must not be used again. */
void kl__node_become(kl__node *node, kl__node *other);

#endif
