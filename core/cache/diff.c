/*
 * diff.c - what a batch of deltas, or a whole list, changes in the store, and
 * what handlers are told about it.
 */
#include "cache/transaction.h"

#include "base/mem.h"
#include "object/object.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void kl__change_list_clear(kl__change_list *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        kl_object_unref(changes->items[i].old);
        kl_object_unref(changes->items[i].object);
    }
    kl__free(changes->items);
    *changes = (kl__change_list){0};
}

/* Appends a change; references are taken anew. */
static kl_code tell(kl__change_list *changes, const kl__change *change)
{
    if (changes->count == changes->capacity) {
        size_t capacity = changes->capacity != 0 ? changes->capacity * 2 : 16;
        kl__change *items =
            kl__realloc(changes->items, capacity * sizeof(*items));

        if (items == NULL) {
            return KL_ENOMEM;
        }
        changes->items = items;
        changes->capacity = capacity;
    }
    changes->items[changes->count++] = *change;
    if (change->old != NULL) {
        kl_object_ref(change->old);
    }
    kl_object_ref(change->object);
    return KL_OK;
}

static kl_code tell_add(kl__change_list *changes, kl_object *object)
{
    return tell(changes,
                &(kl__change){.type = KL__CHANGE_ADD, .object = object});
}

static kl_code tell_update(kl__change_list *changes, kl_object *old,
                           kl_object *object)
{
    return tell(
        changes,
        &(kl__change){.type = KL__CHANGE_UPDATE, .old = old, .object = object});
}

/* `last` NULL: the delete was missed, `old` is what is known. */
static kl_code tell_delete(kl__change_list *changes, kl_object *old,
                           kl_object *last)
{
    return tell(changes, &(kl__change){.type = KL__CHANGE_DELETE,
                                       .unknown = last == NULL,
                                       .old = old,
                                       .object = last != NULL ? last : old});
}

/* Identity is key and UID: one name can be given to another object. */
static bool is_same(const kl_object *a, const kl_object *b)
{
    return strcmp(kl_object_uid(a), kl_object_uid(b)) == 0;
}

/* Objects without a version can always have changed. */
static bool is_unchanged(const kl_object *known, const kl_object *object)
{
    const char *version = kl_object_resource_version(object);

    return version[0] != '\0' &&
           strcmp(version, kl_object_resource_version(known)) == 0;
}

/* A list of an earlier version is of a cluster that was restored from a backup:
 * versions come again there, and the same one may be of another write. */
static bool is_restored(const kl__transaction *transaction)
{
    const char *known = transaction->indexer->version;
    int order = known != NULL && transaction->version != NULL
                    ? kl_version_compare(transaction->version, known)
                    : 0;

    return order < 0 && order != INT_MIN;
}

/* ADDED and UPDATED: the verb does not matter, what is known does. */
static kl_code diff_object(kl__transaction *transaction, kl_object *object)
{
    const char *key = kl_object_key(object);
    kl_object *known = kl__transaction_known(transaction, key);
    kl__change_list *changes = &transaction->changes;
    kl_code code;

    if (known != NULL && is_same(known, object)) {
        if (is_unchanged(known, object)) {
            return KL_OK;
        }
        code = tell_update(changes, known, object);
    } else {
        code = known != NULL ? tell_delete(changes, known, NULL) : KL_OK;
        if (code == KL_OK) {
            code = tell_add(changes, object);
        }
    }
    if (code != KL_OK) {
        return code;
    }
    return kl__transaction_stage(transaction, key, object);
}

/*
 * DELETED. Of a known object it is its final state. Of another UID than the
 * known one: an older object's delete comes late and is none of the known
 * one's; a newer object's says that the known one is gone as well.
 */
static kl_code diff_delete(kl__transaction *transaction, kl_object *object)
{
    const char *key = kl_object_key(object);
    kl_object *known = kl__transaction_known(transaction, key);
    bool same = known != NULL && is_same(known, object);
    kl_code code;

    if (known == NULL ||
        (!same && kl_version_compare(kl_object_resource_version(known),
                                     kl_object_resource_version(object)) > 0)) {
        return KL_OK;
    }
    code = tell_delete(&transaction->changes, known, same ? object : NULL);
    if (code != KL_OK) {
        return code;
    }
    return kl__transaction_stage(transaction, key, NULL);
}

static kl_code diff_delta(kl__transaction *transaction, const kl__delta *delta)
{
    kl_code code;

    switch (delta->type) {
    case KL__DELTA_ADDED:
    case KL__DELTA_UPDATED:
        code = diff_object(transaction, delta->object);
        break;
    case KL__DELTA_DELETED:
        code = diff_delete(transaction, delta->object);
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
    return kl__transaction_version(
        transaction, kl_object_resource_version(delta->object), true);
}

kl_code kl__diff_batch(kl__transaction *transaction,
                       const kl__delta_batch *batch)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < batch->count; i++) {
        code = diff_delta(transaction, &batch->items[i]);
    }
    return code;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(kl_object_key(((const kl__change *)a)->object),
                  kl_object_key(((const kl__change *)b)->object));
}

/* Deletes whatever the list does not have any more: by key, as the store has
 * no order of its own. */
static kl_code diff_vanished(kl__transaction *transaction,
                             const kl__map *incoming)
{
    kl__change_list *changes = &transaction->changes;
    const kl__map_slot *slot;
    size_t cursor = 0;
    kl_code code = KL_OK;

    while (code == KL_OK && (slot = kl__map_next(&transaction->indexer->objects,
                                                 &cursor)) != NULL) {
        const kl_object *next = kl__map_get(incoming, slot->key);

        if (next != NULL && is_same(slot->value, next)) {
            continue;
        }
        code = tell_delete(changes, slot->value, NULL);
        if (code == KL_OK && next == NULL) {
            code = kl__transaction_stage(transaction, slot->key, NULL);
        }
    }
    if (changes->count > 1) {
        qsort(changes->items, changes->count, sizeof(kl__change), by_key);
    }
    return code;
}

/* An object of the list; a known one of another UID is deleted by now. */
static kl_code diff_listed(kl__transaction *transaction, kl_object *object,
                           bool restored)
{
    const char *key = kl_object_key(object);
    kl_object *known = kl__map_get(&transaction->indexer->objects, key);
    kl_code code;

    if (known == NULL || !is_same(known, object)) {
        code = tell_add(&transaction->changes, object);
    } else if (!is_unchanged(known, object) ||
               (restored && !kl__object_is_copy(known, object))) {
        code = tell_update(&transaction->changes, known, object);
    } else {
        return KL_OK;
    }
    return code == KL_OK ? kl__transaction_stage(transaction, key, object)
                         : code;
}

kl_code kl__diff_list(kl__transaction *transaction, const kl_object_list *list)
{
    kl__map incoming = {0};
    bool restored = is_restored(transaction);
    kl_code code = kl__map_reserve(&incoming, list->count) ? KL_OK : KL_ENOMEM;

    for (size_t i = 0; code == KL_OK && i < list->count; i++) {
        kl__map_put(&incoming, kl_object_key(list->items[i]), list->items[i],
                    NULL);
    }
    if (code == KL_OK) {
        code = diff_vanished(transaction, &incoming);
    }
    for (size_t i = 0; code == KL_OK && i < list->count; i++) {
        kl_object *object = list->items[i];

        /* Of several objects with one key the last counts. */
        if (kl__map_get(&incoming, kl_object_key(object)) == object) {
            code = diff_listed(transaction, object, restored);
        }
    }
    kl__map_deinit(&incoming);
    return code;
}
