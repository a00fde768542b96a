/*
 * shard_range.c - see shard_range.h.
 */
#include "base/shard_range.h"

#include "kubelua/shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SHARDS = 65536, MOST_DIGITS = 5 };

/* Reads digits up to `end`; -1: there is something else. */
static int64_t read_digits(const char *text, const char *end)
{
    int64_t number = 0;

    if (text == end || end - text > MOST_DIGITS) {
        return -1;
    }
    for (; text < end; text++) {
        if (*text < '0' || *text > '9') {
            return -1;
        }
        number = number * 10 + (*text - '0');
    }
    return number;
}

kl_code kl__shard_range_parse(const char *text, kl__shard_range *range,
                              kl_error *err)
{
    const char *slash;
    int64_t index, count;

    *range = (kl__shard_range){0};
    if (text == NULL || text[0] == '\0') {
        return KL_OK;
    }
    slash = strchr(text, '/');
    index = slash != NULL ? read_digits(text, slash) : -1;
    count = slash != NULL ? read_digits(slash + 1, slash + strlen(slash)) : -1;
    if (index < 0 || count < 1 || count > MOST_SHARDS || index >= count) {
        return kl_error_set(err, KL_EINVAL,
                            "the shard \"%.40s\" is none: write \"0/4\" for "
                            "the first of four, up to \"3/4\"",
                            text);
    }
    if (count > 1) {
        uint64_t size = UINT64_MAX / (uint64_t)count;

        range->first = (uint64_t)index * size;
        range->last =
            index + 1 < count ? range->first + (size - 1) : UINT64_MAX;
    }
    return KL_OK;
}

bool kl__shard_range_is_all(const kl__shard_range *range)
{
    return range->last == 0;
}

bool kl__shard_range_has(const kl__shard_range *range, const char *uid)
{
    uint64_t hash = kl_shard_hash(uid, strlen(uid));

    return hash >= range->first && hash <= range->last;
}

void kl__shard_range_selector(const kl__shard_range *range,
                              char text[KL__SHARD_SELECTOR_SIZE])
{
    int length = snprintf(text, KL__SHARD_SELECTOR_SIZE,
                          "shardRange(object.metadata.uid,'0x%016" PRIx64 "',",
                          range->first);

    if (range->last == UINT64_MAX) {
        snprintf(text + length, KL__SHARD_SELECTOR_SIZE - (size_t)length,
                 "'0x10000000000000000')");
    } else {
        snprintf(text + length, KL__SHARD_SELECTOR_SIZE - (size_t)length,
                 "'0x%016" PRIx64 "')", range->last + 1);
    }
}
