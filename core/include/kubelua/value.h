/*
 * value.h - reads JSON: values of a parsed document, and paths to them. A value
 * is borrowed: it is valid as long as its document.
 */
#ifndef KUBELUA_VALUE_H
#define KUBELUA_VALUE_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_doc kl_doc;
typedef struct kl_value kl_value;
typedef struct kl_path kl_path;

typedef enum kl_type {
    KL_NULL,
    KL_BOOL,
    KL_INTEGER,  /* fits int64_t */
    KL_UNSIGNED, /* fits uint64_t but not int64_t */
    KL_REAL,     /* has a fraction or an exponent */
    KL_NUMBER,   /* does not fit any of these: kl_value_string is its text */
    KL_STRING,
    KL_ARRAY,
    KL_OBJECT
} kl_type;

/* The parsers of JSON refuse deeper nesting, as a parse error: the bound of
 * Go's decoder, and so of API servers. Nothing in the library recurses over the
 * levels of a value. */
#define KL_MAX_DEPTH 10000

/*
 * Parses one JSON text (RFC 8259, strict UTF-8) of `length` bytes; the bytes
 * are copied. Returns a document with one reference, or NULL: KL_EPARSE with
 * the byte position, KL_ENOMEM. Thread-safe.
 */
KL_API kl_doc *kl_doc_parse(const char *json, size_t length, kl_error *err);

/* Adds a reference; returns `doc`. Thread-safe. */
KL_API kl_doc *kl_doc_ref(kl_doc *doc);

/* Drops a reference; the last drop frees the document. A thread needs a
 * reference to read it while another thread drops one. NULL is fine.
 * Thread-safe. */
KL_API void kl_doc_unref(kl_doc *doc);

/* The outermost value; borrowed from the document. Never NULL. */
KL_API const kl_value *kl_doc_root(const kl_doc *doc);

/* The type of a value. Like all functions below it is thread-safe, as documents
 * never change, and takes NULL for a JSON null, so that lookups can chain. */
KL_API kl_type kl_value_type(const kl_value *value);
/* True if the value is `true`. */
KL_API bool kl_value_bool(const kl_value *value);
/* The number as int64_t; 0 if it is no number or does not fit exactly. */
KL_API int64_t kl_value_integer(const kl_value *value);
/* The number as uint64_t; 0 if it is no number or does not fit exactly. */
KL_API uint64_t kl_value_unsigned(const kl_value *value);
/* The number as double, rounded if necessary; 0 if it is no number. */
KL_API double kl_value_real(const kl_value *value);
/* The bytes of a KL_STRING, or the text of a KL_NUMBER; else NULL. NUL
 * terminated, but a string may hold NUL bytes: `length` (may be NULL) counts
 * bytes. Borrowed from the document. */
KL_API const char *kl_value_string(const kl_value *value, size_t *length);
/* The number of elements of an array or members of an object; else 0. */
KL_API size_t kl_value_size(const kl_value *value);
/* The element at `index`, from 0; NULL beyond the end, or if it is no array. */
KL_API const kl_value *kl_value_at(const kl_value *value, size_t index);
/* The member of that name (the last, if there are several, as in Go), or NULL.
 */
KL_API const kl_value *kl_value_get(const kl_value *value, const char *name);
/* The same for a name of `length` bytes. */
KL_API const kl_value *kl_value_get_n(const kl_value *value, const char *name,
                                      size_t length);

/* A position in an array or object; zero it to begin. */
typedef struct kl_value_iter {
    size_t index;
    const void *next;
} kl_value_iter;

/* The next element or member's value, or NULL at the end; `key` (may be NULL)
 * gets the member's name, or NULL in an array. It shows also the members that
 * do not count (kl_value_replaced), and so does kl_value_json. */
KL_API const kl_value *kl_value_next(const kl_value *value, kl_value_iter *iter,
                                     const kl_value **key);

/*
 * The members of an object that do not count, as a later one has the same name:
 * sets *numbers to their numbers from 0, ascending, and *count. The caller
 * frees *numbers with kl_free; NULL: there are none. KL_ENOMEM.
 */
KL_API kl_code kl_value_replaced(const kl_value *value, size_t **numbers,
                                 size_t *count, kl_error *err);

/* The value as compact JSON, NUL terminated; the caller owns it: kl_free.
 * NULL: KL_ENOMEM. `length` may be NULL. */
KL_API char *kl_value_json(const kl_value *value, size_t *length,
                           kl_error *err);

/* Room for a hash, its final NUL included. */
#define KL_HASH_SIZE 15

/*
 * A hash of the value: 64 bits as 14 letters and digits that names of objects
 * may contain; the first is a letter, none is a vowel (the alphabet of
 * rand.SafeEncodeString in k8s.io/apimachinery). Equal values have equal hashes
 * on any machine and in any version; the order of members does not matter, and
 * 1, 1.0 and 10e-1 are equal. KL_ENOMEM. Thread-safe.
 */
KL_API kl_code kl_value_hash(const kl_value *value, char out[KL_HASH_SIZE],
                             kl_error *err);

/*
 * Compiles a path: "spec.nodeName", "spec.containers[*].image",
 * "spec.containers[1].image" (counted from 1, as in Lua),
 * "metadata.labels[\"app.kubernetes.io/name\"]". At most 32 [*]. The caller
 * owns it. NULL: KL_EINVAL with the position, KL_ENOMEM. Thread-safe.
 */
KL_API kl_path *kl_path_parse(const char *text, kl_error *err);

/* Frees a path; NULL is fine. No other call with it may run then, or come
 * later. */
KL_API void kl_path_free(kl_path *path);

/* The text that the path was compiled from; borrowed from the path. */
KL_API const char *kl_path_text(const kl_path *path);

/* True if the path begins with a member of that name. Thread-safe. */
KL_API bool kl_path_begins_with(const kl_path *path, const char *name);

/* The first value at the path, or NULL; a JSON null counts as absent.
 * Thread-safe. */
KL_API const kl_value *kl_path_first(const kl_path *path, const kl_value *root);

/* Called with a value; any result but KL_OK ends the search. */
typedef kl_code (*kl_path_fn)(void *context, const kl_value *value);

/* Calls `fn` with every value at the path, in order; [*] stands for all
 * elements or all members' values; a JSON null counts as absent. Returns the
 * last result of `fn`, or KL_OK; KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_path_each(const kl_path *path, const kl_value *root,
                            kl_path_fn fn, void *context);

#ifdef __cplusplus
}
#endif
#endif
