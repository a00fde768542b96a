/*
 * change.c - makes the changes of kl_shared_put and kl_shared_remove;
 * change_endpoints.c makes those of endpoints. See change.h.
 */
#include "shared/change.h"

#include "base/mem.h"

#include <string.h>

kl__change *kl__change_new(kl__change_kind kind, size_t words, kl_error *err)
{
    kl__change *change = kl__calloc(1, sizeof(*change) + words * 8);

    if (change == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    change->kind = kind;
    change->words = (uint32_t)words;
    change->block[KL__BLOCK_LINK] = words;
    return change;
}

kl__change *kl__change_of_key(kl__change_kind kind, const kl_shared_key *key,
                              size_t value_words, kl_error *err)
{
    size_t name_words = kl__words_of(key->name_length);
    size_t value_at = kl__value_at(key->name_length);
    kl__change *change = kl__change_new(
        kind, value_at + kl__line_words((uint32_t)value_words), err);

    if (change != NULL) {
        change->name_length = key->name_length;
        change->block[KL__BLOCK_HASH] = key->hash;
        change->block[KL__BLOCK_FORM] = key->name_length;
        memcpy(&change->block[KL__BLOCK_HEAD], key->name, name_words * 8);
    }
    return change;
}

kl__change *kl__change_put(const kl_shared_key *key, const void *value,
                           size_t size, kl_error *err)
{
    kl__change *change;

    if (size > KL_SHARED_VALUE_MAX) {
        kl_error_set(err, KL_ETOO_LARGE,
                     "a value of %zu bytes in a shared map: %d at most", size,
                     KL_SHARED_VALUE_MAX);
        return NULL;
    }
    change = kl__change_of_key(KL__CHANGE_PUT, key, kl__words_of(size), err);
    if (change == NULL) {
        return NULL;
    }
    change->block[KL__BLOCK_FORM] |=
        (uint64_t)KL__BLOCK_BYTES << 16 | (uint64_t)size << 32;
    if (size > 0) {
        memcpy(&change->block[kl__value_at(key->name_length)], value, size);
    }
    return change;
}

kl__change *kl__change_remove(const kl_shared_key *key, kl_error *err)
{
    return kl__change_of_key(KL__CHANGE_REMOVE, key, 0, err);
}

kl__change *kl__change_refuse(const kl_shared_key *key, const char *why,
                              kl_error *err)
{
    kl__change *change = kl__change_put(key, why, strlen(why) + 1, err);

    if (change != NULL) {
        change->is_refused = true;
    }
    return change;
}

kl__change *kl__change_complete(const char *table, kl_error *err)
{
    size_t length = strlen(table);
    kl__change *change;

    if (length == 0 || length > KL_SHARED_TABLE_MAX) {
        kl_error_set(err, KL_EINVAL,
                     "the name of a table has 1 to %d bytes, not %zu",
                     KL_SHARED_TABLE_MAX, length);
        return NULL;
    }
    change = kl__change_new(KL__CHANGE_COMPLETE,
                            KL__BLOCK_HEAD + kl__text_words(length), err);
    if (change != NULL) {
        /* with its NUL, as in the names of entries */
        change->name_length = (uint32_t)length + 1;
        memcpy(&change->block[KL__BLOCK_HEAD], table, length);
    }
    return change;
}
