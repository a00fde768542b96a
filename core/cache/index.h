/*
 * index.h - one index of the store: from a value, such as a node's name, to the
 * objects that have it. The table is changed in two steps: a plan allocates all
 * memory and computes all values; the commit, under the indexer's lock, links
 * and unlinks and cannot fail.
 */
#ifndef KL_CACHE_INDEX_H
#define KL_CACHE_INDEX_H

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "cache/indexer.h"

#include <stdint.h>

/* One value, and the list of the objects that have it. */
typedef struct kl__bucket {
    kl__list postings;
    size_t count;
    struct kl__bucket *next; /* the next one in a plan's list `emptied` */
    uint64_t mark;           /* serial number of the newest entry with it */
    char value[];
} kl__bucket;

/* One value of one object: the object as a member of a bucket. */
typedef struct kl__posting {
    kl__list node; /* in bucket->postings */
    kl__bucket *bucket;
    kl_object *object; /* the object of the entry; no reference */
} kl__posting;

/* All values of one object. */
typedef struct kl__index_entry {
    kl_object *object; /* a reference; the entry's key is the object's key */
    size_t count;
    kl__posting postings[];
} kl__index_entry;

typedef struct kl__index_table {
    kl__map entries; /* key -> kl__index_entry */
    kl__map buckets; /* value -> kl__bucket */
    uint64_t serial; /* serial number of the newest entry */
} kl__index_table;

/* Frees entries, buckets and maps; zeroes the table. */
void kl__index_table_deinit(kl__index_table *table);

typedef struct kl__index {
    char *name;
    kl_path *path; /* exactly one of path and fn is set */
    kl_index_fn fn;
    void *context;
    void (*drop_context)(void *context);
    bool has_failed; /* a failure of fn was logged */
    kl__index_table table;
} kl__index;

/* Takes path and context if it succeeds; NULL when out of memory. */
kl__index *kl__index_new(const kl__index_options *options);
/* NULL is fine. */
void kl__index_free(kl__index *index);
/* Frees the index but not path and context, which stay the caller's. */
void kl__index_give_up(kl__index *index);

/* The values of one object, one after the other, each with a NUL. */
struct kl_index_sink {
    kl__buf bytes;
    size_t count;
};

/*
 * Computes the values of an object into `sink`, which is emptied first. `root`
 * is the object's parsed tree (NULL if the index needs none). If the index
 * function fails, the object has no values and a warning is logged, once for
 * each index. KL_ENOMEM: the sink ran out of memory.
 */
kl_code kl__index_compute(kl__index *index, const kl_object *object,
                          const kl_value *root, kl_index_sink *sink);
/* Copies the values of an existing entry into `sink`. KL_ENOMEM. */
kl_code kl__index_recall(const kl__index_entry *entry, kl_index_sink *sink);

/* One step of a plan: an object that is added or changed, or a key that is
 * removed. */
typedef struct kl__index_step {
    const char *key;
    kl__index_entry *entry; /* NULL: remove the key */
} kl__index_step;

/* An empty plan is zeroed except for `table`. */
typedef struct kl__index_plan {
    kl__index_table *table;
    kl__index_step *steps;
    size_t count;
    size_t capacity;
    kl__map fresh;   /* new buckets, not in the table yet */
    kl__map entries; /* larger maps to swap in, if the table's are too small */
    kl__map buckets;
    kl__bucket *emptied; /* after the commit: buckets without objects */
} kl__index_plan;

/* Add a step to the plan; at most one step for each key. KL_ENOMEM: the plan
 * can only be cleared. `key` must live until the commit. */
kl_code kl__index_plan_put(kl__index_plan *plan, kl_object *object,
                           const kl_index_sink *sink);
kl_code kl__index_plan_remove(kl__index_plan *plan, const char *key);
/* Allocates what the commit needs; the table must not change between this and
 * the commit. */
kl_code kl__index_plan_finish(kl__index_plan *plan);
/* Carries out the steps; O(steps), allocates and frees nothing. */
void kl__index_plan_commit(kl__index_plan *plan);
/* Frees what the plan still owns: before the commit the new entries and
 * buckets, after it the replaced ones. */
void kl__index_plan_clear(kl__index_plan *plan);

#endif
