/*
 * index.h - one index of the store: from a value, such as a node's name, to the
 * objects that have it. The table is changed in two steps: a plan allocates all
 * memory and computes all values; the commit, under the indexer's lock, links
 * and unlinks and cannot fail.
 */
#ifndef KL_CACHE_INDEX_H
#define KL_CACHE_INDEX_H

#include "base/buf.h"
#include "base/table.h"
#include "cache/indexer.h"

#include <stdint.h>

/* One value, and the objects that have it. */
typedef struct kl__bucket {
    kl__table objects; /* no references: the table's entries have them, or the
                          store for the index by namespace */
    uint64_t mark;     /* serial number of the newest object with it */
    uint32_t hash;     /* of the value */
    uint32_t touched;  /* its number in a plan's list `touched`, from 1; or 0 */
    char value[];
} kl__bucket;

/* All values of one object: NULL, one bucket, or many: then it is the address
 * of a kl__values plus 1. */
typedef void *kl__link;

typedef struct kl__values {
    size_t count;
    kl__bucket *buckets[];
} kl__values;

typedef struct kl__index_table {
    kl__table entries; /* objects that have values (references); their links */
    kl__table buckets; /* of kl__bucket */
    uint64_t serial;   /* serial number of the newest object */
    bool by_namespace; /* no entries: the key tells the value, and the store
                          has a reference */
} kl__index_table;

/* An empty table for the index `name`; "" is the one by namespace. */
kl__index_table kl__index_table_for(const char *name);
/* Frees entries, buckets and tables. */
void kl__index_table_deinit(kl__index_table *table);

/* Owned by the caller; NULL when out of memory. */
kl__bucket *kl__bucket_new(const kl__key *value);
void kl__bucket_free(kl__bucket *bucket);
/* The bucket of a value, or NULL. */
kl__bucket *kl__bucket_find(const kl__table *buckets, const kl__key *value);

/* A link to many values; takes them. */
kl__link kl__link_to(kl__values *values);
size_t kl__link_count(kl__link link);
kl__bucket *kl__link_bucket(kl__link link, size_t i);
/* Frees the memory of a link, not its buckets. */
void kl__link_free(kl__link link);
/* The link of an object of the table; NULL: it has no values. */
kl__link kl__index_link(const kl__index_table *table, const kl_object *object,
                        uint32_t hash);
/* The object in the entries that has the same key as `key`; NULL: none. */
kl_object *kl__index_entry(const kl__index_table *table, const kl__key *key);

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
 * Computes the values of an object into `sink`, which is emptied first. An
 * index by path searches the object's text, one by function gets its tree. If
 * the index function fails, the object has no values and a warning is logged,
 * once for each index. KL_ENOMEM: there is no memory for the values, to unpack
 * the text or for the tree; or this thread must not run a function of the
 * user (KL__ROLE_TRANSPORT).
 */
kl_code kl__index_compute(kl__index *index, kl_object *object,
                          kl_index_sink *sink);
/* Copies the values that an object of the table has into `sink`. KL_ENOMEM. */
kl_code kl__index_recall(const kl__index_table *table, const kl_object *object,
                         uint32_t hash, kl_index_sink *sink);

/* One object that changes. */
typedef struct kl__index_step {
    kl_object *before; /* in the table; the entries' reference, after the commit
                          the step's */
    kl_object *after;  /* the step's reference, after the commit the entries' */
    kl__link was;      /* the values of `before`; the owner likewise changes */
    kl__link now;      /* the values of `after` */
    uint32_t hash;     /* of the key */
} kl__index_step;

/* A bucket that gains or loses objects. */
typedef struct kl__touched {
    kl__bucket *bucket;
    kl__table grown; /* to swap in, if the bucket's table does not fit */
    size_t gains;
} kl__touched;

/* An empty plan is zeroed except for `table`. */
typedef struct kl__index_plan {
    kl__index_table *table;
    kl__index_step *steps;
    size_t count;
    size_t capacity;
    kl__touched *touched;
    size_t touched_count;
    size_t touched_capacity;
    kl__table fresh;   /* new buckets, not in the table yet */
    kl__table entries; /* to swap in, if the table's does not fit */
    kl__table buckets;
    size_t gains; /* new entries */
    bool is_committed;
} kl__index_plan;

/* An object of one key: before and after a change; NULL: none. `before` is what
 * the table has. */
typedef struct kl__index_change {
    kl_object *before;
    kl_object *after;
    uint32_t hash; /* of the key */
} kl__index_change;

/* Adds a step to the plan; at most one for each key. `sink`: the values of the
 * object after the change. KL_ENOMEM: the plan can only be cleared. The objects
 * must live until the plan is cleared. */
kl_code kl__index_plan_add(kl__index_plan *plan, const kl__index_change *change,
                           const kl_index_sink *sink);
/* Allocates what the commit needs; the table must not change between this and
 * the commit. */
kl_code kl__index_plan_finish(kl__index_plan *plan);
/* Carries out the steps; O(steps), allocates and frees nothing. */
void kl__index_plan_commit(kl__index_plan *plan);
/* Frees what the plan still owns: before the commit the new entries and
 * buckets, after it the replaced ones. */
void kl__index_plan_clear(kl__index_plan *plan);

#endif
