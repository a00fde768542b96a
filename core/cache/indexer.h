/*
 * indexer.h - the cache: objects by key, and by the values of any number of
 * indexes. One writer, many readers; a reader sees the state before or after a
 * transaction, never between. The lock is held for a time that does not grow
 * with the cache: a relist is prepared aside and swapped in.
 */
#ifndef KL_CACHE_INDEXER_H
#define KL_CACHE_INDEXER_H

#include "cache/delta_fifo.h"
#include "kubelua/informer.h"

typedef struct kl__indexer kl__indexer;

/* What a transaction did, in order: what has to be told to handlers. A change of
 * UID is two of them, a delete (unknown) and an add. References are owned by
 * whoever holds the list. */
typedef enum kl__change_type {
    KL__CHANGE_ADD,
    KL__CHANGE_UPDATE,
    KL__CHANGE_DELETE
} kl__change_type;

typedef struct kl__change {
    kl__change_type type;
    bool unknown;    /* of a delete: the delete itself was missed */
    kl_object *old;    /* of an update, and of a delete: what was known */
    kl_object *object; /* of an add and update; of a delete: the last state */
} kl__change;

typedef struct kl__change_list {
    kl__change *items;
    size_t count;
    size_t capacity;
} kl__change_list;

void kl__change_list_clear(kl__change_list *changes);

/* Owned by the caller; NULL when out of memory. */
kl__indexer *kl__indexer_new(void);
void kl__indexer_free(kl__indexer *indexer);

/*
 * The writer's calls (one thread). Each is one transaction: prepared outside of
 * the lock, applied under it, or not at all (KL_ENOMEM). `changes` (empty) gets
 * what happened. An object whose resourceVersion and UID did not change is
 * kept, and makes no change; a delete of an unknown key makes none either.
 */
kl_code kl__indexer_apply(kl__indexer *indexer, const kl__delta_batch *batch,
                          kl__change_list *changes);
/* Takes the whole list (its references too, also when it fails). Of several
 * objects with one key the last counts. */
kl_code kl__indexer_replace(kl__indexer *indexer, kl_object_list *list,
                            const char *version, kl__change_list *changes);

/* Readers; any thread. As their namesakes in kubelua/informer.h. */
kl_object *kl__indexer_get(kl__indexer *indexer, const char *key);
kl_code kl__indexer_list(kl__indexer *indexer, const char *name_space,
                         const kl_selector *labels, kl_object_list *list,
                         kl_error *err);
kl_code kl__indexer_by_index(kl__indexer *indexer, const char *index,
                             const char *value, kl_object_list *list,
                             kl_error *err);
kl_code kl__indexer_index_values(kl__indexer *indexer, const char *index,
                                 kl_string_list *list, kl_error *err);
size_t kl__indexer_count(kl__indexer *indexer);
void kl__indexer_version(kl__indexer *indexer, char *buffer, size_t size);

/* Adds an index, on any thread; what is stored is indexed without blocking
 * readers or the writer for longer than O(1). Exactly one of `path` (taken) and
 * `fn`. Errors as kl_informer_add_index. */
typedef struct kl__index_options {
    const char *name;
    kl_path *path;
    kl_index_fn fn;
    void *context;
    void (*drop_context)(void *context);
} kl__index_options;
kl_code kl__indexer_add_index(kl__indexer *indexer,
                              const kl__index_options *options, kl_error *err);

#endif
