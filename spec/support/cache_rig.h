/*
 * cache_rig.h - what specs do with an indexer, in a line each. Texts that are
 * returned hold until the next call of the same function.
 */
#ifndef KL_SPEC_CACHE_RIG_H
#define KL_SPEC_CACHE_RIG_H

#include "cache/indexer.h"

/* Prepares and commits one transaction; `changes` (empty) gets what happened.
 * KL_ENOMEM: nothing changed. */
kl_code cache_transact_batch(kl__indexer *indexer, const kl__delta_batch *batch,
                             kl__change_list *changes);
kl_code cache_transact_list(kl__indexer *indexer, const kl_object_list *list,
                            const char *version, kl__change_list *changes);

/* One delta of an object, whose reference it takes. */
kl__delta cache_delta(kl__delta_type type, kl_object *object);

/*
 * Applies deltas, whose references it takes; says what changed: "+a@1" an add,
 * "~a@1>2" an update, "-a@2>3" a delete, "?a@2>2" one that was missed. The same
 * for one delta, and for a list, which it takes.
 */
const char *cache_apply(kl__indexer *indexer, kl__delta *items, size_t count);
const char *cache_apply_one(kl__indexer *indexer, kl__delta_type type,
                            kl_object *object);
const char *cache_replace(kl__indexer *indexer, kl_object_list list,
                          const char *version);

/* The version of the whole, and of one object (NULL: there is none). */
const char *cache_version(kl__indexer *indexer);
const char *cache_stored(kl__indexer *indexer, const char *key);

/* Frees the indexer and asserts that no object is left. */
void cache_end(kl__indexer *indexer);

/* Adds an index by path. */
void cache_add_path(kl__indexer *indexer, const char *name, const char *path);

/* Keys: of a list, of what an index holds; and an index's values. */
const char *cache_names(const kl_object_list *list);
const char *cache_by(kl__indexer *indexer, const char *index,
                     const char *value);
const char *cache_values(kl__indexer *indexer, const char *index);

#endif
