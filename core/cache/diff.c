/*
 * diff.c - compares a batch of deltas, or a whole list, with the store. The
 * result is the steps that change the store, and the changes (add, update,
 * delete) that handlers are told. A UID change
 * (docs/KUBERNETES.md#uid-and-name) and a missed delete (#missed-deletes) are
 * found here.
 */
#include "cache/transaction.h"

#include "base/mem.h"
#include "object/object.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* How many stored objects are fetched at once; fewer than MANY are in the
 * processor's caches anyway. */
enum { TOGETHER = 16, MANY = 1024 };

void kl__change_list_clear(kl__change_list *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        kl_object_unref(changes->items[i].old);
        kl_object_unref(changes->items[i].object);
    }
    kl__free(changes->items);
    *changes = (kl__change_list){0};
}

static kl_code reserve_changes(kl__change_list *changes, size_t count)
{
    kl__change *items;

    if (count <= changes->capacity) {
        return KL_OK;
    }
    items = kl__realloc(changes->items, count * sizeof(*items));
    if (items == NULL) {
        return KL_ENOMEM;
    }
    changes->items = items;
    changes->capacity = count;
    return KL_OK;
}

/* Appends a copy of a change. The copy has its own references to the old and to
 * the new object. KL_ENOMEM: nothing was appended. */
static kl_code append_change(kl__change_list *changes, const kl__change *change)
{
    if (changes->count == changes->capacity &&
        reserve_changes(changes, changes->capacity * 2 + 16) != KL_OK) {
        return KL_ENOMEM;
    }
    changes->items[changes->count++] = *change;
    if (change->old != NULL) {
        kl_object_ref(change->old);
    }
    kl_object_ref(change->object);
    return KL_OK;
}

static kl_code append_add(kl__change_list *changes, kl_object *object)
{
    return append_change(
        changes, &(kl__change){.type = KL__CHANGE_ADD, .object = object});
}

static kl_code append_update(kl__change_list *changes, kl_object *old,
                             kl_object *object)
{
    return append_change(
        changes,
        &(kl__change){.type = KL__CHANGE_UPDATE, .old = old, .object = object});
}

/* `last` is the object's final state. NULL: the delete event was missed, and
 * `old` is the last known state. */
static kl_code append_delete(kl__change_list *changes, kl_object *old,
                             kl_object *last)
{
    return append_change(changes,
                         &(kl__change){.type = KL__CHANGE_DELETE,
                                       .unknown = last == NULL,
                                       .old = old,
                                       .object = last != NULL ? last : old});
}

/* True if both have one UID. Identity is key and UID: after a delete, the name
 * can be given to a new object. */
static bool is_same(const kl_object *a, const kl_object *b)
{
    return strcmp(kl_object_uid(a), kl_object_uid(b)) == 0;
}

/* True if both have one resourceVersion and one apiVersion. An object without a
 * resourceVersion may always have changed. */
static bool is_unchanged(const kl_object *known, const kl_object *object)
{
    const char *version = kl_object_resource_version(object);

    return version[0] != '\0' &&
           strcmp(version, kl_object_resource_version(known)) == 0 &&
           strcmp(kl_object_api_version(object),
                  kl_object_api_version(known)) == 0;
}

/* True if the list's version is lower than the store's: the cluster was
 * restored from a backup (docs/KUBERNETES.md#restored-backup). Versions are
 * then used a second time, and an equal resourceVersion does not prove that an
 * object is unchanged. */
static bool is_restored(const kl__transaction *transaction)
{
    const char *known = transaction->indexer->version;
    int order = known != NULL && transaction->version != NULL
                    ? kl_version_compare(transaction->version, known)
                    : 0;

    return order < 0 && order != INT_MIN;
}

/* ADDED and UPDATED. What handlers are told depends on the store, not on the
 * event's type: an unknown key is an add, a known one an update, and another
 * UID is a delete and an add. */
static kl_code diff_object(kl__transaction *transaction, kl_object *object)
{
    kl__key key = kl__object_key(object);
    kl__known found = kl__transaction_known(transaction, &key);
    kl_object *known = found.object;
    kl__change_list *changes = &transaction->changes;
    kl_code code;

    if (known != NULL && is_same(known, object)) {
        if (is_unchanged(known, object)) {
            return KL_OK;
        }
        code = append_update(changes, known, object);
    } else {
        code = known != NULL ? append_delete(changes, known, NULL) : KL_OK;
        if (code == KL_OK) {
            code = append_add(changes, object);
        }
    }
    if (code != KL_OK) {
        return code;
    }
    return kl__transaction_stage(transaction, &found, object);
}

/*
 * DELETED. If the UID is that of the known object, the delta has its final
 * state. With another UID there are two cases: an object older than the known
 * one, whose delete came late, changes nothing; a newer object proves that the
 * known one was deleted before, so the known one is deleted.
 */
static kl_code diff_delete(kl__transaction *transaction, kl_object *object)
{
    kl__key key = kl__object_key(object);
    kl__known found = kl__transaction_known(transaction, &key);
    kl_object *known = found.object;
    bool same = known != NULL && is_same(known, object);
    kl_code code;

    if (known == NULL ||
        (!same && kl_version_compare(kl_object_resource_version(known),
                                     kl_object_resource_version(object)) > 0)) {
        return KL_OK;
    }
    code = append_delete(&transaction->changes, known, same ? object : NULL);
    if (code != KL_OK) {
        return code;
    }
    return kl__transaction_stage(transaction, &found, NULL);
}

/* LEFT: the object is there, but not for this cache. */
static kl_code diff_left(kl__transaction *transaction, const kl_object *object)
{
    kl__key key = kl__object_key(object);
    kl__known found = kl__transaction_known(transaction, &key);
    kl_code code;

    if (found.object == NULL) {
        return KL_OK;
    }
    code = append_delete(&transaction->changes, found.object, NULL);
    return code == KL_OK ? kl__transaction_stage(transaction, &found, NULL)
                         : code;
}

/*
 * UNREADABLE. The cache keeps the former state of the object: a delete would
 * say that the object is gone, and handlers may remove what belongs to it. If
 * the object was deleted, or if its UID shows that it is another one, the known
 * one is gone, and its final state is not known.
 */
static kl_code diff_unreadable(kl__transaction *transaction,
                               const kl__delta *delta)
{
    const kl__unreadable *now = delta->unreadable;
    kl__key key = kl__key_of(now->key);
    kl__known found = kl__transaction_known(transaction, &key);
    kl_object *known = found.object;
    bool same =
        known != NULL && kl__unreadable_may_be(now, kl_object_uid(known));
    kl_code code;

    if (known == NULL || (same && !delta->is_gone) ||
        (!same && kl_version_compare(kl_object_resource_version(known),
                                     now->version) > 0)) {
        return KL_OK; /* as in diff_delete */
    }
    code = append_delete(&transaction->changes, known, NULL);
    return code == KL_OK ? kl__transaction_stage(transaction, &found, NULL)
                         : code;
}

static kl_code diff_delta(kl__transaction *transaction, const kl__delta *delta)
{
    const char *version;
    kl_code code;

    switch (delta->type) {
    case KL__DELTA_ADDED:
    case KL__DELTA_UPDATED:
        code = diff_object(transaction, delta->object);
        break;
    case KL__DELTA_DELETED:
        code = diff_delete(transaction, delta->object);
        break;
    case KL__DELTA_LEFT:
        code = diff_left(transaction, delta->object);
        break;
    case KL__DELTA_UNREADABLE:
        code = diff_unreadable(transaction, delta);
        break;
    case KL__DELTA_BOOKMARK:
        return kl__transaction_version(transaction, delta->version, true);
    case KL__DELTA_REPLACED:
    case KL__DELTA_SYNC:
    case KL__DELTA_ERROR:
    default:
        return KL_OK;
    }
    if (code != KL_OK) {
        return code;
    }
    version = delta->object != NULL ? kl_object_resource_version(delta->object)
                                    : delta->unreadable->version;
    return kl__transaction_version(transaction, version, true);
}

/* Has the processor fetch the stored objects of some deltas all at once. In a
 * cache of a million, each search would wait for memory four times. */
static void fetch_stored(const kl__table *objects, const kl__delta *deltas,
                         size_t count)
{
    enum { LINE = 64, LINES = 3 }; /* up to the UID and the resourceVersion */
    uint32_t hashes[TOGETHER] = {0};

    for (size_t i = 0; i < count; i++) {
        if (deltas[i].object != NULL) {
            hashes[i] = kl__object_key(deltas[i].object).hash;
            kl__table_fetch(objects, hashes[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        const char *stored = kl__table_guess(objects, hashes[i]);

        for (size_t line = 0; stored != NULL && line < LINES; line++) {
            __builtin_prefetch(stored + line * LINE);
        }
    }
}

kl_code kl__diff_batch(kl__transaction *transaction,
                       const kl__delta_batch *batch)
{
    const kl__table *objects = &transaction->indexer->objects;
    kl_code code = KL_OK;

    if (!kl__table_reserve(&transaction->by_key, batch->count) ||
        kl__transaction_reserve(transaction, batch->count) != KL_OK ||
        reserve_changes(&transaction->changes, batch->count) != KL_OK) {
        return KL_ENOMEM;
    }
    for (size_t i = 0; code == KL_OK && i < batch->count; i++) {
        if (i % TOGETHER == 0 && objects->count >= MANY) {
            size_t left = batch->count - i;

            fetch_stored(objects, &batch->items[i],
                         left < TOGETHER ? left : TOGETHER);
        }
        code = diff_delta(transaction, &batch->items[i]);
    }
    return code;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(kl_object_key(((const kl__change *)a)->object),
                  kl_object_key(((const kl__change *)b)->object));
}

/* The object of a list that has the key, or NULL. */
static kl_object *find_incoming(const kl__table *incoming, const kl__key *key)
{
    uint32_t slot = kl__table_find(incoming, key, kl__object_key_text, NULL);

    return slot != KL__NO_SLOT ? incoming->items[slot] : NULL;
}

/* True if the list has the stored object, but not in a form that can be read.
 * (diff_unreadable says why it is kept.) */
static bool is_unreadable(const kl__unreadables *set, const kl_object *stored)
{
    const kl__unreadable *now =
        set->by_key.count > 0 ? kl__unreadables_find(set, kl_object_key(stored))
                              : NULL;

    return now != NULL && kl__unreadable_may_be(now, kl_object_uid(stored));
}

/* Deletes the stored objects that the list does not have, or has with another
 * UID. Sorts these deletes by key, because the store's hash table has no stable
 * order. */
static kl_code diff_vanished(kl__transaction *transaction,
                             const kl__table *incoming,
                             const kl__listed *listed)
{
    kl__change_list *changes = &transaction->changes;
    const kl__table *objects = &transaction->indexer->objects;
    uint32_t cursor = 0, slot;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (slot = kl__table_next(objects, &cursor)) != KL__NO_SLOT) {
        kl_object *stored = objects->items[slot];
        kl__known known = {.key = kl__object_key(stored), .stored = stored};
        const kl_object *next = find_incoming(incoming, &known.key);

        if (next != NULL ? is_same(stored, next)
                         : is_unreadable(&listed->unreadable, stored)) {
            continue;
        }
        code = append_delete(changes, stored, NULL);
        if (code == KL_OK && next == NULL) {
            changes->items[changes->count - 1].left_shard =
                !kl__shard_has(&listed->shards, stored);
            code = kl__transaction_stage_once(transaction, &known, NULL);
        }
    }
    if (changes->count > 1) {
        qsort(changes->items, changes->count, sizeof(kl__change), by_key);
    }
    return code;
}

/* An object of the list: an add or an update. If the store had another UID
 * under this key, diff_vanished has added the delete. */
static kl_code diff_listed(kl__transaction *transaction, const kl__key *key,
                           kl_object *object, bool restored)
{
    kl_object *stored = kl__indexer_find(transaction->indexer, key);
    kl__known known = {.key = *key, .stored = stored};
    kl_code code;

    if (stored == NULL || !is_same(stored, object)) {
        code = append_add(&transaction->changes, object);
    } else if (!is_unchanged(stored, object) ||
               (restored && !kl__object_is_copy(stored, object))) {
        code = append_update(&transaction->changes, stored, object);
    } else {
        return KL_OK;
    }
    return code == KL_OK
               ? kl__transaction_stage_once(transaction, &known, object)
               : code;
}

/* If several objects have one key, `incoming` gets the last one. The table has
 * room. */
static void collect_incoming(const kl_object_list *list, kl__table *incoming)
{
    for (size_t i = 0; i < list->count; i++) {
        kl__key key = kl__object_key(list->items[i]);
        uint32_t slot =
            kl__table_find(incoming, &key, kl__object_key_text, NULL);

        if (slot != KL__NO_SLOT) {
            incoming->items[slot] = list->items[i];
        } else {
            kl__table_add(incoming, key.hash, list->items[i]);
        }
    }
}

kl_code kl__diff_list(kl__transaction *transaction, const kl__listed *listed)
{
    const kl_object_list *list = &listed->objects;
    kl__table incoming = {0};
    bool restored = is_restored(transaction);
    /* The first list is all new: one allocation of the right size. */
    size_t expected =
        transaction->indexer->objects.count == 0 ? list->count : 0;
    kl_code code = kl__transaction_reserve(transaction, expected);

    if (code == KL_OK) {
        code = reserve_changes(&transaction->changes, expected);
    }
    if (code == KL_OK && !kl__table_reserve(&incoming, list->count)) {
        code = KL_ENOMEM;
    }
    if (code == KL_OK) {
        collect_incoming(list, &incoming);
        code = diff_vanished(transaction, &incoming, listed);
    }
    for (size_t i = 0; code == KL_OK && i < list->count; i++) {
        kl_object *object = list->items[i];
        kl__key key = kl__object_key(object);

        if (find_incoming(&incoming, &key) == object) {
            code = diff_listed(transaction, &key, object, restored);
        }
    }
    kl__table_deinit(&incoming);
    return code;
}
