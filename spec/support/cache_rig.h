/*
 * cache_rig.h - one-line calls for specs of the indexer. A returned text is
 * valid until the next call of the same function.
 */
#ifndef KL_SPEC_CACHE_RIG_H
#define KL_SPEC_CACHE_RIG_H

#include "cache/indexer.h"

/* Prepares and commits one transaction; `changes` (empty) gets the changes.
 * After KL_ENOMEM nothing has changed. */
kl_code cache_transact_batch(kl__indexer *indexer, const kl__delta_batch *batch,
                             kl__change_list *changes);
kl_code cache_transact_list(kl__indexer *indexer, const kl_object_list *list,
                            const char *version, kl__change_list *changes);

/* A delta of an object; takes the reference. */
kl__delta cache_delta(kl__delta_type type, kl_object *object);

/*
 * Applies deltas and takes their references. Returns what changed: "+a@1" an
 * add, "~a@1>2" an update, "-a@2>3" a delete, "?a@2>2" a delete that was
 * missed. cache_add and the others do the same with one delta or a list, and
 * take its references.
 */
const char *cache_apply(kl__indexer *indexer, kl__delta *items, size_t count);
const char *cache_apply_one(kl__indexer *indexer, kl__delta_type type,
                            kl_object *object);
const char *cache_replace(kl__indexer *indexer, kl_object_list list,
                          const char *version);

/* The version of the whole cache; and that of one object (NULL: it does not
 * exist). */
const char *cache_version(kl__indexer *indexer);
const char *cache_stored(kl__indexer *indexer, const char *key);

/* Frees the indexer and asserts that no object is left. */
void cache_end(kl__indexer *indexer);

/* Adds an index by path. */
void cache_add_path(kl__indexer *indexer, const char *name, const char *path);

/* Keys of a list; keys under a value of an index; the values of an index. */
const char *cache_names(const kl_object_list *list);
const char *cache_by(kl__indexer *indexer, const char *index,
                     const char *value);
const char *cache_values(kl__indexer *indexer, const char *index);

#endif
