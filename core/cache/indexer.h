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

/* What a transaction did, in order: what has to be told to handlers. A change
 * of UID is two of them, a delete (unknown) and an add. References are owned by
 * whoever holds the list. */
typedef enum kl__change_type {
    KL__CHANGE_ADD,
    KL__CHANGE_UPDATE,
    KL__CHANGE_DELETE
} kl__change_type;

typedef struct kl__change {
    kl__change_type type;
    bool unknown;      /* of a delete: the delete itself was missed */
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
 * The writer's calls (one thread at a time). Each makes one transaction:
 * prepared outside of the lock, index functions and all memory included; then
 * applied under it, which cannot fail. What happened is in its list of changes.
 * An object whose resourceVersion and UID did not change is kept, and makes no
 * change (nor does, in a list of an earlier version, one whose text is the same
 * as well); a delete of an unknown key makes none either; bookmarks move the
 * version; deltas that are neither are skipped. NULL: out of memory.
 */
typedef struct kl__transaction kl__transaction;

kl__transaction *kl__indexer_prepare(kl__indexer *indexer,
                                     const kl__delta_batch *batch);
/* Makes the list the content; of several objects with one key the last counts.
 * Changes: deletes (unknown) by key, then adds and updates in list order. The
 * list stays the caller's, and must live until the transaction is freed. */
kl__transaction *kl__indexer_prepare_replace(kl__indexer *indexer,
                                             const kl_object_list *list,
                                             const char *version);
/* Borrowed until the transaction is freed. */
const kl__change_list *
kl__transaction_changes(const kl__transaction *transaction);
/* Applies it, for all readers at once, and at most once. False: an index came
 * meanwhile; nothing is applied: refresh (KL_ENOMEM), then try again. No other
 * transaction may be prepared between prepare and commit. */
bool kl__transaction_commit(kl__transaction *transaction);
kl_code kl__transaction_refresh(kl__transaction *transaction);
/* Frees it, and whatever it replaced. NULL is fine. Not with a lock held. */
void kl__transaction_free(kl__transaction *transaction);

/* Readers; any thread. As their namesakes in kubelua/informer.h; snapshot is
 * the whole content in no order. */
kl_object *kl__indexer_get(kl__indexer *indexer, const char *key);
kl_code kl__indexer_list(kl__indexer *indexer, const char *name_space,
                         const kl_selector *labels, kl_object_list *list,
                         kl_error *err);
kl_code kl__indexer_snapshot(kl__indexer *indexer, kl_object_list *list);
kl_code kl__indexer_by_index(kl__indexer *indexer, const char *index,
                             const char *value, kl_object_list *list,
                             kl_error *err);
kl_code kl__indexer_index_values(kl__indexer *indexer, const char *index,
                                 kl_string_list *list, kl_error *err);
size_t kl__indexer_count(kl__indexer *indexer);
void kl__indexer_version(kl__indexer *indexer, char *buffer, size_t size);

/*
 * Adds an index, on any thread. What is stored is indexed aside, without a lock
 * held, while the writer keeps a list of what it changes meanwhile; once that
 * list is caught up with, the index is published in O(1). Exactly one of `path`
 * (taken when it succeeds) and `fn`. Errors as kl_informer_add_index.
 */
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
