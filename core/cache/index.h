/*
 * index.h - one index: values to the objects that have them. Its table is
 * changed by plans, which take all memory first, so that the change itself,
 * under the indexer's lock, cannot fail.
 */
#ifndef KL_CACHE_INDEX_H
#define KL_CACHE_INDEX_H

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "cache/indexer.h"

#include <stdint.h>

/* The objects of one value. */
typedef struct kl__bucket {
    kl__list postings;
    size_t count;
    struct kl__bucket *next; /* in a plan's list of emptied buckets */
    uint64_t mark;           /* the serial of the entry that used it last */
    char value[];
} kl__bucket;

/* One value of one object. */
typedef struct kl__posting {
    kl__list node; /* in the bucket */
    kl__bucket *bucket;
    kl_object *object; /* the entry's */
} kl__posting;

/* All values of one object. */
typedef struct kl__index_entry {
    kl_object *object; /* a reference; its key is the entry's */
    size_t count;
    kl__posting postings[];
} kl__index_entry;

typedef struct kl__index_table {
    kl__map entries; /* key -> kl__index_entry */
    kl__map buckets; /* value -> kl__bucket */
    uint64_t serial; /* of the entry that was made last */
} kl__index_table;

/* Frees entries, buckets and maps; zeroes it. */
void kl__index_table_deinit(kl__index_table *table);

typedef struct kl__index {
    char *name;
    kl_path *path; /* or fn */
    kl_index_fn fn;
    void *context;
    void (*drop_context)(void *context);
    bool has_failed; /* the log has said so */
    kl__index_table table;
} kl__index;

/* Takes path and context once it succeeds; NULL when out of memory. */
kl__index *kl__index_new(const kl__index_options *options);
/* NULL is fine. */
void kl__index_free(kl__index *index);
/* Frees it, but leaves path and context to whoever offered them. */
void kl__index_give_up(kl__index *index);

/* Values as they are emitted, each with its NUL. */
struct kl_index_sink {
    kl__buf bytes;
    size_t count;
};

/*
 * Computes the values of an object into `sink`, which is reset. `root` is its
 * tree (NULL where the index needs none). A function that fails leaves the
 * object without values, and the log says so once. KL_ENOMEM: of the sink.
 */
kl_code kl__index_compute(kl__index *index, const kl_object *object,
                          const kl_value *root, kl_index_sink *sink);
/* The values that an entry has, as if they were computed. KL_ENOMEM. */
kl_code kl__index_recall(const kl__index_entry *entry, kl_index_sink *sink);

/* An object that comes (or changes), or a key that goes. */
typedef struct kl__index_step {
    const char *key;
    kl__index_entry *entry; /* NULL: it goes */
} kl__index_step;

/* Zeroed, but for `table`: an empty plan. */
typedef struct kl__index_plan {
    kl__index_table *table;
    kl__index_step *steps;
    size_t count;
    size_t capacity;
    kl__map fresh;   /* buckets that the table does not have yet */
    kl__map entries; /* bigger tables to swap in, if they have to grow */
    kl__map buckets;
    kl__bucket *emptied; /* after commit: what nothing is in any more */
} kl__index_plan;

/* Notes a step; KL_ENOMEM: the plan can only be cleared. One step a key. `key`
 * must live until the commit. */
kl_code kl__index_plan_put(kl__index_plan *plan, kl_object *object,
                           const kl_index_sink *sink);
kl_code kl__index_plan_remove(kl__index_plan *plan, const char *key);
/* Makes room for all steps; nothing may change the table until the commit. */
kl_code kl__index_plan_finish(kl__index_plan *plan);
/* Does the steps; O(steps), allocates and frees nothing. */
void kl__index_plan_commit(kl__index_plan *plan);
/* Frees what was not used, or what was replaced. */
void kl__index_plan_clear(kl__index_plan *plan);

#endif
