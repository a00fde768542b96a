/*
 * key.c - prepares names of entries, which readers and the writer compare, and
 * computes the hash that is the same on every machine.
 */
#include "shared/map.h"

#include <string.h>

bool kl_shared_key_init(const kl_shared *map, const char *table,
                        const char *text, size_t length, kl_shared_key *key)
{
    size_t table_length = strlen(table);
    char *name = (char *)key->name;

    memset(key, 0, sizeof(*key));
    if (table_length == 0 || table_length > KL_SHARED_TABLE_MAX ||
        length > KL_SHARED_KEY_MAX) {
        return false;
    }
    memcpy(name, table, table_length);
    if (length > 0) {
        memcpy(name + table_length + 1, text, length);
    }
    key->name_length = (uint32_t)(table_length + 1 + length);
    key->hash = kl__shared_hash_words(key->name, key->name_length, map->seed);
    key->bucket = (uint32_t)(key->hash % KL_SHARED_VERSIONS);
    return true;
}

uint64_t kl_shared_hash(const void *bytes, size_t length)
{
    const uint64_t under_2_53 = ((uint64_t)1 << 53) - 1;
    const unsigned char *at = bytes;
    /* FNV-1a with a final mix: byte by byte, so that the machine's byte order
     * does not matter. */
    uint64_t hash = 14695981039346656037ULL;

    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ at[i]) * 1099511628211ULL;
    }
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    hash = (hash ^ (hash >> 33)) & under_2_53;
    return hash != 0 ? hash : 1;
}
