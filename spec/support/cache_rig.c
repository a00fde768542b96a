/*
 * cache_rig.c - see cache_rig.h.
 */
#include "cache_rig.h"

#include "cache/transaction.h"
#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

kl__delta cache_delta(kl__delta_type type, kl_object *object)
{
    return (kl__delta){.type = type, .object = object};
}

/* Commits the transaction and takes it. NULL: out of memory. */
static kl_code commit(kl__transaction *transaction, kl__change_list *changes)
{
    if (transaction == NULL) {
        return KL_ENOMEM;
    }
    while (!kl__transaction_commit(transaction)) {
        if (kl__transaction_refresh(transaction) != KL_OK) {
            kl__transaction_free(transaction);
            return KL_ENOMEM;
        }
    }
    *changes = transaction->changes;
    transaction->changes = (kl__change_list){0};
    kl__transaction_free(transaction);
    return KL_OK;
}

kl_code cache_transact_batch(kl__indexer *indexer, const kl__delta_batch *batch,
                             kl__change_list *changes)
{
    return commit(kl__indexer_prepare(indexer, batch), changes);
}

kl_code cache_transact_list(kl__indexer *indexer, const kl_object_list *list,
                            const char *version, kl__change_list *changes)
{
    kl__listed listed = {.objects = *list};

    return commit(kl__indexer_prepare_replace(indexer, &listed, version),
                  changes);
}

static void describe(char *text, size_t size, const kl__change_list *changes)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < changes->count; i++) {
        const kl__change *change = &changes->items[i];
        const char *sign = "+";

        if (change->type == KL__CHANGE_UPDATE) {
            sign = "~";
        } else if (change->type == KL__CHANGE_DELETE) {
            sign = change->unknown ? "?" : "-";
        }
        used += (size_t)snprintf(
            text + used, size - used, "%s%s%s@%s%s%s", i > 0 ? " " : "", sign,
            kl_object_name(change->object),
            change->old != NULL ? kl_object_resource_version(change->old) : "",
            change->old != NULL ? ">" : "",
            kl_object_resource_version(change->object));
    }
}

const char *cache_apply(kl__indexer *indexer, kl__delta *items, size_t count)
{
    static char text[1024];
    kl__delta_batch batch = {.items = items, .count = count, .capacity = count};
    kl__change_list changes = {0};

    assert_int_equal(cache_transact_batch(indexer, &batch, &changes), KL_OK);
    describe(text, sizeof(text), &changes);
    kl__change_list_clear(&changes);
    for (size_t i = 0; i < count; i++) {
        kl__delta_clear(&items[i]);
    }
    return text;
}

const char *cache_apply_one(kl__indexer *indexer, kl__delta_type type,
                            kl_object *object)
{
    kl__delta one = cache_delta(type, object);

    return cache_apply(indexer, &one, 1);
}

const char *cache_replace(kl__indexer *indexer, kl_object_list list,
                          const char *version)
{
    static char text[1024];
    kl__change_list changes = {0};

    assert_int_equal(cache_transact_list(indexer, &list, version, &changes),
                     KL_OK);
    describe(text, sizeof(text), &changes);
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    return text;
}

const char *cache_version(kl__indexer *indexer)
{
    static char version[64];

    kl__indexer_version(indexer, version, sizeof(version));
    return version;
}

const char *cache_stored(kl__indexer *indexer, const char *key)
{
    static char version[64];
    kl_object *object = kl__indexer_get(indexer, key);

    if (object == NULL) {
        return NULL;
    }
    snprintf(version, sizeof(version), "%s",
             kl_object_resource_version(object));
    kl_object_unref(object);
    return version;
}

void cache_end(kl__indexer *indexer)
{
    kl__indexer_free(indexer);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
}

void cache_add_path(kl__indexer *indexer, const char *name, const char *path)
{
    kl__index_options options = {.name = name,
                                 .path = kl_path_parse(path, NULL)};

    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
}

const char *cache_names(const kl_object_list *list)
{
    static char text[512];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                             i > 0 ? " " : "", kl_object_key(list->items[i]));
    }
    return text;
}

const char *cache_by(kl__indexer *indexer, const char *index, const char *value)
{
    kl_object_list list;
    const char *names;

    assert_int_equal(kl__indexer_by_index(indexer, index, value, &list, NULL),
                     KL_OK);
    names = cache_names(&list);
    kl_object_list_clear(&list);
    return names;
}

const char *cache_values(kl__indexer *indexer, const char *index)
{
    static char text[512];
    kl_string_list list;
    size_t used = 0;

    text[0] = '\0';
    assert_int_equal(kl__indexer_index_values(indexer, index, &list, NULL),
                     KL_OK);
    for (size_t i = 0; i < list.count; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                                 i > 0 ? " " : "", list.items[i]);
    }
    kl_string_list_clear(&list);
    return text;
}
