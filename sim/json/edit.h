/*
 * edit.h - a document that can be changed: what a write goes through on its way
 * from a request to an immutable kl_doc. A node belongs to the kl__edit that
 * made it and lives as long; one thread at a time.
 */
#ifndef KL_JSON_EDIT_H
#define KL_JSON_EDIT_H

#include "base/buf.h"
#include "kubelua/value.h"

typedef struct kl__edit kl__edit;
typedef struct kl__node kl__node;

/* An empty document (its root is NULL), or a copy of a value. The caller owns
 * it: kl__edit_free. NULL: KL_ENOMEM. */
kl__edit *kl__edit_new(kl_error *err);
kl__edit *kl__edit_of(const kl_value *value, kl_error *err);
void kl__edit_free(kl__edit *edit); /* NULL is fine */

kl__node *kl__edit_root(const kl__edit *edit);
void kl__edit_set_root(kl__edit *edit, kl__node *root);

/* As it is now: an immutable copy, one reference for the caller; or its compact
 * JSON, NUL terminated, owned by the caller (kl__free; `length` may be NULL).
 * NULL: KL_ENOMEM, KL_EPARSE (nested deeper than KL_MAX_DEPTH). */
kl_doc *kl__edit_doc(const kl__edit *edit, kl_error *err);
char *kl__edit_json(const kl__edit *edit, size_t *length, kl_error *err);
/* The same of one node. */
char *kl__node_json(const kl__node *node, size_t *length, kl_error *err);

/* --- Making nodes. NULL: out of memory. What a node is put into takes it: a
 * node is in one place only, or nowhere. Texts are copied. ----------------- */

kl__node *kl__edit_null(kl__edit *edit);
kl__node *kl__edit_bool(kl__edit *edit, bool value);
kl__node *kl__edit_integer(kl__edit *edit, int64_t value);
kl__node *kl__edit_real(kl__edit *edit, double value);
kl__node *kl__edit_text(kl__edit *edit, const char *text);
kl__node *kl__edit_text_n(kl__edit *edit, const char *text, size_t length);
/* What is in a buffer, which is emptied also when it fails. */
kl__node *kl__edit_take(kl__edit *edit, kl__buf *text);
kl__node *kl__edit_array(kl__edit *edit);
kl__node *kl__edit_object(kl__edit *edit);
/* A copy of a value, or of a node of this or another document. */
kl__node *kl__edit_value(kl__edit *edit, const kl_value *value);
kl__node *kl__edit_copy(kl__edit *edit, const kl__node *node);
/* What a JSON text says; NULL: KL_EPARSE, KL_ENOMEM. */
kl__node *kl__edit_parse(kl__edit *edit, const char *json, size_t length,
                         kl_error *err);

/* --- Reading, as of kl_value: a NULL node reads as KL_NULL. --------------- */

kl_type kl__node_type(const kl__node *node);
bool kl__node_is(const kl__node *node, kl_type type); /* false for NULL */
bool kl__node_bool(const kl__node *node);
int64_t kl__node_integer(const kl__node *node);
uint64_t kl__node_unsigned(const kl__node *node);
double kl__node_real(const kl__node *node);
/* Bytes of a string, or of a KL_NUMBER; else NULL. Borrowed. */
const char *kl__node_string(const kl__node *node, size_t *length);
size_t kl__node_size(const kl__node *node);
/* Takes time in proportion to `index`: go through arrays with an iterator. */
kl__node *kl__node_at(const kl__node *array, size_t index);
kl__node *kl__node_get(const kl__node *object, const char *name);
kl__node *kl__node_get_n(const kl__node *object, const char *name,
                         size_t length);
/* A string member, or NULL: kl__node_string of kl__node_get. */
const char *kl__node_text(const kl__node *object, const char *name);
/* A member of a member ...: the names, the last one NULL. NULL: none. */
kl__node *kl__node_find(const kl__node *object, const char *const *names);
/* Whether two are the same JSON, whatever the order of members. */
bool kl__node_equal(const kl__node *a, const kl__node *b);
/* Whether two objects are, but for the members named; the last name is NULL.
 * Beside an object, what is none has no members. */
bool kl__node_equal_but(const kl__node *a, const kl__node *b,
                        const char *const *names);
/* Levels of objects and arrays: 0 for "a", 1 for [] and {}; what is deeper than
 * KL_MAX_DEPTH is KL_MAX_DEPTH + 1. */
size_t kl__node_depth(const kl__node *node);

/* Goes through an array or object in order. Start it zeroed. What the last call
 * gave may be taken out meanwhile (kl__node_drop), nothing else changed. */
typedef struct kl__node_iter {
    size_t index;
    size_t count;
    void *current;
    void *previous;
    void *within;
} kl__node_iter;

/* The next element or member's value, or NULL at the end; `name` (may be NULL)
 * gets the member's name, with its `length` (may be NULL too). */
kl__node *kl__node_next(const kl__node *node, kl__node_iter *iter,
                        const char **name, size_t *length);
/* Takes out what kl__node_next gave last. */
void kl__node_drop(kl__node_iter *iter);

/* --- Changing. False: out of memory, or a NULL node was to be put in (so that
 * a making call may stand as the argument); nothing is changed then. ------- */

/* Sets a member, in its place if it is there, else at the end. */
bool kl__node_put(kl__edit *edit, kl__node *object, const char *name,
                  kl__node *value);
bool kl__node_put_n(kl__edit *edit, kl__node *object, const char *name,
                    size_t length, kl__node *value);
/* Adds a member that is known not to be there: no lookup. */
bool kl__node_add_n(kl__edit *edit, kl__node *object, const char *name,
                    size_t length, kl__node *value);
/* The member of that name, made an empty object if it is none. NULL: out of
 * memory. */
kl__node *kl__node_ensure(kl__edit *edit, kl__node *object, const char *name);
/* Whether a list has that text in it (NULL: no). */
bool kl__node_holds(const kl__node *list, const char *text);

/* Takes a member out and returns it, or NULL. */
kl__node *kl__node_remove(kl__node *object, const char *name);
kl__node *kl__node_remove_n(kl__node *object, const char *name, size_t length);
bool kl__node_append(kl__node *array, kl__node *value);
/* `index` up to the size; false also beyond it. */
bool kl__node_insert(kl__node *array, size_t index, kl__node *value);
/* Takes an element out and returns it, or NULL. */
kl__node *kl__node_remove_at(kl__node *array, size_t index);
/* Replaces an element; false also beyond the end. */
bool kl__node_replace_at(kl__node *array, size_t index, kl__node *value);
/* Makes an object or array empty. */
void kl__node_clear(kl__node *node);
/* Less than 0, 0, or more: which of two names comes first. */
typedef int (*kl__name_order)(const char *a, size_t a_length, const char *b,
                              size_t b_length);
/* By their bytes. */
int kl__name_compare(const char *a, size_t a_length, const char *b,
                     size_t b_length);
/* Sorts the members of an object by their names. */
bool kl__node_sort(kl__edit *edit, kl__node *object, kl__name_order order);
/* Makes a node say what another one of its document says, wherever it stands:
 * replaces it in constant time. Takes `other`, which is in nothing and is not
 * to be used again. */
void kl__node_become(kl__node *node, kl__node *other);

#endif
