/*
 * prune.h - the parts of objects that an informer does not keep.
 * api/list_watch_read.c removes them from the text of each object that the
 * server sends, before the object is made: so they take no memory, and neither
 * the cache nor a handler ever sees them.
 */
#ifndef KL_OBJECT_PRUNE_H
#define KL_OBJECT_PRUNE_H

#include "base/buf.h"
#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>

/* The maximum number of paths in each of the two lists: a path is one bit of a
 * uint64_t. */
enum { KL__PRUNE_MAX = 64 };

/* What to remove: immutable, reference-counted. NULL removes nothing. */
typedef struct kl__prune kl__prune;

/*
 * `drop`: paths whose values are removed. `keep`: paths outside of which all is
 * removed but apiVersion, kind and metadata; `drop` applies to what is left.
 * Both are NULL-terminated arrays of paths as of kl_path_parse, or NULL. [*]
 * means every element of an array and every member of an object.
 *
 * KL_OK: *prune is owned by the caller, or NULL if both lists are empty.
 * KL_EINVAL: a path that does not parse or has an index; a path of `drop` that
 * removes what the informer and controllers need (apiVersion, kind, the name,
 * namespace, uid, resourceVersion, generation, labels, finalizers,
 * ownerReferences or deletionTimestamp); or too many paths. KL_ENOMEM.
 */
kl_code kl__prune_new(const char *const *drop, const char *const *keep,
                      kl__prune **prune, kl_error *err);

kl__prune *kl__prune_ref(kl__prune *prune);
void kl__prune_unref(kl__prune *prune);

/* True if both remove the same, whatever the order of their paths. */
bool kl__prune_equals(const kl__prune *a, const kl__prune *b);

/* True if all that the path could find is removed. */
bool kl__prune_hides(const kl__prune *prune, const kl_path *path);

/*
 * Writes what is left of one JSON object to `out`, which it empties first.
 * `json` must have been checked to be JSON; of other bytes it writes some of
 * them, or says KL_EPARSE. KL_ENOMEM. Thread-safe.
 */
kl_code kl__prune_text(const kl__prune *prune, const char *json, size_t length,
                       kl__buf *out);

#endif
