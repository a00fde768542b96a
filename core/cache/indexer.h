/*
 * indexer.h - the cache of an informer: objects by key, and by the values of
 * any number of indexes. One writer at a time (the turn of the delta_fifo),
 * many readers. A reader sees the state before or after a transaction, never
 * between. The writer never holds the lock for a time that grows with the
 * cache: a relist is prepared without the lock and swapped in. A reader holds
 * the lock while it adds a reference to each object that it returns.
 */
#ifndef KL_CACHE_INDEXER_H
#define KL_CACHE_INDEXER_H

#include "base/table.h"
#include "cache/delta_fifo.h"
#include "kubelua/object.h"

typedef struct kl__indexer kl__indexer;

/* What a transaction changes, in order; handlers are told exactly this. A UID
 * change under a key is two changes: a delete (unknown) and an add. The holder
 * of the list owns the references in it. */
typedef enum kl__change_type {
    KL__CHANGE_ADD,
    KL__CHANGE_UPDATE,
    KL__CHANGE_DELETE
} kl__change_type;

typedef struct kl__change {
    kl__change_type type;
    bool unknown;      /* delete: the delete event itself was missed */
    bool left_shard;   /* delete: the cache is of another shard now */
    kl_object *old;    /* update, delete: the object in the cache before */
    kl_object *object; /* add, update: the new state; delete: the last state */
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
 * The writer's calls, one thread at a time. Each prepares one transaction
 * without the lock: it runs the index functions and allocates all memory. The
 * commit applies it under the lock and cannot run out of memory. An object
 * whose UID, resourceVersion and apiVersion are as before causes no change and
 * is kept. (Another apiVersion: the server serves another version of a CRD now,
 * in which the same object has another text.)
 * (After a restore from a backup, when the list has a lower version than the
 * cache, the object's text must be the same, too.) A delete of an unknown key
 * causes no change. A bookmark sets the version. Other deltas are skipped.
 * NULL: out of memory.
 */
typedef struct kl__transaction kl__transaction;

kl__transaction *kl__indexer_prepare(kl__indexer *indexer,
                                     const kl__delta_batch *batch);
/* Replaces the whole content by the list; if several objects have one key, the
 * last one counts. Changes: first the deletes (unknown), sorted by key, then
 * adds and updates in the order of the list. An object that the list has and
 * that cannot be read stays as it is, unless its UID is another one now.
 * Borrows the list until the transaction is freed. */
kl__transaction *kl__indexer_prepare_replace(kl__indexer *indexer,
                                             const kl__listed *listed,
                                             const char *version);
/* Borrowed until the transaction is freed. */
const kl__change_list *
kl__transaction_changes(const kl__transaction *transaction);
/* Applies the transaction, for all readers at once. Call it until it returns
 * true. False: an index was added meanwhile and nothing is applied; call
 * refresh (KL_ENOMEM), then commit again. No other transaction may be prepared
 * between prepare and commit. */
bool kl__transaction_commit(kl__transaction *transaction);
kl_code kl__transaction_refresh(kl__transaction *transaction);
/* Frees the transaction and what it has replaced. NULL is fine. Hold no
 * lock. */
void kl__transaction_free(kl__transaction *transaction);

/* The readers' calls; any thread. They do what the functions of the same names
 * in kubelua/informer.h do; snapshot gives the whole content in no order. */
kl_object *kl__indexer_get(kl__indexer *indexer, const char *key);
kl_object *kl__indexer_get_key(kl__indexer *indexer, const kl__key *key);
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
 * Adds an index; any thread. The stored objects are indexed without the lock,
 * while the writer keeps a journal of its changes. When the index has caught up
 * with the journal, it is published in O(1). Exactly one of `path` and `fn` is
 * set; `path` and `context` are taken if the call succeeds. Errors as
 * kl_informer_add_index.
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
/* True if the writer may have to call a function of the user: an index by
 * function was added, or is being added. Any thread. */
bool kl__indexer_calls_functions(const kl__indexer *indexer);

#endif
